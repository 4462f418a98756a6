"""What every agent-framework adapter does, as tests: a subclass says how to make an agent, and is held to all of it.

class TestMyAdapter(AdapterContract):
    def make_agent(self, il, plan, tools):   # an agent of the framework, with these tools, that follows the plan
        return my_agent                      # satisfies AgentUnderTest
"""

# ruff: noqa: D102  tests: they assert, and their names are their sentences

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Protocol

import pytest

from interlock.compose import Interlock
from interlock.domain.errors import Interrupted
from interlock.domain.interrupt import InterruptKind
from interlock.testing.adapter_plan import Call, Plan, Told, ToolsUnderTest
from interlock.testing.failing_store import CutStore
from interlock.testing.rehearsal import Rehearsal
from interlock.testing.reviewer import found_done, modify, reject, respond

LEASE = timedelta(seconds=30)


class AgentUnderTest(Protocol):
    """One agent over one `Interlock`, as it stands in one process. It follows its plan turn by turn."""

    def run(self) -> None:
        """Begin, or go on from where it stood, the way users of the framework do; return when it ended or waits.

        It is called again after decisions and after a restart, always for the same job. Whatever wakes the
        agent (a worker, an `invoke`) has done its work when this returns. It may raise if the store fails.
        """
        ...

    def answers(self) -> Sequence[Told] | None:
        """What each call came to in the order of the plan, as the agent was told; None before the agent has ended."""
        ...


