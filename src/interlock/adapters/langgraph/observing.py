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

from interlock.adapters.guard.asking import pausing
from interlock.adapters.guard.frames import Frame, entered
from interlock.adapters.guard.guards import Guards
from interlock.adapters.guard.places import Pass
from interlock.adapters.guard.tool import bind
from interlock.adapters.langgraph.invocation import foreign_in
from interlock.adapters.langgraph.observed import Asked, Told, form_of
from interlock.adapters.langgraph.threads import Threads
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
        self._told(pass_, node, interrupt)

    def answers(self, pass_: Pass, interrupts: Sequence[Interrupt]) -> dict[str, Any]:
        """By interrupt, what people answered, in the form of whatever asked; without those that are still open.

        Raises `RunError` where an answer is not what the node said it takes: it is not handed over.
        """
        found: dict[str, Any] = {}
        for each in foreign_in(interrupts):
            told = self._told(pass_, self._node(pass_, each), each)
            if told is None:
                continue
            answer = form_of(each.value).answer(each.value, told)
            schema = getattr(each, "response_schema", None)
            if isinstance(schema, Mapping):
                _check(cast("Mapping[str, Any]", schema), answer)
            found[each.id] = answer
        return found

    def stop(self, pass_: Pass, node: str, checkpoint: str, values: Any) -> Told | None:
        """Have people asked at a fixed stop of the graph; what they answered, once they have."""
        can_tell = bool(self.watching.decision_key)
        options = ("approve", "modify", "reject", "respond") if can_tell else ("approve", "reject")
        return self._ask(pass_, f"{MARK}{checkpoint}:{node}", Asked(node, shown(values), options))

    def _node(self, pass_: Pass, interrupt: Interrupt) -> str:
        """The node under which an interrupt was reported."""
        for path, calls in pass_.history.items():
            if path == f"{MARK}{interrupt.id}:0":
                return calls[0].tool
        return "pause"

    def _told(self, pass_: Pass, node: str, interrupt: Interrupt) -> list[Told] | None:
        asked = form_of(interrupt.value).asks(node, interrupt.value)
        told = [self._ask(pass_, f"{MARK}{interrupt.id}:{n}", each) for n, each in enumerate(asked)]
        return None if any(each is None for each in told) else cast("list[Told]", told)

    def _ask(self, pass_: Pass, path: str, asked: Asked) -> Told | None:
        on_expiry = self.watching.on_expiry if self.watching.on_expiry in asked.options else "reject"
        payload = plain(asked.payload)
        reported = pausing(asked.name, payload, asked.options, None, self.watching.expires_in, on_expiry)
        ready = reported.with_values(bind(reported.tool, (), reported.values))
        with entered(Frame(self._threads.scope(pass_, path))):
            try:
                return self._guards.interceptor.pause(ready)
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
