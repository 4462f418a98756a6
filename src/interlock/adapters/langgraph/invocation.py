# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
# What runs in a graph has no types of its own.
"""A call of a registered graph: its pass, its frames, and what it is told about the input."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AnyMessage, HumanMessage, convert_to_messages
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from interlock.adapters.guard.frames import Frame, running_task
from interlock.adapters.guard.places import Pass
from interlock.adapters.langgraph.borders import is_ours
from interlock.adapters.langgraph.edited import Edited
from interlock.adapters.langgraph.places import Spot, here
from interlock.adapters.langgraph.threads import Threads


@dataclass(slots=True)
class Invocation:
    """One call of a registered graph: its pass, whether a node ran, and the pauses met in it that are not ours."""

    pass_: Pass
    entered: bool = False
    foreign: dict[str, tuple[str, Interrupt]] = field(default_factory=dict[str, tuple[str, Interrupt]])
    edited: Edited = field(default_factory=Edited)

    def met(self, node: str, pause: GraphInterrupt) -> None:
        """Remember what a pause of others asks; it comes by at every border around the node that made it."""
        for each in foreign_in(pause.args[0] if pause.args else ()):
            self.foreign.setdefault(each.id, (node, each))


class RootFrame(Frame):
    """The frame of a call of a registered graph, outside its nodes."""

    __slots__ = ("invocation",)

    def __init__(self, invocation: Invocation) -> None:
        super().__init__(invocation.pass_.root)
        self.locate = lambda: self
        self.invocation = invocation


class NodeFrame(Frame):
    """The frame of one task of a registered graph; tasks that it starts get frames of their own."""

    __slots__ = ("invocation", "spot", "threads")

    def __init__(self, invocation: Invocation, threads: Threads, spot: Spot, outer: Frame) -> None:
        scope = threads.scope(invocation.pass_, invocation.edited.scope_name(spot), spot.execution)
        invocation.edited.expect(spot, scope)
        super().__init__(scope, outer.inside, outer.parent, running_task())
        self.locate = self._here
        self.invocation = invocation
        self.spot = spot
        self.threads = threads

    def _here(self) -> Frame:
        spot = here()
        if spot is None or spot.task == self.spot.task:
            return self
        return NodeFrame(self.invocation, self.threads, spot, self)


def invocation_of(frame: Frame | None) -> Invocation | None:
    """The call of a registered graph that a frame belongs to."""
    return frame.invocation if isinstance(frame, (NodeFrame, RootFrame)) else None


def with_turn(input: Any) -> tuple[Any, str]:
    """The input with an id on its last human message, and that id: it tells this turn of a conversation from others."""
    said = cast("Mapping[str, Any]", input).get("messages") if isinstance(input, Mapping) else None
    if said is None:
        return input, ""
    try:
        messages: list[AnyMessage] = cast("Any", convert_to_messages(said if isinstance(said, list) else [said]))
    except Exception:
        return input, ""  # LangGraph will say what is wrong with it
    places = [n for n, each in enumerate(messages) if isinstance(each, HumanMessage)]
    if not places:
        return input, ""
    last = messages[places[-1]]
    if last.id is None:
        last = messages[places[-1]] = last.model_copy(update={"id": str(uuid.uuid4())})
    return {**cast("Mapping[str, Any]", input), "messages": messages}, cast("str", last.id)


def foreign_in(interrupts: Sequence[Interrupt]) -> list[Interrupt]:
    """The interrupts that are not ours."""
    return [each for each in interrupts if not is_ours(each.value)]
