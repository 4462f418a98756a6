"""What must be true of a store and of the world, whatever crashed: told from the events, the rows and the witness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from crash_scenario import Session

from interlock.domain.action import Action, ActionState
from interlock.domain.events import Event, EventType
from interlock.domain.ids import RunId
from interlock.domain.run import RunState
from interlock.ports.store import Rows

_VERDICTS = {
    "approve": "cleared",
    "modify": "cleared",
    "respond": "done",
    "reject": "refused",
    "redirect": "refused",
    "found_done": "done",
    "found_failed": "failed",
    "run_again": "cleared",
}
_STEPS: dict[EventType, tuple[tuple[str, ...], str]] = {
    EventType.ACTION_HELD: (("",), "held"),
    EventType.ACTION_CLEARED: (("",), "cleared"),
    EventType.ACTION_REFUSED: (("", "cleared"), "refused"),
    EventType.ACTION_HELD_AGAIN: (("cleared",), "held"),
    EventType.APPROVAL_REVOKED: (("cleared",), "held"),
    EventType.ANSWER_DELIVERED: (("cleared",), "done"),
    EventType.ACTION_CLAIMED: (("cleared", "in_doubt"), "executing"),
    EventType.ACTION_GIVEN_BACK: (("executing",), "cleared"),
    EventType.ACTION_DONE: (("executing",), "done"),
    EventType.ACTION_FAILED: (("executing",), "failed"),
    EventType.ACTION_IN_DOUBT: (("executing", "cleared"), "in_doubt"),
    EventType.INTERRUPT_EXPIRED: (("held",), "refused"),
    EventType.ACTION_WITHDRAWN: (("held", "cleared"), "refused"),
    EventType.ACTION_SUPERSEDED: (("held", "cleared"), "refused"),
    EventType.ROLLBACK_STARTED: (("done",), "rolling_back"),
    EventType.ROLLBACK_DONE: (("rolling_back",), "rolled_back"),
    EventType.ROLLBACK_FAILED: (("rolling_back",), "rollback_failed"),
    EventType.ROLLBACK_CONFLICTED: (("rolling_back",), "rollback_conflict"),
}


def story_faults(action: Action, events: list[Event]) -> Iterator[str]:
    """Replay the events of an action: every change of state is told once, in order, and leads to the row."""
    state = ""
    for event in events:
        told = _told(state, event)
        if told is None:
            continue
        before, after = told
        if state not in before:
            yield f"{action.tool}: {event.type} was told of an action that was {state or 'new'}"
        state = after
    if state != action.state.value:
        yield f"{action.tool} is {action.state}, the events say {state}"
    for kind, key in (
        (EventType.DECISION_RECORDED, "decision"),
        (EventType.ACTION_CLAIMED, "fence"),
        (EventType.ACTION_DONE, "fence"),
    ):
        counts = Counter(str(event.body.get(key)) for event in events if event.type is kind)
        yield from (f"{action.tool}: {kind} {name} was told {n} times" for name, n in counts.items() if n > 1)


def _told(state: str, event: Event) -> tuple[tuple[str, ...], str] | None:
    if event.type is EventType.DECISION_RECORDED:
        return ("held",), _VERDICTS[str(event.body["verdict"])]
    if event.type is EventType.ACTION_RECONCILED:
        return ("in_doubt",), _VERDICTS[str(event.body["verdict"])]
    if event.type is EventType.LATE_OUTCOME_RECORDED:
        return ("in_doubt",), str(event.body["outcome"])
    return _STEPS.get(event.type)


def run_faults(events: list[Event]) -> Iterator[str]:
    """A pass begins once and ends once; a run finishes once."""
    begun, ended, passes = 0, 0, []
    for event in events:
        if event.type in (EventType.RUN_STARTED, EventType.RUN_RESUMED):
            if event.type is EventType.RUN_RESUMED:
                passes.append(event.body["pass"])
            if begun != ended:
                yield f"{event.type} came in the middle of a pass"
            begun += 1
        elif event.type in (
            EventType.RUN_WAITING,
            EventType.RUN_FINISHED,
            EventType.RUN_FAILED,
            EventType.RUN_PASS_LOST,
        ):
            ended += 1
            if begun != ended:
                yield f"{event.type} was told without a pass"
        elif event.type is EventType.RUN_RETRIED:
            ended = begun  # it had stopped for a person to look at
    if passes != sorted(set(passes)):
        yield f"passes were numbered {passes}"
    if sum(event.type is EventType.RUN_FINISHED for event in events) > 1:
        yield "the run finished twice"


def card_faults(session: Session) -> list[str]:
    """At most one open card an action, and only for an action that waits for people."""
    faults: list[str] = []

    actions = session.actions()

    def query(rows: Rows) -> None:
        for action in actions:
            cards = [card for card in rows.interrupts_of_action(action.id) if card.open]
            if len(cards) > 1:
                faults.append(f"{action.tool} has {len(cards)} open cards")
            if cards and (
                cards[-1].id != action.interrupt or action.state not in (ActionState.HELD, ActionState.IN_DOUBT)
            ):
                faults.append(f"{action.tool} is {action.state} and has an open card")

    session.kernel.store.read(query)
    return faults


def approval_faults(action: Action, events: list[Event]) -> Iterator[str]:
    """What people had to approve was claimed under an approval that was not too old, and not without one."""
    approved, held = None, False
    for event in events:
        if event.type in (EventType.ACTION_HELD, EventType.ACTION_HELD_AGAIN, EventType.APPROVAL_REVOKED):
            approved, held = None, True
        elif event.type in (EventType.DECISION_RECORDED, EventType.ACTION_RECONCILED) and event.body.get("decision"):
            approved = event.at
        elif event.type is EventType.ACTION_CLAIMED and held and "rerun" not in event.body:
            if approved is None:
                yield f"{action.tool} was claimed without an approval"
            elif event.at - approved > action.ruling.approval_valid_for:
                yield f"{action.tool} was claimed on an approval of {approved}"


def decision_faults(session: Session) -> Iterator[str]:
    """What was acknowledged to a person is in the store."""
    path = session.folder / "acknowledged"
    for decision in path.read_text().split() if path.exists() else ():
        if session.kernel.store.read(lambda rows, decision=decision: rows.decision(decision)) is None:
            yield f"decision {decision} was acknowledged and is lost"


def all_faults(session: Session, ended: str) -> list[str]:
    """Everything that is wrong at the end."""
    faults: list[str] = []
    runs = session.runs()
    if not runs or not (runs[-1].state is RunState.FINISHED or _visible(session, runs[-1].state)):
        faults.append(f"the run is {ended}, and nobody is asked to look")
    faults += [f"run {run.id} was left {run.state}" for run in runs[:-1] if run.state is not RunState.CANCELLED]
    unfinished = (ActionState.EXECUTING, ActionState.ROLLING_BACK)
    actions = session.actions()
    faults += [f"{each.tool} is {each.state}, and nobody is at it" for each in actions if each.state in unfinished]
    if session.pending():
        faults.append("work is left over")
    for run in runs:
        events = _events(session, run.id)
        for action in (each for each in actions if each.run == run.id):
            told = [event for event in events if event.action == action.id]
            faults += [*story_faults(action, told), *approval_faults(action, told)]
        faults += run_faults(events)
    faults += [*session.world_faults(ended), *decision_faults(session)]
    return faults


def _visible(session: Session, state: RunState) -> bool:
    return state is RunState.NEEDS_ATTENTION or bool(session.desk.open())


def _events(session: Session, run: RunId) -> list[Event]:
    found: list[tuple[int, Any]] = []
    while batch := session.kernel.events(run, 500, str(found[-1][0]) if found else None):
        found += batch
    return [event for _, event in found]
