"""One call of an agent, and all that stands around it: other middlewares, kinds of tools, arguments, results."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, ToolErrorMiddleware, ToolRetryMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from pydantic import BaseModel, Field, field_validator
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

from interlock import NoEffect
from interlock.domain.errors import CallError, SettingsError
from interlock.langgraph import InterlockMiddleware
from interlock.testing import Rehearsal, modify, redirect, reject, respond

PAY = [calls(("pay", {"what": "10"})), says()]

either_way = pytest.mark.parametrize("registered", [False, True], ids=["alone", "registered"])
either_side = pytest.mark.parametrize("side", ["outside", "inside"])


class Passing(AgentMiddleware[Any, Any]):
    """Hands every call on as it is; the middlewares below do something beside."""

    def __init__(self) -> None:
        super().__init__()
        self.caught: list[str] = []
        self.requests: list[Any] = []

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        self.requests.append(request)
        return handler(request)


class CatchesAll(Passing):
    """Makes a message of whatever is raised."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(request)
        except Exception as error:  # noqa: BLE001  as people write it
            self.caught.append(type(error).__name__)
            return ToolMessage(f"failed: {error}", tool_call_id=request.tool_call["id"], status="error")


class Rewrites(Passing):
    """Changes what the model said, behind the back of whoever has looked at it."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        call = {**request.tool_call, "args": {"what": "1000000"}}
        return handler(request.override(tool_call=call))


class Answers(Passing):
    """Answers by itself instead of running the tool."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return ToolMessage("from the cache", tool_call_id=request.tool_call["id"])


