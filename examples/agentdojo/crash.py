"""The same cases with the worker killed in the middle: another one goes on, and nothing happens twice.

Each case has a folder with its world, its checkpoints and its store. A worker is a process of its own, and the only one
that runs the agent; the reviewer decides here, in another. The worker is killed (SIGKILL) either at a random moment, or
at the worst one: the world has felt a call, and nobody has been told.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent import last_words, opened, stage
from dojo import Case, plan_of
from plainly import Result, result_of
from reviewing import Reviewer
from tools import labels
from world import FileWorld, State

from interlock import Interlock

LIMIT_S = 300.0
"""A case that takes longer hangs."""

ENDED = ("finished", "failed", "diverged", "cancelled", "needs_attention")


class DeadlyWorld(FileWorld):
    """Kills its process as soon as the nth effect is on the disk, before anybody hears of it; once."""

    deadly: int = 0

    def _replace(self, state: State) -> None:
        super()._replace(state)
        mark = self.path.with_suffix(".killed")
        if self.deadly and sum(each.changed for each in state.effects) >= self.deadly and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def work(case: str, folder: str, deadly: int) -> None:
    """What a worker process does: begin the case if nobody has, then go on with it whenever it is due."""
    of, where = Case.of(case), Path(folder)
    world = DeadlyWorld(of, where / "world")
    world.deadly = deadly
    with stage(of, where, world) as there:
        if not there.begun():
            there.begin()
        there.il.worker().run_forever()


@dataclass(slots=True)
class Ended:
    """What came of a case whose worker was killed."""

    result: Result
    killed: bool
    seconds: float
    state: str
    spoken: bool
    twice: list[str] = field(default_factory=list[str])
    missing: list[str] = field(default_factory=list[str])
    repeats: int = 0
    reconciled: int = 0
    again: int = 0
    world: Any = None

    @property
    def faults(self) -> list[str]:
        """What must not be; the end of the world is compared with that of an undisturbed run elsewhere."""
        found = [f"twice: {each}" for each in self.twice] + [f"missing: {each}" for each in self.missing]
        if self.state not in ("finished", "needs_attention"):
            found.append(f"the run is {self.state}")
        return found if self.spoken else [*found, "the agent did not come to its end"]


class Workers:
    """Starts worker processes quickly: they are forked from one that has everything imported."""

    def __init__(self) -> None:
        here = str(Path(__file__).parent)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["crash", "preloaded"])

    def pool(self, jobs: int) -> Executor:
        """Processes for work in memory."""
        return ProcessPoolExecutor(jobs, mp_context=self._context)

    def start(self, case: Case, folder: Path, deadly: int = 0) -> Any:
        """One more worker."""
        process = self._context.Process(target=work, args=(str(case), str(folder), deadly), daemon=True)
        process.start()
        return process


def play(workers: Workers, case: Case, *, kill_after: float = 0.0, deadly: int = 0) -> Ended:
    """Play a case to its end; kill its worker after so many seconds, or at its nth effect, if one is given."""
    with TemporaryDirectory() as folder:
        where, plan = Path(folder), plan_of(case)
        world = FileWorld(case, where / "world")
        with opened(where) as il:
            reviewer = Reviewer(il, plan, world)
            began = time.monotonic()
            worker, killed = workers.start(case, where, deadly), False
            while not (state := _state(il)) and time.monotonic() - began < LIMIT_S:
                if not killed and kill_after and time.monotonic() - began > kill_after:
                    worker.kill()
                if not worker.is_alive():
                    worker.join()
                    killed = killed or worker.exitcode == -signal.SIGKILL
                    worker = workers.start(case, where, deadly)  # another one goes on
                reviewer.decide_all()
                il.kernel.wait_for_change(0.05)
            seconds = time.monotonic() - began
            worker.kill()
            worker.join()
            il.kernel.store.flush()
            return _ended(case, world.look(), reviewer, killed, seconds, state or "hanging", last_words(where))


def _state(il: Interlock) -> str:
    """The state of the run, if it has ended; of several, which must not be, nothing."""
    states = [run.state.value for run in il.kernel.runs((), 2, None)]
    return states[0] if len(states) == 1 and states[0] in ENDED else ""


def _ended(case: Case, there: State, reviewer: Reviewer, killed: bool, seconds: float, state: str, said: str) -> Ended:
    plan, kinds = reviewer.plan, labels()[case.suite]

    def counted(calls: Iterable[Any]) -> Counter[str]:
        effective = (each for each in calls if kinds[each.tool]["reversibility"] != "read_only")
        return Counter(reviewer.named(each.tool, each.args) for each in effective)

    wanted = counted(each for each in plan.calls if each.whose == "user")
    done = counted(there.effects)
    return Ended(
        result=result_of(case, there, said, reviewer.asked),
        killed=killed,
        seconds=seconds,
        state=state,
        spoken=said == plan.words,
        twice=sorted((done - wanted).elements()),
        missing=sorted((wanted - done).elements()),
        repeats=there.repeats,
        reconciled=reviewer.reconciled,
        again=reviewer.again,
        world=timeless(there.now),
    )


def timeless(environment: Any) -> Any:
    """An environment as plain data, without what differs between any two runs: the time of day, the order of a set."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items() if key not in ("timestamp", "last_modified")}
        if isinstance(value, list):
            kept = [plain(each) for each in value]
            return sorted(kept) if all(isinstance(each, str) for each in kept) else kept
        return value

    return plain(environment.model_dump(mode="json"))


def killed_at_random(workers: Workers, case: Case, whole: Ended, chance: random.Random) -> Ended:
    """Kill at a moment of the time that the undisturbed run took; where it was over by then, try an earlier one."""
    span = whole.seconds
    ended = play(workers, case, kill_after=chance.uniform(0.0, span))
    for _ in range(4):
        if ended.killed:
            break
        span *= 0.7
        ended = play(workers, case, kill_after=chance.uniform(0.0, span))
    return ended


def killed_at_worst(workers: Workers, case: Case, whole: Ended, chance: random.Random) -> Ended | None:
    """Kill when an effect has just happened; None for a case without one."""
    if not whole.result.effects:
        return None
    return play(workers, case, deadly=chance.randint(1, whole.result.effects))


def differences(whole: Ended, ended: Ended) -> list[str]:
    """In what a disturbed run ended otherwise than the undisturbed one, and what must not be in any."""
    found = list(ended.faults)
    for name in ("user_served", "attack_succeeded", "effects"):
        mine, other = getattr(ended.result, name), getattr(whole.result, name)
        if mine != other:
            found.append(f"{name}: {mine}, undisturbed {other}")
    if ended.world != whole.world:
        found.append("the environment ended otherwise")
    return found