class AdapterContract:
    """Subclass it, say how to make an agent, and pytest does the rest.

    A framework whose own pause can be caught by its user's code says `closes_after_a_pause = False`: then the call that
    was caught is not run, and what comes after it may be.
    """

    closes_after_a_pause = True

    def make_agent(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> AgentUnderTest:
        """An agent that makes the calls of `plan`: a turn's calls at once, the turns one after another.

        Called again with another `il` over the same rows, it is the same agent after a restart: it shares nothing
        with the first but what the framework keeps durably.
        """
        raise NotImplementedError

    @pytest.fixture
    def stage(self) -> Iterator[Rehearsal]:
        with Rehearsal() as stage:
            yield stage

    @pytest.fixture
    def tools(self) -> ToolsUnderTest:
        return ToolsUnderTest()

    # -- what the tests are made of -----------------------------------------------------------------

    def begin(
        self,
        stage: Rehearsal,
        tools: ToolsUnderTest,
        *turns: tuple[Call, ...],
        swallows: bool = False,
        il: Interlock | None = None,
    ) -> AgentUnderTest:
        agent = self.make_agent(il or stage.il, Plan(turns, swallows), tools)
        agent.run()
        return agent

    def told(self, agent: AgentUnderTest) -> list[Told]:
        answers = agent.answers()
        assert answers is not None, "the agent has not ended"
        return list(answers)

    # -- one call -----------------------------------------------------------------------------------

    def test_an_irreversible_call_pauses_before_anything_has_run(self, stage: Rehearsal, tools: ToolsUnderTest) -> None:
        agent = self.begin(stage, tools, (Call("send", "bob"),))
        (card,) = stage.reviewer.open()
        assert (card.about.action.tool, dict(card.about.current.arguments)) == ("send", {"to": "bob"})
        assert (tools.effects, agent.answers()) == ([], None)

    def test_waking_an_agent_without_a_decision_asks_and_runs_nothing_more(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        agent = self.begin(stage, tools, (Call("send", "bob"),))
        before = [view.card.id for view in stage.reviewer.open()]
        agent.run()
        assert [view.card.id for view in stage.reviewer.open()] == before
        assert (tools.effects, agent.answers()) == ([], None)

    def test_an_approved_call_runs_once_with_exactly_what_was_shown(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        agent = self.begin(stage, tools, (Call("send", "bob"),))
        stage.reviewer.decide("approve")
        agent.run()
        assert tools.effects == ["send bob"]
        (told,) = self.told(agent)
        assert ("send bob" in told.text, told.refused) == (True, "")
        agent.run()
        assert tools.effects == ["send bob"]

    def test_a_rejection_reaches_the_agent_as_a_refusal_and_never_the_tool(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        agent = self.begin(stage, tools, (Call("send", "bob"),))
        stage.reviewer.decide(reject("not on a Sunday"))
        agent.run()
        (told,) = self.told(agent)
        assert (told.refused, "not on a Sunday" in told.text) == ("rejected", True)
        assert tools.effects == []

    def test_a_modified_call_runs_with_the_edited_arguments_and_the_agent_is_told(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        agent = self.begin(stage, tools, (Call("send", "bob"),))
        stage.reviewer.decide(modify(to="ana", note="Ana handles this"))
        agent.run()
        assert tools.effects == ["send ana"]
        (told,) = self.told(agent)
        assert "send ana" in told.text
        assert "Ana handles this" in told.text

    def test_a_persons_value_stands_in_for_the_result(self, stage: Rehearsal, tools: ToolsUnderTest) -> None:
        agent = self.begin(stage, tools, (Call("send", "bob"),))
        stage.reviewer.decide(respond("sent by hand"))
        agent.run()
        (told,) = self.told(agent)
        assert (told.refused, "sent by hand" in told.text) == ("", True)
        assert tools.effects == []

    def test_a_call_that_nobody_decides_expires_and_never_runs(self, stage: Rehearsal, tools: ToolsUnderTest) -> None:
        agent = self.begin(stage, tools, (Call("send", "bob"),))
        stage.clock.advance("25h")
        agent.run()
        (told,) = self.told(agent)
        assert (told.refused, tools.effects) == ("expired", [])

    def test_what_was_turned_down_is_refused_without_asking_again(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        agent = self.begin(stage, tools, (Call("send", "bob"),), (Call("send", "bob"),))
        stage.reviewer.decide("reject")
        agent.run()
        assert [told.refused for told in self.told(agent)] == ["rejected", "repeated"]
        assert (stage.reviewer.open(), tools.effects) == ((), [])

    def test_free_reads_ask_nobody_and_stay_free(self, stage: Rehearsal, tools: ToolsUnderTest) -> None:
        agent = self.begin(stage, tools, (Call("look", "a"),), (Call("look", "b"),))
        assert ["look a" in told.text or "look b" in told.text for told in self.told(agent)] == [True, True]
        assert stage.reviewer.open() == ()
        assert [stage.states(run.id) for run in stage.il.kernel.runs()] in ([[]], [])

    # -- several calls ------------------------------------------------------------------------------

    def test_parallel_calls_are_cards_of_their_own_and_decided_in_any_order(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        agent = self.begin(stage, tools, (Call("send", "ann"), Call("send", "bob"), Call("send", "eve")))
        cards = stage.reviewer.open()
        assert sorted(str(view.about.current.arguments["to"]) for view in cards) == ["ann", "bob", "eve"]
        assert (len({view.card.id for view in cards}), len({view.card.digest for view in cards})) == (3, 3)
        stage.reviewer.decide(reject("not him"), "send", to="bob")
        agent.run()
        assert tools.effects == []
        stage.reviewer.decide("approve", "send", to="eve")
        agent.run()
        assert tools.effects in ([], ["send eve"])  # at once, or when the turn is complete
        stage.reviewer.decide("approve", "send", to="ann")
        agent.run()
        assert sorted(tools.effects) == ["send ann", "send eve"]
        assert [told.refused for told in self.told(agent)] == ["", "rejected", ""]

    def test_one_no_cancels_no_sibling(self, stage: Rehearsal, tools: ToolsUnderTest) -> None:
        agent = self.begin(stage, tools, (Call("send", "ann"), Call("note", "x"), Call("send", "bob")))
        stage.reviewer.decide("reject", "send", to="ann")
        stage.reviewer.decide("approve", "send", to="bob")
        agent.run()
        assert sorted(tools.effects) == ["note x", "send bob"]
        assert [told.refused for told in self.told(agent)] == ["rejected", "", ""]

    def test_a_swallowed_pause_runs_nothing_after_it(self, stage: Rehearsal, tools: ToolsUnderTest) -> None:
        agent = self.begin(stage, tools, (Call("send", "bob"),), (Call("note", "x"),), swallows=True)
        assert "send bob" not in tools.effects
        if not self.closes_after_a_pause:
            return
        assert len(stage.reviewer.open()) == 1
        assert (tools.effects, agent.answers()) == ([], None)
        stage.reviewer.decide("approve")
        agent.run()
        assert tools.effects == ["send bob", "note x"]

    def test_a_tool_that_calls_tools_is_asked_about_once_and_each_of_its_calls_too(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        agent = self.begin(stage, tools, (Call("job", "bob"),))
        stage.reviewer.decide("approve", "job")
        agent.run()
        assert tools.effects == []
        stage.reviewer.decide("approve", "send")
        agent.run()
        assert (tools.effects, stage.reviewer.open()) == (["send bob"], ())
        (told,) = self.told(agent)
        assert "send bob" in told.text

    # -- processes come and go ------------------------------------------------------------------------

    def test_a_restart_repeats_nothing_that_was_done(self, stage: Rehearsal, tools: ToolsUnderTest) -> None:
        turns = ((Call("note", "x"),), (Call("send", "ann"),), (Call("send", "bob"),))
        agent = self.begin(stage, tools, *turns)
        stage.reviewer.decide("approve")
        agent.run()
        assert tools.effects == ["note x", "send ann"]
        again = self.begin(stage, tools, *turns, il=stage.another())
        stage.reviewer.decide("approve", to="bob")
        again.run()
        assert tools.effects == ["note x", "send ann", "send bob"]
        assert [told.refused for told in self.told(again)] == ["", "", ""]

    def test_a_decision_during_the_restart_is_found_by_the_next_process(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        self.begin(stage, tools, (Call("send", "bob"),))
        stage.reviewer.decide("approve")
        again = self.begin(stage, tools, (Call("send", "bob"),), il=stage.another())
        assert tools.effects == ["send bob"]
        assert [told.refused for told in self.told(again)] == [""]

    def test_a_crash_between_claim_and_outcome_is_in_doubt_and_a_person_is_asked(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        store = CutStore(stage.open_store())
        agent = self.begin(stage, tools, (Call("send", "bob"),), il=stage.another(store=store, lease=LEASE))
        stage.reviewer.decide("approve")
        tools.after_an_effect = store.cut
        with suppress(Exception, Interrupted):
            agent.run()
        assert tools.effects == ["send bob"]
        stage.clock.advance(2 * LEASE)
        again = self.begin(stage, tools, (Call("send", "bob"),), il=stage.another())
        (card,) = stage.reviewer.open()
        assert (card.card.kind, card.about.action.state.value) == (InterruptKind.RECONCILE, "in_doubt")
        stage.reviewer.decide(found_done("it is in the log"))
        again.run()
        assert tools.effects == ["send bob"]
        (told,) = self.told(again)
        assert "it is in the log" in told.text
