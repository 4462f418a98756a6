"""Small parts of rows as short JSON: traits, rulings, versions, principals, what was shown.

Each is a list whose places are fixed: new fields are appended, and a shorter list has their defaults.
The same few rulings and traits come again and again, so both directions are remembered.
"""

# ruff: noqa: D103  the head says what each pair of functions does

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import lru_cache

import orjson

from interlock.domain.action import ActionKind, Traits, Versions
from interlock.domain.decision import Shown
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.domain.ruling import Reason, Requirement, Ruling
from interlock.domain.run import Ticket
from interlock.domain.tool import InterruptPolicy
from interlock.stores.sql.times import MICROSECOND

_NO_VERSIONS = Versions()
_NOTHING_SHOWN = Shown()


@lru_cache(maxsize=1024)
def traits_bytes(traits: Traits) -> bytes:
    flags = traits.idempotent | traits.probed << 1 | traits.composite << 2 | traits.own_call_id << 3
    plain: list[object] = [traits.reversibility, flags, traits.reach, traits.tool_rev]
    if traits.kind is not ActionKind.CALL or traits.answers:
        plain += [traits.kind.value, traits.answers]
    return orjson.dumps(plain)


@lru_cache(maxsize=1024)
def read_traits(data: bytes) -> Traits:
    reversibility, flags, reach, tool_rev, *asking = orjson.loads(data)
    return Traits(
        reversibility=reversibility,
        idempotent=bool(flags & 1),
        probed=bool(flags & 2),
        composite=bool(flags & 4),
        own_call_id=bool(flags & 8),
        reach=tuple(reach),
        tool_rev=tool_rev,
        kind=ActionKind(asking[0]) if asking else ActionKind.CALL,
        answers=tuple(asking[1]) if asking else (),
    )


@lru_cache(maxsize=1024)
def ruling_bytes(ruling: Ruling) -> bytes:
    places: list[object] = [
        ruling.policy.value,
        ruling.wanted.value,
        [[reason.code, reason.words] for reason in ruling.reasons],
        ruling.profile,
        ruling.policy_digest,
        ruling.expires_in // MICROSECOND,
        ruling.approval_valid_for // MICROSECOND,
        None if ruling.window is None else ruling.window // MICROSECOND,
    ]
    if ruling.rules or ruling.requires or ruling.reason_required:
        requires = [[each.group, each.quorum] for each in ruling.requires]
        places += [ruling.rules, requires, int(ruling.reason_required)]
    return orjson.dumps(places)


@lru_cache(maxsize=1024)
def read_ruling(data: bytes) -> Ruling:
    policy, wanted, reasons, profile, policy_digest, expires_in, approval_valid_for, window, *more = orjson.loads(data)
    rules, requires, reason_required = more or ((), (), 0)
    return Ruling(
        policy=InterruptPolicy(policy),
        wanted=InterruptPolicy(wanted),
        reasons=tuple(Reason(code, words) for code, words in reasons),
        profile=profile,
        policy_digest=policy_digest,
        expires_in=timedelta(microseconds=expires_in),
        approval_valid_for=timedelta(microseconds=approval_valid_for),
        window=None if window is None else timedelta(microseconds=window),
        rules=tuple(rules),
        requires=tuple(Requirement(group, quorum) for group, quorum in requires),
        reason_required=bool(reason_required),
    )


@lru_cache(maxsize=1024)
def versions_bytes(versions: Versions) -> bytes | None:
    if versions == _NO_VERSIONS:
        return None
    return orjson.dumps([versions.agent, versions.model, versions.prompt, versions.environment])


def ticket_bytes(ticket: Ticket | None) -> bytes | None:
    if ticket is None:
        return None
    return orjson.dumps(
        [
            ticket.tools,
            ticket.actions,
            None if ticket.cost is None else str(ticket.cost),
            None if ticket.life is None else ticket.life // MICROSECOND,
            ticket.used,
            str(ticket.spent),
        ]
    )


def read_ticket(data: bytes | None) -> Ticket | None:
    if data is None:
        return None
    tools, actions, cost, life, used, spent = orjson.loads(data)
    return Ticket(
        tools=None if tools is None else tuple(tools),
        actions=actions,
        cost=None if cost is None else Decimal(cost),
        life=None if life is None else timedelta(microseconds=life),
        used=used,
        spent=Decimal(spent),
    )


def read_versions(data: bytes | None) -> Versions:
    return _NO_VERSIONS if data is None else Versions(*orjson.loads(data))


@lru_cache(maxsize=1024)
def principal_bytes(principal: Principal) -> bytes:
    return orjson.dumps([principal.kind.value, principal.name, principal.authn, principal.session])


@lru_cache(maxsize=1024)
def read_principal(data: bytes) -> Principal:
    kind, name, authn, session = orjson.loads(data)
    return Principal(PrincipalKind(kind), name, authn, session)


def shown_bytes(shown: Shown) -> bytes | None:
    if shown == _NOTHING_SHOWN:
        return None
    return orjson.dumps([shown.channel, shown.render_digest, shown.opened, shown.dwell_ms, shown.batch])


def read_shown(data: bytes | None) -> Shown:
    if data is None:
        return _NOTHING_SHOWN
    channel, render_digest, opened, dwell_ms, batch = orjson.loads(data)
    return Shown(channel, render_digest, tuple(opened), dwell_ms, batch)
