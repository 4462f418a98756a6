"""The steps that every move is made of: what it answers, and how a card opens, closes and expires."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypedDict

from interlock.canonical import Json, canonical_bytes, digest_bytes
from interlock.domain import commands as c
from interlock.domain.action import Action, ActionKind, ActionState, Preview, RefusalKind
from interlock.domain.errors import InterlockError
from interlock.domain.events import EventType
from interlock.domain.ids import DecisionId, Digest, InterruptId
from interlock.domain.interrupt import Band, Ending, Interrupt, InterruptKind
from interlock.domain.tool import InterruptPolicy


@dataclass(frozen=True, slots=True)
class Fact:
    """An event to be: its type, what it says, and whom and which card it is about."""

    type: EventType
    body: Mapping[str, Json] = field(default_factory=dict[str, Json])
    actor: str = ""
    interrupt: InterruptId | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of it: the action, every card that changed or opened, the facts in order.

    `claimed` is True when this very command took the claim. `refusal` is what the asker is told
    where the command was refused but something (an expiry, evidence) is recorded all the same.
    """

    action: Action
    interrupts: tuple[Interrupt, ...] = ()
    facts: tuple[Fact, ...] = ()
    claimed: bool = False
    refusal: InterlockError | None = None


_CARDS = {
    ActionKind.CALL: InterruptKind.ACTION,
    ActionKind.QUESTION: InterruptKind.QUESTION,
    ActionKind.OBSERVED: InterruptKind.OBSERVED,
}


def due(action: Action, card: Interrupt | None, now: datetime) -> bool:
    """Whether the action is held and its card's deadline has passed."""
    return (
        action.state is ActionState.HELD and card is not None and card.expires_at is not None and card.expires_at <= now
    )


def hold(
    action: Action,
    new: InterruptId,
    why: str,
    now: datetime,
    event: EventType,
    *,
    previous: InterruptId | None = None,
    actor: str = "",
    body: Mapping[str, Json] | None = None,
    document: bytes | None = None,
) -> Moved:
    """The action held on a new card, with one fact of type `event`.

    `document` (see `preview_document`) is what the card shows beside the revision; its digest is then the card's.
    """
    card = Interrupt(
        id=new,
        kind=_CARDS[action.traits.kind],
        run=action.run,
        action=action.id,
        revision=action.revision,
        digest=action.digest if document is None else Digest(digest_bytes("interlock-preview/v1", document)),
        opened_at=now,
        expires_at=now + action.ruling.expires_in,
        why=why,
        previous=previous,
        document=document,
        **queued(action, _CARDS[action.traits.kind]),
    )
    held = replace(
        action,
        state=ActionState.HELD,
        interrupt=new,
        cleared_at=None,
        cleared_by=None,
        process=None,
        claimed_at=None,
        tries=0,
    )
    said: dict[str, Json] = {**(body or {}), "why": why}
    if document is not None:
        said["digest"] = card.digest
    return Moved(held, (card,), (Fact(event, said, actor, new),))


class Queued(TypedDict):
    """What finds a card in a queue."""

    band: Band
    agent: str
    tool: str


def queued(action: Action, kind: InterruptKind) -> Queued:
    """Where a new card of the action stands in the queue."""
    traits = action.traits
    band = Band.of(
        kind,
        traits.reversibility,
        reach=bool(traits.reach),
        guarded=bool(traits.tool_rev),
        proceeds=action.ruling.policy is InterruptPolicy.SOFT_CHECKPOINT,
    )
    return {"band": band, "agent": action.agent, "tool": action.tool}


def preview_document(action: Action, preview: Preview) -> bytes:
    """What a card is about that shows another preview than the proposal did: that, and the revision as before."""
    return canonical_bytes(
        {
            "v": 1,
            "kind": "preview",
            "action": action.id,
            "run": action.run,
            "tool": action.tool,
            "revision": action.revision,
            "digest": action.digest,
            **preview.facts(),
        }
    )


def refuse(
    action: Action,
    kind: RefusalKind,
    words: str,
    now: datetime,
    event: EventType,
    *,
    by: str = "",
    card: Interrupt | None = None,
    body: Mapping[str, Json] | None = None,
) -> Moved:
    """The action refused, `card` (closed already) with it, and one fact of type `event`."""
    refused = replace(action, state=ActionState.REFUSED, refusal=kind, words=words, refused_by=by, settled_at=now)
    fact = Fact(event, {**(body or {}), "kind": kind.value, "words": words}, by, card.id if card else None)
    return Moved(refused, (card,) if card else (), (fact,))


def close(card: Interrupt, ending: Ending, now: datetime, decision: DecisionId | None = None) -> Interrupt:
    """The card ended."""
    return replace(card, ending=ending, ended_at=now, decision=decision)


def expire(action: Action, card: Interrupt | None, _: c.Expire, now: datetime) -> Moved:
    """The card and its action expired, if the deadline has passed; else the action as it is."""
    if not due(action, card, now) or card is None:
        return Moved(action)
    closed = close(card, Ending.EXPIRED, now)
    return refuse(action, RefusalKind.EXPIRED, "nobody decided in time", now, EventType.INTERRUPT_EXPIRED, card=closed)


def ruling_body(action: Action) -> Json:
    """A ruling as it stands in events."""
    ruling = action.ruling
    body: dict[str, Json] = {
        "policy": ruling.policy.value,
        "profile": ruling.profile,
        "reasons": [reason.code for reason in ruling.reasons],
    }
    if ruling.wanted is not ruling.policy:
        body["wanted"] = ruling.wanted.value
    if ruling.policy_digest:
        body["policy_digest"] = ruling.policy_digest
    if ruling.rules:
        body["rules"] = list(ruling.rules)
    return body


def clock(at: datetime | None) -> str:
    """An instant as people read it."""
    return at.strftime("%Y-%m-%d %H:%M UTC") if at else "?"
