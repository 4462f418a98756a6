"""Our `HumanInTheLoopMiddleware` in the place of LangChain's, with LangChain's beside it where that one fails."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain.agents.middleware.human_in_the_loop import HumanInTheLoopMiddleware as Theirs
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from tests.langgraph.agents import GO, THREAD, Ledger, answer, cards, is_over, refusals, texts, theirs
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import DecisionError
from interlock.langgraph import HumanInTheLoopMiddleware, register
from interlock.testing import Rehearsal, reject

TWO = [calls(("pay", {"what": "10"}), ("mail", {"what": "bob"})), says()]
PAY = [calls(("pay", {"what": "10"})), says()]
FOUR = ["approve", "edit", "reject", "respond"]

modes = pytest.mark.parametrize("mode", ["batched", "per_call"])


class Made:
    """An agent with our drop-in and a ledger of what really happened."""

    def __init__(self, stage: Rehearsal, lines: list[Any] = PAY, mode: Any = "batched", **options: Any) -> None:
        self.ledger: Ledger = options.pop("ledger") if "ledger" in options else Ledger()
        others, registered = options.pop("others", []), options.pop("registered", False)
        saver, il = options.pop("saver", None) or InMemorySaver(), options.pop("il", stage.il)
        asked = options.pop("interrupt_on", {"pay": True, "mail": True})
        options.setdefault("desk", stage.reviewer.desk)
        self.gate = HumanInTheLoopMiddleware(asked, il=il, name="tester", interrupt_mode=mode, **options)
        self.graph: Any = create_agent(
            ScriptedModel(lines=lines),
            [self.ledger.tool("pay"), self.ledger.tool("mail")],
            checkpointer=saver,
            middleware=[self.gate, *others],
        )
        if registered:
            register(il, self.graph)

    def start(self) -> list[Any]:
        return list(self.graph.invoke(GO, THREAD)["__interrupt__"])

    def resume(self, value: Any) -> list[Any]:
        return list(self.graph.invoke(Command(resume=value), THREAD).get("__interrupt__", ()))

    def open(self) -> list[Any]:
        return list(self.graph.invoke(None, THREAD).get("__interrupt__", ()))


@pytest.fixture
def stage() -> Iterator[Rehearsal]:
    with Rehearsal() as stage:
        yield stage


def edit(what: str) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": "pay", "args": {"what": what}}}


def test_the_constructor_is_langchains(stage: Rehearsal) -> None:
    mine = HumanInTheLoopMiddleware({"pay": True, "mail": False}, il=stage.il)
    its = Theirs({"pay": True, "mail": False})
    for name in ("interrupt_on", "description_prefix", "interrupt_mode", "edit_notice"):
        assert getattr(mine, name) == getattr(its, name)
    with pytest.raises(ValueError, match="non-empty"):
        HumanInTheLoopMiddleware({"pay": {"allowed_decisions": []}}, il=stage.il)
    with pytest.raises(ValueError, match="interrupt_mode"):
        HumanInTheLoopMiddleware({"pay": True}, il=stage.il, interrupt_mode="both")  # type: ignore[arg-type]


@modes
def test_a_pause_holds_what_langchains_holds_and_the_ids_of_the_card(stage: Rehearsal, mode: str) -> None:
    made = Made(stage, mode=mode)
    [mine], [its] = made.start(), theirs(PAY, [Ledger().tool("pay")], mode).invoke(GO, THREAD)["__interrupt__"]
    value, its_value = mine.value, its.value
    if mode == "batched":
        assert value["review_configs"] == its_value["review_configs"]
        value, its_value = value["action_requests"][0], its_value["action_requests"][0]
    assert {**value, **its_value} == value
    [card] = stage.reviewer.open()
    assert (value["interrupt"], value["digest"]) == (card.card.id, card.card.digest)
    assert mine.response_schema == its.response_schema


@modes
@pytest.mark.parametrize(
    ("said", "ran", "told"),
    [
        ({"type": "approve"}, ["pay 10"], "pay 10"),
        (edit("5"), ["pay 5"], "replaced this tool call"),
        ({"type": "reject", "message": "too much"}, [], "too much"),
        ({"type": "respond", "message": "paid by hand"}, [], "paid by hand"),
    ],
)
@pytest.mark.parametrize("registered", [False, True])
def test_each_decision_by_the_id_of_the_pause(
    stage: Rehearsal, mode: str, said: Any, ran: list[str], told: str, registered: bool
) -> None:
    made = Made(stage, mode=mode, registered=registered)
    [pause] = made.start()
    assert made.resume({pause.id: answer(mode, said)}) == []
    assert (list(made.ledger), is_over(made.graph)) == (ran, True)
    assert told in texts(made.graph)[0]


@modes
def test_asynchronous_agents_are_answered_in_the_same_way(stage: Rehearsal, mode: str) -> None:
    made = Made(stage, mode=mode)

    async def talk() -> None:
        [pause] = (await made.graph.ainvoke(GO, THREAD))["__interrupt__"]
        with pytest.raises(DecisionError, match="bad_answer"):
            await made.graph.ainvoke(Command(resume={pause.id: {"no": 1}}), THREAD)
        await made.graph.ainvoke(Command(resume={pause.id: answer(mode, {"type": "approve"})}), THREAD)

    asyncio.run(talk())
    assert (list(made.ledger), is_over(made.graph)) == (["pay 10"], True)


def test_a_batch_is_one_pause_decided_in_its_order(stage: Rehearsal) -> None:
    made = Made(stage, TWO)
    [pause] = made.start()
    assert [each["name"] for each in pause.value["action_requests"]] == ["pay", "mail"]
    made.resume({pause.id: {"decisions": [{"type": "reject", "message": "no"}, {"type": "approve"}]}})
    assert (list(made.ledger), refusals(made.graph)) == (["mail bob"], ["rejected", ""])


MALFORMED: list[Any] = [
    {"foo": 1},
    "yes",
    {"decisions": []},
    {"decisions": [{"type": "approve"}, {"type": "approve"}]},
    {"decisions": [{"type": "approved"}]},
    {"decisions": [{"type": "respond"}]},
    {"decisions": [{"type": "edit"}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "mail", "args": {"what": "x"}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "pay", "args": {}}}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "pay", "args": {"what": 5}}}]},
]


@pytest.mark.parametrize("bad", MALFORMED)
@pytest.mark.parametrize("registered", [False, True])
def test_a_malformed_answer_decides_nothing_and_the_thread_can_be_answered(
    stage: Rehearsal, bad: Any, registered: bool
) -> None:
    made = Made(stage, registered=registered)
    [pause] = made.start()
    with pytest.raises(DecisionError):
        made.resume({pause.id: bad})
    assert (cards(stage), made.ledger) == (["pay 10"], [])
    assert made.resume({pause.id: answer("batched", {"type": "approve"})}) == []
    assert (list(made.ledger), is_over(made.graph)) == (["pay 10"], True)


@pytest.mark.parametrize("bad", [{"foo": 1}, {"decisions": []}])
def test_langchains_own_keeps_a_malformed_answer_for_good(bad: Any) -> None:
    made = theirs(PAY, [Ledger().tool("pay")], "batched")
    made.invoke(GO, THREAD)
    for value in (bad, answer("batched", {"type": "approve"})):
        with pytest.raises((KeyError, ValueError)):
            made.invoke(Command(resume=value), THREAD)


def test_nothing_of_a_batch_is_decided_where_one_decision_is_not_allowed(stage: Rehearsal) -> None:
    made = Made(stage, TWO, interrupt_on={"pay": True, "mail": {"allowed_decisions": ["approve", "reject"]}})
    [pause] = made.start()
    with pytest.raises(DecisionError, match="not_offered"):
        made.resume({pause.id: {"decisions": [{"type": "approve"}, {"type": "respond", "message": "x"}]}})
    assert cards(stage) == ["pay 10", "mail bob"]


def test_what_is_not_allowed_is_not_offered_in_the_inbox_either_but_a_no_always_is(stage: Rehearsal) -> None:
    Made(stage, interrupt_on={"pay": {"allowed_decisions": ["approve"]}}).start()
    [card] = stage.reviewer.open()
    assert card.about.action.traits.answers == ("approve", "reject", "redirect")


@modes
def test_an_answer_without_an_id_is_refused_and_reaches_nobody_else(stage: Rehearsal, mode: str) -> None:
    made = Made(stage, mode=mode)
    [pause] = made.start()
    with pytest.raises(DecisionError, match="bare_answer"):
        made.resume(answer(mode, {"type": "approve"}))
    assert [each.id for each in made.open()] == [pause.id]
    assert made.ledger == []


@modes
def test_a_bare_answer_counts_where_that_was_asked_for(stage: Rehearsal, mode: str) -> None:
    made = Made(stage, mode=mode, bare_answers=True)
    made.start()
    made.resume(answer(mode, {"type": "approve"}))
    assert list(made.ledger) == ["pay 10"]


@modes
def test_the_same_answer_twice_never_approves_the_next_call(stage: Rehearsal, mode: str) -> None:
    made = Made(stage, [*PAY[:1], calls(("pay", {"what": "1000000"})), says()], mode=mode)
    [pause] = made.start()
    again = {pause.id: answer(mode, {"type": "approve"})}
    [following] = made.resume(again)
    assert [each.id for each in made.resume(again)] == [following.id]
    assert list(made.ledger) == ["pay 10"]


def test_an_answer_to_an_older_batch_is_refused(stage: Rehearsal) -> None:
    made = Made(stage, TWO)
    [pause] = made.start()
    stage.reviewer.decide(reject("no"), "pay")
    with pytest.raises(DecisionError, match="stale_answer"):
        made.resume({pause.id: {"decisions": [{"type": "approve"}, {"type": "approve"}]}})
    [rest] = made.open()
    made.resume({rest.id: answer("batched", {"type": "approve"})})
    assert list(made.ledger) == ["mail bob"]


@modes
def test_who_answers_after_the_inbox_is_told_who_was_first(stage: Rehearsal, mode: str) -> None:
    made = Made(stage, mode=mode)
    [pause] = made.start()
    stage.reviewer.decide(reject("no"))
    with pytest.raises(DecisionError, match="already_decided"):
        made.resume({pause.id: answer(mode, {"type": "approve"})})
    assert made.open() == []
    assert (made.ledger, refusals(made.graph)) == ([], ["rejected"])


@modes
def test_without_a_desk_an_answer_decides_nothing(stage: Rehearsal, mode: str) -> None:
    made = Made(stage, mode=mode, desk=None)
    [pause] = made.start()
    assert len(made.resume({pause.id: answer(mode, {"type": "approve"})})) == 1
    assert (made.ledger, cards(stage)) == ([], ["pay 10"])


def test_a_function_gives_the_desk_of_whoever_is_logged_in(stage: Rehearsal) -> None:
    asked: list[Any] = []

    def desk(config: Any) -> Any:
        asked.append(config["configurable"]["thread_id"])
        return stage.reviewer.desk

    made = Made(stage, desk=desk)
    [pause] = made.start()
    made.resume({pause.id: answer("batched", {"type": "approve"})})
    assert (asked, list(made.ledger)) == (["job-1"], ["pay 10"])


@modes
def test_when_is_asked_at_the_proposal_and_a_change_of_mind_runs_nothing(stage: Rehearsal, mode: str) -> None:
    risky = [True]
    asked: Any = {"pay": {"allowed_decisions": FOUR, "when": lambda _: risky[0]}}
    made = Made(stage, mode=mode, interrupt_on=asked)
    [pause] = made.start()
    risky[0] = False
    made.resume({pause.id: answer(mode, {"type": "reject"})})
    assert (made.ledger, refusals(made.graph)) == ([], ["rejected"])


@modes
def test_what_nobody_gates_runs_and_is_on_record(stage: Rehearsal, mode: str) -> None:
    made = Made(stage, TWO, mode, interrupt_on={"pay": {"allowed_decisions": FOUR, "when": lambda _: False}})
    made.graph.invoke(GO, THREAD)
    [run] = stage.il.kernel.runs()
    assert (sorted(made.ledger), stage.states(run.id)) == (["mail bob", "pay 10"], ["done", "done"])


def test_what_tools_says_is_stricter_stays_stricter(stage: Rehearsal) -> None:
    made = Made(stage, interrupt_on={}, tools={"pay": "irreversible"})
    [pause] = made.start()
    made.resume({pause.id: answer("batched", {"type": "approve"})})
    assert list(made.ledger) == ["pay 10"]


@modes
def test_a_tool_that_only_reads_is_asked_about_where_interrupt_on_says_so(stage: Rehearsal, mode: str) -> None:
    made = Made(stage, mode=mode, tools={"pay": "read_only"})
    [pause] = made.start()
    made.resume({pause.id: answer(mode, {"type": "reject"})})
    assert (made.ledger, refusals(made.graph)) == ([], ["rejected"])


class JumpsToTools(AgentMiddleware):
    """Sends the graph to its tools whatever was said before."""

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state: Any, runtime: Any) -> Any:
        return {"jump_to": "tools"} if getattr(state["messages"][-1], "tool_calls", None) else None


def test_no_jump_runs_a_refused_call(stage: Rehearsal) -> None:
    made = Made(stage, others=[JumpsToTools()])
    [pause] = made.start()
    made.resume({pause.id: answer("batched", {"type": "reject"})})
    assert (made.ledger, refusals(made.graph)) == ([], ["rejected"])


@modes
def test_approve_and_reject_at_once_have_one_winner(stage: Rehearsal, mode: str) -> None:
    saver, ledger = InMemorySaver(), Ledger()
    first = Made(stage, mode=mode, saver=saver, ledger=ledger)
    [pause] = first.start()
    second = Made(stage, mode=mode, saver=saver, ledger=ledger, il=stage.another())
    start, lost = threading.Barrier(2), list[Exception]()

    def say(made: Made, said: Any) -> None:
        start.wait()
        try:
            made.resume({pause.id: answer(mode, said)})
        except Exception as error:  # noqa: BLE001 - whatever tells the loser
            lost.append(error)

    people = [
        threading.Thread(target=say, args=(first, {"type": "approve"})),
        threading.Thread(target=say, args=(second, {"type": "reject"})),
    ]
    for each in people:
        each.start()
    for each in people:
        each.join()
    [run] = stage.il.kernel.runs()
    [action] = stage.actions(run.id)
    assert len(stage.il.kernel.decisions_about(action.id)) == 1
    assert len(ledger) <= 1
    assert lost


def test_a_worker_goes_on_once_the_inbox_has_decided(stage: Rehearsal) -> None:
    made = Made(stage, TWO, registered=True)
    made.start()
    stage.decide("approve", "pay")
    assert made.ledger == []  # the other call of the batch still waits
    stage.decide("approve", "mail")
    assert (sorted(made.ledger), is_over(made.graph)) == (["mail bob", "pay 10"], True)


class BreaksOff(Ledger):
    """The effect happens, and nobody hears how it ended."""

    def append(self, what: str) -> None:
        super().append(what)
        raise ConnectionError("gone")


@modes
def test_an_effect_that_broke_off_is_in_doubt_and_the_same_answer_does_not_repeat_it(
    stage: Rehearsal, mode: str
) -> None:
    saver = InMemorySaver()
    first = Made(stage, mode=mode, saver=saver, ledger=BreaksOff())
    [pause] = first.start()
    again = {pause.id: answer(mode, {"type": "approve"})}
    assert len(first.resume(again)) == 1
    later = Made(stage, mode=mode, saver=saver, il=stage.another())
    [doubt] = later.resume(again)
    assert (list(first.ledger), list(later.ledger)) == (["pay 10"], [])
    [card] = stage.reviewer.open()
    assert (card.card.kind, doubt.value["type"]) == ("reconcile", "interlock_pause")
