"""The crash matrix: every store call of every role, before and after, and every tool body, entry and exit.

    python tests/faults/crash_matrix.py [--full] [--json] [--every K] [--only TEXT] [--keep]

The faults are enumerated: each scenario is first played with a counting store; then each of its calls is a case
four ways (the store raises and the process goes on; it raises and the process ends; the process is killed; it
is killed and the others come two hours later, when approvals are too old). Then workers, starters and deciders
go on as usual, and the store, the events and the witness are checked. Exit code 1 where a case found something.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCENARIOS = ("irreversible", "idempotent", "probed", "compensable", "reversible", "composite", "undo", "asking")
MODES = ("raise", "raise_exit", "kill", "kill_late")
SHORT_EVERY = 31
"""The short form takes every so many-th case, and all kills inside tools."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is played: the program that plays it, its scenarios, and how they fail.

    `again` tells after which tools' deaths what follows is a chain of its own, `fails` in which roles something goes
    wrong. Where calls are made at once, their number is not `exact`: then a fault may come too late to happen.
    """

    program: str
    scenarios: tuple[str, ...]
    modes: tuple[str, ...] = MODES
    again: Callable[[str, str], bool] = lambda scenario, tool: True
    fails: Callable[[str, str], bool] = lambda scenario, role: True
    exact: bool = True


KERNEL = Plan("crash_child.py", SCENARIOS)


@dataclass(frozen=True, slots=True)
class Case:
    """One role of one scenario, played from `folder`, and what goes wrong in it."""

    scenario: str
    role: str
    folder: str
    mode: str
    what: str
    fault: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        return f"{self.scenario} / {self.role} / {self.mode} {self.what}"


class Children:
    """Processes that carry out requests, one for each thread that asks."""

    def __init__(self, program: str) -> None:
        self._program = str(HERE / program)
        self._local = threading.local()
        self._all: list[subprocess.Popen[str]] = []

    def ask(self, **request: Any) -> dict[str, Any]:
        child = getattr(self._local, "child", None)
        if child is None:
            command = [sys.executable, self._program]
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._local.child = child
            self._all.append(child)
        child.stdin.write(json.dumps(request) + "\n")
        child.stdin.flush()
        line = child.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._program} ended with {child.wait()}; its own words are on the error stream")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        for child in self._all:
            child.stdin.close()  # type: ignore[union-attr]
            child.wait()
            child.stdout.close()  # type: ignore[union-attr]


class Matrix:
    """All cases of all scenarios under one folder, and what came of them."""

    def __init__(self, plan: Plan, folder: Path, jobs: int) -> None:
        self._plan = plan
        self._folder = folder
        self._children = Children(plan.program)
        self._pool = ThreadPoolExecutor(jobs)
        self._number = iter(range(10**6))

    def close(self) -> None:
        self._pool.shutdown()
        self._children.close()

    # -- enumerating ----------------------------------------------------------------------------

    def cases(self, scenarios: tuple[str, ...]) -> list[Case]:
        """Every case there is."""
        chains = list(self._pool.map(self._chains, scenarios))
        return [case for chain in chains for case in chain]

    def _chains(self, scenario: str) -> list[Case]:
        plain = self._chain(scenario, "")
        cases = list(_cases_of(self._plan, scenario, plain))
        seen: set[tuple[str, str]] = set()
        for role in plain:
            for tool in role["tools"]:
                for point in ("entry", "exit"):
                    # What the next worker, or whoever reconciles, does after that is a chain of its own.
                    if (tool, point) in seen or not self._plan.again(scenario, tool):
                        continue
                    seen.add((tool, point))
                    start = self._copy(role["folder"])
                    fault = {"kind": "kill", "tool": tool, "point": point}
                    self._children.ask(op="play", folder=start, scenario=scenario, role=role["role"], fault=fault)
                    after = f", after a kill at {point} of {tool}"
                    cases += _cases_of(self._plan, scenario, self._chain(scenario, after, start), after)
        return cases

    def _chain(self, scenario: str, after: str, start: str | None = None) -> list[dict[str, Any]]:
        folder = self._folder / f"chain-{next(self._number)}"
        extra = {"from": start} if start else {}
        answer = self._children.ask(op="chain", folder=str(folder), scenario=scenario, **extra)
        if "roles" not in answer:
            raise RuntimeError(f"{scenario}{after} cannot be played: {answer.get('error', answer)}")
        roles: list[dict[str, Any]] = answer["roles"]
        return roles

    def _copy(self, folder: str) -> str:
        copy = self._folder / f"case-{next(self._number)}"
        shutil.copytree(folder, copy)
        return str(copy)

    # -- playing --------------------------------------------------------------------------------

    def run(self, cases: list[Case], keep: bool = False) -> list[dict[str, Any]]:
        """Play cases; answers one record each."""
        return list(self._pool.map(lambda case: self._play(case, keep), cases))

    def _play(self, case: Case, keep: bool) -> dict[str, Any]:
        folder = self._copy(case.folder)
        goes_on = case.mode == "raise"
        first = self._children.ask(
            op="play", folder=folder, scenario=case.scenario, role=case.role, fault=case.fault, recover=goes_on
        )
        answer, faults = first, list[str]()
        if "error" in first:
            faults.append(first["error"])
        elif first["signal"] not in (0, signal.SIGKILL):
            faults.append(f"it ended with signal {first['signal']}")
        missed = case.mode.startswith("kill") is not (first["signal"] == signal.SIGKILL) or not first.get(
            "reached", True
        )
        if missed and self._plan.exact and not faults:
            faults.append(f"the fault did not happen: {first}")
        if not faults and not goes_on:
            answer = self._children.ask(
                op="recover", folder=folder, scenario=case.scenario, late=case.mode == "kill_late"
            )
            if answer["signal"]:
                faults.append(f"recovering ended with signal {answer['signal']}")
            if "error" in answer:
                faults.append(answer["error"])
        faults += answer.get("faults", [])
        if not keep:
            shutil.rmtree(folder)
        return {
            "case": case.name,
            "ended": answer.get("ended", "nothing"),
            "faults": faults,
            "noted": answer.get("noted", []) + (["the fault came too late"] if missed else []),
            **({"folder": folder} if keep else {}),
        }


def _cases_of(plan: Plan, scenario: str, roles: list[dict[str, Any]], after: str = "") -> Iterator[Case]:
    for number, role in enumerate(roles, 1):
        named = f"{number} {role['role']}{after}"
        for mode in plan.modes if plan.fails(scenario, role["role"]) else ():
            kind = "raise" if mode.startswith("raise") else "kill"
            for call, what in enumerate(role["calls"], 1):
                for when in ("before", "after"):
                    if not _a_case_of_its_own(mode, call, when, what):
                        continue
                    fault = {"kind": kind, "call": call, "when": when}
                    yield Case(
                        scenario, role["role"], role["folder"], mode, f"{when} call {call} ({what}) of {named}", fault
                    )
            for save, what in enumerate(role["saves"], 1):
                for when in ("before", "after"):
                    fault = {"kind": kind, "save": save, "when": when}
                    called = f"{when} checkpoint write {save} ({what}) of {named}"
                    yield Case(scenario, role["role"], role["folder"], mode, called, fault)
            for tool in dict.fromkeys(role["tools"]):
                for point in ("entry", "exit"):
                    fault = {"kind": kind, "tool": tool, "point": point}
                    yield Case(scenario, role["role"], role["folder"], mode, f"at {point} of {tool} in {named}", fault)


def _a_case_of_its_own(mode: str, call: int, when: str, what: str) -> bool:
    """Whether this fault can leave another store, or lead the code another way, than the one before it in the list.

    A read changes nothing: a process that ends at one leaves what it would leave after the last write, and one
    that goes on cannot tell whether the read was carried out. What happens between two calls, in a tool's body,
    has faults of its own.
    """
    writes = what.startswith("write")
    if mode.startswith("kill"):
        return (call == 1 and when == "before") or (writes and when == "after")
    return writes or (mode == "raise" and when == "before")


def in_tool(case: Case) -> bool:
    """Whether the process is killed inside a tool's body."""
    return bool(case.fault.get("tool")) and case.mode == "kill"


