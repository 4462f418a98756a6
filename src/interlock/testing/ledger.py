"""What the ledger has, in a form that assertions ask and failure texts show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from interlock.canonical import parse
from interlock.display import plain
from interlock.domain.action import ActionState
from interlock.domain.events import Event, EventType
from interlock.domain.ids import ActionId, RunId
from interlock.domain.run import Run
from interlock.kernel import ActionView, Kernel, RunView
from interlock.schema import Json, fill, tree_to_plain
from interlock.testing.matching import matches, recorded_call

_PAGE = 500

_DONE = (ActionState.DONE, ActionState.ROLLING_BACK, ActionState.ROLLED_BACK, ActionState.ROLLBACK_CONFLICT)

_MEANINGS = {
    ActionState.CLEARED: "may run, and has not started",
    ActionState.EXECUTING: "is executing",
    ActionState.DONE: "ran",
    ActionState.FAILED: "failed, without an effect",
    ActionState.IN_DOUBT: "is in doubt: it started, and nobody knows whether it happened",
    ActionState.ROLLING_BACK: "ran, and is being rolled back",
    ActionState.ROLLED_BACK: "ran, and was rolled back",
    ActionState.ROLLBACK_FAILED: "ran; rolling it back failed",
    ActionState.ROLLBACK_CONFLICT: "ran, and was not rolled back: the world had moved on",
}


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a tool: what it was given, in which run, and whether it is known to have ended well."""

    tool: str
    arguments: Mapping[str, Json]
    run: RunId
    done: bool

    def __str__(self) -> str:
        ended = "" if self.done else ", and did not end well"
        return f"{recorded_call(self.tool, self.arguments)}  in run {str(self.run)!r}{ended}"


class Ledger:
    """Reads one store anew at each question. Steps and free reads count as tools that started."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def runs(self) -> Iterator[Run]:
        """Every run, newest first."""
        after = None
        while page := self._kernel.runs((), _PAGE, after):
            yield from page
            after = page[-1].id

    def story(self, run: RunId) -> RunView | None:
        """A run with its actions and events."""
        return self._kernel.story(run)

    def events(self) -> Iterator[Event]:
        """Every event in the order of the commits."""
        # As they were written: what is hidden from people is compared all the same.
        yield from (event for _, event in self._kernel.events_forwards())

    def tools(self) -> set[str]:
        """The names of all tools that were ever called here."""
        proposed = {about.action.tool for run in self.runs() for about in self._view(run.id).actions}
        return proposed | {str(each.body["tool"]) for each in self.events() if each.type is EventType.CALL_RECORDED}

    def starts(self, tool: str, arguments: Mapping[str, object]) -> list[Start]:
        """Every start of a tool with these arguments (those that are named), in order.

        A claim that was given back before the tool had begun is none; a second try with the same key is one. A tool
        that paused by itself, and began anew after that, has started once.
        """
        paused: set[ActionId] = set()
        found: dict[str, list[Start]] = {}
        for event in self.events():
            if event.type is EventType.CALL_RECORDED and event.body["tool"] == tool:
                given = self._whole(event.body.get("arguments") or {})
                found[event.id] = [Start(tool, given, event.run or RunId(""), "failure" not in event.body)]
            elif event.type in (EventType.ACTION_CLAIMED, EventType.ACTION_GIVEN_BACK) and event.action is not None:
                about = self._kernel.action(event.action)
                if about is None or about.action.tool != tool:
                    continue
                mine = found.setdefault(event.action, [])
                if event.body.get("paused"):
                    paused.add(event.action)
                elif event.type is EventType.ACTION_GIVEN_BACK:
                    mine.pop()
                elif event.action in paused:
                    paused.discard(event.action)
                else:
                    done = about.action.state in _DONE
                    ran = self._whole(_of_revision(about, event.revision))
                    mine.append(Start(tool, ran, about.action.run, done))
        return [start for starts in found.values() for start in starts if matches(start.arguments, arguments)]

    def whole(self, about: ActionView) -> Mapping[str, Json]:
        """The arguments that count now, with what is hidden from people or stored apart."""
        return self._whole(about.current.exact)

    def _whole(self, arguments: object) -> Mapping[str, Json]:
        return cast(
            "dict[str, Json]", fill(cast("Json", dict(cast("Mapping[str, Json]", arguments))), self._kernel.blob)
        )

    def _view(self, run: RunId) -> RunView:
        view = self._kernel.story(run)
        assert view is not None, "a run is never taken away"
        return view

    # -- telling ---------------------------------------------------------------------------------

    def tell(self, run: RunId) -> list[str]:
        """One run in lines: its state, then each action with what became of it."""
        view = self._view(run)
        lines = [f"run {view.run.id!r}{_job(view.run)}: {state_of(view)}"]
        lines += [f"  {number}. {_told(about)}" for number, about in enumerate(view.actions, 1)]
        reads = [event for event in view.events if event.type is EventType.CALL_RECORDED]
        lines += [
            f"  -  {recorded_call(str(each.body['tool']), cast('dict[str, Json]', each.body.get('arguments') or {}))}"
            "  nobody had to be asked"
            for each in reads
        ]
        return lines if len(lines) > 1 else [*lines, "  no tool was called"]

    def tell_all(self) -> list[str]:
        """Every run in lines, the oldest first."""
        return [line for run in reversed(list(self.runs())) for line in self.tell(run.id)] or ["no run at all"]


def _job(run: Run) -> str:
    return f" of {plain(run.workflow, limit=60)}" if run.workflow else ""


def _of_revision(about: ActionView, number: int | None) -> Mapping[str, Json]:
    return next((each.exact for each in about.revisions if each.number == number), about.current.exact)


def _told(about: ActionView) -> str:
    return f"{recorded_call(about.action.tool, about.current.arguments)}  {what_became_of(about)}"


def what_became_of(about: ActionView) -> str:
    """Where an action stands, in words; with the reasons of the policy where nobody was asked."""
    action = about.action
    if action.state is ActionState.HELD:
        card = next((card for card in about.cards if card.open), None)
        return f"waits for a person (card {card.fingerprint})" if card else "waits for a person"
    if action.state is ActionState.REFUSED:
        words = f": {plain(action.words, limit=120)}" if action.words else ""
        return f"never ran: {action.refusal.value if action.refusal else 'refused'}{words}"
    if action.answered_by and action.claimed_at is None:
        return f"did not run: {plain(action.answered_by, limit=60)} gave the result"
    asked = [f"{each.by.name} said {each.verdict.value}" for each in about.decisions]
    nobody = "nobody was asked: " + "; ".join(reason.words for reason in action.ruling.reasons)
    return f"{_MEANINGS[action.state]} ({plain(', '.join(asked) or nobody, limit=160)})"


def state_of(view: RunView) -> str:
    """Where a run stands, in words."""
    run = view.run
    said = run.state.value.replace("_", " ")
    if run.attention:
        said += f": {plain(run.attention, limit=200)}"
    for data, name in ((run.result, "result"), (run.failure, "failure")):
        if data is not None:
            said += f", {name} {plain(repr(plain_value(data)), limit=120)}"
    return said


def plain_value(data: bytes) -> object:
    """A recorded value as plain JSON."""
    return tree_to_plain(parse(data))
