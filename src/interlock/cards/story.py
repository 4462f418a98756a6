"""The story of a run in moments: what was proposed, what people said of it, what was done, how the run went."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from interlock.cards.standing import REFUSALS, edit, failure, result
from interlock.cards.words import span, who
from interlock.display import plain
from interlock.domain.action import ActionKind, ActionState
from interlock.domain.events import Event, EventType
from interlock.domain.interrupt import Interrupt
from interlock.domain.tool import Reversibility
from interlock.kernel.views import ActionView, RunView


class Part(StrEnum):
    """Where a moment belongs: what was proposed, what people said of it, what was done, or the run as a whole."""

    PROPOSED = "PROPOSED"
    TOLD = "WAS TOLD"
    DID = "DID"
    RUN = "RUN"


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that happened: `who` says it in a few words, `text` and `notes` say more. `action` names its action."""

    at: datetime
    who: str
    text: str = ""
    notes: tuple[str, ...] = ()
    tone: str = ""
    part: Part = Part.RUN
    action: str = ""


class Teller:
    """Turns the events of a run into moments; what was read or worked out is told elsewhere. `full` cuts nothing."""

    def __init__(self, view: RunView, *, full: bool = False) -> None:
        self._view = view
        self._limit = 1_000_000 if full else 100
        self._actions: Mapping[str, ActionView] = {about.action.id: about for about in view.actions}
        self._cards: Mapping[str, Interrupt] = {card.id: card for about in view.actions for card in about.cards}

    def tell(self) -> Iterator[Moment]:
        """All moments in order."""
        before: set[str | None] = set()  # the actions that were held or let go before
        for event in self._view.events:
            known = _TELLERS.get(event.type)
            if event.type is EventType.ACTION_REFUSED and event.action in before:
                known = (Teller.stopped, Part.DID)
            before.add(event.action)
            about = self._actions.get(event.action) if event.action else None
            if known is None or (about is None and known[1] is not Part.RUN):
                continue
            for moment in known[0](self, event, about):
                yield replace(moment, part=known[1], action=event.action or "")

    def _result(self, about: ActionView) -> str:
        return result(about.action.result, self._limit)

    # -- the run ----------------------------------------------------------------------------------

    def ended(self, event: Event, _: ActionView | None) -> Iterator[Moment]:
        """How the run, or a pass of it, ended."""
        run = self._view.run
        other_way = f"its code took another way: expected {_words(event, 'expected')}, it did {_words(event, 'got')}"
        failed = failure(run.failure) if run.failure else "with an error that was retried since"
        withdrawn = _words(event, "reason") or "what had not started was withdrawn"
        said = {
            EventType.RUN_FINISHED: ("Finished", "", "good"),
            EventType.RUN_FAILED: ("Failed", failed, "danger"),
            EventType.RUN_CANCELLED: (f"{who(event.actor)} cancelled it", withdrawn, "danger"),
            EventType.RUN_DIVERGED: ("Stopped", other_way, "danger"),
            EventType.RUN_NEEDS_ATTENTION: ("Needs a person", _words(event, "why"), "danger"),
            EventType.RUN_RETRIED: (f"{who(event.actor)} retried it", "it goes on from what is recorded", ""),
            EventType.RUN_PASS_LOST: ("Broke off", "the process that did it is gone", "danger"),
        }
        name, text, tone = said[event.type]
        yield Moment(event.at, name, text, tone=tone)

    # -- an action --------------------------------------------------------------------------------

    def proposed(self, event: Event, about: ActionView) -> Iterator[Moment]:
        """An action came up: held for people, let through, or refused at once."""
        reasons = "; ".join(reason.words for reason in about.action.ruling.reasons)
        if event.type is EventType.ACTION_HELD:
            why = _words(event, "why") or plain(reasons)
            yield Moment(
                event.at, "", notes=(f"Held for a person: {why}{'' if why.endswith(('?', '!', '.')) else '.'}",)
            )
        elif event.type is EventType.ACTION_CLEARED:
            yield Moment(event.at, "", notes=(f"Nobody was asked: {plain(reasons)}.",))
        else:
            yield Moment(event.at, "Was refused at once", _refusal(event), tone="danger")

    def stopped(self, event: Event, _: ActionView | None) -> Iterator[Moment]:
        """It might have run, and was refused when it was about to."""
        yield Moment(event.at, "Did not run", _refusal(event), tone="danger")

    def held_again(self, event: Event, _: ActionView) -> Iterator[Moment]:
        """It is asked again, or an approval was taken back."""
        name = (
            f"{who(event.actor)} took the approval back"
            if event.type is EventType.APPROVAL_REVOKED
            else "A person is asked again"
        )
        yield Moment(event.at, name, _words(event, "why"))

    def decided(self, event: Event, about: ActionView) -> Iterator[Moment]:
        """What a person said, after how long a wait."""
        name, note = who(event.actor), _words(event, "note")
        waited = self._waited(event)
        said = f"“{note}”" if note else ""
        match str(event.body.get("verdict", "")):
            case "approve":
                yield Moment(event.at, f"{name} approved{waited}", said or "what the card showed", tone="good")
            case "modify":
                yield Moment(
                    event.at,
                    f"{name} changed it{waited}",
                    edit(about, event.body.get("new_revision")),
                    (said,) if said else (),
                )
            case "reject":
                kept = "The same is refused without asking for the rest of this run."
                yield Moment(event.at, f"{name} rejected{waited}", said or "without a word", (kept,), tone="danger")
            case "redirect":
                kept = "The agent got these words and plans again."
                yield Moment(event.at, f"{name} redirected{waited}", said, (kept,))
            case "respond":
                kind, words = about.action.traits.kind, (said,) if said else ()
                if kind is ActionKind.CALL:
                    text = f"result {self._result(about)}"
                    notes = ("The tool did not run.", *words)
                    yield Moment(event.at, f"{name} answered in its place{waited}", text, notes)
                else:
                    yield Moment(event.at, f"{name} answered{waited}", self._result(about), words, tone="good")
            case verdict:
                yield Moment(event.at, f"{name} {plain(verdict, limit=40)}{waited}")

    def _waited(self, event: Event) -> str:
        """How long its card had waited, where that is worth a word."""
        card = self._cards.get(event.interrupt or "")
        length = event.at - card.opened_at if card is not None else timedelta()
        return f" after {span(length)}" if length >= timedelta(seconds=1) else ""

    def happened(self, event: Event, about: ActionView) -> Iterator[Moment]:
        """What executing it came to."""
        action = about.action
        length = event.at - action.claimed_at if action.claimed_at else timedelta()
        took = f" after {span(length)}" if length >= timedelta(seconds=1) else ""
        match event.type:
            case EventType.ACTION_CLAIMED:
                if "tries" in event.body:
                    yield Moment(event.at, "Tried again", f"{_words(event, 'rerun')}, so a second time is harmless")
            case EventType.ACTION_DONE:
                yield Moment(event.at, f"Done{took}", f"result {self._result(about)}", _undo(about), tone="good")
            case EventType.ACTION_FAILED:
                kept = ("Known to have had no effect.",)
                yield Moment(event.at, f"Failed{took}", failure(action.failure), kept, tone="danger")
            case EventType.ACTION_IN_DOUBT:
                kept = ("Nobody knows whether it happened.",)
                known = action.state is ActionState.IN_DOUBT and action.failure is not None
                why = _words(event, "why") + (f" ({failure(action.failure)})" if known else "")
                yield Moment(event.at, f"In doubt{took}", why, kept, tone="danger")
            case EventType.LATE_OUTCOME_RECORDED:
                yield Moment(event.at, "An outcome came late", f"it was {_words(event, 'outcome')}")
            case _:
                text = f"another outcome came late ({_words(event, 'outcome')}); it changed nothing"
                yield Moment(event.at, "Conflict", text, tone="danger")

    def reconciled(self, event: Event, _: ActionView) -> Iterator[Moment]:
        """What was found about an action in doubt."""
        found = {"found_done": "It happened.", "found_failed": "It did not happen.", "run_again": "Run it again."}
        note = _words(event, "note")
        text = found.get(str(event.body.get("verdict")), "")
        name = "The tool's own probe found" if event.actor == "probe" else f"{who(event.actor)} found"
        yield Moment(event.at, name + self._waited(event), text + (f" “{note}”" if note else ""))

    def left(self, event: Event, _: ActionView) -> Iterator[Moment]:
        """It ended without a decision that counts."""
        name = {
            EventType.INTERRUPT_EXPIRED: "Expired",
            EventType.ACTION_WITHDRAWN: "Withdrawn",
            EventType.ACTION_SUPERSEDED: "Left behind",
            EventType.LATE_REJECTION_RECORDED: f"{who(event.actor)} rejected late",
            EventType.SILENCE_PROCEEDED: "Went ahead",
        }[event.type]
        yield Moment(event.at, name + self._waited(event), _words(event, "words"))

    def revealed(self, event: Event, _: ActionView) -> Iterator[Moment]:
        """Somebody looked at what the card hides."""
        paths = event.body.get("paths")
        names = ", ".join(plain(str(each), limit=40) for each in paths) if isinstance(paths, list) else ""
        yield Moment(event.at, f"{who(event.actor)} looked", f"at what is hidden: {names}")

    def handed_over(self, event: Event, _: ActionView) -> Iterator[Moment]:
        """The framework that paused by itself got its answer."""
        notes = ("What it did with it is not known here.",)
        yield Moment(event.at, "The framework was told", "", notes, tone="good")

    def rolled_back(self, event: Event, _: ActionView) -> Iterator[Moment]:
        """An action was undone, or not."""
        name, tone = {
            EventType.ROLLBACK_STARTED: (f"{who(event.actor)} had it undone", ""),
            EventType.ROLLBACK_DONE: ("Undone", "good"),
            EventType.ROLLBACK_FAILED: ("Not undone", "danger"),
            EventType.ROLLBACK_CONFLICTED: ("Not undone", "danger"),
        }[event.type]
        yield Moment(event.at, name, _words(event, "words"), tone=tone)


