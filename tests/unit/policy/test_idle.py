"""Rules that would loosen and never can are named, and only those."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.action import Rationale
from interlock.domain.tool import CONFIDENCE_GATED, InterruptPolicy, Reach, Reversibility, ToolSpec
from interlock.policy import PolicySet, Profile, Situation, idle_rules, rule
from interlock.policy.ruleset import Confidence, Rule

NONE, ASYNC, SOFT, HARD, DENY = InterruptPolicy
READ, REVERSIBLE, COMPENSABLE, IRREVERSIBLE = Reversibility


def asking(policy: InterruptPolicy, **said: Any) -> Rule:
    return Rule("a", **{"interrupt_policy": policy, "tools": ("act",), "loosens": True, **said})


def idle(given: Rule, nature: Reversibility | None, profile: Profile = Profile.CAUTIOUS, **declared: Any) -> list[str]:
    channels = declared.pop("channels", False)
    policy = PolicySet(profile, rules=(given,), channels=channels)
    return [why for _, _, why in idle_rules(policy, ToolSpec("act", nature, **declared))]


@pytest.mark.parametrize(
    ("nature", "declared", "words"),
    [
        (IRREVERSIBLE, {}, "it cannot be undone"),
        (None, {}, "nobody declared what this tool does"),
        (COMPENSABLE, {"cost": Decimal(100)}, "it may cost up to 100, and 100 or more is asked about"),
        (READ, {"reach": frozenset({Reach.PRIVILEGE})}, "it changes who may do what"),
        (IRREVERSIBLE, {"cost": Decimal(100)}, "it cannot be undone and it may cost up to 100"),
    ],
)
def test_a_rule_that_may_loosen_never_does_for_what_a_person_always_decides(
    nature: Reversibility | None, declared: dict[str, Any], words: str
) -> None:
    (why,) = idle(asking(NONE), nature, **declared)
    assert why.startswith("no rule loosens it, since ")
    assert words in why


def test_costs_bind_no_rule_in_the_profile_earned_or_below_the_limit() -> None:
    assert idle(asking(NONE), COMPENSABLE, Profile.EARNED, cost=Decimal(100)) == []
    assert idle(asking(NONE), COMPENSABLE, cost=Decimal("99.99")) == []


def test_a_rule_that_does_not_say_that_it_loosens_never_does() -> None:
    (why,) = idle(asking(NONE, loosens=False), COMPENSABLE)
    assert why == "hard_stop applies to it, and only a rule with loosens = true asks for less"
    assert idle(asking(SOFT, loosens=False), COMPENSABLE) != []


def test_a_broad_rule_may_be_weaker_than_what_applies_to_one_of_its_tools() -> None:
    assert idle(asking(SOFT, loosens=False, tools=()), IRREVERSIBLE) == []
    assert idle(asking(NONE, loosens=False, tools=()), IRREVERSIBLE) != []


def test_a_soft_checkpoint_that_nobody_is_told_of_loosens_nothing() -> None:
    (why,) = idle(asking(SOFT), COMPENSABLE)
    assert "without a channel" in why
    assert idle(asking(SOFT), COMPENSABLE, channels=True) == []


def test_a_denial_can_be_loosened_down_to_what_no_rule_loosens() -> None:
    assert idle(asking(HARD), IRREVERSIBLE, interrupt_policy="deny") == []


def test_of_a_rule_about_confidence_each_side_is_looked_at() -> None:
    sure = Confidence(0.7, NONE, HARD)
    said = {"interrupt_policy": None, "confidence": sure}
    assert idle(asking(NONE, **said), COMPENSABLE) == []
    assert len(idle(asking(NONE, **said), IRREVERSIBLE)) == 1
    below = {**said, "confidence": replace(sure, below=NONE)}
    assert len(idle(asking(NONE, **below), COMPENSABLE)) == 1
    assert idle(asking(NONE, interrupt_policy=None), IRREVERSIBLE) == []


@given(
    st.sampled_from(InterruptPolicy),
    st.booleans(),
    st.none() | st.sampled_from(Reversibility),
    st.sampled_from([None, "hard_stop", "deny", CONFIDENCE_GATED]),
    st.sampled_from([None, Decimal(1), Decimal(500)]),
    st.sampled_from(Profile),
    st.booleans(),
    st.floats(0, 1),
)
def test_what_is_named_as_idle_changes_no_ruling(
    asks: InterruptPolicy, loosens: bool, nature: Reversibility | None, declared: str | None, cost: Decimal | None,
    profile: Profile, channels: bool, sure: float,
) -> None:  # fmt: skip
    spec = ToolSpec("act", nature, interrupt_policy=declared, cost=cost)
    bare = PolicySet(profile, channels=channels)
    ruled = replace(bare, rules=(asking(asks, loosens=loosens),))
    said = Situation(rationale=Rationale(confidence=sure))
    if list(idle_rules(ruled, spec)):
        assert rule(ruled, spec, said).policy is rule(bare, spec, said).policy
