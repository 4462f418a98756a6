"""What goes wrong with LangChain's own gate, and what comes of the same script through ours.

Where LangChain's goes wrong, the same script runs against it beside, and the test asserts that it does: so the
difference is shown with the release that is installed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from tests.langgraph.agents import (
    GO,
    THREAD,
    Ledger,
    agent,
    answer,
    cards,
    go_on,
    is_over,
    refusals,
    results,
    texts,
    theirs,
)
from tests.langgraph.scripted import calls, says

from interlock import DecisionError, Interlock
from interlock.langgraph import register
from interlock.testing import Rehearsal, found_done, reject, respond, scripted_reviewer
from interlock.testing.reviewer import ScriptedReviewer

MODES = ["batched", "per_call"]
YES: dict[str, Any] = {"type": "approve"}
NO: dict[str, Any] = {"type": "reject", "message": "no"}

both_modes = pytest.mark.parametrize("mode", MODES)
either_way = pytest.mark.parametrize("registered", [False, True], ids=["alone", "registered"])


class State(TypedDict, total=False):
    done: list[str]


def graph_of(node: Any) -> Any:
    """A graph of one node, with a checkpointer."""
    made = StateGraph(State)
    made.add_node("work", node)
    made.add_edge(START, "work")
    made.add_edge("work", END)
    return made.compile(checkpointer=InMemorySaver(), name="work")


# -- code before a pause ------------------------------------------------------------------------------


def test_code_before_a_pause_runs_once_and_not_with_every_answer(stage: Rehearsal) -> None:
    ledger: list[str] = []

    @stage.il.tool("reversible")
    def notify(what: str) -> None:
        ledger.append(f"notify {what}")

    @stage.il.tool("irreversible")
    def gate(what: str) -> str:
        ledger.append(f"gate {what}")
        return what

    def node(state: State) -> State:
        notify("starting")
        return {"done": [gate("a"), gate("b")]}

    made = register(stage.il, graph_of(node))
    made.invoke({}, THREAD)
    for _ in range(2):
        stage.decide("approve")
    assert ledger == ["notify starting", "gate a", "gate b"]
    assert made.get_state(THREAD).values == {"done": ["a", "b"]}


def test_code_before_a_pause_runs_with_every_answer_without_us() -> None:
    ledger: list[str] = []

    def node(state: State) -> State:
        ledger.append("notify starting")
        return {"done": [interrupt("a?"), interrupt("b?")]}

    made = graph_of(node)
    made.invoke({}, THREAD)
    made.invoke(Command(resume="a"), THREAD)
    made.invoke(Command(resume="b"), THREAD)
    assert ledger == ["notify starting"] * 3


def test_a_yes_to_one_thing_is_no_yes_to_what_the_code_asks_when_it_is_woken(stage: Rehearsal) -> None:
    ledger: list[str] = []
    large = False

    @stage.il.tool("irreversible")
    def refund(amount: int) -> str:
        ledger.append(f"refund {amount}")
        return "refunded"

    @stage.il.tool("irreversible")
    def wire(amount: int) -> str:
        ledger.append(f"wire {amount}")
        return "wired"

    def node(state: State) -> State:
        return {"done": [wire(1_000_000) if large else refund(5)]}

    made = register(stage.il, graph_of(node))
    made.invoke({}, THREAD)
    large = True
    stage.decide("approve", "refund")
    (run,) = stage.il.kernel.runs()
    assert (ledger, run.state.value) == ([], "diverged")
    stage.reviewer.desk.retry(run.id, accept_divergence=True)
    stage.go_on()
    (view,) = stage.reviewer.open()
    assert (ledger, view.about.action.tool) == ([], "wire")


def test_a_yes_to_one_thing_becomes_a_yes_to_another_without_us() -> None:
    ledger: list[str] = []
    large = False

    def node(state: State) -> State:
        if large:
            if interrupt("approve the wire of 1000000?") == "yes":
                ledger.append("wire 1000000")
        elif interrupt("approve the refund of 5?") == "yes":
            ledger.append("refund 5")
        return {}

    made = graph_of(node)
    made.invoke({}, THREAD)
    large = True
    made.invoke(Command(resume="yes"), THREAD)
    assert ledger == ["wire 1000000"]


# -- answers ------------------------------------------------------------------------------------------


@either_way
def test_the_same_answer_after_the_end_changes_nothing(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, [calls(("pay", {"what": "10"})), says()], [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    (view,) = stage.reviewer.open()
    first = stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert is_over(made)
    again = stage.reviewer.desk.approve(view.card.id, digest=view.card.digest)
    assert (again.decision, again.replayed) == (first.decision, True)
    made.invoke(Command(resume=YES), THREAD)
    made.invoke(None, THREAD)
    stage.go_on()
    assert ledger == ["pay 10"]


@both_modes
def test_the_same_answer_after_the_end_changes_nothing_without_us_either(mode: str) -> None:
    ledger = Ledger()
    made = theirs([calls(("pay", {"what": "10"})), says()], [ledger.tool("pay")], mode)
    made.invoke(GO, THREAD)
    for _ in range(2):
        made.invoke(Command(resume=answer(mode, YES)), THREAD)
    assert ledger == ["pay 10"]


@either_way
def test_an_answer_to_a_card_that_does_not_exist_is_an_error(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, [calls(("pay", {"what": "10"})), says()], [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    (view,) = stage.reviewer.open()
    with pytest.raises(DecisionError, match="unknown_interrupt"):
        stage.reviewer.desk.approve("0" * 32, digest=view.card.digest)
    assert (ledger, cards(stage)) == ([], ["pay 10"])


@both_modes
def test_an_answer_to_a_pause_that_does_not_exist_is_ignored_in_silence_without_us(mode: str) -> None:
    ledger = Ledger()
    made = theirs([calls(("pay", {"what": "10"})), says()], [ledger.tool("pay")], mode)
    before = made.invoke(GO, THREAD)["__interrupt__"]
    after = made.invoke(Command(resume={"0" * 32: answer(mode, YES)}), THREAD)["__interrupt__"]
    assert [each.id for each in after] == [each.id for each in before]
    assert ledger == []


MALFORMED: list[Any] = [{"foo": 1}, {"decisions": []}, {"decisions": [{"type": "perhaps"}]}]


@either_way
@pytest.mark.parametrize("odd", MALFORMED, ids=["shape", "count", "type"])
def test_after_a_malformed_answer_a_good_one_still_counts(stage: Rehearsal, odd: Any, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, [calls(("pay", {"what": "10"})), says()], [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    (view,) = stage.reviewer.open()
    with pytest.raises(DecisionError):
        stage.reviewer.desk.modify(view.card.id, digest=view.card.digest, arguments=odd)
    made.invoke(Command(resume=odd), THREAD)
    assert (ledger, cards(stage)) == ([], ["pay 10"])
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert (ledger, is_over(made)) == (["pay 10"], True)


@pytest.mark.parametrize("odd", MALFORMED, ids=["shape", "count", "type"])
def test_after_a_malformed_answer_no_good_one_counts_any_more_without_us(odd: Any) -> None:
    ledger = Ledger()
    made = theirs([calls(("pay", {"what": "10"})), says()], [ledger.tool("pay")], "batched")
    made.invoke(GO, THREAD)
    with pytest.raises((KeyError, ValueError)) as first:
        made.invoke(Command(resume=odd), THREAD)
    for _ in range(2):
        with pytest.raises(type(first.value)):
            made.invoke(Command(resume=answer("batched", YES)), THREAD)
    assert ledger == []


@either_way
def test_an_answer_that_is_delivered_twice_decides_only_what_was_seen(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    lines = [calls(("pay", {"what": "10"})), calls(("pay", {"what": "1000000"})), says()]
    made = agent(stage.il, lines, [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    (view,) = stage.reviewer.open()
    for _ in range(2):
        stage.reviewer.desk.approve(view.card.id, digest=view.card.digest)
        go_on(stage, made, registered)
    made.invoke(Command(resume=YES), THREAD)
    made.invoke(Command(resume=answer("batched", YES)), THREAD)
    assert (ledger, cards(stage)) == (["pay 10"], ["pay 1000000"])


@both_modes
def test_an_answer_that_is_delivered_twice_approves_what_nobody_saw_without_us(mode: str) -> None:
    ledger = Ledger()
    lines = [calls(("pay", {"what": "10"})), calls(("pay", {"what": "1000000"})), says()]
    made = theirs(lines, [ledger.tool("pay")], mode)
    made.invoke(GO, THREAD)
    for _ in range(2):
        made.invoke(Command(resume=answer(mode, YES)), THREAD)
    assert ledger == ["pay 10", "pay 1000000"]


@either_way
def test_one_of_two_parallel_calls_is_decided_and_runs_while_the_other_waits(
    stage: Rehearsal, registered: bool
) -> None:
    ledger = Ledger()
    turn = calls(("pay", {"what": "10"}), ("pay", {"what": "20"}))
    made = agent(stage.il, [turn, says()], [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve", what="20")
    made.invoke(None, THREAD)
    assert (ledger, cards(stage)) == (["pay 20"], ["pay 10"])
    stage.reviewer.decide("approve", what="10")
    go_on(stage, made, registered)
    assert (ledger, is_over(made)) == (["pay 20", "pay 10"], True)


def test_one_of_two_parallel_calls_runs_while_the_other_waits_without_us_too() -> None:
    ledger = Ledger()
    turn = calls(("pay", {"what": "10"}), ("pay", {"what": "20"}))
    made = theirs([turn, says()], [ledger.tool("pay")], "per_call")
    paused = made.invoke(GO, THREAD)["__interrupt__"]
    (second,) = [each.id for each in paused if each.value["args"] == {"what": "20"}]
    left = made.invoke(Command(resume={second: YES}), THREAD)["__interrupt__"]
    assert ([each.value["args"] for each in left], ledger) == ([{"what": "10"}], ["pay 20"])


# -- refusals -----------------------------------------------------------------------------------------


@either_way
def test_a_rejected_call_stays_rejected_when_nobody_would_have_to_be_asked_any_more(
    stage: Rehearsal, registered: bool
) -> None:
    ledger, saver = Ledger(), InMemorySaver()
    lines = [calls(("pay", {"what": "10"})), says()]
    made = agent(stage.il, lines, [ledger.tool("pay")], saver=saver, registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide(reject("no"))
    lax = stage.another()
    again = agent(lax, lines, [ledger.tool("pay")], saver=saver, registered=registered, said={"pay": "reversible"})
    again.invoke(None, THREAD)
    assert (ledger, refusals(again), is_over(again)) == ([], ["rejected"], True)


@both_modes
def test_a_rejected_call_runs_when_nobody_would_have_to_be_asked_any_more_without_us(mode: str) -> None:
    ledger, asks = Ledger(), [True]
    lines = [calls(("pay", {"what": "10"})), says()]
    made = theirs(lines, [ledger.tool("pay")], mode, when=lambda request: asks[0])
    made.invoke(GO, THREAD)
    asks[0] = False
    made.invoke(Command(resume=answer(mode, NO)), THREAD)
    assert ledger == ["pay 10"]


class JumpsBack(AgentMiddleware[Any, Any]):
    """Sends the calls of the model to the tools once more, once a person has turned them down."""

    def __init__(self) -> None:
        super().__init__()
        self.jumped = 0

    def _jump(self, state: Any) -> dict[str, Any] | None:
        if self.jumped or not isinstance(state["messages"][-1], ToolMessage):
            return None
        self.jumped += 1
        return {"jump_to": "tools"}

    @hook_config(can_jump_to=["tools"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._jump(state)

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._jump(state)


@either_way
@pytest.mark.parametrize("said", [reject("no"), respond("paid by hand")], ids=["reject", "respond"])
def test_no_jump_to_the_tools_runs_what_people_turned_down(stage: Rehearsal, said: Any, registered: bool) -> None:
    ledger, jumps = Ledger(), JumpsBack()
    lines = [calls(("pay", {"what": "10"})), says()]
    made = agent(stage.il, lines, [ledger.tool("pay")], outside=[jumps], registered=registered)
    made.invoke(GO, THREAD)
    stage.reviewer.decide(said)
    go_on(stage, made, registered)
    assert (ledger, is_over(made), jumps.jumped) == ([], True, 1)
    first, again = results(made)
    assert first.content == again.content


@pytest.mark.parametrize("said", [NO, {"type": "respond", "message": "paid by hand"}], ids=["reject", "respond"])
def test_a_jump_to_the_tools_runs_what_people_turned_down_without_us(said: dict[str, Any]) -> None:
    ledger, jumps = Ledger(), JumpsBack()
    made = theirs([calls(("pay", {"what": "10"})), says()], [ledger.tool("pay")], "batched", jumps)
    made.invoke(GO, THREAD)
    assert ledger == []
    made.invoke(Command(resume=answer("batched", said)), THREAD)
    assert (ledger, jumps.jumped) == (["pay 10"], 1)
    assert len(results(made)) == 2, "the model reads both: that it was turned down, and that it was paid"


# -- time travel --------------------------------------------------------------------------------------


@either_way
def test_going_back_to_an_old_checkpoint_gives_the_result_and_pays_nothing_more(
    stage: Rehearsal, registered: bool
) -> None:
    ledger = Ledger()
    made = agent(stage.il, [calls(("pay", {"what": "10"})), says()], [ledger.tool("pay")], registered=registered)
    made.invoke(GO, THREAD)
    old = made.get_state(THREAD).config
    stage.reviewer.decide("approve")
    go_on(stage, made, registered)
    assert ledger == ["pay 10"]
    for again in (None, Command(resume=YES)):
        made.invoke(again, old)
        assert (ledger, texts(made), cards(stage)) == (["pay 10"], ["pay 10"], [])


@both_modes
def test_going_back_to_an_old_checkpoint_pays_again_without_us(mode: str) -> None:
    ledger = Ledger()
    made = theirs([calls(("pay", {"what": "10"})), says()], [ledger.tool("pay")], mode)
    made.invoke(GO, THREAD)
    old = made.get_state(THREAD).config
    made.invoke(Command(resume=answer(mode, YES)), THREAD)
    made.invoke(Command(resume=answer(mode, YES)), old)
    assert ledger == ["pay 10", "pay 10"]


# -- processes that die, and processes that meet ------------------------------------------------------

ROOT = Path(__file__).parents[2]

both_kinds = pytest.mark.parametrize("gate", ["alone", "registered"])
durabilities = pytest.mark.parametrize("durability", ["sync", "async", "exit"])


class Processes:
    """Calls of an agent in processes of their own, and the thread of each kind of agent as it stands when it waits."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("process_child.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )

    def send(self, *requests: dict[str, Any]) -> None:
        """Start a process for each request, all at the same time."""
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(requests) + "\n")
        self._server.stdin.flush()

    def receive(self) -> list[dict[str, Any]]:
        """How they ended."""
        assert self._server.stdout is not None
        return json.loads(self._server.stdout.readline())

    def call(self, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        """Both, one after the other."""
        self.send(*requests)
        return self.receive()

    def paused(self, gate: str, folder: Path) -> Path:
        """A folder with an agent that waits to be let pay."""
        kept = self._folder / gate
        if not kept.exists():
            kept.mkdir()
            (begun,) = self.call({"folder": str(kept), "gate": gate, "begins": True, "durability": "sync"})
            assert (begun["error"], begun["over"]) == ("", False)
        return Path(shutil.copytree(kept, folder / "work"))

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    made = Processes(tmp_path_factory.mktemp("paused"))
    yield made
    made.close()


def paid(folder: Path) -> list[str]:
    """What the ledger outside says, which no process of these could take back."""
    ledger = folder / "ledger"
    return ledger.read_text().splitlines() if ledger.exists() else []


class Desk:
    """A person beside the processes."""

    def __init__(self, folder: Path) -> None:
        self.il = Interlock(f"sqlite:///{folder}/interlock.db")
        self.reviewer = scripted_reviewer(self.il)

    def __enter__(self) -> ScriptedReviewer:
        return self.reviewer

    def __exit__(self, *_: object) -> None:
        self.il.close()


@both_kinds
@durabilities
def test_a_process_that_is_killed_inside_the_tool_leaves_a_doubt_and_no_second_payment(
    processes: Processes, tmp_path: Path, gate: str, durability: str
) -> None:
    folder = processes.paused(gate, tmp_path)
    again = {"folder": str(folder), "gate": gate, "durability": durability}
    with Desk(folder) as reviewer:
        reviewer.decide("approve")
    (dead,) = processes.call({**again, "die": True})
    assert (dead["signal"], paid(folder)) == (9, ["pay 10"])
    (restarted,) = processes.call(again)
    assert (restarted["error"], restarted["over"], paid(folder)) == ("", False, ["pay 10"])
    with Desk(folder) as reviewer:
        assert [view.card.kind.value for view in reviewer.open()] == ["reconcile"]
        reviewer.decide(found_done("paid 10, says the bank"))
    (ended,) = processes.call(again)
    assert (ended["error"], ended["over"], ended["told"]) == ("", True, ["paid 10, says the bank"])
    assert paid(folder) == ["pay 10"]


@both_modes
@durabilities
def test_a_process_that_is_killed_inside_the_tool_pays_again_when_it_is_back_without_us(
    processes: Processes, tmp_path: Path, mode: str, durability: str
) -> None:
    folder = processes.paused(mode, tmp_path)
    call = {"folder": str(folder), "gate": mode, "durability": durability}
    (dead,) = processes.call({**call, "die": True, "resume": answer(mode, YES)})
    assert (dead["signal"], paid(folder)) == (9, ["pay 10"])
    # Where the answer was kept by then (with `sync` nearly always), it takes no person to pay again.
    (restarted,) = processes.call(call)
    if not restarted["over"]:
        processes.call({**call, "resume": answer(mode, YES)})
    assert paid(folder) == ["pay 10", "pay 10"]


@both_kinds
def test_two_processes_that_go_on_at_once_pay_once(processes: Processes, tmp_path: Path, gate: str) -> None:
    folder = processes.paused(gate, tmp_path)
    with Desk(folder) as reviewer:
        reviewer.decide("approve")
    call = {"folder": str(folder), "gate": gate, "durability": "sync"}
    processes.send(*({**call, "ready": f"ready{n}", "waits_for": 2} for n in range(2)))
    answers = processes.receive()
    assert paid(folder) == ["pay 10"]
    assert [each["signal"] for each in answers] == [0, 0]
    (ended,) = processes.call(call)
    assert (ended["error"], ended["over"], ended["told"]) == ("", True, ["paid 10"])
    assert paid(folder) == ["pay 10"]


@both_kinds
def test_a_process_that_goes_on_while_another_pays_is_told_so_and_pays_nothing(
    processes: Processes, tmp_path: Path, gate: str
) -> None:
    folder = processes.paused(gate, tmp_path)
    with Desk(folder) as reviewer:
        reviewer.decide("approve")
    call = {"folder": str(folder), "gate": gate, "durability": "sync"}
    paying = {**call, "holds": "second is over"}
    first, second = processes.call(paying, {**call, "after": 1, "says": "second is over"})
    assert (paid(folder), first["error"]) == (["pay 10"], "")
    assert second["error"].startswith("busy")
    assert (first["over"], first["told"]) == (True, ["paid 10"])


@both_modes
def test_two_processes_that_go_on_at_once_pay_twice_without_us(processes: Processes, tmp_path: Path, mode: str) -> None:
    folder = processes.paused(mode, tmp_path)
    call = {"folder": str(folder), "gate": mode, "durability": "sync", "resume": answer(mode, YES), "meets": 2}
    processes.call(call, call)
    assert paid(folder) == ["pay 10", "pay 10"]


@both_kinds
def test_of_a_yes_and_a_no_at_once_one_counts_and_the_other_is_told(
    processes: Processes, tmp_path: Path, gate: str
) -> None:
    folder = processes.paused(gate, tmp_path)
    call = {"folder": str(folder), "gate": gate, "durability": "sync"}
    said = [
        {**call, "decides": verdict, "ready": f"ready{n}", "waits_for": 2}
        for n, verdict in enumerate(("approve", "reject"))
    ]
    answers = processes.call(*said)
    # Whoever was later is told so by the store, or finds no card that still waits.
    too_late = ("already_decided", "unknown_interrupt")
    assert sum(each["error"].startswith(too_late) for each in answers) == 1
    (ended,) = processes.call(call)
    assert ended["over"]
    won = answers[0]["error"].startswith(too_late)
    assert paid(folder) == ([] if won else ["pay 10"])


@both_modes
def test_a_no_that_comes_while_a_yes_runs_is_taken_and_changes_nothing_without_us(
    processes: Processes, tmp_path: Path, mode: str
) -> None:
    folder = processes.paused(mode, tmp_path)
    call = {"folder": str(folder), "gate": mode, "durability": "sync"}
    yes = {**call, "resume": answer(mode, YES), "holds": "no is over"}
    no = {**call, "resume": answer(mode, NO), "after": 1, "says": "no is over"}
    approving, rejecting = processes.call(yes, no)
    assert "pay 10" in paid(folder)
    assert (approving["error"], rejecting["error"]) == ("", ""), "nobody is told that there were two answers"