class RunsTwice(Passing):
    """Runs a call two times, and gives the second answer."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        handler(request)
        return handler(request)


def retries(**options: Any) -> ToolRetryMiddleware:
    return ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False, **options)


def errors() -> ToolErrorMiddleware:
    return ToolErrorMiddleware(lambda error, request: f"failed: {error}")


HANDLERS: list[Callable[[], Any]] = [retries, errors, CatchesAll, Passing]


# -- middlewares that handle errors -------------------------------------------------------------------

every_handler = pytest.mark.parametrize(
    ("handler", "side", "registered"),
    [
        (handler, side, registered)
        for handler in HANDLERS
        for side in ("outside", "inside")
        for registered in (False, True)
        if registered or (handler, side) != (CatchesAll, "outside")  # see the test of what is swallowed there
    ],
)


@every_handler
def test_no_handler_of_errors_eats_a_pause_or_repeats_a_call(
    stage: Rehearsal, handler: Callable[[], Any], side: Any, registered: bool
) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered, **{side: [handler()]})
    assert made.invoke(GO, THREAD)["__interrupt__"]
    made.invoke(None, THREAD)
    assert (ledger, cards(stage), results(made)) == ([], ["pay 10"], [])
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (ledger, texts(made), is_over(made)) == (["pay 10"], ["pay 10"], True)


def test_what_catches_everything_outside_can_swallow_a_pause_of_a_graph_that_is_not_registered_and_runs_nothing(
    stage: Rehearsal,
) -> None:
    ledger, catches = Ledger(), CatchesAll()
    made = agent(stage.il, PAY, [ledger.tool("pay")], outside=[catches])
    made.invoke(GO, THREAD)
    assert (catches.caught, is_over(made)) == (["GraphInterrupt"], True)
    assert (ledger, cards(stage)) == ([], [])  # the handler's words answered the call: nobody is asked in vain
    (run,) = stage.il.kernel.runs()
    assert [str(each.refusal) for each in stage.actions(run.id)] == ["superseded"]


@every_handler
def test_no_handler_of_errors_turns_a_refusal_into_anything_else(
    stage: Rehearsal, handler: Callable[[], Any], side: Any, registered: bool
) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered, **{side: [handler()]})
    made.invoke(GO, THREAD)
    stage.reviewer.decide(reject("not today"))
    go_on(stage, made, registered)
    assert (ledger, refusals(made), is_over(made)) == ([], ["rejected"], True)
    assert "not today" in texts(made)[0]


def test_every_handler_at_once_inside_and_outside_leaves_one_card_and_one_effect(stage: Rehearsal) -> None:
    ledger, catches = Ledger(), CatchesAll()
    outside, inside = [catches, retries()], [errors(), Passing()]
    made = agent(stage.il, PAY, [ledger.tool("pay")], outside=outside, inside=inside, registered=True)
    made.invoke(GO, THREAD)
    stage.decide("approve")
    assert (ledger, is_over(made), catches.caught) == (["pay 10"], True, [])


@either_way
@either_side
def test_a_retry_of_an_irreversible_call_that_may_have_happened_runs_nothing_and_a_person_is_asked(
    stage: Rehearsal, side: Any, registered: bool
) -> None:
    ledger = Ledger()

    def breaks() -> None:
        raise ConnectionError("gone")

    made = agent(stage.il, PAY, [ledger.tool("pay", breaks)], registered=registered, **{side: [retries()]})
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert ledger == ["pay 10"]
    assert [view.card.kind.value for view in stage.reviewer.open()] == ["reconcile"]
    assert not is_over(made)


@either_way
@either_side
def test_a_retry_of_a_call_that_had_no_effect_is_another_action_that_is_asked_about(
    stage: Rehearsal, side: Any, registered: bool
) -> None:
    ledger = Ledger()
    trouble = [NoEffect("the bank was closed")]

    def breaks() -> None:
        if trouble:
            ledger.pop()
            raise trouble.pop()

    made = agent(stage.il, PAY, [ledger.tool("pay", breaks)], registered=registered, **{side: [retries()]})
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert ledger == []
    assert cards(stage) == ["pay 10"]
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (ledger, texts(made), is_over(made)) == (["pay 10"], ["pay 10"], True)


@either_way
@either_side
def test_a_retry_of_a_reversible_call_that_failed_without_effect_asks_nobody(
    stage: Rehearsal, side: Any, registered: bool
) -> None:
    ledger = Ledger()
    trouble = [NoEffect("locked"), NoEffect("locked")]

    def breaks() -> None:
        if trouble:
            ledger.pop()
            raise trouble.pop()

    made = agent(
        stage.il,
        PAY,
        [ledger.tool("pay", breaks)],
        registered=registered,
        said={"pay": "reversible"},
        **{side: [retries()]},
    )
    made.invoke(GO, THREAD)
    assert (ledger, texts(made), is_over(made)) == (["pay 10"], ["pay 10"], True)
    (run,) = stage.il.kernel.runs()
    assert stage.states(run.id) == ["failed", "failed", "done"]


@either_way
@either_side
def test_a_failure_that_a_handler_of_errors_catches_reaches_the_model(
    stage: Rehearsal, side: Any, registered: bool
) -> None:
    ledger = Ledger()

    def breaks() -> None:
        ledger.pop()
        raise NoEffect("the bank is closed")

    made = agent(stage.il, PAY, [ledger.tool("pay", breaks)], registered=registered, **{side: [errors()]})
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (texts(made), ledger, is_over(made)) == (["failed: the bank is closed"], [], True)
    (run,) = stage.il.kernel.runs()
    assert stage.states(run.id) == ["failed"]


# -- middlewares that do as they like -----------------------------------------------------------------


@either_way
@pytest.mark.parametrize("said", ["irreversible", "reversible"])
def test_arguments_that_a_middleware_inside_rewrites_are_refused(stage: Rehearsal, said: str, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], inside=[Rewrites()], registered=registered, said={"pay": said})
    made.invoke(GO, THREAD)
    if said == "irreversible":
        stage.reviewer.decide("approve")
        go_on(stage, made, registered)
    assert (ledger, refusals(made), is_over(made)) == ([], ["call_changed"], True)


@either_way
def test_arguments_that_a_middleware_outside_rewrites_are_what_people_see_and_what_runs(
    stage: Rehearsal, registered: bool
) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], outside=[Rewrites()], registered=registered)
    made.invoke(GO, THREAD)
    assert cards(stage) == ["pay 1000000"]
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (ledger, is_over(made)) == (["pay 1000000"], True)


@either_way
@pytest.mark.parametrize("said", ["irreversible", "reversible"])
def test_a_middleware_inside_that_answers_itself_leaves_no_claim_behind(
    stage: Rehearsal, said: str, registered: bool
) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], inside=[Answers()], registered=registered, said={"pay": said})
    made.invoke(GO, THREAD)
    if said == "irreversible":
        stage.reviewer.decide("approve")
        go_on(stage, made, registered)
    assert (ledger, texts(made), is_over(made)) == ([], ["from the cache"], True)
    (run,) = stage.il.kernel.runs()
    (state,) = stage.states(run.id)
    assert state not in ("executing", "in_doubt", "done")


@either_way
@either_side
def test_a_middleware_that_runs_a_call_twice_gets_the_result_twice_and_one_effect(
    stage: Rehearsal, side: Any, registered: bool
) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered, **{side: [RunsTwice()]})
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (ledger, texts(made), is_over(made)) == (["pay 10"], ["pay 10"], True)


# -- calls and their ids ------------------------------------------------------------------------------


@either_way
def test_ids_that_repeat_in_every_turn_name_different_calls(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    lines = [calls(("pay", {"what": each}), ids=["c1"]) for each in ("10", "20", "30")]
    made = agent(stage.il, [*lines, says()], [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    for each in ("10", "20", "30"):
        assert cards(stage) == [f"pay {each}"]
        stage.reviewer.decide("approve")
        go_on(stage, made, registered)
    assert (ledger, texts(made), is_over(made)) == (["pay 10", "pay 20", "pay 30"],) * 2 + (True,)


@either_way
def test_a_second_turn_of_a_conversation_is_a_run_of_its_own_and_repeats_nothing(
    stage: Rehearsal, registered: bool
) -> None:
    ledger = Ledger()
    lines = [*PAY, calls(("pay", {"what": "10"})), says("again")]
    made = agent(stage.il, lines, [ledger.tool("pay")], registered=registered)
    for n in range(2):
        made.invoke(GO, THREAD)
        assert (cards(stage), len(ledger)) == (["pay 10"], n)
        stage.reviewer.decide("approve")
        go_on(stage, made, registered)
    assert (ledger, is_over(made)) == (["pay 10", "pay 10"], True)
    assert len(stage.il.kernel.runs()) == 2


@either_way
def test_parallel_pauses_are_decided_one_by_one_in_any_order(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    turn = calls(*(("pay", {"what": each}) for each in ("1", "2", "3", "4")))
    made = agent(stage.il, [turn, says()], [ledger.tool("pay")], registered=registered)
    assert len(made.invoke(GO, THREAD)["__interrupt__"]) == 4
    for said, what in (("approve", "3"), (reject("no"), "1"), (modify(what="40"), "4"), (respond("by hand"), "2")):
        stage.reviewer.decide(said, what=what)
        go_on(stage, made, registered)
    assert (ledger, is_over(made), refusals(made)) == (["pay 3", "pay 40"], True, ["rejected", "", "", ""])
    assert "by hand" in texts(made)[1]
    assert "pay 40" in texts(made)[3]


@either_way
def test_a_call_without_an_answer_is_open_in_the_graph_under_an_id_that_stays(
    stage: Rehearsal, registered: bool
) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered)
    (first,) = made.invoke(GO, THREAD)["__interrupt__"]
    (again,) = made.invoke(None, THREAD)["__interrupt__"]
    (view,) = stage.reviewer.open()
    assert first.id == again.id
    assert first.value["interrupt"] == view.card.id
    assert first.value["digest"] == view.card.digest
    assert first.value["type"] == "interlock_pause"


# -- what the model is told ---------------------------------------------------------------------------


@either_way
def test_a_note_with_an_approval_reaches_the_model(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide(modify(what="5", note="half is enough <b>"))
    go_on(stage, made, registered)
    (told,) = texts(made)
    assert ledger == ["pay 5"]
    for words in ("half is enough <b>", 'pay(what="5")', "must not be made again", "\n\npay 5"):
        assert words in told


@either_way
def test_a_redirection_tells_the_model_to_plan_again(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    lines = [calls(("pay", {"what": "10"})), calls(("pay", {"what": "7"})), says()]
    made = agent(stage.il, lines, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide(redirect("seven is owed"))
    go_on(stage, made, registered)
    assert refusals(made) == ["redirected"]
    assert "seven is owed" in texts(made)[0]
    assert "Plan again" in texts(made)[0]
    assert cards(stage) == ["pay 7"]
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (ledger, is_over(made)) == (["pay 7"], True)


@either_way
def test_the_result_of_a_person_is_told_as_one(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide(respond("paid in cash", note="at the counter"))
    go_on(stage, made, registered)
    (told,) = texts(made)
    assert ledger == []
    for words in ("answered in place of the tool", "at the counter", "paid in cash"):
        assert words in told


@either_way
def test_the_message_of_the_model_stays_what_it_said(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide(modify(what="5"))
    go_on(stage, made, registered)
    said = next(each for each in made.get_state(THREAD).values["messages"] if isinstance(each, AIMessage))
    assert said.tool_calls[0]["args"] == {"what": "10"}


# -- results ------------------------------------------------------------------------------------------


class Counted(AgentState[Any]):
    """A state with a number in it."""

    count: int


def command_tool(ledger: list[str]) -> Any:
    @tool
    def pay(what: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Pay."""
        ledger.append(f"pay {what}")
        return Command(update={"count": 7, "messages": [ToolMessage(f"paid {what}", tool_call_id=call_id)]})

    return pay