def measure(plan: Plan, every: int = 1, only: str = "", jobs: int | None = None, keep: bool = False) -> dict[str, Any]:
    """Run the matrix (every so many-th case, and all kills inside tools) and sum it up."""
    began = time.monotonic()
    # A killed process loses nothing that the system has taken, so the disk need not be waited for: memory will do.
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="interlock-crash-", dir=memory if memory.is_dir() else None))
    matrix = Matrix(plan, folder, jobs or os.cpu_count() or 2)
    try:
        scenarios = tuple(one for one in plan.scenarios if one == only.partition(" /")[0]) or plan.scenarios
        cases = [case for case in matrix.cases(scenarios) if only in case.name]
        chosen = [case for number, case in enumerate(cases) if number % every == 0 or in_tool(case)]
        enumerated_s = time.monotonic() - began
        records = matrix.run(chosen, keep)
    finally:
        matrix.close()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return {
        "cases_enumerated": len(cases),
        "cases_run": len(chosen),
        "seconds": round(time.monotonic() - began, 1),
        "seconds_to_enumerate": round(enumerated_s, 1),
        "jobs": jobs or os.cpu_count() or 2,
        "kills_in_tools": sum(map(in_tool, chosen)),
        "kills_in_tools_enumerated": sum(map(in_tool, cases)),
        "by_scenario": Counter(case.scenario for case in chosen),
        "by_mode": Counter(case.mode for case in chosen),
        "by_ending": Counter(record["ended"] for record in records),
        "noted": Counter(noted for record in records for noted in record["noted"]),
        "failed": [record for record in records if record["faults"]],
    }


def main(plan: Plan = KERNEL, every: int = SHORT_EVERY, about: str | None = __doc__) -> int:
    """Run a matrix as the command line says."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every case")
    parser.add_argument("--every", type=int, default=every, help="every so many-th case")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases")
    parser.add_argument("--json", action="store_true", help="write the numbers as JSON")
    options = parser.parse_args()
    numbers = measure(plan, 1 if options.full else options.every, options.only, options.jobs, options.keep)
    if options.json:
        print(json.dumps(numbers, indent=1))
    else:
        for record in numbers["failed"]:
            print(record["case"], *record["faults"], sep="\n    ")
        print({name: value for name, value in numbers.items() if name != "failed"}, "failed:", len(numbers["failed"]))
    return 1 if numbers["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
