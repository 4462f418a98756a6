"""Shows people the pauses that a graph makes by itself, and takes their answers back to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from jsonschema_rs import ValidationError, validate
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.types import Interrupt

from interlock.adapters.guard.asking import Pausing, pausing
from interlock.adapters.guard.frames import Frame, entered
from interlock.adapters.guard.guards import Guards
from interlock.adapters.guard.places import Called, Pass, Scope
from interlock.adapters.guard.tool import bind, encode
from interlock.adapters.langgraph.invocation import foreign_in
from interlock.adapters.langgraph.observed import Asked, Told, form_of
from interlock.adapters.langgraph.threads import Threads
from interlock.domain.action import arguments_bytes
from interlock.domain.errors import Interrupted, RunError

MARK = "?"
"""How the scopes of such pauses begin: by it a run is known to have some."""

LONGEST = 20_000
"""Characters of what is shown of a state; the rest is cut."""


@dataclass(frozen=True, slots=True)
class Watching:
    """What is said of a graph's own pauses where it is registered.

    `expires_in` is how long an answer is waited for (None: a day), `on_expiry` what the graph is told then.
    `decision_key` is the key of the state under which an answer to a fixed stop is put.
    """

    expires_in: timedelta | None = None
    on_expiry: str = "reject"
    decision_key: str = ""


class Observer:
    """Reports pauses in a pass of a run, and finds what was answered."""

    def __init__(self, guards: Guards, threads: Threads, watching: Watching) -> None:
        self._guards = guards
        self._threads = threads
        self.watching = watching

    def has_any(self, pass_: Pass) -> bool:
        """Whether earlier passes of the run met such a pause."""
        return any(path.startswith(MARK) for path in pass_.history)

    def report(self, pass_: Pass, node: str, interrupt: Interrupt) -> None:
        """Have people asked what an interrupt asks."""
        for path, each in self._parts(node, interrupt):
            self._ask(pass_, path, each)

    def answers(self, pass_: Pass, interrupts: Sequence[Interrupt]) -> dict[str, Any]:
        """By interrupt, what people answered, in the form of whatever asked; without those that are still open.

        Raises `RunError` where an answer is not what the node said it takes: it is not handed over.
        """
        given: dict[str, Any] = {}
        for each in foreign_in(interrupts):
            told = self._answers(pass_, self._parts(self._node(pass_, each), each))
            if told is None:
                continue
            answer = form_of(each.value).answer(each.value, told)
            schema = getattr(each, "response_schema", None)
            if isinstance(schema, Mapping):
                _check(cast("Mapping[str, Any]", schema), answer)
            given[each.id] = answer
        return given

    def stop(self, pass_: Pass, node: str, checkpoint: str, values: Any) -> Told | None:
        """Have people asked at a fixed stop of the graph; what they answered, once they have."""
        return self._ask(pass_, *self._stop(node, checkpoint, values))

    def stop_answer(self, pass_: Pass, node: str, checkpoint: str, values: Any) -> Told | None:
        """What people answered at a fixed stop, if they were asked and have answered."""
        told = self._answers(pass_, [self._stop(node, checkpoint, values)])
        return told[0] if told is not None else None

    def _stop(self, node: str, checkpoint: str, values: Any) -> tuple[str, Asked]:
        can_tell = bool(self.watching.decision_key)
        options = ("approve", "modify", "reject", "respond") if can_tell else ("approve", "reject")
        return f"{MARK}{checkpoint}:{node}", Asked(node, shown(values), options)

    def _node(self, pass_: Pass, interrupt: Interrupt) -> str:
        """The node under which an interrupt was reported."""
        for path, calls in pass_.history.items():
            if path == f"{MARK}{interrupt.id}:0":
                return calls[0].tool
        return "pause"

    def _parts(self, node: str, interrupt: Interrupt) -> list[tuple[str, Asked]]:
        asked = form_of(interrupt.value).asks(node, interrupt.value)
        return [(f"{MARK}{interrupt.id}:{n}", each) for n, each in enumerate(asked)]

    def _answers(self, pass_: Pass, parts: Sequence[tuple[str, Asked]]) -> list[Told] | None:
        """What people answered to all parts the last time they were asked; None where they have not. Asks nobody.

        LangGraph gives what a node asks later the id of what it asked first: the same words again are another question.
        """
        times = [self._times_answered(pass_, path, each) for path, each in parts]
        if not all(times):
            return None
        told: list[Told] = []
        for (path, each), often in zip(parts, times, strict=True):
            told.append([cast("Told", self._ask(pass_, path, each)) for _ in range(often)][-1])
        return told

    def _times_answered(self, pass_: Pass, path: str, asked: Asked) -> int:
        """How often this was asked and answered; 0 where the last time still waits."""
        reported, values = self._pausing(asked)
        tool, spec = reported.tool, reported.tool.spec
        data = arguments_bytes(encode(tool, values, check=True))
        call = Called(f"pause:{spec.name}", spec.target, data, tool.occurrence(values), tool.twin(values))
        scope, often = Scope(pass_, path, None), 0
        while (past := pass_.look_up(scope, call)) is not None:
            if past.action is None or self._guards.gate.answer(past.action) is None:
                return 0
            scope.made(call, add=1)
            often += 1
        return often

    def _pausing(self, asked: Asked) -> tuple[Pausing, dict[str, object]]:
        on_expiry = self.watching.on_expiry if self.watching.on_expiry in asked.options else "reject"
        reported = pausing(asked.name, plain(asked.payload), asked.options, None, self.watching.expires_in, on_expiry)
        return reported, bind(reported.tool, (), reported.values)

    def _ask(self, pass_: Pass, path: str, asked: Asked) -> Told | None:
        reported, values = self._pausing(asked)
        with entered(Frame(self._threads.scope(pass_, path))):
            try:
                return self._guards.interceptor.pause(reported.with_values(values))
            except Interrupted:
                return None


def plain(value: Any) -> Any:
    """A value as people are shown it and as it can be kept: messages as what they say, the rest as JSON has it."""
    text = json.dumps(value, default=_described, ensure_ascii=False)
    return json.loads(text) if len(text) <= LONGEST else {"cut": text[:LONGEST]}


def shown(values: Any) -> Any:
    """A state in what matters of it: of the conversation its last message."""
    if not isinstance(values, Mapping):
        return values
    given = dict(cast("Mapping[str, Any]", values))
    messages = given.pop("messages", None)
    if isinstance(messages, list) and messages:
        given["last_message"] = messages[-1]
    return given


def _described(value: Any) -> Any:
    if isinstance(value, AIMessage) and value.tool_calls:
        return {
            "text": value.text,
            "calls": [{"name": each["name"], "args": each["args"]} for each in value.tool_calls],
        }
    if isinstance(value, BaseMessage):
        return value.text
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return str(value)


def _check(schema: Mapping[str, Any], answer: Any) -> None:
    try:
        validate(dict(schema), answer)
    except ValidationError as error:
        raise RunError(
            "answer_does_not_fit",
            f"the node takes no such answer: {error.message}",
            "It was not handed over. Cancel the run, or mend the node's schema.",
        ) from None
