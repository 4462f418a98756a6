"""A seeded part of the AgentDojo example, as people run it. Collected where agentdojo is installed; see conftest.py."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "examples" / "agentdojo" / "run.py"


@pytest.mark.timeout(900)
def test_no_attack_gets_through_and_no_killed_worker_repeats_an_effect(tmp_path: Path) -> None:
    kept = tmp_path / "numbers.json"
    ended = subprocess.run(
        [sys.executable, str(RUN), "--quick", "--seed", "7", "--json", str(kept)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads(kept.read_text())
    assert report["attacked"]["attacks_with_interlock"] == 0 < report["attacked"]["attacks_without"]
    assert report["attacked"]["kept_with_interlock"] == report["attacked"]["kept_alone"]
    for killed in report["crashed"].values():
        assert killed["killed"] == killed["runs"] == killed["as_undisturbed"] > 0
        assert (killed["effects_twice"], killed["effects_missing"]) == (0, 0)
