"""What holds for every policy file and every call: rules only tighten, order is nothing, the digest is all."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.action import Rationale, Versions
from interlock.domain.tool import InterruptPolicy, Reach, Reversibility, ToolSpec
from interlock.policy import PolicySet, Profile, Situation, check, explain, from_content, no_facts, parse_policy, rule

POLICIES = [policy.value for policy in InterruptPolicy]
CONDITIONS = [
    "args.amount > 100.0",
    "args.amount < 1000 && args.to.endsWith('.com')",
    "args.missing == 1",
    "10 / args.count > 2",
    "agent.environment == 'prod'",
    "facts.calls > 3 || facts.novel",
    "action.confidence < 0.5",
    "action.slices.size == 'large'",
    "principal == 'user:ana'",
]
SLICES = "[slices.refund]\nsize = \"args.amount > 500.0 ? 'large' : 'small'\"\n"

names = st.text("abcdefgh ", min_size=1, max_size=8).filter(str.strip)
selectors = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.lists(st.sampled_from(["refund", "mail", "read"]), min_size=1, max_size=2),
        "category": st.sampled_from(["money", "mail"]),
        "reach": st.sampled_from([each.value for each in Reach]),
        "reversibility": st.sampled_from([each.value for each in Reversibility]),
        "agents": st.just("billing"),
        "environments": st.lists(st.sampled_from(["prod", "test"]), min_size=1),
    },
)
asks = st.sampled_from(POLICIES).map(lambda word: {"interrupt_policy": word}) | st.tuples(
    st.sampled_from(POLICIES), st.sampled_from(POLICIES)
).map(
    lambda pair: {
        "confidence": dict(
            zip(("above", "below"), sorted(pair, key=POLICIES.index), strict=True),
            threshold=0.6,
        )
    }
)
extras = st.fixed_dictionaries(
    {},
    optional={
        "when": st.sampled_from(CONDITIONS),
        "expires_in": st.sampled_from(["10m", "2h"]),
        "approval_valid_for": st.sampled_from(["10m", "2h"]),
        "reason_required": st.booleans(),
    },
)
strict = st.builds(
    lambda *parts: {key: value for part in parts for key, value in part.items()}, selectors, asks, extras
)
loose = st.builds(
    lambda made, word: {
        **{key: value for key, value in made.items() if key != "confidence"},
        "interrupt_policy": word,
        "loosens": True,
        "owner": "ana",
        "reason": "because",
        "tools": made.get("tools", ["refund"]),
    },
    strict,
    st.sampled_from(POLICIES[:-1]),
)
rules = st.dictionaries(names, strict | loose, max_size=5).map(lambda made: [{"name": n, **r} for n, r in made.items()])

specs = st.builds(
    ToolSpec,
    name=st.sampled_from(["refund", "mail", "read"]),
    reversibility=st.none() | st.sampled_from(Reversibility),
    reach=st.frozensets(st.sampled_from(Reach), max_size=2),
    category=st.sampled_from(["", "money", "mail"]),
)
situations = st.builds(
    Situation,
    arguments=st.fixed_dictionaries(
        {
            "amount": st.integers(0, 2000),
            "to": st.sampled_from(["a@example.com", "a@example.org"]),
            "count": st.integers(0, 5),
        }
    ),
    rationale=st.builds(Rationale, confidence=st.none() | st.floats(0, 1)),
    agent=st.sampled_from(["billing", "other"]),
    versions=st.builds(Versions, environment=st.sampled_from(["prod", "test", ""])),
    principal=st.sampled_from(["user:ana", "user:li"]),
    facts=st.builds(lambda calls, new: {**no_facts(), "calls": calls, "novel": new}, st.integers(0, 9), st.booleans()),
    slices=st.sampled_from([{}, {"size": "large"}, {"size": "small"}]),
)
profiles = st.sampled_from([each for each in Profile if each is not Profile.RECORD])


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def written(profile: Profile, made: list[dict[str, Any]]) -> str:
    tables = ["[[rule]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in each.items()) for each in made]
    return f'version = 1\nprofile = "{profile.value}"\n' + "\n".join([*tables, SLICES])


def policy_of(profile: Profile, made: list[dict[str, Any]], *, channels: bool = True) -> PolicySet:
    return parse_policy(written(profile, made), defaults=PolicySet(channels=channels))


@given(profiles, rules, strict, specs, situations, st.booleans())
def test_adding_a_rule_that_does_not_loosen_never_loosens(
    profile: Profile, made: list[Any], more: dict[str, Any], spec: ToolSpec, situation: Situation, channels: bool
) -> None:
    before = rule(policy_of(profile, made, channels=channels), spec, situation)
    after = rule(policy_of(profile, [*made, {"name": "one more", **more}], channels=channels), spec, situation)
    assert after.policy.rank >= before.policy.rank
    assert after.wanted.rank >= before.wanted.rank
    assert after.reason_required >= before.reason_required
    assert set(after.rules) >= set(before.rules)


@given(profiles, rules, specs, situations, st.randoms(use_true_random=False))
def test_the_order_of_rules_does_not_matter(
    profile: Profile, made: list[Any], spec: ToolSpec, situation: Situation, chance: random.Random
) -> None:
    shuffled = [*made]
    chance.shuffle(shuffled)
    first, second = policy_of(profile, made), policy_of(profile, shuffled)
    assert first.digest == second.digest
    assert rule(first, spec, situation) == rule(second, spec, situation)


@given(profiles, rules, specs, situations)
def test_nothing_takes_what_cannot_be_undone_below_a_hard_stop(
    profile: Profile, made: list[Any], spec: ToolSpec, situation: Situation
) -> None:
    ruling = rule(policy_of(profile, made), spec, situation)
    if spec.worst is Reversibility.IRREVERSIBLE or (
        profile is not Profile.EARNED and spec.reach & {Reach.PRIVILEGE, Reach.DELEGATES}
    ):
        assert ruling.policy.rank >= InterruptPolicy.HARD_STOP.rank


@given(profiles, rules, specs, situations)
def test_a_condition_that_fails_never_lets_anything_go(
    profile: Profile, made: list[Any], spec: ToolSpec, situation: Situation
) -> None:
    found = explain(policy_of(profile, made), spec, situation)
    failed = [look for look in found.looks if look.came_to == "failed"]
    if failed:
        assert found.ruling.policy.rank >= InterruptPolicy.HARD_STOP.rank
        assert not set(found.ruling.rules) & {look.rule.name for look in failed}


@given(profiles, rules)
def test_a_policy_comes_back_from_its_content(profile: Profile, made: list[Any]) -> None:
    policy = policy_of(profile, made)
    again = from_content(policy.content)
    assert again == policy
    assert again.content == policy.content


@given(profiles, rules, st.integers(0, 3))
def test_formatting_and_comments_are_no_part_of_the_digest(profile: Profile, made: list[Any], blanks: int) -> None:
    text = written(profile, made)
    spaced = text.replace(" = ", " " * (blanks + 1) + "= ").replace("\n", "   # said\n" + "\n" * blanks)
    assert parse_policy(spaced).digest == parse_policy(text).digest
    assert parse_policy(text.replace("\n", "\r\n")).digest == parse_policy(text).digest


ONE: dict[str, Any] = {
    "name": "one", "tools": ["refund"], "category": "money", "reach": "spends", "reversibility": "compensable",
    "agents": ["billing"], "environments": ["prod"], "when": "args.amount > 1.0",
    "interrupt_policy": "soft_checkpoint", "expires_in": "1h", "approval_valid_for": "1h", "window": "5m",
    "reason_required": True, "message": "see the handbook",
}  # fmt: skip
OTHER: dict[str, Any] = {
    "name": "two", "tools": ["refund", "mail"], "category": ["mail"], "reach": "outward", "reversibility": "reversible",
    "agents": ["other"], "environments": ["test"], "when": "args.amount > 2.0", "interrupt_policy": "deny",
    "expires_in": "61m", "approval_valid_for": "2h", "window": "6m", "reason_required": False, "message": "read it",
}  # fmt: skip


@pytest.mark.parametrize("key", ONE)
def test_any_change_of_a_rule_changes_the_digest(key: str) -> None:
    digest = policy_of(Profile.CAUTIOUS, [ONE]).digest
    changed = {**ONE, key: OTHER[key]}
    if key == "interrupt_policy":
        changed.pop("window")
    assert policy_of(Profile.CAUTIOUS, [changed]).digest != digest
    assert policy_of(Profile.PHASE1, [ONE]).digest != digest
    assert policy_of(Profile.CAUTIOUS, []).digest != digest


def test_an_explanation_agrees_with_the_ruling_for_ten_thousand_calls() -> None:
    chance = random.Random(20260301)

    def some_rule(number: int) -> dict[str, Any]:
        made: dict[str, Any] = {"name": f"rule {number}", "tools": chance.sample(["refund", "mail", "read"], 2)}
        if chance.random() < 0.7:
            made["when"] = chance.choice(CONDITIONS)
        if chance.random() < 0.2:
            above, below = sorted(chance.choices(POLICIES, k=2), key=POLICIES.index)
            made["confidence"] = {"threshold": 0.5, "above": above, "below": below}
        else:
            made["interrupt_policy"] = chance.choice(POLICIES)
        if chance.random() < 0.4 and made.get("interrupt_policy") != "deny":
            made |= {"loosens": True, "owner": "ana", "reason": "because"}
        return made

    def some_call() -> tuple[ToolSpec, Situation]:
        spec = ToolSpec(
            chance.choice(["refund", "mail", "read"]),
            chance.choice([None, *Reversibility]),
            reach=frozenset(chance.sample([*Reach], chance.randrange(2))),
            confidence_threshold=chance.choice([None, 0.8]),
        )
        check(spec)
        arguments = {"amount": chance.randrange(2000), "to": "a@example.com", "count": chance.randrange(4)}
        said = Rationale(confidence=chance.choice([None, chance.random()]))
        return spec, Situation(arguments, said, "billing", principal="user:ana", facts=no_facts())

    seen: set[str] = set()
    for number in range(200):
        policy = policy_of(chance.choice([*Profile]), [some_rule(each) for each in range(number % 7)])
        for _ in range(50):
            spec, situation = some_call()
            ruling, found = rule(policy, spec, situation), explain(policy, spec, situation)
            assert found.ruling == ruling
            assert {look.rule.name for look in found.looks if look.came_to == "matched"} == set(ruling.rules)
            seen |= {ruling.policy.value, *(look.came_to for look in found.looks)}
    assert seen == {*POLICIES, "matched", "not_matched", "failed"}
