"""The JSON of `--json`: keys that stay. Times are ISO 8601 in UTC, arguments plain JSON with the typed form beside it.
What is hidden or masked on a card is so here, too: `hidden` names it, and `interlock reveal` shows it.

- a card: fingerprint id kind digest open ending revision opened_at expires_at ended_at why previous now what action
  run agent_says reasons; from `show` also arguments typed hidden preview no_preview tool_expects slices checks answers
  revisions decisions cards others frozen needs_whole folded mode
- an action: id state tool agent attempt reversibility reach cost policy profile rules reason_required answered_by
  refusal words result failure
- a run: id state agent workflow thread owner started_at updated_at pass attention ticket result failure
- a decision: id verdict by at note revision digest channel mode
- a receipt: verdict state late replayed decision card next outlook shown
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from interlock.cards.headline import needs_whole, what, what_card
from interlock.cards.standing import tree_of
from interlock.cards.whole import Whole, folded
from interlock.display import mask_secrets
from interlock.domain.decision import Decision
from interlock.domain.events import Event
from interlock.domain.interrupt import Interrupt
from interlock.domain.lifecycle import verdicts
from interlock.domain.run import Freeze, Run, Ticket
from interlock.kernel.knew import Said
from interlock.kernel.shown import hidden_paths, masked_value, shown_plain
from interlock.kernel.views import ActionView, CardView, RunView
from interlock.schema import Json

Shape = dict[str, object]


def instant(at: datetime | None) -> str | None:
    """An instant as ISO 8601 in UTC."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds")


def plain_value(data: bytes | None) -> object:
    """A recorded result or failure as plain JSON, secrets masked."""
    return None if data is None else shown_plain("", tree_of(data))


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


def card_whole(page: Whole, *, exact: bool = False) -> Shape:
    """A card with everything that belongs to it; with `exact`, also its document as it is hashed."""
    view = page.view
    about = view.about
    shape = card_head(view)
    arguments = dict(page.arguments)
    shape |= {
        "arguments": {name: shown_plain(name, tree) for name, tree in arguments.items()},
        "typed": {name: masked_value(name, tree) for name, tree in arguments.items()},
        "hidden": hidden_paths(arguments, about.tool),
        **_told(view),
        "revisions": [
            {"number": each.number, "digest": each.digest, "by": each.by, "at": instant(each.at)}
            for each in about.revisions
        ],
        "decisions": [decision(each) for each in about.decisions],
        "cards": [interrupt(each) for each in about.cards],
        "others": [interrupt(each) for each in view.siblings],
        "frozen": [freeze(each) for each in view.freezes],
        "needs_whole": needs_whole(about.tool),
        "folded": [*folded(view, page.arguments)],
        "knew": {
            "messages": [said(each) for each in page.knew.said],
            "whole": page.knew.whole,
        },
        "mode": "solo",
    }
    if exact:
        text, whole = document(view)
        shape["document"] = mask_secrets(text)
        shape["document_whole"] = whole and shape["document"] == text
    return shape


def said(message: Said) -> Shape:
    """One message of what the agent knew."""
    calls = [{"tool": name, "arguments": mask_secrets(arguments)} for name, arguments in message.calls]
    return {
        "role": message.role,
        "text": mask_secrets(message.text),
        **({"name": message.name} if message.name else {}),
        **({"calls": calls} if calls else {}),
        **({"failed": True} if message.failed else {}),
    }


def document(view: CardView) -> tuple[str, bool]:
    """The canonical document that the card's digest is of, secrets not masked yet, and whether it is whole.

    Where values are hidden they are hidden here as well, and the salt with them: with it they could be guessed.
    """
    if view.card.document is not None:
        return view.card.document.decode(), True
    revision = next(each for each in view.about.revisions if each.number == view.card.revision)
    if revision.arguments == revision.exact:
        return revision.document.decode(), True
    shown = {**json.loads(revision.document), "salt": "[hidden]", "arguments": revision.arguments}
    return json.dumps(shown, sort_keys=True, separators=(",", ":"), ensure_ascii=False), False


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
        "ticket": _ticket(row.ticket),
        "result": plain_value(row.result),
        "failure": plain_value(row.failure),
    }


def _ticket(ticket: Ticket | None) -> Shape | None:
    return None if ticket is None else {**ticket.terms(), "used": ticket.used, "spent": f"{ticket.spent:f}"}


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
                "arguments": {name: shown_plain(name, tree) for name, tree in about.current.arguments.items()},
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
        "body": {key: masked_value(key, each) for key, each in row.body.items()},
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
    facts = {key: masked_value("", each) for key, each in facts.items()}
    sure = facts.get("confidence")
    return {
        "reasoning": facts.get("reasoning"),
        "expected": facts.get("expected"),
        "confidence": float(str(sure["v"])) if isinstance(sure, dict) else sure,
        "uncertainty": facts.get("uncertainty") or [],
        "considered": facts.get("considered") or [],
    }


def _told(view: CardView) -> Shape:
    """What the tool's own code says, never the agent."""
    preview, facts = view.preview, view.about.facts
    return {
        "preview": masked_value("", preview.text) if preview is not None else None,
        "no_preview": masked_value("", preview.failed) if preview is not None and preview.text is None else None,
        "tool_expects": masked_value("", facts.get("tool_expects")),
        "slices": facts.get("slices") or {},
        "checks": masked_value("", facts.get("notes") or []),
        "answers": [each.value for each in verdicts(view.about.action)] if view.card.open else [],
    }
