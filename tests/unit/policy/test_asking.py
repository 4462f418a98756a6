"""Rulings where asking is the point."""

from datetime import timedelta

import pytest

from interlock.domain.action import ActionKind, Asking
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.tool import InterruptPolicy
from interlock.policy import PolicySet, Profile, asked, held_by, held_for

HARD = InterruptPolicy.HARD_STOP
SOON = timedelta(minutes=5)


@pytest.mark.parametrize("profile", Profile)
def test_a_question_waits_under_every_profile_and_says_what_is_asked(profile: Profile) -> None:
    ruling = asked(PolicySet(profile=profile), Asking(ActionKind.QUESTION, "the agent asks: how many?"))
    assert (ruling.policy, ruling.wanted, ruling.profile) == (HARD, HARD, profile.value)
    assert ruling.reasons == (Reason("question", "the agent asks: how many?"),)
    assert ruling.expires_in == timedelta(hours=24)
    assert asked(PolicySet(), Asking(ActionKind.QUESTION, "?", expires_in=SOON)).expires_in == SOON


@pytest.mark.parametrize("policy", InterruptPolicy)
def test_a_pause_that_is_not_ours_is_held_whatever_would_let_it_go_and_denied_where_it_is_denied(
    policy: InterruptPolicy,
) -> None:
    ruled = Ruling(policy, policy, (Reason("because", "it is so"),), "record")
    held = held_by(ruled, Asking(ActionKind.OBSERVED, "node pauses"), ours=True)
    assert held.policy is (policy if policy is InterruptPolicy.DENY else HARD)
    assert {reason.words for reason in held.reasons} == {"it is so"} | (
        {"node pauses"} if held.policy is HARD else set()
    )
    soon = held_by(ruled, Asking(ActionKind.OBSERVED, "node pauses", expires_in=SOON), ours=True)
    assert (soon.expires_in == SOON) is (policy is not InterruptPolicy.DENY)


def test_a_pause_with_nothing_of_ours_behind_it_blames_nobody_for_not_declaring_it() -> None:
    ruled = Ruling(HARD, HARD, (Reason("undeclared", "nobody declared it"),), "cautious", expires_in=SOON)
    held = held_by(ruled, Asking(ActionKind.OBSERVED, "node pauses"), ours=False)
    assert [reason.code for reason in held.reasons] == ["observed"]
    assert held.expires_in == timedelta(hours=24)


@pytest.mark.parametrize("policy", InterruptPolicy)
def test_a_call_that_is_to_be_decided_is_held_whatever_would_let_it_go_and_denied_where_it_is_denied(
    policy: InterruptPolicy,
) -> None:
    ruled = Ruling(policy, policy, (Reason("because", "it is so"),), "record")
    held = held_for(ruled, Asking(ActionKind.CALL, "the set-up says so"))
    if policy is InterruptPolicy.DENY:
        assert held is ruled
        return
    assert (held.policy, held.expires_in) == (HARD, ruled.expires_in)
    assert "the set-up says so" in {reason.words for reason in held.reasons}
    assert held_for(ruled, Asking(ActionKind.CALL, "so", expires_in=SOON)).expires_in == SOON