def _words(event: Event, key: str) -> str:
    said = event.body.get(key)
    return plain(said, limit=300) if isinstance(said, str) else ""


def _refusal(event: Event) -> str:
    known = {kind.value: words for kind, words in REFUSALS.items()}
    words = _words(event, "words")
    return known.get(str(event.body.get("kind")), "refused").capitalize() + (f": {words}" if words else "") + "."


def _undo(about: ActionView) -> tuple[str, ...]:
    if about.tool.compensated:
        undone = about.tool.reversibility is Reversibility.REVERSIBLE
        return ("It can be undone.",) if undone else ("It cannot be undone, but made good.",)
    return ("Cannot be undone.",) if about.tool.worst.value == "irreversible" else ()


_Told = Callable[[Teller, Event, Any], Iterator[Moment]]
_TELLERS: dict[EventType, tuple[_Told, Part]] = {
    **dict.fromkeys((
        EventType.RUN_FINISHED, EventType.RUN_FAILED, EventType.RUN_CANCELLED, EventType.RUN_DIVERGED,
        EventType.RUN_NEEDS_ATTENTION, EventType.RUN_RETRIED, EventType.RUN_PASS_LOST,
    ), (Teller.ended, Part.RUN)),
    **dict.fromkeys((EventType.ACTION_HELD, EventType.ACTION_CLEARED, EventType.ACTION_REFUSED),
                    (Teller.proposed, Part.PROPOSED)),
    **dict.fromkeys((EventType.ACTION_HELD_AGAIN, EventType.APPROVAL_REVOKED), (Teller.held_again, Part.TOLD)),
    EventType.DECISION_RECORDED: (Teller.decided, Part.TOLD),
    EventType.VALUE_REVEALED: (Teller.revealed, Part.TOLD),
    EventType.ANSWER_DELIVERED: (Teller.handed_over, Part.DID),
    **dict.fromkeys((
        EventType.ACTION_CLAIMED, EventType.ACTION_DONE, EventType.ACTION_FAILED, EventType.ACTION_IN_DOUBT,
        EventType.LATE_OUTCOME_RECORDED, EventType.OUTCOME_CONFLICTED,
    ), (Teller.happened, Part.DID)),
    EventType.ACTION_RECONCILED: (Teller.reconciled, Part.TOLD),
    **dict.fromkeys((
        EventType.INTERRUPT_EXPIRED, EventType.ACTION_WITHDRAWN, EventType.ACTION_SUPERSEDED,
        EventType.LATE_REJECTION_RECORDED, EventType.SILENCE_PROCEEDED,
    ), (Teller.left, Part.TOLD)),
    **dict.fromkeys((
        EventType.ROLLBACK_STARTED, EventType.ROLLBACK_DONE, EventType.ROLLBACK_FAILED, EventType.ROLLBACK_CONFLICTED,
    ), (Teller.rolled_back, Part.DID)),
}  # fmt: skip
