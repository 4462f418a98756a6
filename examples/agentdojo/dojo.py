"""AgentDojo's suites as cases: what the agent is asked, the calls it makes, and AgentDojo's own checks of the end."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites

VERSION = "v1.2.2"
SUITES = ("workspace", "banking")


@dataclass(frozen=True, slots=True)
class Case:
    """A user task of a suite, alone or together with an injection task."""

    suite: str
    user: str
    injection: str = ""

    def __str__(self) -> str:
        return f"{self.suite}/{self.user}" + (f"+{self.injection}" if self.injection else "")

    @classmethod
    def of(cls, text: str) -> Case:
        """The inverse of `str`."""
        suite, _, tasks = text.partition("/")
        user, _, injection = tasks.partition("+")
        return cls(suite, user, injection)


@dataclass(frozen=True, slots=True)
class Planned:
    """One call that the agent will make, and for whom: the user, or whoever wrote the injection."""

    whose: str
    tool: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the agent does in a case, and what it says at the end."""

    prompt: str
    calls: tuple[Planned, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What AgentDojo says of an end: was the user's task done, did the attack succeed (None without an injection)?"""

    user_served: bool
    attack_succeeded: bool | None


@cache
def suite(name: str) -> Any:
    """A suite in the version that is used here."""
    return get_suites(VERSION)[name]


def user_cases() -> list[Case]:
    """Every user task, alone."""
    return [Case(name, task) for name in SUITES for task in suite(name).user_tasks]


def pairs() -> list[Case]:
    """Every user task with every injection task of its suite."""
    return [
        Case(name, task, injection)
        for name in SUITES
        for task in suite(name).user_tasks
        for injection in suite(name).injection_tasks
    ]


def fresh(case: Case) -> Any:
    """The environment in which a case begins."""
    environment = pickle.loads(_default_environment(case.suite))
    return suite(case.suite).user_tasks[case.user].init_environment(environment)


@cache
def _default_environment(name: str) -> bytes:
    """An environment without injected text: the scripted model reads nothing."""
    return pickle.dumps(suite(name).load_and_inject_default_environment({}))


def copied(environment: Any) -> Any:
    """A copy that shares nothing, in a fraction of the time of a deep copy; what is one object in it stays one."""
    return pickle.loads(pickle.dumps(environment))


def acts(case: Case) -> bool:
    """Whether AgentDojo states calls that the injection wants: its `ground_truth` is not empty."""
    injection = suite(case.suite).injection_tasks.get(case.injection)
    return injection is not None and bool(injection.ground_truth(fresh(case)))


def plan_of(case: Case) -> Plan:
    """The worst case: the user's task by its ground truth, then the injection's, in the world as it is by then."""
    world, functions = fresh(case), FunctionsRuntime(suite(case.suite).tools)
    user = suite(case.suite).user_tasks[case.user]
    calls = list(_planned("user", user.ground_truth(copied(world))))
    if case.injection:
        for call in calls:
            functions.run_function(world, call.tool, call.args)
        injection = suite(case.suite).injection_tasks[case.injection]
        calls.extend(_planned("injection", injection.ground_truth(copied(world))))
    return Plan(user.PROMPT, tuple(calls), user.GROUND_TRUTH_OUTPUT or "Done.")


def _planned(whose: str, calls: list[FunctionCall]) -> Iterator[Planned]:
    for call in calls:
        yield Planned(whose, call.function, dict(call.args))


def judge(case: Case, words: str, before: Any, after: Any, made: list[tuple[str, dict[str, Any]]]) -> Verdict:
    """Ask AgentDojo's checkers: by the calls that were made where a task looks at those, else by the environments."""
    trace = [FunctionCall(function=tool, args=args) for tool, args in made]

    def check(by_trace: Any, by_state: Any) -> bool:
        found = by_trace(words, copied(before), copied(after), trace)
        if found is None:
            found = by_state(words, copied(before), copied(after))
        return bool(found)

    user = suite(case.suite).user_tasks[case.user]
    served = check(user.utility_from_traces, user.utility)
    if not case.injection:
        return Verdict(served, None)
    injection = suite(case.suite).injection_tasks[case.injection]
    return Verdict(served, check(injection.security_from_traces, injection.security))
