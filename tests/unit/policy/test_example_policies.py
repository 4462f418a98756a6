"""What a policy file says is what is ruled: each sentence about rules, with an example file of its own."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from policy_examples import HERE, TOOLS, Booking, Kind, example, explained, ruled, situation

from interlock.domain.action import Versions
from interlock.domain.errors import PolicyError
from interlock.domain.ruling import Requirement
from interlock.domain.tool import InterruptPolicy, Reversibility, ToolSpec
from interlock.policy import PolicySet, Situation, check_rules, explain, needs_of, parse_policy, rule

NONE, ASYNC, SOFT, HARD, DENY = InterruptPolicy
HOUR = timedelta(hours=1)
NAMES = sorted(path.stem for path in (HERE / "ok").glob("*.toml"))


def codes(ruling: Any) -> list[str]:
    return [reason.code for reason in ruling.reasons]


def words(ruling: Any) -> str:
    return "; ".join(reason.words for reason in ruling.reasons)


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_sound_and_comes_back_from_its_content(name: str) -> None:
    from interlock.policy import from_content

    policy = example(name)
    again = from_content(policy.content)
    assert again == policy
    assert again.digest == policy.digest
    check_rules(again, TOOLS.values())


def test_the_example_rules_as_its_names_say() -> None:
    policy = example("the_example")
    large = ruled(policy, "create_refund", amount=Decimal(501))
    assert large.policy is HARD
    assert large.rules == ("large refunds need two people from finance",)
    assert large.requires == (Requirement("finance", 2),)
    assert large.reason_required
    assert large.expires_in == 4 * HOUR
    assert ruled(policy, "create_refund", amount=Decimal(500)).rules == ()
    assert ruled(policy, "draft_email", to="x").rules == ("drafts are free",)
    assert ruled(policy, "send_email", to="a@example.com").rules == ()
    assert ruled(policy, "send_email", to="a@else.com").rules == ("mail outside the company",)
    build = {"replicas": 1, "build": UUID(int=9), "day": datetime(2026, 1, 1, tzinfo=UTC).date()}
    assert ruled(policy, "deploy", {"environment": "test"}, cluster="prod", **build).policy is DENY
    assert ruled(policy, "deploy", {"environment": "prod"}, cluster="prod", **build).policy is HARD


def test_the_strictest_of_all_that_match_wins() -> None:
    policy = example("strictest_wins")
    huge = ruled(policy, "create_refund", amount=Decimal(6000))
    assert huge.policy is DENY
    assert huge.rules == ("huge refunds", "large refunds", "refunds are seen")
    assert "ask the bank" in words(huge)
    large = ruled(policy, "create_refund", amount=Decimal(600))
    assert (large.policy, large.rules) == (HARD, ("large refunds", "refunds are seen"))


def test_a_rule_that_does_not_loosen_never_goes_below_what_applies_anyway() -> None:
    ruling = ruled("looser_without_loosens", "create_refund", amount=Decimal(1))
    assert ruling.policy is HARD
    assert "rule_not_stricter" in codes(ruling)


def test_a_rule_that_loosens_does_and_names_who_answers_for_it() -> None:
    ruling = ruled("loosening", "create_refund", amount=Decimal(10))
    assert ruling.policy is NONE
    assert "rule_loosens" in codes(ruling)
    assert "(ana@example.com: less than the work of asking)" in words(ruling)


def test_strictness_beats_loosening() -> None:
    ruling = ruled("loosening", "create_refund", amount=Decimal(10), currency="USD")
    assert ruling.policy is HARD
    assert ruling.rules == ("but not in dollars", "small refunds are free")


def test_of_two_rules_that_loosen_the_stricter_counts() -> None:
    assert ruled("two_that_loosen", "create_refund", amount=Decimal(1)).policy is SOFT


def test_nothing_takes_what_cannot_be_undone_below_a_hard_stop() -> None:
    ruling = ruled("loosening_what_is_final", "send_email", to="a@example.com")
    assert ruling.policy is HARD
    assert "rule_not_followed" in codes(ruling)
    assert explained("loosening_what_is_final", "send_email", to="a").won == "what no rule may loosen"


def test_privileges_are_loosened_by_rule_only_where_trust_is_earned() -> None:
    build = {"cluster": "a", "replicas": 1, "build": UUID(int=9), "day": datetime(2026, 1, 1, tzinfo=UTC).date()}
    assert ruled("loosening_what_is_final", "deploy", **build).policy is HARD
    assert ruled("loosening_where_it_is_earned", "deploy", **build).policy is NONE


def test_what_is_expensive_by_the_file_is_not_loosened() -> None:
    ruling = ruled("expensive", "create_refund", amount=Decimal(1))
    assert ruling.policy is HARD
    assert codes(ruling) == ["compensable", "costs", "rule_not_followed"]


def test_requirements_of_reviewers_add_up() -> None:
    policy = example("reviewers_add_up")
    assert ruled(policy, "create_refund", amount=Decimal(1)).requires == (Requirement("finance", 1),)
    large = ruled(policy, "create_refund", amount=Decimal(501))
    assert large.requires == (Requirement("finance", 2), Requirement("security", 1))
    assert large.policy is HARD


def test_the_shortest_times_win_and_the_defaults_give_way() -> None:
    policy = example("shortest_wins")
    calm = ruled(policy, "create_refund", amount=Decimal(1))
    assert (calm.expires_in, calm.approval_valid_for) == (36 * HOUR, HOUR / 2)
    urgent = ruled(policy, "create_refund", amount=Decimal(1), urgent=True)
    assert (urgent.expires_in, urgent.approval_valid_for) == (HOUR, HOUR / 2)


def test_the_longest_window_wins() -> None:
    policy = example("longest_window_wins")
    assert ruled(policy, "create_refund", amount=Decimal(1)).window == HOUR
    assert ruled(policy, "create_refund", amount=Decimal(1), kind=Kind.SERVICE).window == HOUR / 12


def test_a_reason_is_required_if_any_rule_requires_one() -> None:
    assert ruled("reason_required", "create_refund", amount=Decimal(1)).reason_required
    assert not ruled("loosening", "create_refund", amount=Decimal(1)).reason_required


def test_a_condition_that_fails_holds_and_says_why_and_adds_nothing_else() -> None:
    ruling = ruled("failing", "create_refund", amount=Decimal(1))
    assert ruling.policy is HARD
    assert ruling.rules == ()
    assert ruling.requires == ()
    assert not ruling.reason_required
    assert ruling.expires_in == 24 * HOUR
    assert codes(ruling) == ["compensable", "rule_failed", "rule_failed", "rule_failed"]
    assert "could not be evaluated (a list is too short), so a person decides" in words(ruling)


def test_a_failed_condition_never_denies_and_never_loosens() -> None:
    loosened = ruled("failing", "create_refund", amount=Decimal(1), items=("a", "b", "pen"))
    assert loosened.policy is NONE
    failed = ruled("failing", "create_refund", amount=Decimal(1), items=("a", "b"))
    assert failed.policy is HARD
    assert ruled("failing", "create_refund", amount=Decimal(1), items=("car",)).policy is DENY
    assert ruled("failing_hold", "read_file", path="").policy is HARD
    assert ruled("failing_hold", "read_file", path="abcd").policy is NONE
    assert ruled("failing_hold", "read_file", path="ab").policy is DENY


def test_selectors_look_at_the_tool_and_at_who_calls() -> None:
    policy = example("selectors")
    assert ruled(policy, "draft_email", to="x").rules == ("by category",)
    assert ruled(policy, "create_refund", amount=Decimal(1)).rules == ("by reach",)
    assert ruled(policy, "read_file", path="x").policy is NONE
    assert ruled(policy, "read_file", {"environment": "prod"}, path="x").rules == ("by reversibility",)
    assert ruled(policy, "send_email", {"agent": "intern"}, to="x").policy is DENY
    assert ruled(policy, "send_email", to="x").policy is HARD
    night = {"agent": "night", "environment": "staging"}
    assert ruled(policy, "read_file", night, path="x").rules == ("everything of the night agent",)
    nobody = rule(policy, ToolSpec("unheard_of"), Situation(agent="intern"))
    assert nobody.rules == ("what cannot be undone", "what nobody declared")


def test_a_step_is_no_tool_and_no_rule_applies_to_it_unless_it_is_named() -> None:
    policy = parse_policy(
        'version = 1\n[[rule]]\nname = "a"\ninterrupt_policy = "deny"\n'
        '[[rule]]\nname = "b"\ntools = ["step:ask"]\ninterrupt_policy = "hard_stop"\n'
    )
    assert needs_of(policy, ToolSpec("step:other", Reversibility.READ_ONLY)) is None
    assert rule(policy, ToolSpec("step:ask", Reversibility.READ_ONLY), Situation()).rules == ("b",)


@pytest.mark.parametrize(("confidence", "asks"), [(0.7, NONE), (1, NONE), (0.69, DENY), (None, DENY), (7, DENY)])
def test_confidence_loosens_only_at_or_above_the_threshold(confidence: Any, asks: InterruptPolicy) -> None:
    assert ruled("confidence", "create_refund", {"confidence": confidence}, amount=Decimal(1)).policy is asks


def test_confidence_without_loosening_can_only_make_a_ruling_stricter() -> None:
    assert ruled("confidence", "draft_email", {"confidence": 0.95}, to="x").policy is NONE
    low = ruled("confidence", "draft_email", {"confidence": 0.8}, to="x")
    assert low.policy is HARD
    assert "the agent says it is 0.8 sure, and below 0.9 a person decides" in words(low)


def test_no_confidence_takes_what_cannot_be_undone_below_a_hard_stop() -> None:
    assert ruled("confidence", "send_email", {"confidence": 1.0}, to="x").policy is HARD


def test_people_are_told_how_to_undo_by_hand() -> None:
    ruling = ruled("manual_rollback", "draft_email", to="x")
    assert ruling.policy is ASYNC
    assert "to undo it: delete it in the drafts folder" in words(ruling)
    stay = {"start": datetime(2026, 1, 1, tzinfo=UTC), "length": HOUR, "notes": {}, "tags": set[str]()}
    booked = ruled("manual_rollback", "book_room", booking=Booking("7", 2), **stay)
    assert booked.policy is ASYNC
    assert "to undo it" not in words(booked)


def test_slices_are_seen_by_conditions_and_one_that_fails_is_left_out() -> None:
    policy = example("slices")
    assert situation(policy, "create_refund", {"amount": Decimal(3)}).slices == {"band": "small"}
    full = situation(policy, "create_refund", {"amount": Decimal(300), "items": ("pen",)})
    assert full.slices == {"band": "large", "first": "pen"}
    assert ruled(policy, "create_refund", amount=Decimal(300)).policy is DENY
    assert ruled(policy, "create_refund", amount=Decimal(3)).policy is HARD
    assert situation(policy, "read_file", {"path": "x"}).slices == {}
    stay = {"booking": Booking("7", 2), "length": HOUR, "notes": {}, "tags": set[str]()}
    assert situation(policy, "book_room", {**stay, "start": datetime(2026, 2, 1, tzinfo=UTC)}).slices == {
        "season": "first half"
    }
    earliest = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))  # an instant before the first year of UTC
    assert situation(policy, "book_room", {**stay, "start": earliest}).slices == {}


def test_facts_decide_whether_to_ask() -> None:
    policy = example("facts")
    assert ruled(policy, "read_file", path="x").policy is NONE
    assert ruled(policy, "read_file", {"facts": {"count_1h": 3}}, path="x").policy is HARD
    assert ruled(policy, "draft_email", {"facts": {"novel": False}}, to="x").policy is NONE
    assert ruled(policy, "draft_email", to="x").policy is HARD


def test_only_the_facts_that_are_mentioned_are_needed() -> None:
    policy = example("facts")
    needed = needs_of(policy, TOOLS["read_file"])
    assert needed is not None
    assert needed.facts == {"count_1h", "cost_24h"}
    assert not needed.arguments
    refunds = needs_of(example("loosening"), TOOLS["create_refund"])
    assert refunds is not None
    assert (refunds.facts, refunds.arguments) == (frozenset(), True)
    assert needs_of(policy, TOOLS["send_email"]) is None
    whole = parse_policy('version = 1\n[[rule]]\nname = "a"\nwhen = "size(facts) > 9"\ninterrupt_policy = "deny"\n')
    taken = needs_of(whole, TOOLS["read_file"])
    assert taken is not None
    assert len(taken.facts) == 7


def test_a_condition_can_name_everything_that_is_known_of_a_call() -> None:
    said = {"versions": Versions("7", "m", "", "prod"), "confidence": 0.5}
    ruling = ruled("variables", "create_refund", said, amount=Decimal("12.50"), items=("pen",))
    assert ruling.policy is DENY, explained("variables", "create_refund", said, amount=Decimal("12.50"), items=("pen",))


def test_arguments_of_every_type_can_be_compared() -> None:
    policy = example("types")
    calm = {
        "booking": Booking("7", 2),
        "start": datetime(2026, 5, 1, 12, 0),  # noqa: DTZ001 - without a zone it counts as UTC
        "length": HOUR,
        "notes": {"floor": "2"},
        "tags": {"quiet"},
    }
    assert "could not" not in words(ruled(policy, "book_room", **calm))
    assert ruled(policy, "book_room", **calm).rules == ()
    for change in (
        {"booking": Booking("7", 8)},
        {"booking": Booking("7", 2, "nobody")},
        {"start": datetime(2019, 12, 31, 23, 59, tzinfo=UTC)},
        {"length": 49 * HOUR},
        {"notes": {"floor": "1"}},
        {"tags": {"vip"}},
    ):
        assert ruled(policy, "book_room", **{**calm, **change}).policy is DENY
    build = {"cluster": "a", "replicas": 1, "build": UUID(int=9 << 124), "day": datetime(2026, 1, 1, tzinfo=UTC).date()}
    assert ruled(policy, "deploy", **build).rules == ()
    for change in ({"build": UUID(int=9)}, {"day": datetime(2026, 12, 24, tzinfo=UTC).date()}, {"replicas": 2**70}):
        assert ruled(policy, "deploy", **{**build, **change}).policy is DENY
    assert ruled(policy, "deploy", **build, options="force").policy is DENY


def test_the_profile_record_rules_and_never_pauses() -> None:
    large = ruled("record", "create_refund", amount=Decimal(600))
    assert (large.policy, large.wanted, large.rules) == (NONE, HARD, ("large refunds",))
    assert ruled("record", "create_refund", amount=Decimal(6000)).policy is DENY


def test_a_file_may_use_all_of_toml() -> None:
    policy = example("dotted_and_inline")
    assert [each.name for each in policy.rules] == ["abc", "def"]
    assert policy.rules[0].when is not None
    assert policy.rules[0].when.text == "args.currency == 'EUR'"
    assert policy.expensive_from == 1000
    assert policy.groups[0].members == ("ana@example.com",)
    assert (policy.rules[1].line, policy.rules[1].column) == (4, 1)


def test_an_explanation_tells_of_every_rule() -> None:
    found = explained("the_example", "create_refund", amount=Decimal(501))
    assert [(look.rule.name, look.came_to, look.why) for look in found.looks] == [
        ("drafts are free", "not_matched", "it is for other tools"),
        ("large refunds need two people from finance", "matched", "its condition is true"),
        ("mail outside the company", "not_matched", "it is for other tools"),
        ("never in production from a test agent", "not_matched", "it is for other tools"),
    ]
    assert found.without_rules.table is HARD
    assert found.without_rules.declared is None
    assert found.won == "the profile"
    small = explained("the_example", "create_refund", amount=Decimal(1))
    assert small.looks[1].why == "its condition is false"
    others = explained("selectors", "read_file", {"agent": "day"}, path="x")
    assert {look.why for look in others.looks} == {
        "it is for other agents",
        "it is for other environments",
        "it is for other tools",
    }


def test_an_explanation_names_what_won() -> None:
    assert explained("strictest_wins", "create_refund", amount=Decimal(6000)).won == "the rule 'huge refunds'"
    assert explained("loosening", "create_refund", amount=Decimal(1)).won == "the rule 'small refunds are free'"
    unsure = explain(PolicySet(), ToolSpec("t", Reversibility.READ_ONLY, confidence_threshold=0.5), Situation())
    assert unsure.won == "the claimed confidence"
    assert unsure.without_rules.confidence is not None


@pytest.mark.parametrize("text", ["a = " + "[" * 5_000 + "]" * 5_000, "a = " + "9" * 5_001])
def test_a_file_that_no_reader_can_take_is_an_error_like_any_other(text: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert (caught.value.code, caught.value.line) == ("policy_syntax", 1)
