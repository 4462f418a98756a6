"""What the gate's contract is made of: a gate under test, its desk, and proposals to it."""

# ruff: noqa: D102  tests: they assert, and their names are their sentences

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from interlock.canonical import Json
from interlock.domain.action import ActionRequest, ActionState, arguments_bytes, call_key
from interlock.domain.commands import Outcome, OutcomeKind
from interlock.domain.ids import RunId
from interlock.domain.run import PassEnd, PassGrant, PassReport
from interlock.domain.tool import InterruptPolicy, Reversibility, ToolSpec
from interlock.kernel.desk import ReviewDesk
from interlock.ports.gate import Gate, Standing
from interlock.ports.runtime import Runtime
from interlock.schema import Parameters, codec_for, shape_of
from interlock.testing.clock import ManualClock


def send(to: str) -> str:
    """The tool that the tests propose; it never runs."""
    return to


PARAMETERS = Parameters.of(send)
SHAPE = {"arguments": PARAMETERS.shapes, "result": shape_of(codec_for(str)), "types": PARAMETERS.types}

DONE = Outcome(OutcomeKind.DONE, b'"sent"')
IN_DOUBT = Outcome(OutcomeKind.IN_DOUBT, failure=b'{"message":"no answer","type":"builtins:TimeoutError"}')
FAILED = Outcome(OutcomeKind.FAILED, failure=b'{"message":"refused","type":"builtins:ValueError"}')
RUN = RunId("job")


class GateUnderTest(Gate, Runtime, Protocol):
    """An adapter needs both: the gate, and what drives runs."""


class GateSetting:
    """How a gate is made for a test, and the calls that the tests make of it."""

    def make_gate(self, clock: ManualClock) -> GateUnderTest:
        """A gate over an empty store whose clock is this one, with a lease that outlives the tests."""
        raise NotImplementedError

    def make_desk(self, gate: GateUnderTest) -> ReviewDesk:
        """The desk of an authenticated person over the same store."""
        raise NotImplementedError

    def end(self, gate: GateUnderTest) -> None:
        """Close what `make_gate` opened."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def gate(self, clock: ManualClock) -> Iterator[GateUnderTest]:
        gate = self.make_gate(clock)
        yield gate
        self.end(gate)

    @pytest.fixture
    def desk(self, gate: GateUnderTest) -> ReviewDesk:
        return self.make_desk(gate)

    # -- what the tests are made of -----------------------------------------------------------------

    def spec(self, reversibility: Reversibility | None = Reversibility.IRREVERSIBLE, **given: Any) -> ToolSpec:
        fields: dict[str, Any] = {
            "name": "send",
            "target": "python:test:send",
            "tool_rev": "sha-256:1",
            "schema": PARAMETERS.json_schema,
            "shape": SHAPE,
        }
        return ToolSpec(reversibility=reversibility, **{**fields, **given})

    def enter(self, gate: GateUnderTest, run: RunId = RUN) -> PassGrant:
        return gate.enter(run, agent="agent").result()

    def request(
        self, gate: GateUnderTest, grant: PassGrant, spec: ToolSpec, to: str = "bob", occurrence: int = 0, **given: Any
    ) -> ActionRequest:
        arguments: Json = {"to": to}
        key = call_key(grant.run_key, "", spec.name, spec.target, arguments_bytes(arguments), occurrence, None)
        return ActionRequest(
            run=grant.run.id,
            pass_no=grant.run.pass_no,
            process=gate.process,
            spec=spec,
            arguments=arguments,
            call_key=key,
            scope="",
            seq=occurrence + 1,
            **given,
        )

    def held(self, gate: GateUnderTest) -> tuple[ActionRequest, Standing]:
        request = self.request(gate, self.enter(gate), self.spec())
        standing = gate.propose(request).result()
        assert standing.action.state is ActionState.HELD
        return request, standing

    def approved(self, gate: GateUnderTest, desk: ReviewDesk) -> tuple[ActionRequest, Standing]:
        request, standing = self.held(gate)
        assert standing.interrupt is not None
        desk.approve(standing.interrupt.id, digest=standing.interrupt.digest)
        return request, standing

    def claimed(
        self, gate: GateUnderTest, reversibility: Reversibility = Reversibility.COMPENSABLE, **given: Any
    ) -> tuple[ActionRequest, Standing]:
        spec = self.spec(reversibility, interrupt_policy=InterruptPolicy.NONE, **given)
        request = self.request(gate, self.enter(gate), spec)
        standing = gate.propose(request).result()
        assert standing.claim is not None
        return request, standing

    def paused(self) -> PassReport:
        """A pass that ends because it waits."""
        return PassReport(PassEnd.WAITING)
