"""What every gate does where people are asked about more than a call: questions, pauses, checks, tickets."""

# ruff: noqa: D102  tests: they assert, and their names are their sentences

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from interlock.domain.action import ActionKind, ActionRequest, ActionState, AgentDecision, Asking, Checked, Objection
from interlock.domain.decision import Verdict
from interlock.domain.errors import CallError, DecisionError
from interlock.domain.interrupt import InterruptKind
from interlock.domain.ruling import Reason
from interlock.domain.run import Ticket
from interlock.domain.tool import InterruptPolicy, Reversibility
from interlock.kernel.desk import ReviewDesk
from interlock.ports.gate import Standing
from interlock.testing.clock import ManualClock
from interlock.testing.gate_setting import DONE, RUN, GateSetting, GateUnderTest

QUESTION = Asking(ActionKind.QUESTION, "the agent asks: to whom?")
PAUSE = Asking(ActionKind.OBSERVED, "a node pauses by itself")


class GateAskingContract(GateSetting):
    """The part of `GateContract` that is about asking."""

    def asked(self, gate: GateUnderTest, asking: Asking) -> tuple[ActionRequest, Standing]:
        spec = self.spec(Reversibility.READ_ONLY)
        request = self.request(gate, self.enter(gate), spec, asking=asking)
        told = gate.report_pause(request) if asking.kind is ActionKind.OBSERVED else gate.propose(request)
        standing = told.result()
        assert standing.interrupt is not None
        assert standing.claim is None
        return request, standing

    def test_a_question_is_held_whatever_the_policy_lets_go_and_its_answer_ends_it(
        self, gate: GateUnderTest, desk: ReviewDesk
    ) -> None:
        request, standing = self.asked(gate, QUESTION)
        card = standing.interrupt
        assert card is not None
        assert card.kind is InterruptKind.QUESTION
        with pytest.raises(DecisionError, match="approve does not answer this card"):
            desk.approve(card.id, digest=card.digest)
        desk.respond(card.id, digest=card.digest, result="li")
        again = gate.propose(request).result()
        assert (again.action.state, again.action.result) == (ActionState.DONE, b'"li"')

    def test_a_pause_is_held_reported_once_and_its_answer_can_be_read(
        self, gate: GateUnderTest, desk: ReviewDesk
    ) -> None:
        request, standing = self.asked(gate, PAUSE)
        card = standing.interrupt
        assert card is not None
        assert card.kind is InterruptKind.OBSERVED
        assert gate.report_pause(request).result().interrupt == card
        assert gate.answer(standing.action.id) is None
        desk.modify(card.id, digest=card.digest, arguments={"to": "li"}, note="she knows")
        answer = gate.answer(standing.action.id)
        assert answer is not None
        assert (answer.verdict, answer.arguments, answer.words) == (Verdict.MODIFY, {"to": "li"}, "she knows")

    def test_handing_an_answer_over_ends_the_pause_and_can_be_told_twice(
        self, gate: GateUnderTest, desk: ReviewDesk
    ) -> None:
        request, standing = self.asked(gate, PAUSE)
        card = standing.interrupt
        assert card is not None
        assert gate.deliver(standing.action.id, request.process).result().action.state is ActionState.HELD
        desk.approve(card.id, digest=card.digest)
        for _ in range(2):
            assert gate.deliver(standing.action.id, request.process).result().action.state is ActionState.DONE
        answer = gate.answer(standing.action.id)
        assert answer is not None
        assert answer.verdict is Verdict.APPROVE

    def test_a_pause_that_nobody_answered_says_how_it_ended(self, gate: GateUnderTest, clock: ManualClock) -> None:
        request, standing = self.asked(gate, replace(PAUSE, expires_in=timedelta(minutes=5)))
        clock.advance(timedelta(minutes=6))
        gate.propose(request).result()
        answer = gate.answer(standing.action.id)
        assert answer is not None
        assert (answer.verdict, answer.ended) == (None, "expired")

    def test_a_call_at_the_place_of_a_pause_joins_it_and_takes_the_one_claim(
        self, gate: GateUnderTest, desk: ReviewDesk
    ) -> None:
        spec = self.spec()
        request = self.request(gate, self.enter(gate), spec)
        standing = gate.report_pause(replace(request, asking=PAUSE)).result()
        card = standing.interrupt
        assert card is not None
        assert gate.propose(request).result().interrupt == card
        desk.approve(card.id, digest=card.digest)
        claim = gate.claim(request, standing.action.id).result().claim
        assert claim is not None
        settled = gate.settle(standing.action.id, request.process, claim.fence, DONE).result()
        assert settled.action.state is ActionState.DONE
        assert gate.claim(request, standing.action.id).result().claim is None

    def test_what_is_reported_as_a_pause_says_what_people_are_asked(self, gate: GateUnderTest) -> None:
        request = self.request(gate, self.enter(gate), self.spec())
        for asking in (None, QUESTION):
            with pytest.raises(CallError, match="not_observed"):
                gate.report_pause(replace(request, asking=asking)).result()

    @pytest.mark.parametrize(
        ("policy", "state"),
        [(InterruptPolicy.HARD_STOP, ActionState.HELD), (InterruptPolicy.DENY, ActionState.REFUSED)],
    )
    def test_an_objection_makes_a_ruling_stricter_at_the_proposal(
        self, gate: GateUnderTest, policy: InterruptPolicy, state: ActionState
    ) -> None:
        checked = Checked((Objection(policy, Reason("check", "the check says so")),))
        spec = self.spec(Reversibility.COMPENSABLE, interrupt_policy=InterruptPolicy.NONE)
        standing = gate.propose(self.request(gate, self.enter(gate), spec, checked=checked)).result()
        assert standing.action.state is state
        assert standing.action.ruling.reasons[0].words == "the check says so"

    def test_an_objection_never_makes_a_ruling_laxer(self, gate: GateUnderTest) -> None:
        checked = Checked((Objection(InterruptPolicy.NONE, Reason("check", "let it go")),))
        standing = gate.propose(self.request(gate, self.enter(gate), self.spec(), checked=checked)).result()
        assert standing.action.state is ActionState.HELD

    def test_an_objection_at_the_claim_takes_an_approval_away(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        request, standing = self.approved(gate, desk)
        denied = Checked((Objection(InterruptPolicy.DENY, Reason("check", "by now it is wrong")),))
        answer = gate.claim(replace(request, checked=denied), standing.action.id).result()
        assert (answer.claim, answer.action.state) == (None, ActionState.REFUSED)
        assert "by now it is wrong" in answer.action.words

    def test_a_ticket_is_used_up_by_what_begins_and_bounds_it(self, gate: GateUnderTest) -> None:
        grant = gate.enter(RUN, agent="agent", ticket=Ticket(actions=1)).result()
        spec = self.spec(Reversibility.REVERSIBLE)
        first = gate.propose(self.request(gate, grant, spec)).result()
        second = gate.propose(self.request(gate, grant, spec, "li")).result()
        assert (first.claim is None, second.action.state) == (False, ActionState.REFUSED)
        assert second.action.refused_by == "ticket"
        run = gate.run(RUN)
        assert run is not None
        assert run.ticket is not None
        assert run.ticket.used == 1

    def test_a_decision_of_the_agent_is_known_to_the_next_pass_and_expected_by_none(self, gate: GateUnderTest) -> None:
        grant = self.enter(gate)
        gate.note(AgentDecision("agent", "route", {"chosen": "a"}, RUN, grant.run.pass_no, "", 1, "k" * 32))
        gate.leave(RUN, grant.run.pass_no, self.paused()).result()
        (past,) = self.enter(gate).calls
        assert (past.call_key, past.tool, past.gone) == ("k" * 32, "route", True)
