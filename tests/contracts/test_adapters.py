"""The plain-Python adapter, held to what every adapter does: synchronous code in threads, asynchronous in tasks."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interlock import Interlock, Refused
from interlock.testing import AdapterContract, Rehearsal
from interlock.testing.adapter_contract import AgentUnderTest
from interlock.testing.adapter_plan import Call, Plan, Told, ToolsUnderTest

JOB = "job-1"


def told(il: Interlock, call: Call, value: object) -> Told:
    notes = [decision.note for tool, decision in il.notes() if tool == call.tool]
    return Told(" ".join([str(value), *notes]))


class BlockAgent:
    """`with il.run(...)`: the program itself enters its run again; calls of a turn are threads."""

    def __init__(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> None:
        self.il, self.plan = il, plan
        self.guarded = {name: il.guard(fn, **tools.keywords[name]) for name, fn in tools.functions.items()}
        tools.inside = lambda tool, to: self.guarded[tool](to)
        self.ended: list[Told] | None = None

    def run(self) -> None:
        answers: list[Told] = []
        with self.il.run(JOB) as run, ThreadPoolExecutor(4) as pool:
            for turn in self.plan.turns:
                if len(turn) == 1:
                    answers.append(self.call(turn[0]))
                    continue
                calls = [run.wrap(self.call) for _ in turn]  # all of them first: they are siblings
                branches = [pool.submit(call, each) for call, each in zip(calls, turn, strict=True)]
                answers += [each.result() for each in branches]
        self.ended = answers if run.status == "finished" else None

    def call(self, call: Call) -> Told:
        try:
            return told(self.il, call, self.guarded[call.tool](call.to))
        except Refused as no:
            return Told(str(no), no.kind)
        except BaseException as error:
            if not self.plan.swallows:
                raise
            return Told(repr(error))

    def answers(self) -> Sequence[Told] | None:
        return self.ended


class WorkflowAgent:
    """An asynchronous workflow that a worker goes on with; calls of a turn are tasks."""

    def __init__(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> None:
        self.il, self.plan = il, plan
        self.guarded: dict[str, Any] = {
            name: il.guard(fn, **tools.keywords[name]) for name, fn in tools.async_functions.items()
        }
        tools.inside = lambda tool, to: self.guarded[tool](to)

        @il.workflow(name="agent")
        async def agent() -> list[list[str]]:
            return [
                [each.text, each.refused]
                for turn in plan.turns
                for each in await asyncio.gather(*(self.call(call) for call in turn))
            ]

        self.agent = agent

    def run(self) -> None:
        asyncio.run(self.agent.start(key=JOB))
        self.il.worker().run_until_idle()

    async def call(self, call: Call) -> Told:
        try:
            return told(self.il, call, await self.guarded[call.tool](call.to))
        except Refused as no:
            return Told(str(no), no.kind)
        except BaseException as error:
            if not self.plan.swallows:
                raise
            return Told(repr(error))

    def answers(self) -> Sequence[Told] | None:
        run = self.agent.handle(JOB)  # type: ignore[arg-type]
        return [Told(*each) for each in run.result] if run.status == "finished" else None


class TestBlocks(AdapterContract):
    def make_agent(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> AgentUnderTest:
        return BlockAgent(il, plan, tools)


class TestWorkflows(AdapterContract):
    def make_agent(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> AgentUnderTest:
        return WorkflowAgent(il, plan, tools)


class TestWorkflowsOnSqlite(TestWorkflows):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> Iterator[Rehearsal]:
        with Rehearsal(tmp_path) as stage:
            yield stage


class TestAnAgentThatGuardsNothing:
    """The contract bites: an adapter that lets everything through fails it."""

    def test_it_fails_the_contract(self) -> None:
        class Open(BlockAgent):
            def call(self, call: Call) -> Told:
                return Told(self.bare[call.tool](call.to))

            def __init__(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> None:
                super().__init__(il, plan, tools)
                self.bare = tools.functions

        class Held(AdapterContract):
            def make_agent(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> AgentUnderTest:
                return Open(il, plan, tools)

        with Rehearsal() as stage, pytest.raises((AssertionError, ValueError)):
            Held().test_an_irreversible_call_pauses_before_anything_has_run(stage, ToolsUnderTest())
