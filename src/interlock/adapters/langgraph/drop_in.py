# pyright: reportMissingTypeStubs=false
"""LangChain's `HumanInTheLoopMiddleware`, with the store as its authority."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from langchain.agents.middleware import human_in_the_loop as theirs
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolRuntime
from langgraph.runtime import get_runtime

from interlock.adapters.guard.intercept import Held
from interlock.adapters.guard.tool import Keywords
from interlock.adapters.langgraph.answering import Answers, DeskFor
from interlock.adapters.langgraph.borders import Border, border
from interlock.adapters.langgraph.calls import Calls
from interlock.adapters.langgraph.intercept import Declared, Guarding, InterlockMiddleware
from interlock.adapters.langgraph.places import Spot, spot_of
from interlock.adapters.langgraph.tools import GuardedTool
from interlock.adapters.langgraph.underway import Proposed
from interlock.adapters.langgraph.waits import Waits
from interlock.adapters.langgraph.wire import (
    DECISIONS,
    ON_CARD,
    Asked,
    approval,
    batch,
    batch_id,
    place_of,
    read,
    read_batch,
    response_schema,
)
from interlock.domain.action import ActionKind, Asking
from interlock.domain.errors import Interrupted, RunError, SettingsError
from interlock.ports.gate import Standing

NOTICE: str | None = inspect.signature(theirs.HumanInTheLoopMiddleware.__init__).parameters["edit_notice"].default
"""What LangChain tells a model of an edit, where nobody says otherwise."""

FREELY: Keywords = {"reversibility": "compensable", "interrupt_policy": "none"}
"""What a tool is that nobody declared and `interrupt_on` lets run: at most once, and in doubt after a crash."""

A_NO = ("reject", "redirect")
"""What a card always takes, whatever the wire allows: nobody is left with a yes as the only way."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The gated calls of a message of the model that nobody has answered, where the graph stands behind it."""

    spot: Spot
    config: RunnableConfig
    message: str
    calls: Sequence[Mapping[str, Any]]
    state: Any
    runtime: Any


