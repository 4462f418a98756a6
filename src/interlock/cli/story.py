"""The story of a run: who asked, what it read, proposed, was told and did; waiting is shown as waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import cast

from interlock.cli.headline import headline, what
from interlock.cli.standing import REFUSALS, failure, result, tree_of
from interlock.cli.values import literal, value_of
from interlock.cli.words import clock, count, label, span, who
from interlock.display import plain
from interlock.domain.events import Event, EventType
from interlock.domain.interrupt import Interrupt
from interlock.domain.tool import Reversibility
from interlock.kernel.views import ActionView, RunView
from interlock.schema import Json


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of a story. `notes` are facts below it, `agent` the agent's own words; `at` None: a waiting."""

    at: datetime | None
    who: str
    text: str
    notes: tuple[str, ...] = ()
    agent: str = ""
    tone: str = ""


class Teller:
    """Turns the events of a run into moments."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._actions: Mapping[str, ActionView] = {about.action.id: about for about in view.actions}
        self._cards: Mapping[str, Interrupt] = {card.id: card for about in view.actions for card in about.cards}
        self._read: list[Event] = []

    def tell(self) -> Iterator[Moment]:
        """All moments in order."""
        for event in self._view.events:
            if event.type is EventType.CALL_RECORDED:
                self._read.append(event)
                continue
            told = list(self._moments(event))
            if told:
                yield from self._flush()
            yield from told
        yield from self._flush()

    def _moments(self, event: Event) -> Iterator[Moment]:
        teller = _TELLERS.get(event.type)
        about = self._actions.get(event.action) if event.action else None
        if teller is not None:
            yield from teller(self, event, about)

    def _flush(self) -> Iterator[Moment]:
        steps = [event for event in self._read if str(event.body.get("tool", "")).startswith("step:")]
        reads = [event for event in self._read if event not in steps]
        self._read = []
        if reads:
            yield Moment(reads[0].at, "Read", _calls(reads), ("Reading only, so nobody was asked.",))
        if steps:
            yield Moment(steps[0].at, "Worked out", _calls(steps), ("Noted, so that it is not done twice.",))

    # -- the run ----------------------------------------------------------------------------------

    def started(self, event: Event, _: ActionView | None) -> Iterator[Moment]:
        """Who asked for what."""
        run = self._view.run
        tree = tree_of(run.input)
        given = ", ".join(_given(name, value) for name, value in tree.items()) if isinstance(tree, dict) else ""
        job = f"{plain(run.workflow, limit=60)}({given})" if run.workflow else f"the run {plain(run.id, limit=60)}"
        agent = plain(run.agent, limit=40)
        yield Moment(event.at, f"{who(event.actor) or 'Somebody'} asked", f"{agent} to do {job}")

    def ended(self, event: Event, _: ActionView | None) -> Iterator[Moment]:
        """How the run, or a pass of it, ended."""
        run = self._view.run
        other_way = f"Its code took another way: expected {_words(event, 'expected')}, it did {_words(event, 'got')}."
        failed = failure(run.failure) if run.failure else "With an error that was retried since."
        withdrawn = _words(event, "reason") or "What had not started was withdrawn."
        said = {
            EventType.RUN_FINISHED: ("Finished", f"Result: {result(run.result)}", "good"),
            EventType.RUN_FAILED: ("Failed", failed, "danger"),
            EventType.RUN_CANCELLED: (f"{who(event.actor)} cancelled", withdrawn, "danger"),
            EventType.RUN_DIVERGED: ("Stopped", other_way, "danger"),
            EventType.RUN_NEEDS_ATTENTION: ("Needs you", _words(event, "why"), "danger"),
            EventType.RUN_RETRIED: (f"{who(event.actor)} retried", "It goes on from what is recorded.", ""),
            EventType.RUN_PASS_LOST: ("Broke off", "The process that did it is gone.", "danger"),
        }
        name, text, tone = said[event.type]
        yield Moment(event.at, name, text, tone=tone)

    # -- an action --------------------------------------------------------------------------------

    def proposed(self, event: Event, about: ActionView | None) -> Iterator[Moment]:
        """An action came up: held for people, let through, or refused at once."""
        if about is None:
            return
        reasons = "; ".join(reason.words for reason in about.action.ruling.reasons)
        if event.type is EventType.ACTION_HELD:
            why = _words(event, "why") or plain(reasons)
            reasoning = about.facts.get("reasoning")
            agent = plain(reasoning, limit=160) if isinstance(reasoning, str) else ""
            yield Moment(event.at, "Proposed", _first(about), (f"Held: {why}.",), agent)
        elif event.type is EventType.ACTION_CLEARED:
            yield Moment(event.at, "Proposed", _first(about), (f"Not held: {plain(reasons)}.",))
        else:
            yield Moment(event.at, "Was refused", _first(about), (_refusal(event),), tone="danger")

    def held_again(self, event: Event, about: ActionView | None) -> Iterator[Moment]:
        """It is asked again, or an approval was taken back."""
        if about is not None:
            name = f"{who(event.actor)} took it back" if event.type is EventType.APPROVAL_REVOKED else "Held again"
            yield Moment(event.at, name, what(about), (_words(event, "why"),))

    def decided(self, event: Event, about: ActionView | None) -> Iterator[Moment]:
        """What a person said, after how long a wait."""
        if about is None:
            return
        card = self._cards.get(event.interrupt or "")
        if card is not None and event.at - card.opened_at >= timedelta(seconds=1):
            yield Moment(None, "Waited", f"{span(event.at - card.opened_at)} for a person", tone="quiet")
        name, verdict, note = who(event.actor), str(event.body.get("verdict", "")), _words(event, "note")
        said = f"“{note}”" if note else ""
        match verdict:
            case "approve":
                yield Moment(event.at, f"{name} approved", said or "What the card showed.", tone="good")
            case "modify":
                yield Moment(event.at, f"{name} changed it", _edit(about, event), (said,) if said else ())
            case "reject":
                kept = "The same is refused without asking for the rest of this run."
                yield Moment(event.at, f"{name} rejected", said or "Without a word.", (kept,), tone="danger")
            case "redirect":
                yield Moment(event.at, f"{name} redirected", said, ("The agent got these words and plans again.",))
            case "respond":
                text = f"Result: {result(about.action.result)}. The tool did not run."
                yield Moment(event.at, f"{name} answered", text, (said,) if said else ())
            case _:
                yield Moment(event.at, name, plain(verdict))

    def happened(self, event: Event, about: ActionView | None) -> Iterator[Moment]:
        """What executing it came to."""
        if about is None:
            return
        action = about.action
        tool = plain(action.tool, limit=60)
        took = (
            f" in {span(event.at - action.claimed_at)}"
            if action.claimed_at and event.at - action.claimed_at >= timedelta(seconds=1)
            else ""
        )
        match event.type:
            case EventType.ACTION_CLAIMED:
                if "tries" in event.body:
                    yield Moment(
                        event.at, "Tried again", f"{tool}: {_words(event, 'rerun')}, so a second time is harmless."
                    )
            case EventType.ACTION_DONE:
                yield Moment(
                    event.at, "Did", f"{what(about)}{took}. Result: {result(action.result)}", _undo(about), tone="good"
                )
            case EventType.ACTION_FAILED:
                yield Moment(
                    event.at,
                    "Failed",
                    f"{tool}: {failure(action.failure)}",
                    ("Known to have had no effect.",),
                    tone="danger",
                )
            case EventType.ACTION_IN_DOUBT:
                yield Moment(
                    event.at,
                    "In doubt",
                    f"{tool}: {_words(event, 'why')}.",
                    ("Nobody knows whether it happened.",),
                    tone="danger",
                )
            case EventType.LATE_OUTCOME_RECORDED:
                yield Moment(event.at, "Came late", f"{tool} turned out {_words(event, 'outcome')}.")
            case _:
                yield Moment(
                    event.at,
                    "Conflict",
                    f"{tool}: another outcome came late ({_words(event, 'outcome')}). It changed nothing.",
                    tone="danger",
                )

    def reconciled(self, event: Event, about: ActionView | None) -> Iterator[Moment]:
        """What was found about an action in doubt."""
        found = {"found_done": "It happened.", "found_failed": "It did not happen.", "run_again": "Run it again."}
        if about is not None:
            card = self._cards.get(event.interrupt or "")
            if card is not None and event.at - card.opened_at >= timedelta(seconds=1):
                yield Moment(None, "Waited", f"{span(event.at - card.opened_at)} for a person", tone="quiet")
            note = _words(event, "note")
            text = found.get(str(event.body.get("verdict")), "")
            yield Moment(event.at, f"{who(event.actor)} found", text + (f" “{note}”" if note else ""))

    def left(self, event: Event, about: ActionView | None) -> Iterator[Moment]:
        """It ended without a decision that counts."""
        if about is None:
            return
        name = {
            EventType.INTERRUPT_EXPIRED: "Expired",
            EventType.ACTION_WITHDRAWN: "Withdrawn",
            EventType.ACTION_SUPERSEDED: "Left behind",
            EventType.LATE_REJECTION_RECORDED: f"{who(event.actor)} rejected late",
            EventType.SILENCE_PROCEEDED: "Went ahead",
        }[event.type]
        yield Moment(event.at, name, f"{what(about)}. {_words(event, 'words')}".rstrip())

    def revealed(self, event: Event, about: ActionView | None) -> Iterator[Moment]:
        """Somebody looked at what the card hides."""
        if about is not None:
            paths = event.body.get("paths")
            names = ", ".join(plain(str(each), limit=40) for each in paths) if isinstance(paths, list) else ""
            yield Moment(event.at, f"{who(event.actor)} looked", f"at what is hidden: {names}")

    def rolled_back(self, event: Event, about: ActionView | None) -> Iterator[Moment]:
        """An action was undone, or not."""
        if about is None:
            return
        said = {
            EventType.ROLLBACK_STARTED: ("Undoing", ""),
            EventType.ROLLBACK_DONE: ("Undone", "good"),
            EventType.ROLLBACK_FAILED: ("Not undone", "danger"),
            EventType.ROLLBACK_CONFLICTED: ("Not undone", "danger"),
        }[event.type]
        yield Moment(event.at, said[0], f"{what(about)}. {_words(event, 'words')}".rstrip(), tone=said[1])


def _first(about: ActionView) -> str:
    """The headline as the agent proposed it: the first revision."""
    return headline(about.action.tool, about.revisions[0].arguments)


def _given(name: str, value: Json) -> str:
    shown = plain(f"{name}={literal(value)}")
    return shown if len(shown) <= 60 else f"{shown[:58]}…"


def _words(event: Event, key: str) -> str:
    said = event.body.get(key)
    return plain(said, limit=300) if isinstance(said, str) else ""


def _refusal(event: Event) -> str:
    known = {kind.value: words for kind, words in REFUSALS.items()}
    words = _words(event, "words")
    return known.get(str(event.body.get("kind")), "refused").capitalize() + (f": {words}" if words else "") + "."


def _edit(about: ActionView, event: Event) -> str:
    number = event.body.get("new_revision")
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


def _undo(about: ActionView) -> tuple[str, ...]:
    if about.tool.compensated:
        undone = about.tool.reversibility is Reversibility.REVERSIBLE
        return ("It can be undone.",) if undone else ("It cannot be undone, but made good.",)
    return ("Cannot be undone.",) if about.tool.worst.value == "irreversible" else ()


def _calls(events: list[Event]) -> str:
    said: dict[str, int] = {}
    for event in events:
        tool = str(event.body.get("tool", "")).removeprefix("step:")
        arguments = event.body.get("arguments")
        one = headline(tool, cast("dict[str, Json]", arguments) if isinstance(arguments, dict) else {}, limit=40)
        said[one] = said.get(one, 0) + 1
    shown = [one if times == 1 else f"{one} ({times} times)" for one, times in list(said.items())[:3]]
    more = len(said) - len(shown)
    return "; ".join(shown) + (f"; and {count(more, 'other call')}" if more > 0 else "")


def squeeze(moments: list[Moment]) -> list[Moment]:
    """Leave out the proposal that nobody was asked about where the next line says that it was done."""
    told: list[Moment] = []
    for moment in moments:
        before = told[-1] if told else None
        if (
            before is not None
            and before.who == "Proposed"
            and moment.who == "Did"
            and before.notes[0].startswith("Not held")
        ):
            told[-1] = replace(moment, notes=(*before.notes, *moment.notes))
        else:
            told.append(moment)
    return told


def when(moment: Moment, now: datetime) -> str:
    """The time of a moment, "" for a waiting."""
    return clock(moment.at, now) if moment.at is not None else ""


_Told = Callable[[Teller, Event, ActionView | None], Iterator[Moment]]
_TELLERS: dict[EventType, _Told] = {
    EventType.RUN_STARTED: Teller.started,
    **dict.fromkeys((
        EventType.RUN_FINISHED, EventType.RUN_FAILED, EventType.RUN_CANCELLED, EventType.RUN_DIVERGED,
        EventType.RUN_NEEDS_ATTENTION, EventType.RUN_RETRIED, EventType.RUN_PASS_LOST,
    ), Teller.ended),
    **dict.fromkeys((EventType.ACTION_HELD, EventType.ACTION_CLEARED, EventType.ACTION_REFUSED), Teller.proposed),
    **dict.fromkeys((EventType.ACTION_HELD_AGAIN, EventType.APPROVAL_REVOKED), Teller.held_again),
    EventType.DECISION_RECORDED: Teller.decided,
    EventType.VALUE_REVEALED: Teller.revealed,
    **dict.fromkeys((
        EventType.ACTION_CLAIMED, EventType.ACTION_DONE, EventType.ACTION_FAILED, EventType.ACTION_IN_DOUBT,
        EventType.LATE_OUTCOME_RECORDED, EventType.OUTCOME_CONFLICTED,
    ), Teller.happened),
    EventType.ACTION_RECONCILED: Teller.reconciled,
    **dict.fromkeys((
        EventType.INTERRUPT_EXPIRED, EventType.ACTION_WITHDRAWN, EventType.ACTION_SUPERSEDED,
        EventType.LATE_REJECTION_RECORDED, EventType.SILENCE_PROCEEDED,
    ), Teller.left),
    **dict.fromkeys((
        EventType.ROLLBACK_STARTED, EventType.ROLLBACK_DONE, EventType.ROLLBACK_FAILED, EventType.ROLLBACK_CONFLICTED,
    ), Teller.rolled_back),
}  # fmt: skip
