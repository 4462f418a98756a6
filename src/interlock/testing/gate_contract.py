"""What every gate does, as tests: a subclass says how to make one, and is held to all of it.

class TestMyGate(GateContract):
    def make_gate(self, clock): return my_gate        # satisfies ports.Gate and ports.Runtime
    def make_desk(self, gate): return my_desk         # decides, as ReviewDesk does
"""

# ruff: noqa: D102  tests: they assert, and their names are their sentences

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from interlock.domain.action import ActionState
from interlock.domain.errors import CallError, DecisionError, Diverged, RunError
from interlock.domain.ids import RunId
from interlock.domain.interrupt import InterruptKind
from interlock.domain.run import PassEnd, PassReport
from interlock.domain.tool import InterruptPolicy, Reach, Reversibility
from interlock.kernel.desk import ReviewDesk
from interlock.ports.gate import Standing
from interlock.testing.clock import ManualClock
from interlock.testing.gate_asking_contract import GateAskingContract
from interlock.testing.gate_setting import DONE, FAILED, IN_DOUBT, RUN, GateUnderTest


class GateContract(GateAskingContract):
    """Subclass it, say how to make the gate and its desk, and pytest does the rest."""

    # -- propose ------------------------------------------------------------------------------------

    def test_a_proposal_that_people_decide_is_held_with_a_card_and_no_claim(self, gate: GateUnderTest) -> None:
        _, standing = self.held(gate)
        card = standing.interrupt
        assert card is not None
        assert (card.kind, card.open, card.digest) == (InterruptKind.ACTION, True, standing.action.digest)
        assert card.expires_at is not None
        assert standing.claim is None
        assert gate.open_cards(RUN) == (card,)

    def test_a_proposal_that_nobody_decides_is_claimed_in_the_same_step(self, gate: GateUnderTest) -> None:
        _, standing = self.claimed(gate)
        claim = standing.claim
        assert claim is not None
        assert (standing.action.state, claim.arguments, claim.fence) == (ActionState.EXECUTING, {"to": "bob"}, 1)
        assert claim.digest == standing.action.digest
        assert claim.idempotency_key

    def test_the_same_call_proposed_again_is_the_same_action(self, gate: GateUnderTest) -> None:
        request, first = self.held(gate)
        again = gate.propose(request).result()
        assert (again.action.id, again.interrupt) == (first.action.id, first.interrupt)
        assert len(gate.open_cards(RUN)) == 1

    def test_a_denied_call_is_refused_and_opens_nothing(self, gate: GateUnderTest) -> None:
        spec = self.spec(interrupt_policy=InterruptPolicy.DENY)
        standing = gate.propose(self.request(gate, self.enter(gate), spec)).result()
        assert (standing.action.state, standing.action.refusal) == (ActionState.REFUSED, "denied")
        assert gate.open_cards(RUN) == ()

    def test_a_new_call_while_an_earlier_one_is_missing_diverges_and_is_not_recorded(self, gate: GateUnderTest) -> None:
        request = self.request(gate, self.enter(gate), self.spec(), unseen="log")
        with pytest.raises(Diverged) as diverged:
            gate.propose(request).result()
        assert (diverged.value.expected, diverged.value.got) == ("log", "send")
        assert gate.open_cards(RUN) == ()

    def test_a_call_that_would_pause_inside_a_tool_is_refused(self, gate: GateUnderTest) -> None:
        standing = gate.propose(self.request(gate, self.enter(gate), self.spec(), inside="outer")).result()
        assert standing.action.refusal == "nested_pause"

    def test_an_equal_effect_that_is_done_makes_the_next_one_a_suspected_duplicate(self, gate: GateUnderTest) -> None:
        request, standing = self.claimed(gate)
        gate.settle(standing.action.id, request.process, 1, DONE).result()
        other = replace(request, call_key=type(request.call_key)("another-place"), seq=2)
        again = gate.propose(other).result()
        assert again.action.state is ActionState.HELD
        assert "identical" in (again.interrupt.why if again.interrupt else "")

    def test_an_equal_effect_that_was_rejected_is_refused_without_asking(
        self, gate: GateUnderTest, desk: ReviewDesk
    ) -> None:
        request, standing = self.held(gate)
        assert standing.interrupt is not None
        desk.reject(standing.interrupt.id, digest=standing.interrupt.digest, note="never")
        other = replace(request, call_key=type(request.call_key)("another-place"), seq=2)
        again = gate.propose(other).result()
        assert again.action.refusal == "repeated"
        assert "never" in again.action.words
        assert gate.open_cards(RUN) == ()

    # -- claim --------------------------------------------------------------------------------------

    def test_what_is_held_cannot_be_claimed(self, gate: GateUnderTest) -> None:
        request, standing = self.held(gate)
        answer = gate.claim(request, standing.action.id).result()
        assert (answer.claim, answer.action.state) == (None, ActionState.HELD)

    def test_an_approved_action_is_claimed_once_however_many_ask(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        request, standing = self.approved(gate, desk)
        together = threading.Barrier(8)
        claims: list[Standing] = []

        def ask() -> None:
            together.wait()
            claims.append(gate.claim(request, standing.action.id).result())

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(answer.claim is not None for answer in claims) == 1
        assert gate.look(standing.action.id).action.state is ActionState.EXECUTING

    def test_a_claim_gives_the_arguments_that_were_shown_whatever_is_passed_again(
        self, gate: GateUnderTest, desk: ReviewDesk
    ) -> None:
        request, standing = self.approved(gate, desk)
        forged = replace(request, arguments={"to": "eve"})
        claim = gate.claim(forged, standing.action.id).result().claim
        assert claim is not None
        assert claim.arguments == {"to": "bob"}

    def test_an_edit_is_what_is_claimed(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        request, standing = self.held(gate)
        assert standing.interrupt is not None
        desk.modify(standing.interrupt.id, digest=standing.interrupt.digest, arguments={"to": "ann"})
        claim = gate.claim(request, standing.action.id).result().claim
        assert claim is not None
        assert claim.arguments == {"to": "ann"}
        assert claim.digest != standing.action.digest

    def test_an_old_approval_is_asked_again(self, gate: GateUnderTest, desk: ReviewDesk, clock: ManualClock) -> None:
        request, standing = self.approved(gate, desk)
        clock.advance(timedelta(hours=1, seconds=1))
        answer = gate.claim(request, standing.action.id).result()
        assert (answer.claim, answer.action.state) == (None, ActionState.HELD)
        assert answer.interrupt is not None
        assert answer.interrupt.previous == (standing.interrupt.id if standing.interrupt else "")

    def test_a_freeze_holds_a_claim_back_and_a_release_lets_it_go(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        request, standing = self.approved(gate, desk)
        desk.freeze("tool", "send")
        answer = gate.claim(request, standing.action.id).result()
        assert (answer.claim, answer.frozen, answer.action.state) == (None, "tool", ActionState.CLEARED)
        desk.release("tool", "send")
        assert gate.claim(request, standing.action.id).result().claim is not None

    def test_a_tool_with_another_reach_is_refused_at_the_claim(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        request, standing = self.approved(gate, desk)
        changed = replace(request.spec, reach=frozenset({Reach.OUTWARD}), tool_rev="sha-256:2")
        answer = gate.claim(replace(request, spec=changed), standing.action.id).result()
        assert (answer.claim, answer.action.refusal) == (None, "tool_changed")

    def test_an_action_of_another_run_cannot_be_claimed(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        _, standing = self.approved(gate, desk)
        other = self.request(gate, self.enter(gate, RunId("other")), self.spec())
        with pytest.raises(CallError):
            gate.claim(other, standing.action.id).result()

    # -- settle -------------------------------------------------------------------------------------

    def test_an_outcome_is_recorded_and_found_again(self, gate: GateUnderTest) -> None:
        request, standing = self.claimed(gate)
        settled = gate.settle(standing.action.id, request.process, 1, DONE).result()
        assert (settled.action.state, settled.action.result) == (ActionState.DONE, b'"sent"')
        assert gate.propose(request).result().action == settled.action

    def test_telling_an_outcome_twice_is_fine_and_another_one_changes_nothing(self, gate: GateUnderTest) -> None:
        request, standing = self.claimed(gate)
        first = gate.settle(standing.action.id, request.process, 1, DONE).result()
        assert gate.settle(standing.action.id, request.process, 1, DONE).result().action == first.action
        assert gate.settle(standing.action.id, request.process, 1, FAILED).result().action == first.action

    def test_a_doubt_of_what_cannot_be_repeated_asks_a_person(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        request, standing = self.claimed(gate)
        doubt = gate.settle(standing.action.id, request.process, 1, IN_DOUBT).result()
        assert doubt.action.state is ActionState.IN_DOUBT
        assert doubt.interrupt is not None
        assert (doubt.interrupt.kind, doubt.interrupt.expires_at) == (InterruptKind.RECONCILE, None)
        assert gate.claim(request, standing.action.id).result().claim is None
        desk.reconcile(doubt.interrupt.id, digest=doubt.interrupt.digest, found="done", result="by hand")
        assert gate.look(standing.action.id).action.result == b'"by hand"'

    def test_a_doubt_of_what_is_reversible_is_claimed_again_three_times_in_all(self, gate: GateUnderTest) -> None:
        request, standing = self.claimed(gate, Reversibility.REVERSIBLE)
        keys = {standing.claim.idempotency_key if standing.claim else ""}
        for fence in (1, 2):
            gate.settle(standing.action.id, request.process, fence, IN_DOUBT).result()
            again = gate.claim(request, standing.action.id).result().claim
            assert again is not None
            assert again.fence == fence + 1
            keys.add(again.idempotency_key)
        gate.settle(standing.action.id, request.process, 3, IN_DOUBT).result()
        assert gate.claim(request, standing.action.id).result().claim is None
        assert len(keys) == 1
        assert gate.park(standing.action.id, request.process).result().interrupt is not None

    def test_a_late_outcome_settles_a_doubt_that_nobody_has_reconciled(self, gate: GateUnderTest) -> None:
        request, standing = self.claimed(gate)
        gate.settle(standing.action.id, request.process, 1, IN_DOUBT).result()
        late = gate.settle(standing.action.id, request.process, 1, DONE).result()
        assert late.action.state is ActionState.DONE
        assert gate.open_cards(RUN) == ()

    def test_a_late_outcome_does_not_overrule_a_person(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        request, standing = self.claimed(gate)
        doubt = gate.settle(standing.action.id, request.process, 1, IN_DOUBT).result()
        assert doubt.interrupt is not None
        desk.reconcile(doubt.interrupt.id, digest=doubt.interrupt.digest, found="failed")
        late = gate.settle(standing.action.id, request.process, 1, DONE).result()
        assert late.action.state is ActionState.FAILED

    def test_a_probe_settles_a_doubt(self, gate: GateUnderTest) -> None:
        request, standing = self.claimed(gate, probed=True)
        gate.settle(standing.action.id, request.process, 1, IN_DOUBT).result()
        found = gate.probed(standing.action.id, request.process, True, DONE).result()
        assert (found.action.state, found.action.answered_by) == (ActionState.DONE, "probe")

    # -- runs ---------------------------------------------------------------------------------------

    def test_a_composite_may_be_entered_again_and_others_may_not(self, gate: GateUnderTest) -> None:
        request, standing = self.claimed(gate, Reversibility.REVERSIBLE, composite=True)
        gate.suspend(standing.action.id, request.process, 1).result()
        assert gate.claim(request, standing.action.id).result().claim is not None

    def test_a_pass_that_another_one_took_over_can_do_nothing_more(self, gate: GateUnderTest) -> None:
        request, _ = self.held(gate)
        gate.leave(RUN, request.pass_no, PassReport(PassEnd.WAITING, seen=frozenset({request.call_key}))).result()
        newer = self.enter(gate)
        assert [call.call_key for call in newer.calls] == [request.call_key]
        with pytest.raises(RunError, match="pass_lost"):
            gate.propose(replace(request, call_key=type(request.call_key)("another-place"))).result()
        with pytest.raises(RunError, match="pass_lost"):
            gate.leave(RUN, request.pass_no, PassReport(PassEnd.FINISHED)).result()

    def test_a_run_that_is_driven_is_busy(self, gate: GateUnderTest) -> None:
        self.enter(gate)
        with pytest.raises(RunError, match="busy"):
            self.enter(gate)

    def test_cancelling_withdraws_what_is_not_claimed(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        request, standing = self.approved(gate, desk)
        gate.cancel(RUN, "user:ana", "enough").result()
        assert gate.look(standing.action.id).action.refusal == "withdrawn"
        with pytest.raises(RunError, match="cancelled"):
            gate.claim(request, standing.action.id).result()

    # -- people -------------------------------------------------------------------------------------

    def test_a_decision_needs_the_digest_of_the_card(self, gate: GateUnderTest, desk: ReviewDesk) -> None:
        _, standing = self.held(gate)
        assert standing.interrupt is not None
        with pytest.raises(DecisionError, match="digest_mismatch"):
            desk.approve(standing.interrupt.id, digest="sha-256:another")
        assert gate.look(standing.action.id).action.state is ActionState.HELD

    def test_a_decision_after_the_expiry_does_not_count(
        self, gate: GateUnderTest, desk: ReviewDesk, clock: ManualClock
    ) -> None:
        request, standing = self.held(gate)
        card = standing.interrupt
        assert card is not None
        assert card.expires_at is not None
        clock.set(card.expires_at)
        with pytest.raises(DecisionError, match="expired"):
            desk.approve(card.id, digest=card.digest)
        answer = gate.claim(request, standing.action.id).result()
        assert (answer.claim, answer.action.refusal) == (None, "expired")

    # -- free calls ---------------------------------------------------------------------------------

    def test_only_what_reads_and_is_not_asked_about_is_free(self, gate: GateUnderTest) -> None:
        assert gate.is_free(self.spec(Reversibility.READ_ONLY))
        assert not gate.is_free(self.spec(Reversibility.READ_ONLY, interrupt_policy=InterruptPolicy.HARD_STOP))
        assert not gate.is_free(self.spec(Reversibility.REVERSIBLE))
        assert not gate.is_free(self.spec(None))
        assert not gate.is_free(self.spec(Reversibility.READ_ONLY, composite=True))