@either_way
def test_a_command_updates_the_state_once_and_what_people_changed_is_in_its_message(
    stage: Rehearsal, registered: bool
) -> None:
    ledger: list[str] = []
    made = agent(stage.il, PAY, [command_tool(ledger)], registered=registered, state_schema=Counted)
    made.invoke(GO, THREAD)
    stage.reviewer.decide(modify(what="5", note="half"))
    go_on(stage, made, registered)
    assert (ledger, made.get_state(THREAD).values["count"], is_over(made)) == (["pay 5"], 7, True)
    (told,) = texts(made)
    for words in ("paid 5", 'pay(what="5")', "The reviewer's note: half"):
        assert words in told


def test_a_command_is_given_again_when_the_graph_has_forgotten_it(stage: Rehearsal) -> None:
    ledger: list[str] = []
    made = agent(stage.il, PAY, [command_tool(ledger)], state_schema=Counted)
    made.invoke(GO, THREAD)
    old = made.get_state(THREAD).config
    stage.reviewer.decide("approve")
    made.invoke(None, THREAD)
    made.invoke(None, old)
    assert (ledger, made.get_state(THREAD).values["count"], texts(made)) == (["pay 10"], 7, ["paid 10"])


@either_way
def test_a_message_keeps_its_artifact_and_its_status(stage: Rehearsal, registered: bool) -> None:
    @tool(response_format="content_and_artifact")
    def pay(what: str) -> tuple[str, Any]:
        """Pay."""
        return f"paid {what}", {"receipt": [1, 2], "raw": b"\x00"}

    made = agent(stage.il, PAY, [pay], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    (told,) = results(made)
    assert (told.content, told.artifact) == ("paid 10", {"receipt": [1, 2], "raw": b"\x00"})
    assert (told.name, told.tool_call_id, told.status) == ("pay", "c1", "success")


@either_way
def test_a_message_that_the_tool_makes_keeps_everything_in_it(stage: Rehearsal, registered: bool) -> None:
    @tool
    def pay(what: str, call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Pay."""
        return ToolMessage(
            [{"type": "text", "text": f"paid {what}"}], tool_call_id=call_id, status="error", artifact=[1, "x"]
        )

    made = agent(stage.il, PAY, [pay], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    (told,) = results(made)
    assert told.content == [{"type": "text", "text": "paid 10"}]
    assert (told.status, told.artifact) == ("error", [1, "x"])


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, "null"),
        (7, "7"),
        (True, "true"),
        ("", ""),
        ({"a": [1, "ü"]}, '{"a": [1, "ü"]}'),
        ([1, 2], "[1, 2]"),
        (["a", "b"], '["a", "b"]'),
        ([{"a": 1}], '[{"a": 1}]'),
        ([{"type": "text", "text": "a"}], [{"type": "text", "text": "a"}]),
        ((), []),
        ([], []),
        (Decimal("1.50"), "1.50"),
        ({1, 2}, "{1, 2}"),
    ],
    ids=repr,
)
def test_a_value_becomes_the_content_that_langchain_makes_of_it(stage: Rehearsal, value: Any, content: Any) -> None:
    def pay(what: str) -> Any:
        """Pay."""
        return value

    bare = create_agent(ScriptedModel(lines=PAY), [tool(pay)], checkpointer=InMemorySaver())
    bare.invoke(GO, THREAD)
    made = agent(stage.il, PAY, [tool(pay)])
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    made.invoke(None, THREAD)
    assert results(made)[0].content == results(bare)[0].content == content


@either_way
def test_a_tool_exception_that_the_tool_handles_is_its_result(stage: Rehearsal, registered: bool) -> None:
    def act(what: str) -> str:
        raise ToolException("no such account")

    pay = StructuredTool.from_function(act, name="pay", description="Pay.", handle_tool_error=True)
    made = agent(stage.il, PAY, [pay], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    (told,) = results(made)
    assert (told.content, told.status, is_over(made)) == ("no such account", "error", True)


# -- what the graph gives a tool ----------------------------------------------------------------------


@either_way
def test_what_the_graph_injects_reaches_the_tool_and_no_card(stage: Rehearsal, registered: bool) -> None:
    seen: list[Any] = []

    @tool
    def pay(
        what: str,
        state: Annotated[dict[str, Any], InjectedState],
        messages: Annotated[list[Any], InjectedState("messages")],
        call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime,
    ) -> str:
        """Pay."""
        seen.append((what, len(state["messages"]), len(messages), call_id, runtime.tool_call_id))
        return f"paid {what}"

    made = agent(stage.il, PAY, [pay], registered=registered)
    made.invoke(GO, THREAD)
    (view,) = stage.reviewer.open()
    assert dict(view.about.current.arguments) == {"what": "10"}
    stage.reviewer.decide(modify(what="5"))
    go_on(stage, made, registered)
    assert (seen, is_over(made)) == ([("5", 2, 2, "c1", "c1")], True)


@either_way
def test_a_model_cannot_give_what_the_graph_injects(stage: Rehearsal, registered: bool) -> None:
    seen: list[Any] = []

    @tool
    def pay(what: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Pay."""
        seen.append((what, call_id))
        return f"paid {what}"

    lines = [calls(("pay", {"what": "10", "call_id": "forged"})), says()]
    made = agent(stage.il, lines, [pay], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert seen == [("10", "c1")]


# -- arguments ----------------------------------------------------------------------------------------


class Payment(BaseModel):
    """What is paid."""

    amount: int = Field(description="in cents", ge=1)
    account: str = "A"
    tags: list[str] = Field(default_factory=lambda: ["new"])
    kind: Literal["wire", "card"] = "wire"

    @field_validator("amount")
    @classmethod
    def clamp(cls, value: int) -> int:
        return min(value, 50)


def payment_tool(paid: list[Any]) -> Any:
    @tool(args_schema=Payment)
    def pay(amount: int, account: str, tags: list[str], kind: str) -> str:
        """Pay."""
        paid.append((amount, account, tags, kind))
        return f"paid {amount}"

    return pay


@either_way
def test_the_card_shows_what_validation_made_of_the_arguments_and_the_defaults(
    stage: Rehearsal, registered: bool
) -> None:
    paid: list[Any] = []
    made = agent(stage.il, [calls(("pay", {"amount": 100})), says()], [payment_tool(paid)], registered=registered)
    made.invoke(GO, THREAD)
    (view,) = stage.reviewer.open()
    assert dict(view.about.current.arguments) == {"amount": 50, "account": "A", "tags": ["new"], "kind": "wire"}
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (paid, is_over(made)) == ([(50, "A", ["new"], "wire")], True)


@either_way
@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"amount": "much"}, "amount"),
        ({"amount": 0}, "amount"),
        ({}, "amount"),
        ({"amount": 5, "kind": "cash"}, "kind"),
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_are_told_to_the_model_and_nobody_is_asked(
    stage: Rehearsal, args: dict[str, Any], words: str, registered: bool
) -> None:
    paid: list[Any] = []
    lines = [calls(("pay", args)), calls(("pay", {"amount": 5})), says()]
    made = agent(stage.il, lines, [payment_tool(paid)], registered=registered)
    made.invoke(GO, THREAD)
    (told,) = results(made)
    assert (told.status, words in str(told.content), refusals(made)) == ("error", True, ["arguments_invalid"])
    (view,) = stage.reviewer.open()
    assert view.about.current.arguments["amount"] == 5
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert ([amount for amount, *_ in paid], is_over(made)) == ([5], True)


def schema_tool(paid: list[Any]) -> Any:
    def act(**given: Any) -> str:
        paid.append(given)
        return f"paid {given['amount']}"

    schema = {
        "type": "object",
        "title": "pay",
        "description": "Pay.",
        "properties": {"amount": {"type": "integer"}, "to": {"type": "string"}, "note": {"type": "string"}},
        "required": ["amount", "to"],
    }
    return StructuredTool(name="pay", description="Pay.", args_schema=schema, func=act)


@either_way
def test_a_tool_with_a_plain_json_schema_is_guarded_like_any(stage: Rehearsal, registered: bool) -> None:
    paid: list[Any] = []
    lines = [calls(("pay", {"amount": 10, "to": "bob"})), says()]
    made = agent(stage.il, lines, [schema_tool(paid)], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide(modify(to="ana"))
    go_on(stage, made, registered)
    assert (paid, is_over(made)) == ([{"amount": 10, "to": "ana"}], True)


@either_way
def test_a_missing_argument_of_a_plain_json_schema_is_told_to_the_model(stage: Rehearsal, registered: bool) -> None:
    paid: list[Any] = []
    made = agent(stage.il, [calls(("pay", {"amount": 10})), says()], [schema_tool(paid)], registered=registered)
    made.invoke(GO, THREAD)
    assert (paid, refusals(made), is_over(made)) == ([], ["arguments_invalid"], True)


@either_way
def test_an_argument_that_the_tool_does_not_have_is_not_shown_as_if_it_counted(
    stage: Rehearsal, registered: bool
) -> None:
    ledger = Ledger()
    lines = [calls(("pay", {"what": "10", "dry_run": True})), says()]
    made = agent(stage.il, lines, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    (view,) = stage.reviewer.open()
    assert dict(view.about.current.arguments) == {"what": "10"}
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert ledger == ["pay 10"]


@either_way
def test_a_tool_that_the_agent_does_not_have_is_told_to_the_model(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    lines = [calls(("steal", {"what": "10"})), says()]
    made = agent(stage.il, lines, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    assert (results(made)[0].status, is_over(made), ledger) == ("error", True, [])


# -- asynchronous agents ------------------------------------------------------------------------------


def async_pay(ledger: list[str]) -> Any:
    @tool
    async def pay(what: str) -> str:
        """Pay."""
        await asyncio.sleep(0)
        ledger.append(f"pay {what}")
        return f"pay {what}"

    return pay


@either_way
@pytest.mark.parametrize("kind", ["async tool", "sync tool"])
def test_an_asynchronous_agent_pauses_and_goes_on(stage: Rehearsal, kind: str, registered: bool) -> None:
    ledger = Ledger()
    pay = async_pay(ledger) if kind == "async tool" else ledger.tool("pay")
    turn = calls(("pay", {"what": "10"}), ("pay", {"what": "20"}), ("pay", {"what": "30"}))

    async def program() -> None:
        made = agent(stage.il, [turn, says()], [pay], registered=registered)
        paused = await made.ainvoke(GO, THREAD)
        assert (len(paused["__interrupt__"]), ledger) == (3, [])
        stage.reviewer.decide("approve", what="20")
        stage.reviewer.decide(reject("no"), what="30")
        await made.ainvoke(None, THREAD)
        assert (ledger, cards(stage)) == (["pay 20"], ["pay 10"])
        stage.reviewer.decide("approve")
        await made.ainvoke(None, THREAD)
        assert (ledger, refusals(made), is_over(made)) == (["pay 20", "pay 10"], ["", "", "rejected"], True)

    asyncio.run(program())


def test_a_worker_goes_on_with_an_agent_that_has_only_asynchronous_tools(stage: Rehearsal) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [async_pay(ledger)], registered=True)
    asyncio.run(made.ainvoke(GO, THREAD))
    stage.decide("approve")
    assert (ledger, texts(made), is_over(made)) == (["pay 10"], ["pay 10"], True)


class AsyncOnly(AgentMiddleware[Any, Any]):
    """A middleware that has no synchronous form."""

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        return None

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001  as people write it
            return ToolMessage(f"failed: {error}", tool_call_id=request.tool_call["id"], status="error")


@either_way
def test_an_asynchronous_tool_that_is_called_without_a_loop_is_an_error_and_asks_nobody(
    stage: Rehearsal, registered: bool
) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [async_pay(ledger)], registered=registered)
    with pytest.raises(NotImplementedError, match="ainvoke"):
        made.invoke(GO, THREAD)
    assert (ledger, cards(stage)) == ([], [])
    asyncio.run(made.ainvoke(None, THREAD))
    stage.reviewer.decide("approve")
    asyncio.run(made.ainvoke(None, THREAD))
    assert (ledger, is_over(made)) == (["pay 10"], True)


@either_side
def test_a_worker_goes_on_with_an_agent_that_has_an_asynchronous_middleware(stage: Rehearsal, side: Any) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [async_pay(ledger)], registered=True, **{side: [AsyncOnly()]})
    asyncio.run(made.ainvoke(GO, THREAD))
    assert cards(stage) == ["pay 10"]
    stage.decide("approve")
    assert (ledger, texts(made), is_over(made)) == (["pay 10"], ["pay 10"], True)


@either_way
def test_a_streaming_agent_shows_its_pause_and_goes_on(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, PAY, [ledger.tool("pay")], registered=registered)
    chunks = list(made.stream(GO, THREAD, stream_mode="updates"))
    (pause,) = chunks[-1]["__interrupt__"]
    (view,) = stage.reviewer.open()
    assert pause.value["interrupt"] == view.card.id
    stage.reviewer.decide("approve")
    list(made.stream(None, THREAD, stream_mode="updates"))
    assert (ledger, is_over(made)) == (["pay 10"], True)


# -- tools of guarded functions, graphs without memory ------------------------------------------------


@either_way
def test_a_guarded_function_given_to_an_agent_is_one_tool_with_one_card(stage: Rehearsal, registered: bool) -> None:
    ledger: list[str] = []

    @stage.il.tool("irreversible", name="pay")
    def pay(what: str) -> str:
        """Pay."""
        ledger.append(f"pay {what}")
        return f"pay {what}"

    made = agent(stage.il, PAY, [pay], registered=registered)
    made.invoke(GO, THREAD)
    assert cards(stage) == ["pay 10"]
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (ledger, texts(made), cards(stage), is_over(made)) == (["pay 10"], ["pay 10"], [], True)


@either_way
def test_the_declaration_of_a_guarded_function_counts(stage: Rehearsal, registered: bool) -> None:
    ledger: list[str] = []

    @stage.il.tool("reversible")
    def pay(what: str) -> str:
        """Pay."""
        ledger.append(f"pay {what}")
        return f"pay {what}"

    made = agent(stage.il, PAY, [pay], registered=registered)
    made.invoke(GO, THREAD)
    assert (ledger, cards(stage), is_over(made)) == (["pay 10"], [], True)


def test_an_asynchronous_guarded_function_given_to_an_agent_is_one_tool_with_one_card(stage: Rehearsal) -> None:
    ledger: list[str] = []

    @stage.il.tool("irreversible")
    async def pay(what: str) -> str:
        """Pay."""
        ledger.append(f"pay {what}")
        return f"pay {what}"

    made = agent(stage.il, PAY, [pay])
    asyncio.run(made.ainvoke(GO, THREAD))
    assert cards(stage) == ["pay 10"]
    stage.reviewer.decide("approve")
    asyncio.run(made.ainvoke(None, THREAD))
    assert (ledger, texts(made), cards(stage)) == (["pay 10"], ["pay 10"], [])


def test_a_guarded_function_that_is_declared_once_more_is_an_error(stage: Rehearsal) -> None:
    @stage.il.tool("irreversible")
    def pay(what: str) -> str:
        """Pay."""
        return what

    made = agent(stage.il, PAY, [pay], said={"pay": "read_only"})
    with pytest.raises(SettingsError, match="declared_twice"):
        made.invoke(GO, THREAD)


@pytest.mark.parametrize("missing", ["checkpointer", "thread"])
def test_an_agent_that_cannot_be_paused_runs_nothing(stage: Rehearsal, missing: str) -> None:
    ledger = Ledger()
    saver = None if missing == "checkpointer" else InMemorySaver()
    made = create_agent(
        ScriptedModel(lines=PAY), [ledger.tool("pay")], middleware=[InterlockMiddleware(stage.il)], checkpointer=saver
    )
    with pytest.raises((CallError, ValueError), match="cannot_pause" if missing == "checkpointer" else "thread_id"):
        made.invoke(GO, THREAD if missing == "checkpointer" else None)
    assert (ledger, cards(stage)) == ([], [])


def test_what_only_reads_needs_no_checkpointer_to_be_refused_the_same(stage: Rehearsal) -> None:
    ledger = Ledger()
    middleware = InterlockMiddleware(stage.il, tools={"pay": "reversible"})
    made = create_agent(ScriptedModel(lines=PAY), [ledger.tool("pay")], middleware=[middleware])
    with pytest.raises(CallError, match="cannot_pause"):
        made.invoke({"messages": [HumanMessage("go")]})
    assert ledger == []