class HumanInTheLoopMiddleware(InterlockMiddleware):
    """LangChain's middleware of this name, to be imported from here instead; Interlock holds, decides and records.

    `interrupt_on`, `description_prefix`, `edit_notice` and `interrupt_mode` are LangChain's. `il` is the `Interlock`;
    `name` and `tools` are those of `InterlockMiddleware`. What `interrupt_on` does not name runs without asking, unless
    `tools` or `il.declare` says that it is more than that; it is recorded, and runs at most once all the same.

    `desk` makes an answer in `Command(resume={interrupt_id: …})` a decision: a `Desk`, or a function that gives one for
    the configuration of the call, for whoever is logged in. Without it such an answer decides nothing, and people
    decide where Interlock asks them. `bare_answers=True` takes an answer without an id where exactly one pause is open.

    Raises `ValueError` as LangChain's does, and `SettingsError`.
    """

    def __init__(
        self,
        interrupt_on: Mapping[str, bool | theirs.InterruptOnConfig],
        *,
        il: Guarding,
        name: str = "",
        desk: DeskFor | None = None,
        tools: Mapping[str, Declared] | None = None,
        description_prefix: str = "Tool execution requires approval",
        edit_notice: str | None = NOTICE,
        interrupt_mode: theirs.InterruptMode = "batched",
        bare_answers: bool = False,
    ) -> None:
        checked: Any = theirs.HumanInTheLoopMiddleware(
            dict(interrupt_on),
            description_prefix=description_prefix,
            edit_notice=edit_notice,
            interrupt_mode=interrupt_mode,
        )
        super().__init__(il, name=name, tools=tools)
        self.interrupt_on: dict[str, theirs.InterruptOnConfig] = checked.interrupt_on
        self.description_prefix: str = checked.description_prefix
        self.interrupt_mode: theirs.InterruptMode = checked.interrupt_mode
        self.edit_notice: str | None = checked.edit_notice
        for tool, config in self.interrupt_on.items():
            _check(tool, config["allowed_decisions"])
        asked = frozenset(self.interrupt_on)
        self.calls = Calls(il.guards, self.agent, self.agent, asked=asked, notice=self.edit_notice or "")
        self._waits = Waits(self.calls)
        self._answers = Answers(il.guards, desk, bare=bare_answers)
        self._met: dict[str, BaseTool] = {}

    # -- what is declared ---------------------------------------------------------------------------

    def _said_of(self, tool: BaseTool) -> Keywords:
        said = self._declared.get(tool.name, {})
        guarded = self.guards.stand_ins.tool_of(getattr(tool, "func", None) or getattr(tool, "coroutine", None))
        known = {**self.guards.declared.get(tool.name, {}), **said}
        config = self.interrupt_on.get(tool.name)
        always = config is not None and "when" not in config
        if guarded is not None or always or "reversibility" in known or "interrupt_policy" in known:
            return said
        return {**FREELY, **said}

    def _before_model(self, request: Any) -> tuple[Any, list[Any] | None]:
        self._met.update((each.name, each) for each in request.tools or () if isinstance(each, BaseTool))
        return super()._before_model(request)

    def _held(self, request: ToolCallRequest) -> Held | None:
        """Whether `interrupt_on` has this call decided: asked once, where the call is new."""
        config = self.interrupt_on.get(request.tool_call["name"])
        return None if config is None else lambda: _asking(config) if _applies(config, request) else None

    # -- a call reaches its tool --------------------------------------------------------------------

    def _propose(self, around: Border, tool: GuardedTool, request: ToolCallRequest) -> Proposed:
        config = cast("Any", request).runtime.config
        with self._driving(spot_of(config), config):
            self._answer_call(request)
            try:
                return self.calls.propose(tool, cast("Any", request.tool_call), config, self._held(request))
            except Interrupted:
                self._show_call(around, request)
                raise

    async def _propose_async(self, around: Border, tool: GuardedTool, request: ToolCallRequest) -> Proposed:
        config = cast("Any", request).runtime.config
        async with _elsewhere(self._driving(spot_of(config), config, asynchronous=True)):
            await asyncio.to_thread(self._answer_call, request)
            try:
                return await self.calls.propose_async(tool, cast("Any", request.tool_call), config, self._held(request))
            except Interrupted:
                await asyncio.to_thread(self._show_call, around, request)
                raise

    @contextmanager
    def _driving(self, spot: Spot | None, config: RunnableConfig, asynchronous: bool = False) -> Generator[None]:
        """Drive the run while an answer is decided, so that no worker that the decision wakes comes in between."""
        with ExitStack() as stack:
            if spot is not None and self._answers.any(config):
                with suppress(RunError):  # somebody else does: the decision tells who was first, the call what it may
                    stack.enter_context(self._waits.driving(spot, asynchronous))
            yield

    def _answer_call(self, request: ToolCallRequest) -> None:
        config = cast("Any", request).runtime.config
        if not self._answers.any(config):
            return
        asked = self._asked_in(request, describe=False)
        if asked is None:
            return
        place, card = _place(asked), asked.card
        if self.interrupt_mode == "per_call":
            before = (card.previous or "").replace("-", "")
            self._answers.take(
                config, _hex(card.id), lambda id: id == before, [asked], lambda answer: [read(answer, asked)]
            )
        else:
            self._answers.take(
                config,
                batch_id(place, [card]),
                lambda id: id.startswith(place_of(place)),
                [asked],
                lambda answer: read_batch(answer, [asked]),
            )

    def _show_call(self, around: Border, request: ToolCallRequest) -> None:
        asked = self._asked_in(request)
        if asked is None or not asked.card.open:
            return
        if self.interrupt_mode == "per_call":
            schema = response_schema(asked.allowed, asked.tool, request.tool)
            around.shown[asked.card.id] = approval(asked, _hex(asked.card.id), schema)
        else:
            around.shown[asked.card.id] = batch(_place(asked), [asked])

    def _asked_in(self, request: ToolCallRequest, describe: bool = True) -> Asked | None:
        config, call = cast("Any", request).runtime.config, cast("Any", request.tool_call)
        spot = spot_of(config)
        standing = self._waits.standing(spot, call) if spot is not None else None
        return None if standing is None else self._asked(call, standing, request.state, describe)

    # -- a message of the model, as a batch ---------------------------------------------------------

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """In batched mode, ask about all gated calls of the model's message at once; nothing runs or is refused here.

        What people said holds where the tool is called, whichever way the graph takes there.
        """
        turn = self._turn(state, runtime)
        if turn is None or not self._to_ask(turn):
            return None
        with border(turn.spot.task) as around, self._driving(turn.spot, turn.config):
            self._answer_turn(turn)
            pauses: list[Interrupted] = []
            for call in turn.calls:
                try:
                    new = self._new(turn, call)
                    if new is not None:
                        self._put_back(self.calls.propose(*new))
                except Interrupted as pause:
                    pauses.append(pause)
            self._show_turn(around, turn, pauses)
        return None

    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The same from asynchronous code."""
        turn = await asyncio.to_thread(self._turn, state, runtime)
        if turn is None or not await asyncio.to_thread(self._to_ask, turn):
            return None
        driving = self._driving(turn.spot, turn.config, asynchronous=True)
        with border(turn.spot.task) as around:
            async with _elsewhere(driving):
                await asyncio.to_thread(self._answer_turn, turn)
                pauses: list[Interrupted] = []
                for call in turn.calls:
                    try:
                        new = await asyncio.to_thread(self._new, turn, call)
                        if new is not None:
                            await asyncio.to_thread(self._put_back, await self.calls.propose_async(*new))
                    except Interrupted as pause:
                        pauses.append(pause)
                await asyncio.to_thread(self._show_turn, around, turn, pauses)
        return None

    def _turn(self, state: Any, runtime: Any) -> Turn | None:
        messages = state["messages"]
        last = next((n for n in reversed(range(len(messages))) if isinstance(messages[n], AIMessage)), None)
        config = get_config()
        spot = spot_of(cast("Any", config))
        if self.interrupt_mode == "per_call" or last is None or spot is None or not (spot.thread and spot.durable):
            return None
        said = messages[last]
        answered = {each.tool_call_id for each in messages[last + 1 :] if isinstance(each, ToolMessage)}
        calls = [one for one in said.tool_calls if one["name"] in self.interrupt_on and one["id"] not in answered]
        return Turn(spot, config, said.id or "", calls, state, runtime) if calls and said.id else None

    def _to_ask(self, turn: Turn) -> bool:
        """Whether there is anything to do: a call that is not on record or waits, or an answer."""
        found = [self._waits.standing(turn.spot, call) for call in turn.calls]
        return self._answers.any(turn.config) or any(each is None or self._waits.waits(each) for each in found)

    def _new(
        self, turn: Turn, call: Mapping[str, Any]
    ) -> tuple[GuardedTool, Mapping[str, Any], RunnableConfig, Held] | None:
        """What to propose of a call: nothing where it is on record; one that still waits pauses here once more.

        A tool that this process has not met yet (the model spoke in another one) is asked about where it is called.
        """
        if self._waits.again(turn.spot, call):
            return None
        tool, config = self._met.get(call["name"]), self.interrupt_on[call["name"]]
        if tool is None or not _applies(config, _request(turn, call, tool)):
            return None
        return self._guarded(tool)[1], call, turn.config, lambda: _asking(config)

    def _put_back(self, proposed: Proposed) -> None:
        """Claim nothing here: the tool itself does, wherever it is called."""
        if proposed.doing is not None:
            with self.calls.handing(proposed):
                pass

    def _answer_turn(self, turn: Turn) -> None:
        if not self._answers.any(turn.config):
            return
        found = self._asked_of(turn, describe=False)
        waiting = [each for each in found if each.card.open]
        asked, place = waiting or found, turn.message
        if asked:  # where nothing waits any more, whoever was late is told of it
            self._answers.take(
                turn.config,
                batch_id(place, [each.card for each in asked]),
                lambda id: bool(waiting) and id.startswith(place_of(place)),
                asked,
                lambda answer: read_batch(answer, asked),
            )

    def _show_turn(self, around: Border, turn: Turn, pauses: Sequence[Interrupted]) -> None:
        if not pauses:
            return
        asked = [each for each in self._asked_of(turn) if each.card.open]
        shown = batch(turn.message, asked)
        around.shown.update((each.card.id, shown) for each in asked)
        raise pauses[0]

    def _asked_of(self, turn: Turn, describe: bool = True) -> list[Asked]:
        found = [(call, self._waits.standing(turn.spot, call)) for call in turn.calls]
        asked = [self._asked(call, each, turn.state, describe) for call, each in found if each is not None]
        return [each for each in asked if each is not None]

    # -- what is shown ------------------------------------------------------------------------------

    def _asked(self, call: Mapping[str, Any], standing: Standing, state: Any, describe: bool) -> Asked | None:
        """A call as the wire shows it; None where no card of ours asks whether it may run."""
        card = self._waits.card(standing)
        if card is None:
            return None
        name, args = call["name"], self._waits.shown(standing)
        config = cast("Mapping[str, Any]", self.interrupt_on.get(name) or {})
        text = config.get("description") if describe else ""
        if callable(text):
            text = cast("Callable[..., str]", text)(call, state, get_runtime())
        if text is None:
            text = f"{self.description_prefix}\n\nTool: {name}\nArgs: {args}"
        return Asked(
            tool=name,
            call_id=call["id"],
            args=args,
            given=frozenset(call["args"]),
            description=text,
            allowed=tuple(config.get("allowed_decisions", DECISIONS)),
            card=card,
            url=self.guards.runtime.url(card),
        )


@asynccontextmanager
async def _elsewhere(inner: AbstractContextManager[Any]) -> AsyncGenerator[None]:
    """A block whose entering and leaving wait for the store, from asynchronous code."""
    await asyncio.to_thread(inner.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(inner.__exit__, None, None, None)


def _check(tool: str, allowed: Sequence[str]) -> None:
    unknown = [each for each in allowed if each not in DECISIONS]
    if unknown:
        raise SettingsError(
            "bad_declaration", f"{tool}: there is no decision {unknown[0]!r}", f"Use some of {', '.join(DECISIONS)}."
        )


def _asking(config: theirs.InterruptOnConfig) -> Asking:
    allowed = config["allowed_decisions"]
    all_of_them = set(DECISIONS) <= set(allowed)
    answers = () if all_of_them else tuple(dict.fromkeys([*(ON_CARD[each] for each in allowed), *A_NO]))
    return Asking(ActionKind.CALL, "the agent's interrupt_on has a person decide it", answers)


def _applies(config: theirs.InterruptOnConfig, request: ToolCallRequest) -> bool:
    when = config.get("when")
    return when is None or bool(when(request))


def _request(turn: Turn, call: Mapping[str, Any], tool: BaseTool) -> ToolCallRequest:
    """A call as `when` sees it before it reaches its tool."""
    runtime: Any = ToolRuntime(
        state=turn.state,
        context=turn.runtime.context,
        config=turn.config,
        stream_writer=turn.runtime.stream_writer,
        tool_call_id=call["id"],
        store=turn.runtime.store,
        execution_info=turn.runtime.execution_info,
        server_info=turn.runtime.server_info,
    )
    return ToolCallRequest(tool_call=cast("Any", call), tool=tool, state=turn.state, runtime=runtime)


def _place(asked: Asked) -> str:
    return f"{asked.card.action}"


def _hex(card: str) -> str:
    return card.replace("-", "").lower()
