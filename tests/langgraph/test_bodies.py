"""What goes into a tool and comes out of it: cancelled, unfit, not to be kept, or looking like something of ours."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from tests.langgraph.agents import GO, THREAD, Ledger, agent, is_over, refusals, results, texts
from tests.langgraph.scripted import calls, says

from interlock.adapters.langgraph.tools import PACKED, only_sync, pack, unpack
from interlock.domain.errors import CallError, ResultNotStored
from interlock.testing import Rehearsal, respond

PAY = calls(("pay", {"what": "rent"}))


@pytest.fixture
def stage() -> Any:
    with Rehearsal() as stage:
        yield stage


def states(stage: Rehearsal) -> list[list[str]]:
    return [[action.state.value for action in stage.actions(run.id)] for run in stage.il.kernel.runs()]


# -- cancelled ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("registered", [True, False])
def test_a_synchronous_tool_is_let_end_when_its_asynchronous_call_is_cancelled(
    stage: Rehearsal, registered: bool
) -> None:
    ledger: list[str] = []
    began, may_end = threading.Event(), threading.Event()

    def pay(what: str) -> str:
        began.set()
        assert may_end.wait(30)
        ledger.append(f"paid {what}")
        return "paid"

    made = agent(
        stage.il,
        [PAY, says()],
        [StructuredTool.from_function(pay, description="Pay.")],
        registered=registered,
    )

    async def cancelled() -> None:
        await made.ainvoke(GO, THREAD)
        await asyncio.to_thread(stage.reviewer.decide, "approve")
        going = asyncio.ensure_future(made.ainvoke(None, THREAD))
        assert await asyncio.to_thread(began.wait, 30)
        going.cancel()
        await asyncio.sleep(0)
        open_meanwhile = await asyncio.to_thread(stage.reviewer.open)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await going
        assert open_meanwhile == ()
        await made.ainvoke(None, THREAD)

    asyncio.run(cancelled())
    assert (ledger, states(stage), stage.reviewer.open()) == (["paid rent"], [["done"]], ())
    assert (texts(made), is_over(made)) == (["paid"], True)


def test_only_what_has_an_asynchronous_form_of_its_own_can_be_cancelled() -> None:
    def act(what: str) -> str:
        return what

    async def act_async(what: str) -> str:
        return what

    class Own(BaseTool):
        name: str = "own"
        description: str = "own"

        def _run(self, what: str) -> str:
            return what

    class OwnAsync(Own):
        async def _arun(self, what: str) -> str:
            return what

    both = StructuredTool.from_function(act, act_async, description="both")
    assert [only_sync(each) for each in (StructuredTool.from_function(act, description="x"), Own())] == [True, True]
    assert [only_sync(each) for each in (both, OwnAsync())] == [False, False]


# -- arguments that do not fit --------------------------------------------------------------------------


def deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


@pytest.mark.parametrize("registered", [True, False])
@pytest.mark.parametrize("value", [float("nan"), "a\ud800", deep(40)])
def test_the_model_is_told_of_arguments_that_cannot_be_kept(stage: Rehearsal, value: Any, registered: bool) -> None:
    ran: list[Any] = []

    @tool
    def pay(what: Any) -> str:
        """Pay."""
        ran.append(what)
        return "paid"

    made = agent(stage.il, [calls(("pay", {"what": value})), says()], [pay], registered=registered)
    made.invoke(GO, THREAD)
    assert (refusals(made), ran, is_over(made), stage.reviewer.open()) == (["not_storable"], [], True, ())
    assert "Nothing was proposed." in texts(made)[0]


def test_a_call_that_a_middleware_inside_made_unfit_is_told_to_the_model_too(stage: Rehearsal) -> None:
    class Edits(AgentMiddleware[Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tool_call={**request.tool_call, "args": {"what": float("inf")}}))

    @tool
    def pay(what: Any) -> str:
        """Pay."""
        raise AssertionError(what)

    made = agent(stage.il, [PAY, says()], [pay], inside=[Edits()], said={"pay": "reversible"})
    made.invoke(GO, THREAD)
    assert (refusals(made), is_over(made)) == (["not_storable"], True)


# -- calls without an id --------------------------------------------------------------------------------


def test_a_call_that_the_model_gave_no_id_gets_one_and_is_answered(stage: Rehearsal) -> None:
    ledger = Ledger()
    line = AIMessage("", tool_calls=[{"name": "pay", "args": {"what": "rent"}, "id": None, "type": "tool_call"}] * 2)
    made = agent(stage.il, [line, says()], [ledger.tool("pay")])
    made.invoke(GO, THREAD)
    for view in stage.reviewer.open():
        stage.reviewer.desk.approve(view.card.id, digest=view.card.digest)
    made.invoke(None, THREAD)
    assert (ledger, is_over(made)) == (["pay rent", "pay rent"], True)
    assert len({each.tool_call_id for each in results(made)}) == 2


def test_a_call_without_an_id_is_refused_before_anybody_is_asked(stage: Rehearsal) -> None:
    ledger = Ledger()
    line = AIMessage("", tool_calls=[{"name": "pay", "args": {"what": "rent"}, "id": None, "type": "tool_call"}])
    builder: Any = StateGraph(MessagesState)
    builder.add_node("think", lambda _: {"messages": [line]})
    tools: Any = stage.il.guard([ledger.tool("pay")], reversibility="irreversible")
    builder.add_node("tools", ToolNode(tools, handle_tool_errors=False))
    builder.add_edge(START, "think")
    builder.add_edge("think", "tools")
    builder.add_edge("tools", END)
    with pytest.raises(CallError, match="no_call_id"):
        builder.compile(checkpointer=InMemorySaver()).invoke(GO, THREAD)
    assert (ledger, stage.reviewer.open()) == ([], ())


# -- results --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [{PACKED: ["json", b"[1]"]}, {PACKED: ["msgpack", "zzz"]}, {PACKED: "x"}])
def test_a_result_that_looks_like_what_we_pack_comes_back_as_it_was(value: Any) -> None:
    kept = pack(value)
    assert (unpack("pay", None, kept), kept != value) == (value, True)


def test_rows_of_earlier_versions_are_read_as_before() -> None:
    kept = pack([AIMessage("x")])
    assert unpack("pay", None, kept) == [AIMessage("x")]
    assert unpack("pay", None, {PACKED: ["msgpack", "zzz"]}) == {PACKED: ["msgpack", "zzz"]}
    with pytest.raises(ResultNotStored, match="LangGraph cannot read it any more"):
        unpack("pay", None, {PACKED: ["bogus", b"x"]})


@pytest.mark.parametrize("value", [{PACKED: ["msgpack", "zzz"]}, {PACKED: ["json", "[1]"]}])
def test_what_a_reviewer_says_instead_is_never_unpacked(stage: Rehearsal, value: Any) -> None:
    made = agent(stage.il, [PAY, says()], [Ledger().tool("pay")])
    made.invoke(GO, THREAD)
    stage.reviewer.decide(respond(value))
    made.invoke(None, THREAD)
    assert (PACKED in texts(made)[0], is_over(made)) == (True, True)


def test_a_result_that_cannot_be_kept_is_done_and_its_caller_gets_it(stage: Rehearsal) -> None:
    lock, got = threading.Lock(), list[Any]()
    ran: list[str] = []

    @tool(response_format="content_and_artifact")
    def pay(what: str) -> Any:
        """Pay."""
        ran.append(what)
        return "paid", lock

    class Looks(AgentMiddleware[Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            got.append(handler(request).artifact)
            raise KeyboardInterrupt  # the process dies before LangGraph has kept the answer

    made = agent(stage.il, [PAY, says()], [pay], outside=[Looks()])
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    with pytest.raises(KeyboardInterrupt):
        made.invoke(None, THREAD)
    assert (got, states(stage), stage.reviewer.open()) == ([lock], [["done"]], ())
    later = agent(stage.il, [PAY, says()], [pay], saver=made.checkpointer)
    later.invoke(None, THREAD)
    assert (ran, refusals(later), is_over(later)) == (["rent"], ["result_not_stored"], True)
