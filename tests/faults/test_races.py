"""Races: many deciders, several workers, stalled executors, stops and retractions in every order."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from race_child import World

from interlock import Interlock, Interrupted
from interlock.domain.action import ActionState
from interlock.domain.errors import DecisionError, InterlockError, RunError
from interlock.domain.events import EventType
from interlock.domain.ids import RunId
from interlock.domain.interrupt import InterruptKind
from interlock.domain.run import RunState
from interlock.stores.memory import MemoryStore
from interlock.stores.sqlite import SqliteStore
from interlock.testing import scripted_reviewer
from interlock.testing.clock import ManualClock
from interlock.testing.failing_store import FailingStore
from interlock.usecases.engine_work import LOOK_AT, MAX_ATTEMPTS

CHILD = str(Path(__file__).with_name("race_child.py"))
RUN = RunId("r")


class Children:
    """Processes of a test; none outlives it."""

    def __init__(self) -> None:
        self._all: list[subprocess.Popen[str]] = []

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, CHILD, *map(str, arguments)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._all.append(child)
        return child

    def worker(self, folder: Path, *arguments: object) -> subprocess.Popen[str]:
        child = self.start("work", folder, *arguments)
        ready(child)
        return child

    def end(self) -> None:
        for child in self._all:
            if child.poll() is None:
                child.kill()
            child.wait()
            assert child.stdout is not None
            child.stdout.close()


def ready(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"


@pytest.fixture
def children() -> Iterator[Children]:
    made = Children()
    yield made
    made.end()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def eventually(holds: Callable[[], Any], seconds: float = 30.0) -> Any:
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.01)
    return found


def types(world: World, run: RunId = RUN) -> list[EventType]:
    return [event.type for _, event in world.kernel.events(run, 500)]


def action(world: World, tool: str = "send", run: RunId = RUN) -> Any:
    (found,) = [each for each in world.store.read(lambda rows: rows.actions_of_run(run)) if each.tool == tool]
    return found


def parked(world: World) -> Any:
    """A run that waits for the approval of `send`; answers its card."""
    world.job.start("x", key=RUN)
    return world.card()


# -- deciders --------------------------------------------------------------------------------------


def test_two_hundred_deciders_in_four_processes_have_one_winner(
    tmp_path: Path, world: World, children: Children
) -> None:
    parked(world)
    crowds = [children.start("decide", tmp_path, f"p{number}", 50) for number in range(4)]
    for crowd in crowds:
        ready(crowd)
    (tmp_path / "go").touch()
    told = [answer for crowd in crowds for answer in json.loads(crowd.communicate(timeout=100)[0])]
    assert len(told) == 200
    receipts = [answer for answer in told if "decision" in answer]
    winner = receipts[0]
    assert {receipt["decision"] for receipt in receipts} == {winner["decision"]}
    assert sum(not receipt["replayed"] for receipt in receipts) == 1
    others = [answer for answer in told if "code" in answer]
    assert {answer["code"] for answer in others} <= {"already_decided"}
    assert {answer["by"] for answer in others} <= {winner["by"]}
    assert all(answer["at"] != "None" for answer in others)
    (kept,) = world.store.read(lambda rows: rows.decisions_of_action(action(world).id))
    assert kept.id == winner["decision"]
    world.il.worker().run_until_idle()
    assert (
        sum(line.startswith("send ") for line in (world.trace.read_text() if world.trace.exists() else "").splitlines())
        <= 1
    )
    assert types(world).count(EventType.DECISION_RECORDED) == 1


# -- workers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [12, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_two_workers_on_one_run_have_one_effect(tmp_path: Path, world: World, children: Children, rounds: int) -> None:
    for _ in range(2):
        children.worker(tmp_path)
    for number in range(rounds):
        run = RunId(f"r{number}")
        world.job.submit(f"x{number}", key=run)
        card = eventually(lambda: [view.card for view in world.desk.open()])[0]
        world.desk.approve(card.id, digest=card.digest)
        eventually(lambda run=run: world.kernel.run(run).state is RunState.FINISHED)  # type: ignore[union-attr]
        assert world.effects(f"send x{number}") == 1
    assert len(world.trace.read_text().splitlines()) == rounds


def test_a_worker_that_is_told_to_stop_finishes_what_is_under_way(
    tmp_path: Path, world: World, children: Children
) -> None:
    parked(world)
    worker = children.worker(tmp_path, 30, "entry")
    world.approve()
    eventually((tmp_path / "begun").exists)
    worker.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    (tmp_path / "go").touch()
    assert worker.wait(30) == 0
    assert world.kernel.run(RUN).state is RunState.FINISHED  # type: ignore[union-attr]
    assert action(world).state is ActionState.DONE
    assert world.effects("send x") == 1


def test_a_workflow_that_kills_its_worker_becomes_visible_and_stops_looping(
    tmp_path: Path, world: World, children: Children
) -> None:
    world.deadly.submit("x", key=RUN)
    for _ in range(MAX_ATTEMPTS):
        assert children.worker(tmp_path).wait(30) == -signal.SIGKILL
    last = children.worker(tmp_path)
    run = eventually(lambda: (row := world.kernel.run(RUN)) and row.state is RunState.NEEDS_ATTENTION and row)
    assert "5 times" in run.attention
    assert last.poll() is None
    assert types(world).count(EventType.WORK_POISONED) == 1
    assert world.effects("rename x") == 1
    assert world.kernel.take_work(lambda *_: True) == ()


def test_runs_of_a_workflow_that_nobody_knows_stay_due_and_harm_nobody(world: World) -> None:
    for number in range(LOOK_AT + 50):
        world.kernel.create(RunId(f"unknown-{number}"), agent="a", workflow="elsewhere", input=b"{}").result()
    parked(world)
    world.approve()
    assert world.il.worker().run_until_idle() == 1
    assert world.kernel.run(RUN).state is RunState.FINISHED  # type: ignore[union-attr]
    due = world.store.read(lambda rows: rows.due_work(rows.now, 1000))
    assert len(due) == LOOK_AT + 50
    assert {(work.attempts, work.poison) for work in due} == {(0, False)}


def test_a_pass_longer_than_the_lease_on_its_work_is_left_alone(tmp_path: Path) -> None:
    clock = ManualClock(datetime.now(UTC))
    world = World(tmp_path, store=MemoryStore(clock=clock), lease=3600)
    parked(world)
    world.approve()
    other = World(tmp_path, store=world.store, lease=3600)
    seen: list[int] = []

    def inside(point: str) -> None:
        if point == "entry":
            clock.advance(timedelta(minutes=10))
            seen.append(other.il.worker().run_until_idle())

    world.inside = inside
    for _ in range(MAX_ATTEMPTS - 1):  # as if earlier attempts had died: the next one is the last
        (work,) = world.kernel.take_work(lambda *_: True)
        world.kernel.return_work(work, "died", timedelta())
    world.il.worker().run_until_idle()
    assert seen == [0]
    assert world.kernel.run(RUN).state is RunState.FINISHED  # type: ignore[union-attr]
    world.close()


# -- claim, cancel, revoke, freeze -----------------------------------------------------------------


def stop_words(world: World, card: Any) -> dict[str, Callable[[], object]]:
    return {
        "work": lambda: world.il.worker().run_until_idle(),
        "cancel": lambda: world.desk.cancel(RUN),
        "revoke": lambda: world.desk.revoke(card.id, digest=card.digest),
        "freeze": lambda: world.desk.freeze("run", RUN),
    }


def say(word: Callable[[], object], told: list[str], name: str) -> None:
    try:
        word()
        told.append(name)
    except InterlockError as error:
        told.append(f"{name}: {error.code}")


def after_the_stops(world: World, told: list[str]) -> None:
    """Whatever was said in whichever order: what was stopped did not run, and what goes on runs once."""
    run, send = world.kernel.run(RUN), action(world)
    assert run is not None
    ran = world.effects("send x")
    assert ran <= 1
    assert (send.state is ActionState.DONE) is (ran == 1)
    cards = [card for card in world.store.read(lambda rows: rows.interrupts_of_action(send.id)) if card.open]
    assert len(cards) <= 1
    assert bool(cards) is (send.state is ActionState.HELD)
    if "revoke" in told:
        assert ran == 0, "an approval was taken back, and the action ran"
    if "cancel" in told:
        assert run.state is RunState.CANCELLED
    if "freeze" in told:
        world.desk.release("run", RUN)
    world.il.worker().run_until_idle()
    if world.desk.open() and run.state is not RunState.CANCELLED:
        assert ran == 0
        world.approve()
        world.il.worker().run_until_idle()
    ended, send = world.kernel.run(RUN), action(world)
    assert ended is not None
    if ended.state is RunState.CANCELLED:
        assert world.effects("send x") == (send.state is ActionState.DONE)
    else:
        assert ended.state is RunState.FINISHED, (told, ended)
        assert world.effects("send x") == 1
    assert (
        world.store.read(lambda rows: rows.due_work(rows.now + timedelta(days=1), 5)) == []
        or ended.state is RunState.CANCELLED
    )


@pytest.mark.parametrize("order", list(itertools.permutations(["work", "cancel", "revoke", "freeze"])), ids="-".join)
def test_stops_in_every_order_leave_nothing_half_done(tmp_path: Path, order: tuple[str, ...]) -> None:
    world = World(tmp_path, store=MemoryStore())
    words = stop_words(world, parked(world))
    world.approve()
    told: list[str] = []
    for name in order:
        say(words[name], told, name)
    after_the_stops(world, told)
    world.close()


@pytest.mark.parametrize("rounds", [20, pytest.param(300, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_stops_at_the_same_moment_leave_nothing_half_done(tmp_path: Path, store: str, rounds: int) -> None:
    orders = set()
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder, store=MemoryStore() if store == "memory" else SqliteStore(folder / "store.db"))
        words = stop_words(world, parked(world))
        chosen = [name for bit, name in enumerate(words) if number % 15 + 1 >> bit & 1]
        world.approve()
        told: list[str] = []
        together = threading.Barrier(len(chosen))

        def one(name: str, words: Any = words, told: list[str] = told, together: threading.Barrier = together) -> None:
            together.wait()
            say(words[name], told, name)

        crowd = [threading.Thread(target=one, args=(name,)) for name in chosen]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        after_the_stops(world, told)
        orders.add(tuple(told))
        world.close()
    print(len(orders), "different outcomes")


INTRUSIONS = ("cancel", "revoke", "freeze", "freeze and release", "bury", "work")


@pytest.mark.parametrize("intrusion", INTRUSIONS)
def test_an_intrusion_at_every_store_call_of_a_pass_leaves_nothing_half_done(tmp_path: Path, intrusion: str) -> None:
    number, when = 0, "before"
    while True:
        number, when = (number, "after") if when == "before" and number else (number + 1, "before")
        folder = tmp_path / f"{number}-{when}"
        folder.mkdir()
        inner = MemoryStore()
        world = World(folder, store=inner)
        card = parked(world)
        world.approve()
        other = World(folder, store=inner)
        words = {
            **stop_words(other, card),
            "bury": other.kernel.bury_dead,
            "freeze and release": lambda desk=other.desk: (desk.freeze("run", RUN), desk.release("run", RUN)),
        }
        told: list[str] = []
        failing = FailingStore(
            inner, number, when, lambda words=words, told=told: say(words[intrusion], told, intrusion)
        )  # type: ignore[arg-type]
        passing = World(folder, store=failing)
        passing.il.worker().run_until_idle()
        reached = len(failing.calls) >= number
        if reached:
            after_the_stops(other, told)
        if not reached:
            assert number > 10
            break


# -- stalled executors -----------------------------------------------------------------------------


def stalled(tmp_path: Path, store: str = "memory") -> tuple[World, World, threading.Event, threading.Thread, Any]:
    """An executor inside `send`, silent past its lease; answers it, another process's world, and the reconcile card."""
    clock = ManualClock(datetime.now(UTC))
    shared: Any = MemoryStore(clock=clock) if store == "memory" else SqliteStore(tmp_path / "store.db", clock=clock)
    began, go = threading.Event(), threading.Event()

    def inside(point: str) -> None:
        if point == "exit":
            began.set()
            assert go.wait(30)

    one = World(tmp_path, store=shared, inside=inside)
    parked(one)
    one.approve()
    thread = threading.Thread(target=one.il.worker().run_until_idle)
    thread.start()
    assert began.wait(30)
    clock.advance(timedelta(seconds=31))
    other = World(tmp_path, store=shared)
    assert other.kernel.bury_dead() == 1
    card = other.card()
    assert card.kind is InterruptKind.RECONCILE
    return one, other, go, thread, card


