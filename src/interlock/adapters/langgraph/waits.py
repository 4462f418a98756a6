"""Calls that are on record: how they stand, what their cards show, and pausing at them once more."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from langchain_core.messages import AIMessage

from interlock.adapters.guard.executing import pause_of
from interlock.adapters.guard.frames import current
from interlock.adapters.guard.places import Named, Scope
from interlock.adapters.langgraph.borders import cross
from interlock.adapters.langgraph.calls import Calls
from interlock.adapters.langgraph.places import Spot, named_scope
from interlock.domain.action import ActionState
from interlock.domain.interrupt import Interrupt as Card
from interlock.domain.interrupt import InterruptKind
from interlock.ports.gate import Standing
from interlock.schema import tree_to_plain


class Waits:
    """Looks at calls of the tools of one agent without making them: no tool is needed for that."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def standing(self, spot: Spot, call: Mapping[str, Any]) -> Standing | None:
        """How a call stands; None where it is not on record."""
        ref = self._ref(spot, call["id"])
        if ref is None:
            return None
        return self._calls.turns.standing(spot, call["name"], ref, 1 + self._calls.retries(spot, call["id"]))

    def card(self, standing: Standing) -> Card | None:
        """The card, open or not, that asks whether the call may run."""
        card = standing.interrupt
        return card if card is not None and card.kind is InterruptKind.ACTION else None

    def waits(self, standing: Standing) -> bool:
        """Whether people are asked whether the call may run."""
        card = self.card(standing)
        return standing.action.state is ActionState.HELD and card is not None and card.open

    def shown(self, standing: Standing) -> dict[str, Any]:
        """The arguments on the card as plain values; what is sensitive is hidden."""
        shown = cast("dict[str, Any]", self._calls.guards.runtime.shown(standing.action.id))
        return {name: tree_to_plain(tree) for name, tree in shown.items()}

    def again(self, spot: Spot, call: Mapping[str, Any]) -> bool:
        """Whether the call is on record; one that still waits pauses here once more."""
        standing = self.standing(spot, call)
        if standing is None:
            return False
        if not self.waits(standing):
            return True
        guards, action = self._calls.guards, standing.action
        standing = guards.gate.park(action.id, guards.runtime.process).result()  # its time may be over
        if self.waits(standing):
            with self.driving(spot) as around:
                named = Named(spot.graph, self._ref(spot, call["id"]) or "")
                around.pass_.place_named(call["name"], named)
                scope = named_scope(around.pass_, named, around)
                pause = pause_of(guards.runtime, scope, standing, f"{action.tool} waits for a decision")
                cross(spot.task, around.pass_.park(scope, pause))
        return True

    @contextmanager
    def driving(self, spot: Spot, asynchronous: bool = False) -> Generator[Scope]:
        """Be in the run for the block, and in the scope of this task; joins what drives the run here already."""
        frame, threads = current(), self._calls.threads
        if frame is not None and threads.holds(frame.scope.pass_):
            yield frame.scope
            return
        with threads.within(self._calls.turns.whose(spot, asynchronous), spot.call) as pass_:
            yield threads.scope(pass_, spot.scope, spot.execution)

    def _ref(self, spot: Spot, call_id: str) -> str | None:
        """The call's name: the message it stands in, and its id there."""
        for message in reversed(spot.messages()):
            if (
                isinstance(message, AIMessage)
                and message.id
                and any(one["id"] == call_id for one in message.tool_calls)
            ):
                return f"{message.id}/{call_id}"
        return None
