"""What hurts the users of today's gates, through LangGraph: one test or more for each public report.

The judge is always the tool's own ledger.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, TypedDict
from uuid import UUID

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import AfterValidator
from tests.langgraph.agents import (
    GO,
    THREAD,
    Ledger,
    agent,
    cards,
    go_on,
    is_over,
    refusals,
    results,
    texts,
)
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import DecisionError, InterlockError
from interlock.domain.errors import CallError
from interlock.langgraph import InterlockMiddleware, register
from interlock.testing import Rehearsal, modify, reject

PAY = [calls(("pay", {"what": "10"})), says()]

either_way = pytest.mark.parametrize("registered", [False, True], ids=["alone", "registered"])


class State(TypedDict, total=False):
    """A state of graphs without messages."""

    done: list[str]


def graph_of(stage: Rehearsal, *nodes: Callable[[State], State]) -> Any:
    """A registered graph of these nodes, one after the other."""
    made = StateGraph(State)
    names = [f"step {n}" for n in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        made.add_node(name, node)  # type: ignore[type-var]
    for before, after in zip([START, *names], [*names, END], strict=True):
        made.add_edge(before, after)
    return register(stage.il, made.compile(checkpointer=InMemorySaver(), name="job"))


@either_way
def test_p01_parallel_pauses_have_an_id_each_and_answers_go_where_they_belong(
    stage: Rehearsal, registered: bool
) -> None:
    drawn: list[tuple[str, str]] = []

    @tool
    def draw(what: str, colour: str) -> str:
        """Draw."""
        drawn.append((what, colour))
        return f"drew {what}"

    shapes = [("circle", "red"), ("square", "blue"), ("triangle", "green")]
    turn = calls(*(("draw", {"what": what, "colour": colour}) for what, colour in shapes))
    made = agent(stage.il, [turn, says()], [draw], registered=registered)
    paused = made.invoke(GO, THREAD)["__interrupt__"]
    assert len({each.id for each in paused}) == 3
    assert {each.value["interrupt"] for each in paused} == {view.card.id for view in stage.reviewer.open()}
    stage.reviewer.decide(reject("not needed"), what="triangle")
    stage.reviewer.decide(modify(colour="navy"), what="square")
    stage.reviewer.decide("approve", what="circle")
    go_on(stage, made, registered)
    assert (sorted(drawn), is_over(made)) == ([("circle", "red"), ("square", "navy")], True)
    assert refusals(made) == ["", "", "rejected"]


@either_way
def test_p02_a_bare_answer_decides_nothing_while_several_pauses_are_open(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    turn = calls(("say", {"what": "left"}), ("say", {"what": "right"}))
    made = agent(stage.il, [turn, says()], [ledger.tool("say")], registered=registered)
    made.invoke(GO, THREAD)
    with suppress(RuntimeError):  # LangGraph itself refuses it at the top
        made.invoke(Command(resume="yes"), THREAD)
    with pytest.raises(DecisionError, match="2 cards are open, and one was to be decided"):
        stage.reviewer.decide("approve")
    assert (ledger, sorted(cards(stage))) == ([], ["say left", "say right"])
    for what in ("right", "left"):
        stage.reviewer.decide("approve", what=what)
    go_on(stage, made, registered)
    assert (sorted(ledger), is_over(made)) == (["say left", "say right"], True)


@either_way
def test_p02_a_bare_answer_decides_nothing_where_the_pauses_are_in_a_child_graph(
    stage: Rehearsal, registered: bool
) -> None:
    ledger = Ledger()
    turn = calls(("say", {"what": "left"}), ("say", {"what": "right"}))
    child = create_agent(
        ScriptedModel(lines=[turn, says()]), [ledger.tool("say")], middleware=[InterlockMiddleware(stage.il)]
    )

    class Messages(TypedDict):
        messages: list[Any]

    parent = StateGraph(Messages)
    parent.add_node("child", child)
    parent.add_edge(START, "child")
    made: Any = parent.compile(checkpointer=InMemorySaver(), name="parent")
    if registered:
        made = register(stage.il, made)
    made.invoke(GO, THREAD)
    with suppress(RuntimeError):
        made.invoke(Command(resume="yes"), THREAD)
    assert (ledger, sorted(cards(stage))) == ([], ["say left", "say right"])
    stage.reviewer.decide("approve", what="left")
    stage.reviewer.decide("approve", what="right")
    go_on(stage, made, registered)
    assert sorted(ledger) == ["say left", "say right"]


def sms_assistant(il: Any, ledger: Ledger, depth: int, saver: Any = None) -> Any:
    """An agent named Assistant that has an agent named Assistant as its tool, so many deep, with `sms` at the end."""
    middleware = InterlockMiddleware(
        il, name="Assistant", tools={"Assistant": {"reversibility": "reversible", "composite": True}}
    )
    if depth == 0:
        lines = [calls(("sms", {"what": "ana"})), says()]
        return create_agent(ScriptedModel(lines=lines), [ledger.tool("sms")], middleware=[middleware], name="Assistant")
    inner = sms_assistant(il, ledger, depth - 1)

    def ask(what: str) -> str:
        """Ask the assistant."""
        said = inner.invoke({"messages": [{"role": "user", "content": what}]})
        return str(said["messages"][-1].content)

    asks = StructuredTool.from_function(ask, name="Assistant")
    lines = [calls(("Assistant", {"what": "go"})), says(f"done at {depth}")]
    return create_agent(
        ScriptedModel(lines=lines),
        [asks],
        middleware=[middleware],
        name="Assistant",
        checkpointer=saver,
    )


@either_way
def test_p06_nested_agents_of_the_same_name_are_told_apart_by_their_place(stage: Rehearsal, registered: bool) -> None:
    ledger, saver = Ledger(), InMemorySaver()

    def app(il: Any) -> Any:
        made = sms_assistant(il, ledger, 2, saver)
        return register(il, made, name="Assistant") if registered else made

    app(stage.il).invoke(GO, THREAD)
    assert (ledger, cards(stage)) == ([], ["sms ana"])
    stage.reviewer.decide("approve")
    other = stage.another()
    again = app(other)
    again.invoke(None, THREAD)
    assert (ledger, cards(stage), is_over(again)) == (["sms ana"], [], True)


def test_p08_code_before_a_pause_does_not_run_again(stage: Rehearsal) -> None:
    ledger: list[str] = []

    @stage.il.tool("reversible")
    def notify(what: str) -> None:
        ledger.append(what)

    @stage.il.tool("irreversible")
    def gate(what: str) -> None:
        ledger.append(what)

    @stage.il.tool("reversible")
    def ship() -> None:
        ledger.append("ship")

    def first(state: State) -> State:
        notify("starting")
        gate("A")
        return {}

    def second(state: State) -> State:
        notify("half way")
        gate("B")
        ship()
        return {}

    graph_of(stage, first, second).invoke({}, THREAD)
    stage.decide("approve")
    stage.decide("approve")
    assert ledger == ["starting", "A", "half way", "B", "ship"]


@either_way
def test_p10_the_same_pause_has_one_answer_also_from_a_forked_history(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    old = made.get_state(THREAD).config
    (view,) = stage.reviewer.open()
    stage.reviewer.decide("approve")
    with pytest.raises(DecisionError, match="already_decided"):
        stage.reviewer.desk.reject(view.card.id, digest=view.card.digest)
    go_on(stage, made, registered)
    fork = made.update_state(old, {"messages": []})
    for resumed in (None, Command(resume="yes"), Command(resume="no")):
        made.invoke(resumed, fork)
    assert (ledger, cards(stage)) == (["pay 10"], [])


@either_way
@pytest.mark.parametrize("how", ["silence", "exit"])
def test_p12_a_process_that_is_gone_after_the_effect_leaves_a_doubt_for_a_person(registered: bool, how: str) -> None:
    with Rehearsal(lease=timedelta(seconds=30)) as stage:
        ledger, saver = Ledger(), InMemorySaver()

        def lost() -> None:
            stage.clock.advance(timedelta(minutes=1))  # silent past its lease: as good as dead
            if how == "exit":
                raise SystemExit(9)

        first = agent(stage.il, PAY, [ledger.tool("pay", lost)], saver=saver, registered=registered)
        first.invoke(GO, THREAD)
        stage.reviewer.decide("approve")
        with suppress(BaseException):
            first.invoke(None, THREAD)
        for _ in range(2):
            again = agent(stage.another(), PAY, [ledger.tool("pay")], saver=saver, registered=registered)
            again.invoke(None, THREAD)
        if how == "exit":
            assert [view.card.kind.value for view in stage.reviewer.open()] == ["reconcile"]
        assert ledger == ["pay 10"]


class FailsAfterTools(AgentMiddleware[Any, Any]):
    """A model that cannot be reached, so often, once the tools have run."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        if self.left and not isinstance(request.messages[-1], AIMessage) and request.messages[-1].type == "tool":
            self.left -= 1
            raise ConnectionError("500")
        return handler(request)


