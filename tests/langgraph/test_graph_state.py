"""The state of a graph at a pause is the state that what comes after it starts from, and what was finished stays so."""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from langchain_core.load import dumps
from langgraph.config import get_config

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from langgraph_scenario import CONFIG, MAKERS, GraphSession


def digest(value: Any) -> str:
    return hashlib.sha256(dumps(value, sort_keys=True).encode()).hexdigest()


class Looking(GraphSession):
    """Sees the graph's state from inside its tools: as it is kept, and as the task that calls them sees it."""

    def __post_init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.live: dict[str, str] = {}
        super().__post_init__()

    def state(self) -> str:
        """The hash of all that the checkpoints hold of the thread, graphs in the graph included."""
        newest = {
            each.config["configurable"]["checkpoint_ns"]: each for each in reversed(list(self.saver.list(CONFIG)))
        }
        return digest([[where, each.checkpoint["channel_values"]] for where, each in sorted(newest.items())])

    def messages(self) -> str:
        """The hash of the conversation at the pause, in the graph that made the calls."""
        snapshot = self.graph.get_state(CONFIG, subgraphs=True)
        inner = [each.state for each in snapshot.tasks if hasattr(each.state, "values")]
        return digest((inner or [snapshot])[0].values["messages"])

    def _perform(self, tool: str, to: str) -> str:
        if tool == "send" and to not in self.kept:
            self.kept[to] = self.state()
            if self.form != "functional":
                read = get_config()["configurable"]["__pregel_read"]
                self.live[to] = digest(read("messages", False))
        return super()._perform(tool, to)


def played(folder: Path, form: str, who: str, role: str) -> Looking:
    """A session that plays one role, in the place of one process."""
    session = Looking(folder, f"{form} sync {who}")
    assert session.next_role() == role
    session.play(role)
    return session


@pytest.mark.parametrize("who", ["worker", "application"])
@pytest.mark.parametrize("form", MAKERS)
def test_the_first_effect_after_a_pause_sees_the_state_of_the_pause(tmp_path: Path, form: str, who: str) -> None:
    paused = played(tmp_path, form, who, "start")
    kept = paused.state()
    live = paused.messages() if form != "functional" else ""
    before = Counter(line["tool"] for line in paused.witness.lines())
    paused.close()
    played(tmp_path, form, who, "decide").close()
    resumed = played(tmp_path, form, who, "work" if who == "worker" else "go_on")
    assert set(resumed.kept) == {"a", "b2"}
    assert set(resumed.kept.values()) == {kept}
    if form != "functional":
        assert set(resumed.live.values()) == {live}
    after = Counter(line["tool"] for line in resumed.witness.lines())
    assert after - before == Counter(["send a", "send b2"])
    resumed.close()


@pytest.mark.parametrize("who", ["worker", "application"])
@pytest.mark.parametrize("form", MAKERS)
def test_nothing_that_was_finished_runs_again(tmp_path: Path, form: str, who: str) -> None:
    asked = 0
    said: list[list[str]] = []
    while True:
        session = Looking(tmp_path, f"{form} sync {who}")
        role = session.next_role()
        if role is None:
            break
        session.play(role)
        if form != "functional":
            messages = session.graph.get_state(CONFIG, subgraphs=True)
            inner = [each.state.values for each in messages.tasks if hasattr(each.state, "values")]
            said.append([each.id for each in (inner or [messages.values])[0]["messages"]])
        asked += len(session.asked)
        session.close()
    assert all(later[: len(earlier)] == earlier for earlier, later in itertools.pairwise(said))
    if form != "functional":
        assert asked == 5, "the model was asked once for each line of its script"
    effects = Counter(line["tool"] for line in session.witness.lines())
    assert set(effects.values()) == {1}, effects
    session.close()
