"""Who may come in, and what they have looked at: rows of credentials and openings."""

from __future__ import annotations

from interlock.domain.credential import Credential, CredentialKind, Opening
from interlock.domain.ids import CredentialId
from interlock.stores.sql.packing import pack, unpack
from interlock.stores.sql.rows import Row
from interlock.stores.sql.times import instant, micros


def credential_row(one: Credential) -> Row:
    """A credential as its row."""
    return (
        pack(one.id),
        one.kind.value,
        one.holder,
        one.authn,
        one.hash,
        micros(one.made_at),
        one.label,
        None if one.parent is None else pack(one.parent),
        None if one.expires_at is None else micros(one.expires_at),
        None if one.ended_at is None else micros(one.ended_at),
        one.why,
    )


def read_credential(row: Row) -> Credential:
    """A row as its credential."""
    id_, kind, holder, authn, hash_, made_at, label, parent, expires_at, ended_at, why = row
    return Credential(
        CredentialId(unpack(id_)),
        CredentialKind(kind),
        holder,
        authn,
        hash_,
        instant(made_at),
        None if expires_at is None else instant(expires_at),
        label,
        None if parent is None else CredentialId(unpack(parent)),
        None if ended_at is None else instant(ended_at),
        why,
    )


def opening_row(one: Opening) -> Row:
    """An opening as its row."""
    return (pack(one.interrupt), one.by, one.part, micros(one.at))


def read_opening(row: Row) -> Opening:
    """A row as its opening."""
    interrupt, by, part, at = row
    return Opening(unpack(interrupt), by, part, instant(at))