@either_way
def test_p13_an_answer_is_not_lost_when_the_model_fails_after_it(stage: Rehearsal, registered: bool) -> None:
    ledger, fails = Ledger(), FailsAfterTools(2)
    made = agent(stage.il, PAY, [ledger.tool("pay")], outside=[fails], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    for _ in range(2):
        with pytest.raises(ConnectionError):
            made.invoke(None, THREAD)
    made.invoke(None, THREAD)
    assert (ledger, texts(made), is_over(made), cards(stage)) == (["pay 10"], ["pay 10"], True, [])


@either_way
def test_p14_a_repetition_by_the_model_and_other_arguments_are_cards_of_their_own(
    stage: Rehearsal, registered: bool
) -> None:
    ledger = Ledger()
    lines = [*PAY[:1], *PAY[:1], calls(("pay", {"what": "11"})), says()]
    made = agent(stage.il, lines, [ledger.tool("pay")], registered=registered, said={"pay": "irreversible"})
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (ledger, cards(stage)) == (["pay 10"], ["pay 10"])
    stage.reviewer.decide(reject("once is enough"))
    go_on(stage, made, registered)
    assert (ledger, cards(stage)) == (["pay 10"], ["pay 11"])


def test_p14_a_node_that_is_tried_again_pays_once(stage: Rehearsal) -> None:
    ledger: list[str] = []
    trouble = [ValueError("cannot parse that"), ValueError("cannot parse that")]

    @stage.il.tool("irreversible")
    def pay(what: str) -> str:
        ledger.append(what)
        return what

    def node(state: State) -> State:
        paid = pay("INV-7")
        if trouble:
            raise trouble.pop()
        return {"done": [paid]}

    made = graph_of(stage, node)
    made.invoke({}, THREAD)
    stage.reviewer.decide("approve")
    for _ in range(2):
        with pytest.raises(ValueError, match="parse"):
            made.invoke(None, THREAD)
    made.invoke(None, THREAD)
    assert (ledger, made.get_state(THREAD).values) == (["INV-7"], {"done": ["INV-7"]})


class Headstrong(BaseTool):
    """A tool of a class of its own, which looks at nothing."""

    name: str = "pay"
    description: str = "Pay."
    ledger: Any = None

    def _run(self, what: str) -> str:
        self.ledger.append(f"pay {what}")
        return what


@either_way
def test_p17_a_tool_that_looks_at_nothing_does_not_run_when_it_was_declined(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [Headstrong(ledger=ledger)], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide("reject")
    go_on(stage, made, registered)
    assert (ledger, refusals(made)) == ([], ["rejected"])


def test_p17_running_what_is_left_of_a_history_runs_nothing_that_was_declined(stage: Rehearsal) -> None:
    ledger = Ledger()
    pay = ledger.tool("pay")
    made = agent(stage.il, PAY, [pay])
    made.invoke(GO, THREAD)
    stage.reviewer.decide("reject")
    made.invoke(None, THREAD)
    said = next(each for each in made.get_state(THREAD).values["messages"] if isinstance(each, AIMessage))
    with pytest.raises(CallError):
        stage.il.guard(pay, reversibility="irreversible").invoke(dict(said.tool_calls[0]))
    assert ledger == []


def test_p19_no_way_of_calling_a_guarded_tool_goes_round_the_gate(stage: Rehearsal) -> None:
    ledger = Ledger()
    pay: Any = stage.il.guard(ledger.tool("pay"), reversibility="irreversible")
    ways: list[Callable[[], Any]] = [
        lambda: pay.invoke({"what": "1"}),
        lambda: pay.invoke({"name": "pay", "args": {"what": "1"}, "id": "c1", "type": "tool_call"}),
        lambda: pay.run({"what": "1"}),
        lambda: pay._run(what="1"),
        lambda: pay.func("1"),
        lambda: pay.batch([{"what": "1"}]),
        lambda: list(pay.stream({"what": "1"})),
        lambda: pay.with_retry(stop_after_attempt=1).invoke({"what": "1"}),
        lambda: pay.with_config(tags=["x"]).invoke({"what": "1"}),
        lambda: pay.bind().invoke({"what": "1"}),
        lambda: pay.model_copy().invoke({"what": "1"}),
        lambda: asyncio.run(pay.ainvoke({"what": "1"})),
        lambda: asyncio.run(pay.arun({"what": "1"})),
        lambda: asyncio.run(pay.abatch([{"what": "1"}])),
    ]
    for way in ways:
        with pytest.raises(InterlockError):
            way()
    assert ledger == []
    assert cards(stage) == []


def test_p19_a_guarded_tool_in_a_node_of_ones_own_pauses_the_graph(stage: Rehearsal) -> None:
    ledger = Ledger()
    pay: Any = stage.il.guard(ledger.tool("pay"), reversibility="irreversible")

    def node(state: State) -> State:
        return {"done": [pay.invoke({"what": "10"})]}

    made = graph_of(stage, node)
    made.invoke({}, THREAD)
    assert (ledger, cards(stage)) == ([], ["pay 10"])
    stage.decide("approve")
    assert (ledger, made.get_state(THREAD).values) == (["pay 10"], {"done": ["pay 10"]})


def test_p19_a_guarded_tool_in_a_tool_node_pauses_the_graph(stage: Rehearsal) -> None:
    class Messages(TypedDict):
        messages: list[Any]

    ledger = Ledger()
    pay: Any = stage.il.guard(ledger.tool("pay"), reversibility="irreversible")
    graph = StateGraph(Messages)
    graph.add_node("tools", ToolNode([pay]))
    graph.add_edge(START, "tools")
    made = graph.compile(checkpointer=InMemorySaver())
    said = calls(("pay", {"what": "10"}))
    said.id = "m-1"
    made.invoke({"messages": [said]}, THREAD)
    assert (ledger, cards(stage)) == ([], ["pay 10"])
    stage.reviewer.decide("approve")
    made.invoke(None, THREAD)
    assert ledger == ["pay 10"]


@either_way
def test_p26_what_the_card_shows_is_what_runs(stage: Rehearsal, registered: bool) -> None:
    paid: list[Any] = []

    def clamp(amount: int) -> int:
        return min(amount, 50)

    @tool
    def pay(amount: Annotated[int, AfterValidator(clamp)], meta: dict[str, Any]) -> str:
        """Pay."""
        paid.append((amount, dict(meta)))
        meta["tag"] = "changed by the tool"
        return "paid"

    made = agent(
        stage.il, [calls(("pay", {"amount": 100, "meta": {"tag": "x"}})), says()], [pay], registered=registered
    )
    made.invoke(GO, THREAD)
    (view,) = stage.reviewer.open()
    assert dict(view.about.current.arguments) == {"amount": 50, "meta": {"tag": "x"}}
    said = made.get_state(THREAD).values["messages"][-1]
    said.tool_calls[0]["args"]["meta"]["tag"] = "evil"
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert paid == [(50, {"tag": "x"})]


@either_way
def test_p26_a_history_that_was_changed_during_the_wait_runs_nothing(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    said = made.get_state(THREAD).values["messages"][-1].model_copy(deep=True)
    said.tool_calls[0]["args"]["what"] = "1000000"
    stage.reviewer.decide("approve")
    changed = made.update_state(THREAD, {"messages": [said]}, as_node="model")
    made.invoke(None, changed)
    assert (ledger, refusals(made)) == ([], ["call_changed"])


@either_way
def test_p27_after_an_edit_the_original_is_not_done_too(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    mail = calls(("mail", {"what": "alice"}))
    made = agent(stage.il, [mail, mail, mail, says()], [ledger.tool("mail")], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide(modify(what="bob"))
    go_on(stage, made, registered)
    assert (ledger, cards(stage), is_over(made)) == (["mail bob"], [], True)
    assert refusals(made) == ["", "repeated", "repeated"]
    assert 'mail(what="bob")' in texts(made)[0]


@either_way
def test_p30_one_no_cancels_neither_the_approved_nor_the_ungated_siblings(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    turn = calls(("calc", {"what": "2+2"}), ("write", {"what": "a"}), ("write", {"what": "b"}))
    tools = [ledger.tool("calc"), ledger.tool("write")]
    made = agent(stage.il, [turn, says()], tools, registered=registered, said={"calc": "read_only"})
    made.invoke(GO, THREAD)
    stage.reviewer.decide(reject("no"), what="b")
    stage.reviewer.decide("approve", what="a")
    go_on(stage, made, registered)
    assert (ledger, is_over(made)) == (["calc 2+2", "write a"], True)
    assert refusals(made) == ["", "", "rejected"]


@either_way
def test_p31_one_gated_call_does_not_make_its_siblings_ask(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    turn = calls(("comment", {"what": "hi"}), ("search", {"what": "x"}))
    tools = [ledger.tool("comment"), ledger.tool("search")]
    made = agent(stage.il, [turn, says()], tools, registered=registered, said={"search": "read_only"})
    made.invoke(GO, THREAD)
    assert (ledger, cards(stage)) == (["search x"], ["comment hi"])


@either_way
def test_p32_the_results_of_siblings_are_there_when_the_model_is_asked_again(
    stage: Rehearsal, registered: bool
) -> None:
    ledger, saver = Ledger(), InMemorySaver()
    turn = calls(("delete", {"what": "X"}), ("list", {"what": "all"}))
    heard: list[Any] = []

    def last(messages: Any) -> AIMessage:
        heard.extend(messages)
        return says()

    def app(il: Any) -> Any:
        tools = [ledger.tool("delete"), ledger.tool("list")]
        return agent(il, [turn, last], tools, saver=saver, registered=registered, said={"list": "read_only"})

    app(stage.il).invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    app(stage.another()).invoke(None, THREAD)
    assert [each.content for each in heard if each.type == "tool"] == ["delete X", "list all"]
    assert ledger == ["list all", "delete X"]


@either_way
def test_p33_a_rejected_call_is_not_asked_about_again(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(
        stage.il, [*[calls(("create", {"what": "notes"}))] * 10, says()], [ledger.tool("create")], registered=registered
    )
    made.invoke(GO, THREAD)
    stage.reviewer.decide("reject")
    go_on(stage, made, registered)
    assert refusals(made) == ["rejected"] + ["repeated"] * 9
    assert (ledger, cards(stage), len(stage.reviewer.seen)) == ([], [], 1)
    (run,) = stage.il.kernel.runs()
    assert run.attention


@either_way
def test_p34_the_reviewers_words_reach_the_model_as_they_were_written(stage: Rehearsal, registered: bool) -> None:
    words = "use the <EU> mailbox & say “hi”\nsecond line {0} %s \\n 日本"
    ledger, saver = Ledger(), InMemorySaver()

    def app(il: Any) -> Any:
        return agent(il, PAY, [ledger.tool("pay")], saver=saver, registered=registered)

    app(stage.il).invoke(GO, THREAD)
    stage.reviewer.decide(reject(words))
    made = app(stage.another())
    made.invoke(None, THREAD)
    assert (words in texts(made)[0], ledger) == (True, [])


class Colour(Enum):
    """Something that JSON does not know."""

    RED = "red"


KEEPABLE: list[Any] = [
    (Decimal, "0.10", Decimal("0.10")),
    (datetime, "2026-03-29T02:30:00+00:00", datetime(2026, 3, 29, 2, 30, tzinfo=UTC)),
    (date, "2026-01-01", date(2026, 1, 1)),
    (timedelta, "P1DT2S", timedelta(days=1, seconds=2)),
    (UUID, str(UUID(int=7)), UUID(int=7)),
    (Colour, "red", Colour.RED),
    (int, 2**63 - 1, 2**63 - 1),
    (tuple[int, str], [1, "two"], (1, "two")),
    (set[str], ["a", "b"], {"a", "b"}),
    (str, "e\u0301 \u202e \u200b", "e\u0301 \u202e \u200b"),
    (str | None, None, None),
    (dict[str, Any], {"$t": "int", "v": "7"}, {"$t": "int", "v": "7"}),
]


@pytest.mark.parametrize(("kind", "said", "meant"), KEEPABLE, ids=[str(each[0]) for each in KEEPABLE])
def test_p37_an_argument_reaches_the_tool_as_its_type_says(stage: Rehearsal, kind: Any, said: Any, meant: Any) -> None:
    got: list[Any] = []

    def act(value: Any) -> str:
        """Act."""
        got.append(value)
        return "done"

    act.__annotations__["value"] = kind
    made = agent(stage.il, [calls(("act", {"value": said})), says()], [tool(act)])
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    made.invoke(None, THREAD)
    assert (got, [type(each) for each in got], is_over(made)) == ([meant], [type(meant)], True)


@either_way
@pytest.mark.parametrize("odd", [float("nan"), "\ud800", complex(1, 2), Fraction(1, 3)], ids=ascii)
def test_p37_what_cannot_be_kept_is_refused_before_anybody_is_asked(
    stage: Rehearsal, odd: Any, registered: bool
) -> None:
    got: list[Any] = []

    @tool
    def act(items: list[Any]) -> str:
        """Act."""
        got.append(items)
        return "done"

    made = agent(stage.il, [calls(("act", {"items": [1, {"when": odd}]})), says()], [act], registered=registered)
    with suppress(CallError, TypeError):  # ours, or LangGraph's own where it keeps every message at once
        made.invoke(GO, THREAD)
    assert (got, cards(stage)) == ([], [])


@either_way
def test_p37_a_result_that_cannot_be_kept_does_not_repeat_the_effect(stage: Rehearsal, registered: bool) -> None:
    got: list[str] = []

    @tool
    def act(what: str) -> Any:
        """Act."""
        got.append(what)
        return Fraction(1, 3)

    made = agent(stage.il, [calls(("act", {"what": "x"})), says()], [act], registered=registered)
    made.invoke(GO, THREAD)
    old = made.get_state(THREAD).config
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    made.invoke(None, old)
    assert (got, is_over(made), texts(made)) == (["x"], True, ["1/3"])


def versions_of_send(sent: list[Any]) -> dict[str, Any]:
    """The tool `send` as it was, and as later versions have it."""

    def was(to: str, body: str) -> str:
        """Send."""
        sent.append((to, body))
        return "sent"

    def with_a_new_option(to: str, body: str, copies: int = 1) -> str:
        """Send."""
        sent.append((to, body, copies))
        return "sent"

    def with_another_name(recipient: str, body: str) -> str:
        """Send."""
        sent.append((recipient, body))
        return "sent"

    found = {"as it was": was, "a new option": with_a_new_option, "another name": with_another_name}
    made: dict[str, Any] = {name: StructuredTool.from_function(fn, name="send") for name, fn in found.items()}
    return {**made, "gone": Ledger().tool("other")}


@either_way
@pytest.mark.parametrize("version", ["as it was", "a new option", "another name", "gone"])
def test_p38_a_tool_that_changed_during_the_wait_runs_as_approved_or_not_at_all(
    stage: Rehearsal, version: str, registered: bool
) -> None:
    sent: list[Any] = []
    saver, lines = InMemorySaver(), [calls(("send", {"to": "bob", "body": "hi"})), says()]
    made = agent(stage.il, lines, [versions_of_send(sent)["as it was"]], saver=saver, registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    deployed = stage.another()
    again = agent(deployed, lines, [versions_of_send(sent)[version]], saver=saver, registered=registered)
    for _ in range(2):
        with suppress(InterlockError):
            again.invoke(None, THREAD)
    assert sent == ([("bob", "hi")] if version == "as it was" else [])
    if version != "as it was":
        assert [each.status for each in results(again)] in (["error"], [])


def test_p42_no_handling_of_errors_in_a_node_eats_the_pause(stage: Rehearsal) -> None:
    ledger: list[str] = []

    @stage.il.tool("irreversible")
    def pay(what: str) -> str:
        ledger.append(f"pay {what}")
        return what

    @stage.il.tool("reversible")
    def note(what: str) -> str:
        ledger.append(f"note {what}")
        return what

    def node(state: State) -> State:
        with suppress(BaseException):
            pay("10")
        with suppress(BaseException):
            note("went on without it")
        return {"done": ["went on"]}

    made = graph_of(stage, node)
    for resumed in ({}, None):
        assert made.invoke(resumed, THREAD)["__interrupt__"]
        assert (ledger, cards(stage), made.get_state(THREAD).values) == ([], ["pay 10"], {})
    stage.decide("approve")
    assert ledger == ["pay 10", "note went on without it"]


def test_p42_a_tool_that_catches_everything_of_the_tool_inside_eats_no_pause(stage: Rehearsal) -> None:
    ledger = Ledger()
    pay: Any = stage.il.guard(ledger.tool("pay"), reversibility="irreversible")

    @tool
    def job(what: str) -> str:
        """Do a job."""
        try:
            return str(pay.invoke({"what": what}))
        except BaseException as error:  # noqa: BLE001  as people write it
            return f"failed: {error}"

    made = agent(
        stage.il,
        [calls(("job", {"what": "10"})), says()],
        [job],
        said={"job": {"reversibility": "reversible", "composite": True}},
        registered=True,
    )
    made.invoke(GO, THREAD)
    assert (ledger, cards(stage), is_over(made)) == ([], ["pay 10"], False)
    stage.decide("approve")
    assert (ledger, texts(made), is_over(made)) == (["pay 10"], ["pay 10"], True)


@either_way
def test_p43_every_later_pause_is_seen_where_the_first_was(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    lines = [*(calls(("pay", {"what": each})) for each in ("1", "2", "3")), says()]
    made = agent(stage.il, lines, [ledger.tool("pay")], registered=registered)
    stream = made.stream(GO, THREAD)
    next(stream)
    stream.close()  # nobody watches any more
    made.invoke(None, THREAD)
    for n in range(3):
        assert (len(ledger), cards(stage)) == (n, [f"pay {n + 1}"])
        stage.reviewer.decide("approve")
        go_on(stage, made, registered)
    assert (ledger, is_over(made)) == (["pay 1", "pay 2", "pay 3"], True)


@either_way
def test_p44_the_model_is_not_asked_while_a_call_waits(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    asked: list[int] = []

    def last(messages: Any) -> AIMessage:
        asked.append(len(messages))
        return says()

    turn = calls(*(("search", {"what": each}) for each in ("a", "b", "c")))
    made = agent(stage.il, [turn, last], [ledger.tool("search")], registered=registered)
    made.invoke(GO, THREAD)
    for what in ("b", "a"):
        stage.reviewer.decide("approve", what=what)
        go_on(stage, made, registered)
        assert asked == []
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert asked == [5]
    assert texts(made) == ["search a", "search b", "search c"]


@either_way
def test_p46_the_wait_for_people_is_no_work_time(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered)
    made.step_timeout = 60
    made.invoke(GO, THREAD)
    stage.clock.advance(timedelta(hours=3))
    stage.reviewer.decide("approve")
    stage.clock.advance(timedelta(minutes=30))
    go_on(stage, made, registered)
    assert (ledger, is_over(made)) == (["pay 10"], True)


@either_way
def test_p10_many_threads_that_go_on_at_once_pay_once(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    start = threading.Barrier(8)

    def resume() -> None:
        start.wait()
        with suppress(Exception):
            made.invoke(None, THREAD)

    threads = [threading.Thread(target=resume) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made.invoke(None, THREAD)
    assert (ledger, is_over(made)) == (["pay 10"], True)
