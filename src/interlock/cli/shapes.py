"""The JSON of `--json`: keys that stay. Times are ISO 8601 in UTC, arguments plain JSON with the typed form beside it.

- a card: fingerprint id kind digest open ending revision opened_at expires_at ended_at why previous now what action
  run agent_says reasons; from `show` also arguments typed revisions decisions cards others frozen needs_whole folded
  mode
- an action: id state tool agent attempt reversibility reach cost policy profile rules reason_required answered_by
  refusal words result failure
- a run: id state agent workflow thread owner started_at updated_at pass attention result failure
- a decision: id verdict by at note revision digest channel mode
- a receipt: verdict state late replayed decision card next outlook shown
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

from interlock.cli.card import Page
from interlock.cli.headline import needs_whole, what, what_card
from interlock.cli.standing import tree_of
from interlock.cli.values import value_of
from interlock.domain.decision import Decision
from interlock.domain.events import Event
from interlock.domain.interrupt import Interrupt
from interlock.domain.run import Freeze, Run
from interlock.kernel.views import ActionView, CardView, RunView
from interlock.schema import Json, tree_to_plain

Shape = dict[str, object]


def instant(at: datetime | None) -> str | None:
    """An instant as ISO 8601 in UTC."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds")


def plain_value(data: bytes | None) -> object:
    """A recorded result or failure as plain JSON."""
    return None if data is None else tree_to_plain(tree_of(data))


def card_head(view: CardView) -> Shape:
    """A card as it stands in a list."""
    card = view.card
    return {
        **interrupt(card),
        "why": card.why,
        "previous": card.previous,
        "now": instant(view.now),
        "what": what_card(view),
        "action": action(view.about),
        "run": run(view.run),
        "agent_says": agent_says(view.about.facts),
        "reasons": [{"code": reason.code, "words": reason.words} for reason in view.about.action.ruling.reasons],
    }


def interrupt(card: Interrupt) -> Shape:
    """A card by itself."""
    return {
        "fingerprint": card.fingerprint,
        "id": card.id,
        "kind": card.kind.value,
        "digest": card.digest,
        "open": card.open,
        "ending": card.ending.value if card.ending else None,
        "revision": card.revision,
        "opened_at": instant(card.opened_at),
        "expires_at": instant(card.expires_at),
        "ended_at": instant(card.ended_at),
    }


def card_whole(page: Page, *, exact: bool = False) -> Shape:
    """A card with everything that belongs to it; with `exact`, also its document as it is hashed."""
    view = page.view
    about = view.about
    shape = card_head(view)
    arguments = dict(page.arguments)
    shape |= {
        "arguments": tree_to_plain(arguments),
        "typed": arguments,
        "revisions": [
            {"number": each.number, "digest": each.digest, "by": each.by, "at": instant(each.at)}
            for each in about.revisions
        ],
        "decisions": [decision(each) for each in about.decisions],
        "cards": [interrupt(each) for each in about.cards],
        "others": [interrupt(each) for each in view.siblings],
        "frozen": [freeze(each) for each in view.freezes],
        "needs_whole": needs_whole(about.tool),
        "folded": [name for name, tree in page.arguments.items() if value_of(name, tree).folded],
        "mode": "solo",
    }
    if exact:
        shape["document"] = document(view).decode()
    return shape


def document(view: CardView) -> bytes:
    """The canonical bytes that the card's digest is of."""
    if view.card.document is not None:
        return view.card.document
    return next(each.document for each in view.about.revisions if each.number == view.card.revision)


def action(about: ActionView) -> Shape:
    """An action as it stands."""
    row, tool = about.action, about.tool
    return {
        "id": row.id,
        "state": row.state.value,
        "tool": row.tool,
        "agent": row.agent,
        "attempt": row.attempt,
        "reversibility": tool.reversibility.value if tool.reversibility else None,
        "reach": sorted(each.value for each in tool.reach),
        "cost": str(tool.cost) if tool.cost is not None else None,
        "policy": row.ruling.policy.value,
        "profile": row.ruling.profile,
        "rules": [*row.ruling.rules],
        "reason_required": row.ruling.reason_required,
        "answered_by": row.answered_by or None,
        "refusal": row.refusal.value if row.refusal else None,
        "words": row.words or None,
        "result": plain_value(row.result),
        "failure": plain_value(row.failure),
    }


def run(row: Run) -> Shape:
    """A run as it stands."""
    return {
        "id": row.id,
        "state": row.state.value,
        "agent": row.agent,
        "workflow": row.workflow or None,
        "thread": row.thread or None,
        "owner": row.owner or None,
        "started_at": instant(row.started_at),
        "updated_at": instant(row.updated_at),
        "pass": row.pass_no,
        "attention": row.attention or None,
        "result": plain_value(row.result),
        "failure": plain_value(row.failure),
    }


def run_whole(view: RunView) -> Shape:
    """A run with its actions and events."""
    return {
        "run": run(view.run),
        "now": instant(view.now),
        "input": plain_value(view.run.input),
        "actions": [
            {
                **action(about),
                "what": what(about),
                "digest": about.action.digest,
                "arguments": tree_to_plain(cast("dict[str, Json]", dict(about.current.arguments))),
                "cards": [interrupt(each) for each in about.cards],
                "decisions": [decision(each) for each in about.decisions],
            }
            for about in view.actions
        ],
        "events": [event(each) for each in view.events],
    }


def event(row: Event) -> Shape:
    """An event; its body is typed encoding, as it is recorded."""
    return {
        "id": row.id,
        "type": row.type.value,
        "at": instant(row.at),
        "actor": row.actor,
        "action": row.action,
        "interrupt": row.interrupt,
        "body": dict(row.body),
    }


def decision(row: Decision) -> Shape:
    """A decision that counts."""
    return {
        "id": row.id,
        "verdict": row.verdict.value,
        "by": str(row.by),
        "at": instant(row.at),
        "note": row.note or None,
        "revision": row.revision,
        "digest": row.digest,
        "channel": row.shown.channel,
        "mode": row.mode,
    }


def freeze(stop: Freeze) -> Shape:
    """A freeze in force."""
    return {
        "scope": stop.scope,
        "name": stop.name or None,
        "by": stop.by,
        "at": instant(stop.at),
        "reason": stop.reason or None,
    }


def agent_says(facts: Mapping[str, Json]) -> Shape:
    """What the agent claims: its words, never facts."""
    sure = facts.get("confidence")
    return {
        "reasoning": facts.get("reasoning"),
        "expected": facts.get("expected"),
        "confidence": float(str(sure["v"])) if isinstance(sure, dict) else sure,
        "uncertainty": facts.get("uncertainty") or [],
        "considered": facts.get("considered") or [],
    }
