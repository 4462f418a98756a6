"""The LangGraph adapter, held to what every adapter does, in every way in which people build graphs."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from tests.langgraph import kinds

from interlock import Interlock
from interlock.testing import AdapterContract, Rehearsal, reject
from interlock.testing.adapter_contract import AgentUnderTest
from interlock.testing.adapter_plan import Call, Plan, ToolsUnderTest


class GraphContract(AdapterContract):
    kind: type[kinds.GraphUnderTest]

    @pytest.fixture(autouse=True)
    def _saver(self) -> None:
        self.saver: Any = InMemorySaver()

    def make_agent(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> AgentUnderTest:
        return self.kind(il, plan, tools, self.saver)


class TestMiddleware(GraphContract):
    kind = kinds.WithMiddleware
    closes_after_a_pause = False  # LangGraph's own pause is an exception that a middleware outside ours may catch


class TestMiddlewareByWorker(GraphContract):
    kind = kinds.WithMiddlewareByWorker


class TestMiddlewareByWorkerOnSqlite(GraphContract):
    kind = kinds.WithMiddlewareByWorker

    @pytest.fixture
    def stage(self, tmp_path: Path) -> Iterator[Rehearsal]:
        with Rehearsal(tmp_path) as stage:
            yield stage

    @pytest.fixture(autouse=True)
    def _saver(self, tmp_path: Path) -> Iterator[None]:
        connection = sqlite3.connect(tmp_path / "graph.db", check_same_thread=False)
        self.saver = SqliteSaver(connection)
        yield
        connection.close()


class TestAsyncMiddleware(GraphContract):
    kind = kinds.AsyncMiddleware
    closes_after_a_pause = False


class TestAsyncMiddlewareByWorker(GraphContract):
    kind = kinds.AsyncMiddlewareByWorker


class TestDropIn(GraphContract):
    kind = kinds.WithDropIn
    closes_after_a_pause = False


class TestDropInByWorker(GraphContract):
    kind = kinds.WithDropInByWorker


class TestHandWritten(GraphContract):
    """Without registration one call's pause cancels calls beside it that have not begun: their cards come later."""

    kind = kinds.HandWritten
    closes_after_a_pause = False

    def test_parallel_calls_are_cards_of_their_own_and_decided_in_any_order(
        self, stage: Rehearsal, tools: ToolsUnderTest
    ) -> None:
        agent = self.begin(stage, tools, (Call("send", "ann"), Call("send", "bob"), Call("send", "eve")))
        while cards := stage.reviewer.open():
            to = str(cards[-1].about.current.arguments["to"])
            stage.reviewer.decide(reject("not him") if to == "bob" else "approve", "send", to=to)
            agent.run()
        assert sorted(tools.effects) == ["send ann", "send eve"]
        assert [told.refused for told in self.told(agent)] == ["", "rejected", ""]

    def test_one_no_cancels_no_sibling(self, stage: Rehearsal, tools: ToolsUnderTest) -> None:
        agent = self.begin(stage, tools, (Call("send", "ann"), Call("note", "x"), Call("send", "bob")))
        while cards := stage.reviewer.open():
            to = str(cards[0].about.current.arguments["to"])
            stage.reviewer.decide("reject" if to == "ann" else "approve", "send", to=to)
            agent.run()
        assert sorted(tools.effects) == ["note x", "send bob"]
        assert [told.refused for told in self.told(agent)] == ["rejected", "", ""]


class TestHandWrittenByWorker(GraphContract):
    kind = kinds.HandWrittenByWorker


class TestSubgraph(GraphContract):
    kind = kinds.AsSubgraph
    closes_after_a_pause = False


class TestSubgraphByWorker(GraphContract):
    kind = kinds.AsSubgraphByWorker


class TestFunctional(GraphContract):
    kind = kinds.Functional
    closes_after_a_pause = False


class TestFunctionalByWorker(GraphContract):
    kind = kinds.FunctionalByWorker
    closes_after_a_pause = False  # what a @task catches counts again at the end of its entrypoint
