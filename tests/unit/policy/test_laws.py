"""What holds for every tool under every policy."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from hypothesis import assume, given
from hypothesis import strategies as st

from interlock.domain.action import Rationale, Versions
from interlock.domain.errors import SettingsError
from interlock.domain.ruling import Ruling
from interlock.domain.tool import CONFIDENCE_GATED, InterruptPolicy, Reach, Reversibility, ToolSpec
from interlock.policy import PolicySet, Profile, Situation, check, rule

amounts = st.decimals(min_value=0, max_value=10_000, places=2)
lengths = st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=366))
shares = st.floats(min_value=0, max_value=1)
reaches = st.frozensets(st.sampled_from(Reach))
policies = st.builds(PolicySet, profile=st.sampled_from(Profile), expensive_from=amounts, channels=st.booleans())
asking = policies.filter(lambda policy: policy.profile is not Profile.RECORD)
rationales = st.builds(Situation, rationale=st.builds(Rationale, confidence=st.none() | shares | st.floats()))


def claims(share: float) -> Situation:
    return Situation(rationale=Rationale(confidence=share))


def fits(spec: ToolSpec) -> bool:
    try:
        check(spec)
    except SettingsError:
        return False
    return True


specs = st.builds(
    ToolSpec,
    name=st.just("act"),
    reversibility=st.none() | st.sampled_from(Reversibility),
    reach=reaches,
    cost=st.none() | amounts,
    interrupt_policy=st.none() | st.sampled_from([*InterruptPolicy, CONFIDENCE_GATED]),
    confidence_threshold=st.none() | st.floats(min_value=0, max_value=1, exclude_min=True),
    expires_in=st.none() | lengths,
    window=st.none() | lengths,
    approval_valid_for=st.none() | lengths,
    idempotent=st.booleans(),
    probed=st.booleans(),
    composite=st.booleans(),
    compensated=st.booleans(),
).filter(fits)


def must_stop(policy: PolicySet, spec: ToolSpec) -> bool:
    return (
        spec.reversibility in (None, Reversibility.IRREVERSIBLE)
        or bool(spec.reach & {Reach.PRIVILEGE, Reach.DELEGATES})
        or (spec.cost is not None and spec.cost >= policy.expensive_from)
    )


def loosens(before: Ruling, after: Ruling) -> bool:
    return after.policy.rank < before.policy.rank or after.wanted.rank < before.wanted.rank


@given(policies, specs, rationales)
def test_every_ruling_has_reasons_that_a_person_can_read(policy: PolicySet, spec: ToolSpec, said: Situation) -> None:
    ruling = rule(policy, spec, said)
    assert ruling.reasons
    assert all(reason.code.isidentifier() and reason.code.islower() for reason in ruling.reasons)
    assert all(reason.words.strip() and "\n" not in reason.words for reason in ruling.reasons)
    assert len({reason.code for reason in ruling.reasons}) == len(ruling.reasons)


@given(policies, specs, rationales, st.builds(Versions, environment=st.text()))
def test_ruling_twice_gives_the_same_answer(
    policy: PolicySet, spec: ToolSpec, said: Situation, place: Versions
) -> None:
    # Copies, so that the second answer is not the remembered first one.
    assert rule(policy, spec, said) == rule(replace(policy), replace(spec), replace(said, versions=place))


@given(policies, specs, rationales)
def test_record_never_holds(policy: PolicySet, spec: ToolSpec, said: Situation) -> None:
    recorded = rule(replace(policy, profile=Profile.RECORD), spec, said)
    cautious = rule(replace(policy, profile=Profile.CAUTIOUS), spec, said)
    denied = cautious.policy is InterruptPolicy.DENY
    assert recorded.policy is (InterruptPolicy.DENY if denied else InterruptPolicy.NONE)
    assert denied or recorded.wanted is cautious.policy


@given(asking, specs, rationales)
def test_what_must_stop_stops_whatever_is_declared_or_claimed(
    policy: PolicySet, spec: ToolSpec, said: Situation
) -> None:
    assume(must_stop(policy, spec))
    assert rule(policy, spec, said).policy.rank >= InterruptPolicy.HARD_STOP.rank


@given(asking, specs, rationales)
def test_a_ruling_laxer_than_without_the_declaration_says_whose_doing_it_is(
    policy: PolicySet, spec: ToolSpec, said: Situation
) -> None:
    ruling = rule(policy, spec, said)
    plain = rule(policy, replace(spec, interrupt_policy=None, confidence_threshold=None), said)
    chosen_within_the_profile = (
        policy.profile is Profile.EARNED
        and spec.reversibility is Reversibility.COMPENSABLE
        and ruling.policy is InterruptPolicy.ASYNC_NOTIFICATION
    )
    if ruling.wanted.rank < plain.wanted.rank and not chosen_within_the_profile:
        assert "declared_looser" in [reason.code for reason in ruling.reasons]


@given(policies, specs, rationales, reaches)
def test_more_reach_never_loosens(policy: PolicySet, spec: ToolSpec, said: Situation, more: frozenset[Reach]) -> None:
    assert not loosens(rule(policy, spec, said), rule(policy, replace(spec, reach=spec.reach | more), said))


@given(policies, specs, rationales, amounts)
def test_more_cost_never_loosens(policy: PolicySet, spec: ToolSpec, said: Situation, more: Decimal) -> None:
    costlier = replace(spec, cost=(spec.cost or Decimal(0)) + more)
    assert not loosens(rule(policy, spec, said), rule(policy, costlier, said))


@given(policies, specs, shares, st.none() | shares)
def test_less_confidence_never_loosens(policy: PolicySet, spec: ToolSpec, high: float, low: float | None) -> None:
    assume(low is None or low <= high)
    assert not loosens(rule(policy, spec, claims(high)), rule(policy, spec, claims(low)))


@given(policies, specs, rationales)
def test_a_threshold_beside_a_policy_never_loosens(policy: PolicySet, spec: ToolSpec, said: Situation) -> None:
    assume(spec.interrupt_policy != CONFIDENCE_GATED)
    assert not loosens(rule(policy, replace(spec, confidence_threshold=None), said), rule(policy, spec, said))


@given(policies, specs, rationales)
def test_nobody_declaring_what_it_does_never_loosens(policy: PolicySet, spec: ToolSpec, said: Situation) -> None:
    assert not loosens(rule(policy, spec, said), rule(policy, replace(spec, reversibility=None), said))


@given(policies, specs, rationales)
def test_without_channels_nothing_waits_for_a_silence_that_nobody_hears(
    policy: PolicySet, spec: ToolSpec, said: Situation
) -> None:
    deaf = rule(replace(policy, channels=False), spec, said)
    assert deaf.policy is not InterruptPolicy.SOFT_CHECKPOINT
    assert not loosens(rule(replace(policy, channels=True), spec, said), deaf)


@given(policies, specs, rationales)
def test_every_time_is_positive_and_only_a_soft_checkpoint_has_a_window(
    policy: PolicySet, spec: ToolSpec, said: Situation
) -> None:
    ruling = rule(policy, spec, said)
    assert ruling.expires_in > timedelta(0)
    assert ruling.approval_valid_for > timedelta(0)
    assert (ruling.window is not None) == (ruling.policy is InterruptPolicy.SOFT_CHECKPOINT)
