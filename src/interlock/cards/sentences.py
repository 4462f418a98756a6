"""Every event in one sentence: who did what to which tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from interlock.cards.headline import headline
from interlock.cards.standing import REFUSALS, edit, result
from interlock.cards.values import literal
from interlock.cards.words import count, who
from interlock.display import plain
from interlock.domain.action import ActionKind
from interlock.domain.events import Event, EventType
from interlock.kernel.views import ActionView
from interlock.schema import Json


def sentence(event: Event, about: ActionView | None) -> str:
    """An event in words; `about` is its action, where it has one that is known."""
    tell = _SENTENCES.get(event.type)
    return tell(event, about) if tell else f"{_actor(event)}: {event.type.value}"


def tool_of(event: Event, about: ActionView | None) -> str:
    """The tool that an event is about, "" where it is about none."""
    said = event.body.get("tool")
    return about.action.tool if about is not None else said if isinstance(said, str) else ""


def _actor(event: Event) -> str:
    return who(event.actor) if event.actor else "nobody"


def _words(event: Event, key: str) -> str:
    said = event.body.get(key)
    return plain(said, limit=160) if isinstance(said, str) else ""


def _because(event: Event, key: str) -> str:
    """The words under a key behind a colon; those that somebody wrote stand in quotation marks."""
    said = _words(event, key)
    return "" if not said else f": “{said}”" if key in _WRITTEN else f": {said}"


_WRITTEN = ("note", "reason", "words", "because")


def _call(event: Event, about: ActionView | None) -> str:
    """The call as it stood in the revision that the event is about, so that an edit does not change the past."""
    if about is None:
        return "an action that is not in this store"
    arguments = next(
        (each.arguments for each in about.revisions if each.number == event.revision), about.current.arguments
    )
    return f"“{headline(about.action.tool, arguments)}”"


def _run(event: Event) -> str:
    return f"run {plain(event.run or '', limit=60)}"


def _started(event: Event, _: ActionView | None) -> str:
    job = _words(event, "workflow")
    return (
        f"{_actor(event)} gave {_words(event, 'agent') or 'an agent'} {_run(event)}{f' ({job})' if job else ''} to do"
    )


def _waiting(event: Event, _: ActionView | None) -> str:
    cards = event.body.get("for")
    number = len(cards) if isinstance(cards, list) else 0
    return f"{_run(event)} waits for people: {count(number, 'open card')}" if number else f"{_run(event)} waits"


def _read(event: Event, _: ActionView | None) -> str:
    tool = _words(event, "tool")
    given = event.body.get("arguments")
    failed = ", which failed" if "failure" in event.body else ""
    name = _actor(event) if event.actor else "the agent"
    if tool.startswith("step:"):
        step = tool.removeprefix("step:")
        return f"{name} worked out {'a value' if 'lambda' in step else step}{failed}"
    said = headline(tool, cast("dict[str, Json]", given) if isinstance(given, dict) else {})
    return f"{name} read “{said}”{failed}"


def _refused(event: Event, about: ActionView | None) -> str:
    known = {kind.value: words for kind, words in REFUSALS.items()}
    why = known.get(_words(event, "kind"), "refused")
    return f"{_call(event, about)} did not run, {why}{_because(event, 'words')}"


def _held(event: Event, about: ActionView | None) -> str:
    reasons = "; ".join(each.words for each in about.action.ruling.reasons) if about else ""
    why = _words(event, "why") or plain(reasons, limit=160)
    return f"{_actor(event)} proposed {_call(event, about)}, which waits for a person: {why}"


def _cleared(event: Event, about: ActionView | None) -> str:
    reasons = "; ".join(each.words for each in about.action.ruling.reasons) if about else ""
    return f"{_actor(event)} proposed {_call(event, about)}; nobody was asked: {plain(reasons, limit=160)}"


def _decided(event: Event, about: ActionView | None) -> str:
    name, call, note = _actor(event), _call(event, about), _because(event, "note")
    match _words(event, "verdict"):
        case "modify":
            number = event.body.get("new_revision")
            old = replace(event, revision=number - 1) if isinstance(number, int) else event
            said = f" ({edit(about, number)})" if about is not None else ""
            return f"{name} changed {_call(old, about)} and approved it so{said}{note}"
        case "respond":
            if about is not None and about.action.traits.kind is not ActionKind.CALL:
                return f"{name} answered {call}: {result(about.action.result, 80)}{note}"
            return f"{name} gave the result of {call}; the tool does not run{note}"
        case "found_done":
            return f"{name} found that {call} happened{note}"
        case "found_failed":
            return f"{name} found that {call} did not happen{note}"
        case "run_again":
            return f"{name} let {call} run again{note}"
        case "approve":
            return f"{name} approved {call}{note}"
        case verdict:
            return f"{name} {verdict}ed {call}{note}"  # reject, redirect


def _revealed(event: Event, about: ActionView | None) -> str:
    paths = event.body.get("paths")
    names = ", ".join(plain(str(each), limit=40) for each in paths) if isinstance(paths, list) else "something"
    return f"{_actor(event)} looked at what the card of {_call(event, about)} hides: {names}"


def _decided_alone(event: Event, _: ActionView | None) -> str:
    chosen = event.body.get("chosen")
    what = f": {plain(literal(chosen), limit=80)}" if chosen is not None else ""
    return f"{_actor(event)} decided by itself on {_words(event, 'kind')}{what}{_because(event, 'because')}"


def _adopted(event: Event, _: ActionView | None) -> str:
    rules, before = event.body.get("rules"), "another policy" if "before" in event.body else "a policy"
    said = count(rules, "rule") if isinstance(rules, int) and rules else "no rules of its own"
    digest = plain(str(event.body.get("policy_digest", ""))[:16])
    return f"{_words(event, 'agent')} is ruled by {before} from here on: {said} ({digest}…)"


def _undecided(event: Event, about: ActionView | None) -> str:
    verdict = _words(event, "verdict").replace("_", " ")
    return f"{_actor(event)} tried to {verdict} {_call(event, about)}, which did not count [{_words(event, 'code')}]"


def _freeze(event: Event, verb: str) -> str:
    scope, name = _words(event, "scope"), _words(event, "name")
    return f"{_actor(event)} {verb} {'everything' if scope == 'all' else f'{scope} {name}'}{_because(event, 'reason')}"


def _lost(event: Event, _: ActionView | None) -> str:
    claims, runs = event.body.get("claims"), event.body.get("runs")
    held = [count(_number(claims), "action"), count(_number(runs), "run")]
    return (
        f"a process is gone; {' and '.join(held)} {'was' if _number(claims) + _number(runs) == 1 else 'were'} its own"
    )


def _given_back(event: Event, about: ActionView | None) -> str:
    if event.body.get("paused"):
        return f"{_call(event, about)} paused inside, and begins anew after that"
    return f"{_actor(event)} gave {_call(event, about)} back before it had begun"


_CREDENTIALS = {
    "login": "a link to the inbox",
    "session": "a session",
    "agent_key": "an agent's key",
    "reviewer_key": "a reviewer's key",
}


def _issued(event: Event, _: ActionView | None) -> str:
    what = _CREDENTIALS.get(_words(event, "kind"), "a credential")
    return f"{_actor(event)} made {what} for {_words(event, 'holder')}"


def _ended(event: Event, _: ActionView | None) -> str:
    what = _CREDENTIALS.get(_words(event, "kind"), "a credential")
    return f"{_actor(event)} ended {what} of {_words(event, 'holder')}: {_words(event, 'why')}"


def _number(value: Json) -> int:
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else 0


def _about(words: str, key: str = "") -> Callable[[Event, ActionView | None], str]:
    """A sentence with the call in place of `{call}`, the actor of `{who}`, and the words under `key` behind it."""

    def tell(event: Event, about: ActionView | None) -> str:
        said = words.replace("{run}", _run(event)).replace("{who}", _actor(event))
        return said.replace("{call}", _call(event, about)) + (_because(event, key) if key else "")

    return tell


_SENTENCES: dict[EventType, Callable[[Event, ActionView | None], str]] = {
    EventType.RUN_STARTED: _started,
    EventType.RUN_RESUMED: _about("{run} goes on"),
    EventType.RUN_WAITING: _waiting,
    EventType.RUN_FINISHED: _about("{run} finished"),
    EventType.RUN_FAILED: _about("{run} failed"),
    EventType.RUN_CANCELLED: _about("{who} cancelled {run}", "reason"),
    EventType.RUN_DIVERGED: _about("{run} stopped: its code took another way than the record"),
    EventType.RUN_NEEDS_ATTENTION: _about("{run} needs a person", "why"),
    EventType.RUN_RETRIED: _about("{who} let {run} go on from what is recorded"),
    EventType.RUN_PASS_LOST: _about("{run} broke off: the process that drove it is gone"),
    EventType.CALL_RECORDED: _read,
    EventType.ACTION_HELD: _held,
    EventType.ACTION_CLEARED: _cleared,
    EventType.ACTION_REFUSED: _refused,
    EventType.ACTION_HELD_AGAIN: _about("{call} waits for a person again", "why"),
    EventType.ACTION_CLAIMED: _about("{who} began {call}"),
    EventType.ACTION_GIVEN_BACK: _given_back,
    EventType.ACTION_DONE: _about("{call} was done"),
    EventType.ACTION_FAILED: _about("{call} failed, known to have had no effect"),
    EventType.ACTION_IN_DOUBT: _about("{call} is in doubt: nobody knows whether it happened", "why"),
    EventType.ACTION_RECONCILED: _decided,
    EventType.ACTION_WITHDRAWN: _about("{call} was withdrawn", "words"),
    EventType.ACTION_SUPERSEDED: _about("{call} was left behind: its run went on without it", "words"),
    EventType.ACTION_RETRIED: _about("{call} may be proposed anew"),
    EventType.COMPOSITE_SUSPENDED: _about("{call} paused inside"),
    EventType.RECONCILE_OPENED: _about("people are asked whether {call} happened", "why"),
    EventType.DECISION_RECORDED: _decided,
    EventType.DECISION_REFUSED: _undecided,
    EventType.LATE_REJECTION_RECORDED: _about("{who} rejected {call} after its card had expired", "note"),
    EventType.APPROVAL_REVOKED: _about("{who} took the approval of {call} back", "why"),
    EventType.INTERRUPT_EXPIRED: _about("nobody decided {call} in time; it did not run"),
    EventType.SILENCE_PROCEEDED: _about("nobody stopped {call} in time; it goes ahead"),
    EventType.LATE_OUTCOME_RECORDED: _about("an outcome of {call} came late and settled the doubt", "outcome"),
    EventType.OUTCOME_CONFLICTED: _about("another outcome of {call} came late; it changed nothing", "outcome"),
    EventType.ROLLBACK_STARTED: _about("{who} began to undo {call}"),
    EventType.ROLLBACK_DONE: _about("{call} was undone", "words"),
    EventType.ROLLBACK_FAILED: _about("{call} could not be undone, or that is not known", "words"),
    EventType.ROLLBACK_CONFLICTED: _about("{call} was not undone: the world had moved on", "words"),
    EventType.ANSWER_DELIVERED: _about("the framework that had paused was handed the approval of {call}"),
    EventType.VALUE_REVEALED: _revealed,
    EventType.AGENT_DECIDED: _decided_alone,
    EventType.POLICY_ADOPTED: _adopted,
    EventType.CREDENTIAL_ISSUED: _issued,
    EventType.CREDENTIAL_ENDED: _ended,
    EventType.SIGNED_IN: _about("{who} signed in to the inbox"),
    EventType.FREEZE_SET: lambda event, _: _freeze(event, "froze"),
    EventType.FREEZE_RELEASED: lambda event, _: _freeze(event, "released"),
    EventType.PROCESS_LOST: _lost,
    EventType.WORK_POISONED: _about("a piece of work for {run} was tried too often; it waits for a person", "why"),
}