@pytest.mark.parametrize("found", ["done", "failed"])
def test_an_outcome_after_a_person_has_reconciled_is_a_conflict_on_record(tmp_path: Path, found: str) -> None:
    _, other, go, thread, card = stalled(tmp_path)
    other.desk.reconcile(
        card.id,
        digest=card.digest,
        found=found,
        **({"result": "by hand"} if found == "done" else {}),
    )
    before = action(other)
    go.set()
    thread.join()
    after = action(other)
    assert types(other).count(EventType.OUTCOME_CONFLICTED) == 1
    assert types(other).count(EventType.ACTION_RECONCILED) == 1
    assert after == before
    run = other.kernel.run(RUN)
    assert run is not None
    # A person who was wrong is told; one who was right need not be.
    assert (run.state is RunState.NEEDS_ATTENTION) is (found == "failed")
    assert other.il.worker().run_until_idle() <= 1
    assert other.effects("send x") == 1


def test_an_outcome_after_run_again_keeps_it_from_running_again(tmp_path: Path) -> None:
    _, other, go, thread, card = stalled(tmp_path)
    other.desk.reconcile(card.id, digest=card.digest, found="run_again")
    go.set()
    thread.join()
    assert action(other).state is ActionState.DONE
    assert types(other).count(EventType.LATE_OUTCOME_RECORDED) == 1
    other.il.worker().run_until_idle()
    assert other.effects("send x") == 1
    assert other.kernel.run(RUN).state is RunState.FINISHED  # type: ignore[union-attr]


