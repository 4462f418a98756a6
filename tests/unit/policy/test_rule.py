"""The table of defaults row by row, and everything that moves a ruling away from it."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, cast

import pytest

from interlock.domain.action import Rationale, Versions
from interlock.domain.errors import SettingsError
from interlock.domain.ruling import Ruling
from interlock.domain.tool import InterruptPolicy, Reach, Reversibility, ToolSpec
from interlock.policy import PolicySet, Profile, Situation, decide, rule

NONE, ASYNC, SOFT, HARD, DENY = InterruptPolicy
READ, REVERSIBLE, COMPENSABLE, IRREVERSIBLE = Reversibility
RECORD, PHASE1, CAUTIOUS, EARNED = Profile

NOTHING_SAID = Situation()
HOURS = timedelta(hours=1)


def ruled(
    profile: Profile,
    reversibility: Reversibility | None,
    *,
    channels: bool = True,
    confidence: object = None,
    **declared: Any,
) -> Ruling:
    """Rule on a tool as declared, by default where channels can deliver, so that the table shows as it is."""
    spec = ToolSpec("act", reversibility, **declared)
    said = Rationale(confidence=cast("float | None", confidence))
    return rule(PolicySet(profile, channels=channels), spec, Situation(rationale=said))


def codes(ruling: Ruling) -> list[str]:
    return [reason.code for reason in ruling.reasons]


def words(ruling: Ruling) -> str:
    return "; ".join(reason.words for reason in ruling.reasons)


# ------------------------------------------------------------------------------------------ the table


@pytest.mark.parametrize(
    ("profile", "reversibility", "asks"),
    [
        (PHASE1, READ, NONE),
        (PHASE1, REVERSIBLE, SOFT),
        (PHASE1, COMPENSABLE, HARD),
        (PHASE1, IRREVERSIBLE, HARD),
        (PHASE1, None, HARD),
        (CAUTIOUS, READ, NONE),
        (CAUTIOUS, REVERSIBLE, NONE),
        (CAUTIOUS, COMPENSABLE, HARD),
        (CAUTIOUS, IRREVERSIBLE, HARD),
        (CAUTIOUS, None, HARD),
        (EARNED, READ, NONE),
        (EARNED, REVERSIBLE, NONE),
        (EARNED, COMPENSABLE, SOFT),
        (EARNED, IRREVERSIBLE, HARD),
        (EARNED, None, HARD),
    ],
)
def test_the_profile_asks_by_how_far_a_tool_can_be_taken_back(
    profile: Profile, reversibility: Reversibility | None, asks: InterruptPolicy
) -> None:
    ruling = ruled(profile, reversibility)
    assert ruling.policy is ruling.wanted is asks
    assert ruling.profile == profile.value


@pytest.mark.parametrize(
    ("reversibility", "code", "sentence"),
    [
        (READ, "read_only", "it only reads"),
        (REVERSIBLE, "reversible", "it can be undone"),
        (COMPENSABLE, "compensable", "it cannot be undone, only made good afterwards"),
        (IRREVERSIBLE, "irreversible", "it cannot be undone"),
        (None, "undeclared", "nobody declared what this tool does"),
    ],
)
def test_the_first_reason_says_what_the_tool_is(reversibility: Reversibility | None, code: str, sentence: str) -> None:
    first = ruled(CAUTIOUS, reversibility).reasons[0]
    assert (first.code, first.words) == (code, sentence)


@pytest.mark.parametrize(
    ("reversibility", "asks"),
    [(READ, NONE), (REVERSIBLE, NONE), (COMPENSABLE, HARD), (IRREVERSIBLE, HARD), (None, HARD)],
)
def test_record_asks_nobody_and_tells_what_cautious_would_have_asked(
    reversibility: Reversibility | None, asks: InterruptPolicy
) -> None:
    ruling = ruled(RECORD, reversibility)
    assert ruling.policy is NONE
    assert ruling.wanted is asks
    assert codes(ruling)[-1] == "record_only"


def test_record_tells_of_the_hard_stop_that_a_missing_channel_would_have_made() -> None:
    ruling = ruled(RECORD, REVERSIBLE, channels=False, interrupt_policy="soft_checkpoint")
    assert (ruling.policy, ruling.wanted) == (NONE, HARD)
    assert codes(ruling)[-2:] == ["no_channel", "record_only"]


def test_record_does_not_complain_that_nobody_was_told() -> None:
    ruling = ruled(RECORD, REVERSIBLE, channels=False, compensated=True, interrupt_policy="async_notification")
    assert (ruling.policy, ruling.wanted) == (NONE, ASYNC)
    assert "nobody_told" not in codes(ruling)


def test_in_the_first_weeks_what_has_an_undo_goes_on_and_people_are_told() -> None:
    ruling = ruled(PHASE1, REVERSIBLE, compensated=True)
    assert ruling.policy is ASYNC
    assert codes(ruling) == ["reversible", "phase1"]


def test_earned_trust_tells_afterwards_only_where_the_tool_has_an_undo_and_declares_it() -> None:
    assert ruled(EARNED, COMPENSABLE, compensated=True).policy is SOFT
    declared = ruled(EARNED, COMPENSABLE, compensated=True, interrupt_policy="async_notification")
    assert declared.policy is ASYNC
    assert codes(declared) == ["compensable", "earned"]


# ------------------------------------------------------------------------------------------ cost and reach


@pytest.mark.parametrize("profile", [PHASE1, CAUTIOUS, EARNED])
@pytest.mark.parametrize("reversibility", [READ, REVERSIBLE, COMPENSABLE, IRREVERSIBLE, None])
@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ({"cost": Decimal(100)}, "costs"),
        ({"reach": frozenset({Reach.PRIVILEGE})}, "reach_privilege"),
        ({"reach": frozenset({Reach.DELEGATES})}, "reach_delegates"),
    ],
)
def test_high_cost_privilege_and_delegation_stop_hard_whatever_can_be_undone(
    profile: Profile, reversibility: Reversibility | None, declared: dict[str, Any], code: str
) -> None:
    ruling = ruled(profile, reversibility, **declared)
    assert ruling.policy is HARD
    assert code in codes(ruling)
    assert not {"phase1", "earned"} & set(codes(ruling))


def test_a_cost_below_the_limit_asks_nobody() -> None:
    assert codes(ruled(CAUTIOUS, REVERSIBLE, cost=Decimal("99.99"))) == ["reversible"]


def test_the_team_says_from_where_on_a_cost_is_high() -> None:
    spec = ToolSpec("buy", REVERSIBLE, cost=Decimal(25))
    assert rule(PolicySet(expensive_from=Decimal("25.01")), spec, NOTHING_SAID).policy is NONE
    assert rule(PolicySet(expensive_from=Decimal("25.00")), spec, NOTHING_SAID).policy is HARD


def test_the_cost_is_told_as_people_write_it() -> None:
    assert "it may cost up to 250, and 100 or more is asked about" in words(ruled(CAUTIOUS, READ, cost=Decimal(250)))
    assert "it may cost up to 1000, and" in words(ruled(CAUTIOUS, READ, cost=Decimal("1E+3")))
    assert "it may cost up to 1E+999999, and" in words(ruled(CAUTIOUS, READ, cost=Decimal("1E+999999")))


@pytest.mark.parametrize("cost", [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")])
def test_a_cost_that_is_no_number_counts_as_high(cost: Decimal) -> None:
    assert ruled(CAUTIOUS, READ, cost=cost).policy is HARD


def test_reaching_outward_or_spending_stops_nothing_by_itself() -> None:
    assert ruled(CAUTIOUS, REVERSIBLE, reach=frozenset({Reach.OUTWARD, Reach.SPENDS})).policy is NONE


def test_every_reason_is_given_not_only_the_first() -> None:
    ruling = ruled(CAUTIOUS, IRREVERSIBLE, cost=Decimal(500), reach=frozenset({Reach.DELEGATES, Reach.PRIVILEGE}))
    assert codes(ruling) == ["irreversible", "costs", "reach_privilege", "reach_delegates"]


# ------------------------------------------------------------------------------------------ declarations


@pytest.mark.parametrize("asks", [SOFT, HARD, DENY])
def test_a_declaration_can_be_stricter_than_the_profile(asks: InterruptPolicy) -> None:
    ruling = ruled(CAUTIOUS, REVERSIBLE, interrupt_policy=asks)
    assert ruling.policy is ruling.wanted is asks
    assert codes(ruling) == ["reversible", "declared"]


@pytest.mark.parametrize("asks", [NONE, ASYNC, SOFT])
def test_a_looser_declaration_counts_and_is_marked_as_a_loosening(asks: InterruptPolicy) -> None:
    ruling = ruled(CAUTIOUS, COMPENSABLE, compensated=True, interrupt_policy=asks.value)
    assert ruling.policy is asks
    assert codes(ruling) == ["compensable", "declared_looser"]
    assert "less than the profile cautious asks for" in words(ruling)


def test_declaring_what_the_profile_asks_anyway_adds_no_reason() -> None:
    assert codes(ruled(CAUTIOUS, COMPENSABLE, interrupt_policy="hard_stop")) == ["compensable"]


@pytest.mark.parametrize("profile", [PHASE1, CAUTIOUS, EARNED])
@pytest.mark.parametrize("asks", [NONE, ASYNC, SOFT])
@pytest.mark.parametrize(
    "tool",
    [
        {"reversibility": IRREVERSIBLE},
        {"reversibility": None},
        {"reversibility": READ, "reach": frozenset({Reach.PRIVILEGE})},
        {"reversibility": REVERSIBLE, "reach": frozenset({Reach.DELEGATES})},
        {"reversibility": COMPENSABLE, "cost": Decimal(100)},
    ],
)
def test_no_declaration_takes_what_must_stop_below_a_hard_stop(
    profile: Profile, asks: InterruptPolicy, tool: dict[str, Any]
) -> None:
    ruling = ruled(profile, **tool, compensated=True, interrupt_policy=asks)
    assert ruling.policy is ruling.wanted is HARD
    assert codes(ruling)[-1] == "declaration_not_followed"
    assert "a person decides all the same" in words(ruling)


def test_a_tool_can_be_declared_never_to_run() -> None:
    assert ruled(CAUTIOUS, IRREVERSIBLE, interrupt_policy="deny").policy is DENY


def test_a_word_that_is_no_policy_is_never_taken_for_one() -> None:
    with pytest.raises(SettingsError) as caught:
        ruled(CAUTIOUS, READ, interrupt_policy="ask")
    assert caught.value.code == "unknown_policy"


# ------------------------------------------------------------------------------------------ channels


def test_a_soft_checkpoint_that_nobody_could_see_is_a_hard_stop() -> None:
    ruling = ruled(PHASE1, REVERSIBLE, channels=False)
    assert (ruling.policy, ruling.wanted) == (HARD, SOFT)
    assert codes(ruling) == ["reversible", "phase1", "no_channel"]


def test_a_notice_that_nobody_can_get_is_recorded_as_such_and_the_call_goes_on() -> None:
    ruling = ruled(PHASE1, REVERSIBLE, channels=False, compensated=True)
    assert ruling.policy is ruling.wanted is ASYNC
    assert ruling.reasons[-1].words == "nobody was told: no channel"


# ------------------------------------------------------------------------------------------ confidence


@pytest.mark.parametrize("reversibility", [READ, REVERSIBLE])
def test_a_sure_agent_is_not_asked_about_what_can_be_undone(reversibility: Reversibility) -> None:
    ruling = ruled(
        PHASE1,
        reversibility,
        interrupt_policy="confidence_gated",
        confidence_threshold=0.8,
        confidence=0.8,
        channels=False,
    )
    assert ruling.policy is NONE
    assert codes(ruling)[-1] == "confidence_enough"
    assert words(ruling).endswith("the agent says it is 0.8 sure, and 0.8 is enough")


def test_going_on_where_the_profile_would_ask_is_marked_as_a_loosening() -> None:
    gated = {"interrupt_policy": "confidence_gated", "confidence": 0.9}
    assert "declared_looser" in codes(ruled(PHASE1, REVERSIBLE, **gated))
    assert "declared_looser" not in codes(ruled(CAUTIOUS, REVERSIBLE, **gated))


@pytest.mark.parametrize(("profile", "asks"), [(PHASE1, HARD), (CAUTIOUS, HARD), (EARNED, SOFT)])
def test_a_sure_agent_gets_the_profile_s_policy_for_what_can_only_be_made_good(
    profile: Profile, asks: InterruptPolicy
) -> None:
    assert ruled(profile, COMPENSABLE, interrupt_policy="confidence_gated", confidence=1).policy is asks


@pytest.mark.parametrize(
    "tool",
    [
        {"reversibility": IRREVERSIBLE},
        {"reversibility": None},
        {"reversibility": REVERSIBLE, "cost": Decimal(100)},
        {"reversibility": READ, "reach": frozenset({Reach.PRIVILEGE})},
    ],
)
def test_being_sure_never_takes_what_must_stop_below_a_hard_stop(tool: dict[str, Any]) -> None:
    assert ruled(EARNED, **tool, interrupt_policy="confidence_gated", confidence=1.0).policy is HARD


@pytest.mark.parametrize("asks", [None, "none", "soft_checkpoint", "confidence_gated"])
def test_below_the_threshold_a_person_decides(asks: str | None) -> None:
    ruling = ruled(CAUTIOUS, REVERSIBLE, interrupt_policy=asks, confidence_threshold=0.7, confidence=0.69)
    assert ruling.policy is HARD
    assert ruling.reasons[-1].words == "the agent says it is 0.69 sure, and below 0.7 a person decides"


def test_at_the_threshold_the_tool_s_own_policy_applies() -> None:
    assert ruled(CAUTIOUS, REVERSIBLE, confidence_threshold=0.7, confidence=0.7).policy is NONE
    assert ruled(CAUTIOUS, COMPENSABLE, confidence_threshold=0.7, confidence=0.7).policy is HARD
    declared = ruled(CAUTIOUS, REVERSIBLE, confidence_threshold=0.7, confidence=0.7, interrupt_policy="soft_checkpoint")
    assert declared.policy is SOFT


def test_without_a_threshold_of_its_own_a_gated_tool_takes_the_usual_one() -> None:
    assert ruled(CAUTIOUS, READ, interrupt_policy="confidence_gated", confidence=0.7).policy is NONE
    assert ruled(CAUTIOUS, READ, interrupt_policy="confidence_gated", confidence=0.699).policy is HARD


def test_low_confidence_does_not_turn_a_denial_into_a_question() -> None:
    assert ruled(CAUTIOUS, READ, interrupt_policy="deny", confidence_threshold=0.7, confidence=0.1).policy is DENY


@pytest.mark.parametrize(
    "claimed",
    [float("nan"), float("inf"), -0.1, 1.1, 70, "0.9", "high", True, [1], Decimal("0.9")],
    ids=repr,
)
def test_a_confidence_that_cannot_be_used_counts_as_none(claimed: object) -> None:
    ruling = ruled(CAUTIOUS, READ, confidence_threshold=0.1, confidence=claimed)
    assert ruling.policy is HARD
    assert codes(ruling)[-1] == "confidence_unusable"


def test_a_missing_confidence_counts_as_none() -> None:
    ruling = ruled(CAUTIOUS, READ, confidence_threshold=0.1)
    assert ruling.policy is HARD
    assert codes(ruling)[-1] == "confidence_missing"


def test_where_nobody_asked_for_confidence_it_changes_nothing() -> None:
    assert ruled(CAUTIOUS, REVERSIBLE, confidence=0.0) == ruled(CAUTIOUS, REVERSIBLE)


def test_low_confidence_holds_nothing_under_record_and_is_recorded() -> None:
    ruling = ruled(RECORD, READ, confidence_threshold=0.7, confidence=0.2)
    assert (ruling.policy, ruling.wanted) == (NONE, HARD)
    assert codes(ruling) == ["read_only", "confidence_low", "record_only"]


# ------------------------------------------------------------------------------------------ times


@pytest.mark.parametrize("reversibility", [IRREVERSIBLE, None])
def test_what_cannot_be_undone_expires_in_four_hours_and_its_approval_in_one(
    reversibility: Reversibility | None,
) -> None:
    ruling = ruled(CAUTIOUS, reversibility)
    assert (ruling.expires_in, ruling.approval_valid_for) == (4 * HOURS, HOURS)


@pytest.mark.parametrize("reversibility", [READ, REVERSIBLE, COMPENSABLE])
def test_everything_else_expires_in_a_day(reversibility: Reversibility) -> None:
    ruling = ruled(CAUTIOUS, reversibility)
    assert (ruling.expires_in, ruling.approval_valid_for) == (24 * HOURS, 24 * HOURS)


def test_a_tool_can_say_how_long_to_wait() -> None:
    ruling = ruled(CAUTIOUS, IRREVERSIBLE, expires_in=2 * HOURS, approval_valid_for=HOURS / 4)
    assert (ruling.expires_in, ruling.approval_valid_for) == (2 * HOURS, HOURS / 4)


def test_a_soft_checkpoint_leaves_ten_minutes_unless_the_tool_says_otherwise() -> None:
    assert ruled(PHASE1, REVERSIBLE).window == timedelta(minutes=10)
    assert ruled(PHASE1, REVERSIBLE, window=timedelta(minutes=3)).window == timedelta(minutes=3)


def test_what_is_no_soft_checkpoint_has_no_window() -> None:
    assert ruled(CAUTIOUS, COMPENSABLE, window=timedelta(minutes=3)).window is None
    assert ruled(PHASE1, REVERSIBLE, channels=False).window is None


# ------------------------------------------------------------------------------------------ the same answer


def test_the_same_tool_under_the_same_policy_gets_the_very_same_ruling() -> None:
    policy, spec = PolicySet(), ToolSpec("send", IRREVERSIBLE)
    other = Situation(rationale=Rationale("because", 0.2), agent="other", versions=Versions(environment="prod"))
    assert rule(policy, spec, NOTHING_SAID) is rule(policy, spec, other)


def test_a_remembered_ruling_never_speaks_for_another_tool_or_policy() -> None:
    policy = PolicySet()
    for _ in range(50):  # each pair dies at once, so that the next may well be given its ids
        assert rule(policy, ToolSpec("send", IRREVERSIBLE), NOTHING_SAID).policy is HARD
        assert rule(policy, ToolSpec("read", READ), NOTHING_SAID).policy is NONE
        assert rule(PolicySet(RECORD), ToolSpec("send", IRREVERSIBLE), NOTHING_SAID).policy is NONE


def test_an_entry_of_another_pair_with_the_same_ids_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, spec = PolicySet(), ToolSpec("send", IRREVERSIBLE)
    other = ToolSpec("read", READ)
    stale = decide._Known(policy, other, None, rule(policy, other, NOTHING_SAID))
    monkeypatch.setattr(decide, "_known", {(id(policy), id(spec)): stale})
    assert rule(policy, spec, NOTHING_SAID).policy is HARD


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    remembered: dict[Any, Any] = {}
    monkeypatch.setattr(decide, "_known", remembered)
    monkeypatch.setattr(decide, "_MOST_KNOWN", 3)
    policy = PolicySet()
    for number in range(10):
        rule(policy, ToolSpec(f"tool{number}", READ), NOTHING_SAID)
        assert len(remembered) <= 3


# ------------------------------------------------------------------------------------------ the policy itself


def test_a_ruling_names_the_policy_by_its_digest() -> None:
    policy = PolicySet(EARNED)
    assert rule(policy, ToolSpec("read", READ), NOTHING_SAID).policy_digest == policy.digest
    assert policy.digest.startswith("sha-256:")


def test_equal_policies_have_one_digest_however_the_amount_is_written() -> None:
    amounts = ("100", "100.00", "1E+2", "0100")
    assert len({PolicySet(expensive_from=Decimal(amount)).digest for amount in amounts}) == 1
    assert PolicySet(expensive_from=Decimal("-0")).digest == PolicySet(expensive_from=Decimal("0.00")).digest


def test_any_difference_gives_another_digest() -> None:
    policy = PolicySet()
    others = [
        replace(policy, profile=EARNED),
        replace(policy, channels=True),
        replace(policy, expensive_from=Decimal(1000)),
        replace(policy, expensive_from=Decimal("100.00000000000000000000000000000000001")),
        replace(policy, expensive_from=Decimal(0)),
    ]
    assert len({policy.digest, *(other.digest for other in others)}) == 6


@pytest.mark.parametrize("amount", ["-1", "NaN", "sNaN", "Infinity"])
def test_a_policy_needs_an_amount_from_where_on_to_ask(amount: str) -> None:
    with pytest.raises(SettingsError) as caught:
        PolicySet(expensive_from=Decimal(amount))
    assert caught.value.code == "bad_expensive_from"


def test_a_team_starts_cautious() -> None:
    assert PolicySet().profile is CAUTIOUS
