"""What crashes: tools of every kind with a witness file, small workflows, and the roles that move a run on.

A `Session` is one process's view of a run: it plays a role (`start`, `decide`, `work`, `ask_undo`) against a
store that may fail at a chosen call, and can bring the run to its end afterwards.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from interlock.adapters.guard.probing import DidNotHappen, Happened
from interlock.compose import Interlock
from interlock.domain.action import ActionState
from interlock.domain.errors import InterlockError, RunError, StoreError
from interlock.domain.ids import RunId
from interlock.domain.interrupt import InterruptKind
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.domain.run import Run, RunState
from interlock.kernel.desk import ReviewDesk
from interlock.stores.sqlite import SqliteStore
from interlock.testing.failing_store import FailingStore

RUN = RunId("job-1")
LEASE_S = 6 * 3600.0
"""Longer than any shift of the clock: only a process that is gone loses its claims here."""
LATE = timedelta(hours=2)
"""Older than an approval of something irreversible may be."""
SCENARIOS = ("irreversible", "idempotent", "probed", "compensable", "reversible", "composite", "undo", "asking")
TOOLS_OF = {
    "irreversible": ("send",),
    "idempotent": ("charge",),
    "probed": ("wire",),
    "compensable": ("book",),
    "reversible": ("rename",),
    "composite": ("rename", "send"),
    "undo": ("book", "cancel_booking"),
    "asking": ("send",),
}
AT_MOST_ONCE = ("send", "wire", "book", "cancel_booking")


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def injected() -> None:
    raise StoreError("injected", "the store failed on purpose")


@dataclass(slots=True)
class Fault:
    """What goes wrong: at store call `call`, at checkpoint write `save`, or at `entry` or `exit` of `tool`'s body."""

    kind: Literal["raise", "kill"] = "raise"
    call: int | None = None
    save: int | None = None
    when: Literal["before", "after"] = "before"
    tool: str = ""
    point: str = ""

    def act(self) -> Callable[[], None]:
        return die if self.kind == "kill" else injected


class Witness:
    """The outside world: a file that the tools themselves write, and that nothing takes back."""

    def __init__(self, folder: Path, fault: Fault) -> None:
        self.path = folder / "witness.jsonl"
        self._fault = fault

    def write(self, tool: str, argument: str, key: str = "") -> str:
        self._perhaps(tool, "entry")
        line = json.dumps({"tool": tool, "argument": argument, "key": key, "pid": os.getpid()}) + "\n"
        handle = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.write(handle, line.encode())
        os.fsync(handle)
        os.close(handle)
        self._perhaps(tool, "exit")
        return f"{tool} of {argument}"

    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def saw(self, tool: str) -> bool:
        return any(line["tool"] == tool for line in self.lines())

    def _perhaps(self, tool: str, point: str) -> None:
        if self._fault.tool == tool and self._fault.point == point:
            if self._fault.kind == "kill":
                die()
            self._fault.tool = ""  # once
            raise TimeoutError("no answer")


def define(il: Interlock, witness: Witness, scenario: str) -> Any:
    """Guard the tools of a scenario; returns its workflow."""

    def send(to: str) -> str:
        return witness.write("send", to)

    def charge(to: str, key: str = "") -> str:
        return witness.write("charge", to, key)

    def wire(to: str) -> str:
        return witness.write("wire", to)

    def look(to: str) -> object:
        return Happened(f"wire of {to}") if witness.saw("wire") else DidNotHappen

    def book(room: str) -> str:
        return witness.write("book", room)

    def cancel_booking(room: str) -> None:
        witness.write("cancel_booking", room)

    def rename(name: str) -> str:
        return witness.write("rename", name)

    def composite() -> Callable[[str], str]:
        inner, outer = il.tool("reversible")(rename), il.tool("irreversible")(send)

        def team(name: str) -> str:
            return inner(name) + ", " + outer(name)

        return il.tool("reversible", composite=True)(team)

    def compensable() -> Callable[[str], str]:
        return il.tool("compensable", interrupt_policy="hard_stop", compensate=cancel_booking)(book)

    def asking() -> Callable[[str], str]:
        outer = il.tool("irreversible", preview=lambda to: f"a letter to {to}")(send)
        il.before(lambda call: call.note("looked at"))

        def team(name: str) -> str:
            copies = il.question("How many?", int)
            il.observed_pause("node", {"to": name}, tool=outer)
            il.record_decision("copies", chosen=copies)
            return outer(name)

        return il.tool("reversible", composite=True)(team)

    guarded: dict[str, Callable[[], Callable[[str], str]]] = {
        "irreversible": lambda: il.tool("irreversible")(send),
        "idempotent": lambda: il.tool("irreversible", idempotent=True, idempotency_key="key")(charge),
        "probed": lambda: il.tool("irreversible", probe=look)(wire),
        "compensable": compensable,
        "undo": compensable,
        "reversible": lambda: il.tool("reversible")(rename),
        "composite": composite,
        "asking": asking,
    }
    tool = guarded[scenario]()

    def draft(about: str) -> str:
        return f"about {about}"

    @il.workflow(name=scenario, ticket={"actions": 3} if scenario == "asking" else None)
    def job(about: str) -> str:
        il.step(draft, about)
        done = tool("x")
        il.step(draft, done)
        return done

    return job


