"""The crash matrix as a test: a fixed sample with every kill inside a tool; the whole of it by `-m slow`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("crash_matrix.py")

SCENARIOS = {"irreversible", "idempotent", "probed", "compensable", "reversible", "composite", "undo", "asking"}


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
    assert set(numbers["by_mode"]) == {"raise", "raise_exit", "kill", "kill_late"}
    assert set(numbers["by_scenario"]) == SCENARIOS
    assert set(numbers["by_ending"]) <= {"finished", "failed", "needs_attention"}


@pytest.mark.timeout(600)
def test_no_sampled_crash_repeats_an_effect_loses_a_decision_or_hides_a_run() -> None:
    numbers = matrix()
    judge(numbers)
    assert numbers["kills_in_tools"] == numbers["kills_in_tools_enumerated"] > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_crash_at_all_repeats_an_effect_loses_a_decision_or_hides_a_run() -> None:
    numbers = matrix("--full")
    judge(numbers)
    assert numbers["cases_run"] == numbers["cases_enumerated"] > 2000
