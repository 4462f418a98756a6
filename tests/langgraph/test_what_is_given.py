"""What cannot be used is said in one line, with a code and a mend, before anything runs."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest
from tests.langgraph.agents import GO, THREAD, Ledger, agent
from tests.langgraph.scripted import calls, says

from interlock import InterlockError
from interlock.langgraph import DEEP_AGENT_TOOLS, InterlockMiddleware, register
from interlock.testing import Rehearsal

PAY = calls(("pay", {"what": "rent"}))


@pytest.fixture
def stage() -> Any:
    with Rehearsal() as stage:
        yield stage


def code_of(work: Any) -> str:
    with pytest.raises(InterlockError) as caught:
        work()
    assert caught.value.mend
    assert "\n" not in str(caught.value)
    return caught.value.code


@pytest.mark.parametrize("tools", [["pay"], "irreversible", {3: "irreversible"}])
def test_declarations_that_name_no_tools_are_refused(stage: Rehearsal, tools: Any) -> None:
    assert code_of(lambda: InterlockMiddleware(stage.il, tools=tools)) == "bad_declaration"


def test_what_is_no_interlock_is_refused(stage: Rehearsal) -> None:
    made = agent(stage.il, [says()], [])
    nothing: Any = None
    assert code_of(lambda: InterlockMiddleware(nothing)) == "not_an_interlock"
    assert code_of(lambda: register(nothing, made)) == "not_an_interlock"


@pytest.mark.parametrize("name", [3, "a\ud800"])
def test_a_name_that_is_no_text_is_refused(stage: Rehearsal, name: Any) -> None:
    assert code_of(lambda: InterlockMiddleware(stage.il, name=name)) == "bad_name"


@pytest.mark.parametrize("registered", [True, False])
def test_a_thread_id_that_cannot_be_kept_is_refused_before_anything_runs(stage: Rehearsal, registered: bool) -> None:
    ledger = Ledger()
    made = agent(stage.il, [PAY, says()], [ledger.tool("pay")], registered=registered)
    on: Any = {"configurable": {"thread_id": "\ud800"}}
    assert (code_of(lambda: made.invoke(GO, on)), ledger) == ("not_storable", [])


def test_a_guarded_tool_is_copied_with_its_guard_and_never_pickled(stage: Rehearsal) -> None:
    ledger = Ledger()
    tools: Any = stage.il.guard([ledger.tool("pay")], reversibility="irreversible")
    for made in (copy.deepcopy(tools[0]), copy.deepcopy(tools)[0], tools[0].model_copy(deep=True)):
        assert code_of(lambda made=made: made.invoke({"what": "x"})) == "outside_run"
        assert code_of(lambda made=made: made.func(what="x")) == "no_way_round"
    assert (code_of(lambda: pickle.dumps(tools[0])), ledger) == ("not_portable", [])


def test_a_misspelt_name_of_a_tool_is_warned_of_once(stage: Rehearsal) -> None:
    made = agent(stage.il, [says()], [Ledger().tool("pay")], said={"pya": "reversible", "elsewhere": "read_only"})
    with pytest.warns(UserWarning, match="tester declares a tool pya, .* says nothing of its tool pay") as warned:
        made.batch([GO, GO], THREAD)
    assert len([each for each in warned if "declares" in str(each.message)]) == 1


def test_names_that_are_only_not_there_now_are_not_warned_of(stage: Rehearsal) -> None:
    said = {**DEEP_AGENT_TOOLS, "pay": "irreversible", "pays": "irreversible"}
    made = agent(stage.il, [says()], [Ledger().tool("pay")], said=said)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.invoke(GO, THREAD)
