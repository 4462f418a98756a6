"""Races through LangGraph: processes that go on with one thread at the same moment, and reviewers who disagree."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from crash_matrix import Children

FORMS = ("agent", "toolnode", "subgraph", "functional")
MANY = pytest.param(60, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])
PAIRS = {"applications": ("go_on", "go_on"), "workers": ("work", "work"), "worker and application": ("work", "go_on")}


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    made = Children("langgraph_child.py")
    yield made
    made.close()


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    """Two threads that stay: each has one child, which has imported everything."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


class Race:
    """One job, from its start to its end."""

    def __init__(self, children: Children, threads: ThreadPoolExecutor, folder: Path, scenario: str) -> None:
        self._children = children
        self._threads = threads
        self._of = {"folder": str(folder), "scenario": scenario}

    def ask(self, **request: Any) -> dict[str, Any]:
        answer = self._threads.submit(self._children.ask, **self._of, **request).result()
        assert answer["signal"] == 0, answer
        assert "error" not in answer, answer["error"]
        return answer

    def at_once(self, *roles: str) -> None:
        """Two processes, each with a role, at the same moment."""
        asked = [
            self._threads.submit(self._children.ask, **self._of, op="together", roles=[role], at_once=len(roles))
            for role in roles
        ]
        for each in asked:
            answer = each.result()
            assert answer["signal"] == 0, answer
            assert "error" not in answer, answer["error"]

    def ends(self) -> None:
        """People, workers and the application go on to the end, and everything is as it must be."""
        answer = self.ask(op="recover")
        assert answer["faults"] == []
        assert answer["ended"] == "finished"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("rounds", [10, MANY])
@pytest.mark.parametrize("pair", PAIRS)
def test_two_that_go_on_with_one_thread_at_once_have_one_effect(
    tmp_path: Path, children: Children, threads: ThreadPoolExecutor, pair: str, rounds: int
) -> None:
    for number in range(rounds):
        folder = tmp_path / str(number)
        who = "application" if pair == "applications" else "worker"
        race = Race(children, threads, folder, f"{FORMS[number % len(FORMS)]} sync {who}")
        race.ask(op="together", roles=["start", "decide"])
        race.at_once(*PAIRS[pair])
        race.ends()
        shutil.rmtree(folder)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("rounds", [10, MANY])
def test_of_an_approval_and_a_rejection_at_once_one_counts(
    tmp_path: Path, children: Children, threads: ThreadPoolExecutor, rounds: int
) -> None:
    for number in range(rounds):
        folder = tmp_path / str(number)
        race = Race(children, threads, folder, f"{FORMS[number % len(FORMS)]} sync worker")
        race.ask(op="together", roles=["start"])
        race.at_once("approve", "reject")
        race.ends()
        shutil.rmtree(folder)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("rounds", [10, MANY])
def test_a_decision_while_the_thread_is_gone_on_with_is_taken_up(
    tmp_path: Path, children: Children, threads: ThreadPoolExecutor, rounds: int
) -> None:
    for number in range(rounds):
        folder = tmp_path / str(number)
        who = ("worker", "application")[number % 2]
        race = Race(children, threads, folder, f"{FORMS[number // 2 % len(FORMS)]} sync {who}")
        race.ask(op="together", roles=["start"])
        race.at_once("approve", "work" if who == "worker" else "go_on")
        race.ends()
        shutil.rmtree(folder)
