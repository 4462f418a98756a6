"""What was to be undone and was not: the run says that a person has to look."""

from datetime import timedelta
from typing import Any

import pytest

from interlock.testing import Rehearsal


def booked(stage: Rehearsal, **hooks: Any) -> str:
    """A run that is finished, with one action that can be undone; answers the action's id."""

    def book(room: str) -> str:
        return room

    tool = stage.il.tool("compensable", interrupt_policy="none", **hooks)(book)
    with stage.il.run("job"):
        tool("A")
    return stage.actions("job")[0].id


def fails(room: str) -> None:
    raise TimeoutError("no answer")


@pytest.mark.parametrize(
    ("hooks", "words"),
    [
        ({"compensate": fails}, "book was to be undone, and that failed or is not known"),
        (
            {"compensate": lambda room: None, "precheck": lambda room: False},
            "book was to be undone, and the world had moved on",
        ),
    ],
)
def test_a_rollback_that_did_not_undo_calls_for_a_person(both: Rehearsal, hooks: Any, words: str) -> None:
    action = booked(both, **hooks)
    both.reviewer.desk.rollback(action)
    both.il.worker().run_until_idle()
    run = both.il.kernel.run("job")  # type: ignore[arg-type]
    assert run is not None
    assert (run.state.value, run.attention) == ("finished", words)
    told = [event for event in both.events("job") if event.type.value == "RunNeedsAttention"]
    assert [event.body["why"] for event in told] == [words]


def test_a_rollback_whose_process_died_calls_for_a_person(both: Rehearsal) -> None:
    action = booked(both, compensate=lambda room: None)
    doomed = both.another(lease=timedelta(seconds=5))
    doomed.kernel.start_rollback(action, "reviewer:ana")  # type: ignore[arg-type]
    both.clock.advance("1m")
    both.il.kernel.bury_dead()
    run = both.il.kernel.run("job")  # type: ignore[arg-type]
    assert run is not None
    assert run.attention == "book was to be undone, and who did it is gone"
