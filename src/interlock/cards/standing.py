"""Where an action stands, and what people said, in words that are true now."""

from __future__ import annotations

import json
from datetime import datetime
from typing import cast

from interlock.cards.values import value_of
from interlock.cards.words import clock, label, span, who
from interlock.display import plain
from interlock.domain.action import Action, ActionState, RefusalKind
from interlock.domain.decision import Decision, Verdict
from interlock.domain.run import Run
from interlock.kernel.views import ActionView, CardView
from interlock.schema import Json

VERDICTS = {
    Verdict.APPROVE: "approved",
    Verdict.MODIFY: "changed it and approved",
    Verdict.REJECT: "rejected",
    Verdict.RESPOND: "gave the result instead",
    Verdict.REDIRECT: "redirected",
    Verdict.FOUND_DONE: "found that it happened",
    Verdict.FOUND_FAILED: "found that it did not happen",
    Verdict.RUN_AGAIN: "said: run it again",
}
REFUSALS = {
    RefusalKind.REJECTED: "rejected",
    RefusalKind.REDIRECTED: "redirected",
    RefusalKind.EXPIRED: "expired: nobody decided in time",
    RefusalKind.DENIED: "denied",
    RefusalKind.WITHDRAWN: "withdrawn",
    RefusalKind.SUPERSEDED: "superseded: the run went on without it",
    RefusalKind.REPEATED: "refused: the same was turned down before",
    RefusalKind.NESTED_PAUSE: "refused: it would pause inside a tool that cannot pause",
    RefusalKind.TOOL_CHANGED: "refused: the tool changed meanwhile",
}


def decided(decision: Decision, now: datetime) -> str:
    """One decision: who, what, when, and the note."""
    note = f": “{plain(decision.note, limit=240)}”" if decision.note else ""
    return f"{plain(decision.by.name, limit=40)} {VERDICTS[decision.verdict]} {clock(decision.at, now)}{note}"


def standing(about: ActionView, run: Run, now: datetime) -> str:
    """Where the action stands now."""
    action = about.action
    match action.state:
        case ActionState.HELD:
            return "it waits for a decision, on a newer card"
        case ActionState.CLEARED:
            return cleared(about, run, now)
        case ActionState.EXECUTING:
            since = f" since {clock(action.claimed_at, now)}" if action.claimed_at else ""
            return f"it is running{since}"
        case ActionState.DONE:
            return _done(action, now)
        case ActionState.FAILED:
            return f"failed, known to have had no effect: {failure(action.failure)}"
        case ActionState.IN_DOUBT:
            return "in doubt: it started, and nobody knows whether it happened"
        case ActionState.REFUSED:
            words = f": “{plain(action.words, limit=240)}”" if action.words else ""
            by = f" by {who(action.refused_by)}" if action.refused_by and action.refused_by != "policy" else ""
            return f"{REFUSALS[action.refusal] if action.refusal else 'refused'}{by}{words}. It was not run"
        case ActionState.ROLLING_BACK:
            return "it is being rolled back"
        case ActionState.ROLLED_BACK:
            return "it was done, and rolled back"
        case ActionState.ROLLBACK_FAILED:
            return f"it was done; rolling it back failed: {plain(action.words, limit=200)}"
        case ActionState.ROLLBACK_CONFLICT:
            return f"it was done and not rolled back: {plain(action.words, limit=200)}"


def state_of(view: CardView) -> str:
    """What whoever shows a card compares to see whether it still tells the truth."""
    action = view.about.action
    newest = view.about.cards[-1].id if view.about.cards else ""
    ended = view.card.ending.value if view.card.ending else "open"
    return f"{ended}.{action.state.value}.{action.tries}.{newest[-6:]}.{len(view.freezes)}"


def cleared(about: ActionView, run: Run, now: datetime) -> str:
    """Approved, or let through, and not started yet: until when that holds."""
    action = about.action
    if action.cleared_at is None or action.cleared_by is None:
        return "cleared; it runs when its run goes on"
    until = action.cleared_at + action.ruling.approval_valid_for
    if until <= now:
        return f"the approval of {clock(action.cleared_at, now)} is too old by now: it will be asked again"
    goes_on = "" if run.workflow else " when its program enters the run again"
    return f"approved, not started yet{goes_on}; the approval holds until {clock(until, now)} ({span(until - now)})"


def _done(action: Action, now: datetime) -> str:
    at = f" {clock(action.settled_at, now)}" if action.settled_at else ""
    if action.answered_by:
        return f"done by the word of {who(action.answered_by)}{at}; result: {result(action.result)}"
    return f"done{at}; result: {result(action.result)}"


def edit(about: ActionView, number: object) -> str:
    """What a person changed to make the revision of this number: `To “a@x.example” → “b@x.example”`."""
    if not isinstance(number, int) or not 2 <= number <= len(about.revisions):
        return "Other arguments."
    before, after = about.revisions[number - 2], about.revisions[number - 1]
    old, new = before.arguments, after.arguments
    changed = [name for name in new if before.exact.get(name) != after.exact[name]]
    return (
        "; ".join(f"{label(name)} {_brief(name, old.get(name))} → {_brief(name, new[name])}" for name in changed)
        or "Nothing."
    )


def _brief(name: str, tree: Json) -> str:
    value = value_of(name, tree)
    shown = (value.short or value.whole).replace("\n", " ")
    return f"“{shown}”" if value.kind == "text" else shown


def tree_of(data: bytes | None) -> Json:
    """Kept canonical bytes as typed encoding."""
    return cast("Json", json.loads(data)) if data else None


def result(data: bytes | None, limit: int = 100) -> str:
    """A recorded result in a few words."""
    tree = tree_of(data)
    if isinstance(tree, dict) and tree.get("$t") == "opaque":
        parts = cast("list[str]", tree["v"])
        return f"{plain(': '.join(map(str, parts[:2])), limit=limit)} (could not be stored)"
    value = value_of("", tree)
    if value.kind == "nothing":
        return "nothing"
    whole = value.whole if "\n" not in value.whole else " ".join(line.strip() for line in value.whole.split("\n"))
    shown = whole if len(whole) <= limit else f"{whole[:limit]}… ({len(whole):,} characters)"
    return f"“{shown}”" if value.kind == "text" else shown


def failure(data: bytes | None, limit: int = 200) -> str:
    """A recorded failure: its class and message."""
    tree = tree_of(data)
    if not isinstance(tree, dict):
        return "no reason was recorded"
    name = str(tree.get("type") or "").rpartition(":")[2]
    message = str(tree.get("message") or "")
    return plain(": ".join(part for part in (name, message) if part), limit=limit)