def test_an_outcome_before_anybody_has_reconciled_settles_the_doubt(tmp_path: Path) -> None:
    _, other, go, thread, card = stalled(tmp_path)
    go.set()
    thread.join()
    assert action(other).state is ActionState.DONE
    assert types(other).count(EventType.LATE_OUTCOME_RECORDED) == 1
    with pytest.raises(DecisionError) as refused:
        other.desk.reconcile(card.id, digest=card.digest, found="failed")
    assert refused.value.code == "settled"
    other.il.worker().run_until_idle()
    assert other.kernel.run(RUN).state is RunState.FINISHED  # type: ignore[union-attr]
    assert other.effects("send x") == 1


@pytest.mark.parametrize("rounds", [8, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_a_late_outcome_and_a_person_at_the_same_moment_have_one_winner(tmp_path: Path, rounds: int) -> None:
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        one, other, go, thread, card = stalled(folder, "sqlite")
        told: list[str] = []
        person = threading.Thread(
            target=lambda other=other, card=card, told=told: say(
                lambda: other.desk.reconcile(card.id, digest=card.digest, found="failed"), told, "failed"
            )
        )
        go.set()
        person.start()
        person.join()
        thread.join()
        won = told == ["failed"]
        assert action(other).state is (ActionState.FAILED if won else ActionState.DONE)
        assert types(other).count(EventType.OUTCOME_CONFLICTED) == won
        assert types(other).count(EventType.LATE_OUTCOME_RECORDED) == (not won)
        one.close()


def test_a_process_that_was_stopped_past_its_lease_loses_its_claim_and_says_what_came_of_it(
    tmp_path: Path, world: World, children: Children
) -> None:
    parked(world)
    worker = children.worker(tmp_path, 1, "exit")
    world.approve()
    eventually((tmp_path / "begun").exists)
    worker.send_signal(signal.SIGSTOP)
    eventually(world.kernel.bury_dead)
    assert world.card().kind is InterruptKind.RECONCILE
    worker.send_signal(signal.SIGCONT)
    (tmp_path / "go").touch()
    eventually(lambda: EventType.LATE_OUTCOME_RECORDED in types(world))
    # The same process goes on as a new one: it was silent, not dead.
    eventually(lambda: world.kernel.run(RUN).state is RunState.FINISHED)  # type: ignore[union-attr]
    assert world.effects("send x") == 1
    world.job.submit("y", key="r2")
    eventually(world.desk.open)
    world.approve()
    eventually(lambda: world.kernel.run(RunId("r2")).state is RunState.FINISHED)  # type: ignore[union-attr]


def test_a_claim_after_a_lost_heartbeat_is_refused_and_the_process_starts_anew(tmp_path: Path) -> None:
    clock = ManualClock(datetime.now(UTC))
    world = World(tmp_path, store=MemoryStore(clock=clock))
    parked(world)
    world.approve()
    calls = FailingStore(world.store)
    first = World(tmp_path, store=calls)
    first.job.start("x", key=RUN)
    claim = next(number for number, _, name in calls.calls if name == "claim.unit")
    assert first.effects("send x") == 1
    late = FailingStore(world.store, claim, "before", lambda: clock.advance(timedelta(seconds=31)) and None)
    other = World(tmp_path, store=late)
    with pytest.raises(RunError):
        other.kernel.retry(RUN, "ana").result()
    world.job.start("y", key="r2")
    world.approve()
    with pytest.raises(RunError) as refused:
        other.job.start("y", key="r2")
    assert refused.value.code == "process_lost"
    assert world.effects("send y") == 0
    other.job.start("y", key="r2")
    assert world.effects("send y") == 1
    assert world.kernel.run(RunId("r2")).state is RunState.FINISHED  # type: ignore[union-attr]


# -- wake-ups --------------------------------------------------------------------------------------


def test_a_decision_that_comes_while_the_pass_is_still_running_is_not_lost(tmp_path: Path) -> None:
    world = World(tmp_path, store=MemoryStore())
    decided: list[Any] = []

    def inside(point: str) -> None:
        if point == "entry" and not decided:
            decided.append(eventually(lambda: [view.card for view in world.desk.open()]))
            world.approve()

    world.inside = inside
    world.branches.submit("x", key=RUN)
    world.il.worker().run_until_idle()
    assert world.kernel.run(RUN).state is RunState.FINISHED  # type: ignore[union-attr]
    assert world.effects("send x") == world.effects("rename x") == 1


def test_a_decision_at_any_store_call_after_the_card_is_not_lost(tmp_path: Path) -> None:
    for number, when in itertools.product(range(1, 40), ("before", "after")):
        folder = tmp_path / f"{number}-{when}"
        folder.mkdir()
        inner = MemoryStore()
        person = World(folder, store=inner)

        def decide(person: World = person) -> None:
            for view in person.desk.open():
                person.desk.approve(view.card.id, digest=view.card.digest)

        failing = FailingStore(inner, number, when, decide)  # type: ignore[arg-type]
        world = World(folder, store=failing)
        world.job.submit("x", key=RUN)
        world.il.worker().run_until_idle()
        if len(failing.calls) < number:
            assert number > 15
            return
        decide()
        world.il.worker().run_until_idle()
        assert world.kernel.run(RUN).state is RunState.FINISHED  # type: ignore[union-attr]
        assert world.effects("send x") == 1


def test_more_decisions_in_mid_pass_than_attempts_poison_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, store=MemoryStore())
    names = [str(number) for number in range(MAX_ATTEMPTS + 3)]

    @world.il.workflow(name="many")
    def many() -> int:
        return len(world.together(*((world.send, name) for name in names)))

    def inside(point: str) -> None:
        for view in world.desk.open()[:1]:
            with suppress(DecisionError):  # two tools at once may pick the same card
                world.desk.approve(view.card.id, digest=view.card.digest)

    world.inside = inside
    many.submit(key=RUN)
    worker = world.il.worker()
    worker.run_until_idle()
    while world.desk.open():
        inside("")
        worker.run_until_idle()
    assert world.kernel.run(RUN).state is not RunState.NEEDS_ATTENTION  # type: ignore[union-attr]
    assert len(world.trace.read_text().splitlines()) == len(names)


@pytest.mark.parametrize("tool", ["approved", "in doubt"])
def test_a_frozen_run_waits_quietly_and_goes_on_after_the_release(tmp_path: Path, tool: str) -> None:
    world = World(tmp_path, store=MemoryStore())
    if tool == "approved":
        parked(world)
        world.approve()
    else:

        def lost(point: str) -> None:
            raise TimeoutError

        again = world.il.tool("irreversible", idempotent=True, name="again")(
            lambda to: world.inside(to) or world._tool("send")(to)
        )

        @world.il.workflow(name="doubtful")
        def doubtful(to: str) -> str:
            return str(again(to))

        world.inside = lambda _: world.desk.freeze("run", RUN) and lost("")
        doubtful.start("x", key=RUN)
        world.approve()
        world.il.worker().run_until_idle()
        world.inside = lambda _: None
        world.desk.release("run", RUN)
    world.desk.freeze("run", RUN)
    worker = world.il.worker()
    assert worker.run_until_idle() <= 1
    assert worker.run_until_idle() == 0
    assert world.kernel.run(RUN).state is RunState.WAITING  # type: ignore[union-attr]
    world.desk.release("run", RUN)
    worker.run_until_idle()
    assert world.kernel.run(RUN).state is RunState.FINISHED  # type: ignore[union-attr]
    assert world.effects("send x") == 1


def test_a_decision_after_the_expiry_wakes_the_run(tmp_path: Path) -> None:
    clock = ManualClock(datetime.now(UTC))
    world = World(tmp_path, store=MemoryStore(clock=clock), lease=10**6)
    card = parked(world)
    clock.advance(timedelta(days=2))
    with pytest.raises(DecisionError) as refused:
        world.desk.approve(card.id, digest=card.digest)
    assert refused.value.code == "expired"
    assert world.il.worker().run_until_idle() == 1
    assert world.kernel.run(RUN).state is RunState.FAILED  # type: ignore[union-attr]
    assert world.effects("send x") == 0


def test_an_executor_that_stood_still_between_claim_and_effect_does_not_start_it(tmp_path: Path) -> None:
    # What a stopped process, a paused machine or a swapped-out worker does: it wakes up with a claim that is over.
    def send_once(name: str, asleep_at: int | None = None) -> tuple[list[str], FailingStore]:
        sent: list[str] = []
        made: list[Interlock] = []
        clock = ManualClock()

        def sleep() -> None:
            clock.advance(timedelta(hours=1))
            made[0].kernel._beaten -= 3600

        store = FailingStore(SqliteStore(tmp_path / name, clock=clock), asleep_at, "after", sleep)
        made.append(il := Interlock("memory://", store=store))
        send = il.guard(sent.append, name="send", reversibility="irreversible")
        reviewer = scripted_reviewer(il, {"send": "approve"})
        with il.run("job"):
            send("ana")
        reviewer.decide_all()
        with suppress(RunError, Interrupted), il.run("job"):
            send("ana")
        return sent, store

    sent, usual = send_once("usual.db")
    assert sent == ["ana"]
    claim = next(number for number, method, unit in usual.calls if method == "write" and "claim" in unit)
    sent, _ = send_once("asleep.db", claim)
    assert sent == []
