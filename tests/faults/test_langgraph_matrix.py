"""The crash matrix through LangGraph: a fixed sample with every kill inside a tool; the whole of it by `-m slow`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph_matrix import SCENARIOS

PROGRAM = Path(__file__).with_name("langgraph_matrix.py")


def matrix(*options: str) -> dict[str, Any]:
    """Run the program in a process of its own, as people do; its numbers are printed on failure."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--json", *options], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.stdout, done.stderr
    numbers: dict[str, Any] = json.loads(done.stdout)
    print({name: value for name, value in numbers.items() if name != "failed"})
    return numbers


def judge(numbers: dict[str, Any]) -> None:
    assert numbers["failed"] == []
    assert set(numbers["by_mode"]) == {"raise", "kill"}
    assert set(numbers["by_scenario"]) == set(SCENARIOS)
    assert set(numbers["by_ending"]) == {"finished"}
    assert numbers["kills_in_tools"] == numbers["kills_in_tools_enumerated"] > 150
    # Only what may run twice did: what is read, and what can be undone.
    assert {each for each in numbers["noted"] if each.endswith("once more")} <= {
        "look x once more",
        "rename x once more",
    }


@pytest.mark.timeout(1200)
def test_no_sampled_crash_of_a_graph_repeats_an_effect_or_leaves_a_run_behind() -> None:
    judge(matrix())


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_no_crash_at_all_of_a_graph_repeats_an_effect_or_leaves_a_run_behind() -> None:
    numbers = matrix("--full")
    judge(numbers)
    assert numbers["cases_run"] == numbers["cases_enumerated"] > 2000