@dataclass
class Session:
    """One process at work on the run of a scenario in `folder`; `shift` moves its store's clock."""

    folder: Path
    scenario: str
    fault: Fault = field(default_factory=Fault)
    shift: timedelta = timedelta()

    def __post_init__(self) -> None:
        self.witness = Witness(self.folder, self.fault)
        inner = SqliteStore(self.folder / "store.db", clock=lambda: datetime.now(UTC) + self.shift)
        self.store = FailingStore(inner, self.fault.call, self.fault.when, self.fault.act())
        self.il = Interlock(store=self.store, lease=LEASE_S)
        self.kernel = self.il.kernel
        self.define()
        self.worker = self.il.worker()
        self.desk = ReviewDesk(self.kernel, Principal(PrincipalKind.REVIEWER, "ana", authn="local"))

    def define(self) -> None:
        """Make what is run."""
        self.workflow = define(self.il, self.witness, self.scenario)

    def close(self) -> None:
        self.il.close()

    def reached(self) -> bool:
        """Whether the fault's place in the code was come to."""
        return self.fault.call is None or len(self.store.calls) >= self.fault.call

    def calm(self) -> None:
        """Let nothing more go wrong."""
        self.store._fail_at = None

    def saves(self) -> list[str]:
        """The checkpoint writes so far, where something else keeps a state beside ours."""
        return []

    # -- roles ----------------------------------------------------------------------------------

    def play(self, role: str) -> None:
        {"start": self.start, "decide": self.decide, "work": self.work, "ask_undo": self.ask_undo}[role]()

    def start(self) -> None:
        self.workflow.start("x", key=RUN)

    def work(self) -> None:
        self.worker.run_until_idle()

    def decide(self) -> int:
        """Decide every open card by the script: approve; of what is in doubt say what the witness shows."""
        views = self.desk.open()
        for view in views:
            card = view.card
            if card.kind is InterruptKind.QUESTION:
                receipt = self.desk.respond(card.id, digest=card.digest, result=2)
            elif card.kind is not InterruptKind.RECONCILE:
                receipt = self.desk.approve(card.id, digest=card.digest)
            elif self.witness.saw(view.about.action.tool):
                done = f"{view.about.action.tool} of x"
                receipt = self.desk.reconcile(card.id, digest=card.digest, found="done", result=done)
            else:
                receipt = self.desk.reconcile(card.id, digest=card.digest, found="run_again")
            with (self.folder / "acknowledged").open("a") as acknowledged:
                acknowledged.write(receipt.decision.id + "\n")
        return len(views)

    def ask_undo(self) -> None:
        (action,) = [a for a in self.actions() if a.tool == "book"]
        if action.state is ActionState.DONE:
            self.desk.rollback(action.id)

    # -- looking --------------------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """The runs of the scenario, the last one last."""
        run = self.kernel.run(RUN)
        return [] if run is None else [run]

    def actions(self) -> list[Any]:
        return [
            action
            for run in self.runs()
            for action in self.kernel.store.read(lambda rows, run=run: rows.actions_of_run(run.id))
        ]

    def world_faults(self, ended: str) -> Iterator[str]:
        """Nothing happened twice that must not, and everything happened that the run says is done."""
        lines = self.witness.lines()
        for tool in TOOLS_OF[self.scenario]:
            seen = [line for line in lines if line["tool"] == tool]
            if tool in AT_MOST_ONCE and len(seen) > 1:
                yield f"{tool} happened {len(seen)} times"
            if tool == "charge" and len({line["key"] for line in seen}) > 1:
                yield "charge was repeated with another idempotency key"
            if ended == "finished" and not seen and tool != "cancel_booking":
                yield f"the run has finished, and {tool} never happened"

    def next_role(self) -> str | None:
        """Who has to do something now: a worker for due work, else a person for an open card; None at the end."""
        run = self.kernel.run(RUN)
        if run is None:
            return "start"
        if self.kernel.store.read(lambda rows: rows.due_work(rows.now, 1)):
            return "work"
        if self.desk.open():
            return "decide"
        if self.scenario == "undo" and run.state is RunState.FINISHED and self._undone() is None:
            return "ask_undo"
        return None

    def _undone(self) -> Any:
        (action,) = [a for a in self.actions() if a.tool == "book"]
        return None if action.state is ActionState.DONE and not action.answered_by else action.state

    def noted(self) -> list[str]:
        """What is no fault and counted all the same."""
        return []

    # -- afterwards -----------------------------------------------------------------------------

    def patiently(self, act: Callable[[], Any]) -> None:
        """Do it, and do it again where the store refused or another is said to be at it."""
        for _ in range(4):
            try:
                act()
            except (StoreError, RunError) as error:
                if isinstance(error, StoreError) and error.code != "injected":
                    raise
                continue
            except InterlockError:
                pass  # refused for good; what the store says counts
            except TimeoutError:
                pass  # the tool's own
            return

    def recover(self, watch: Callable[[Session], None]) -> str:
        """Bring the run to its end as people and workers would; answers how it ended. `watch` looks after each step."""
        for _ in range(40):
            watch(self)
            self.kernel.bury_dead()
            role = self.next_role()
            if role is None and self.pending():
                self.shift += timedelta(seconds=10)  # work that is due a little later
                continue
            if role is None:
                break
            self.patiently(lambda role=role: self.play(role))  # type: ignore[misc]
        watch(self)
        runs = self.runs()
        return runs[-1].state.value if runs else "never started"

    def pending(self) -> bool:
        later = timedelta(minutes=30)
        return bool(self.kernel.store.read(lambda rows: rows.due_work(rows.now + later, 1)))
