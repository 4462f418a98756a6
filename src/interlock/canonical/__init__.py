"""Canonical bytes, and the digests, effect hashes and fingerprints made of them.

Everything that is hashed, signed or compared goes through here, so that two
machines that mean the same thing hold the same bytes (RFC 8785). Pure: no I/O.
"""

from interlock.canonical.digests import (
    ACTION_DOMAIN,
    blob_digest,
    digest,
    digest_bytes,
    document_digest,
    effect_hash,
)
from interlock.canonical.encoding import canonical_bytes
from interlock.canonical.fingerprints import fingerprint, parse_fingerprint
from interlock.canonical.parsing import parse
from interlock.canonical.tree import MAX_DEPTH, MAX_INTEGER, CanonicalError, Json

__all__ = [
    "ACTION_DOMAIN",
    "MAX_DEPTH",
    "MAX_INTEGER",
    "CanonicalError",
    "Json",
    "blob_digest",
    "canonical_bytes",
    "digest",
    "digest_bytes",
    "document_digest",
    "effect_hash",
    "fingerprint",
    "parse",
    "parse_fingerprint",
]
