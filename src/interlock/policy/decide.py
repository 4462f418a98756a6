"""Rule: a policy, a declared tool and what the agent says about its call become a ruling with reasons."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from interlock.domain.action import Rationale
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.tool import CONFIDENCE_GATED, InterruptPolicy, Reach, Reversibility, ToolSpec
from interlock.policy.declare import DEFAULT_THRESHOLD, declared_policy
from interlock.policy.table import CLAIM_SOON, LATER, SOON, WINDOW, PolicySet, Profile, default_policy

_HARD = InterruptPolicy.HARD_STOP

_NATURE: Final = {
    Reversibility.READ_ONLY: Reason("read_only", "it only reads"),
    Reversibility.REVERSIBLE: Reason("reversible", "it can be undone"),
    Reversibility.COMPENSABLE: Reason("compensable", "it cannot be undone, only made good afterwards"),
    Reversibility.IRREVERSIBLE: Reason("irreversible", "it cannot be undone"),
    None: Reason("undeclared", "nobody declared what this tool does"),
}
_PHASE1: Final = Reason("phase1", "in the first weeks people see what can be undone, too")
_EARNED: Final = Reason("earned", "by the trust earned so far it goes on unless somebody stops it")
_REACHES: Final = {
    Reach.PRIVILEGE: Reason("reach_privilege", "it changes who may do what"),
    Reach.DELEGATES: Reason("reach_delegates", "it sets another agent going"),
}
_NO_CHANNEL: Final = Reason(
    "no_channel", "there is no channel that could tell people in time to stop it, so it waits for a decision"
)
_NOBODY_TOLD: Final = Reason("nobody_told", "nobody was told: no channel")
_RECORD_ONLY: Final = Reason(
    "record_only", "the profile record asks nobody and writes down what cautious would have asked"
)

_SAYS: Final = {
    InterruptPolicy.NONE: "nobody is asked",
    InterruptPolicy.ASYNC_NOTIFICATION: "people are told afterwards",
    InterruptPolicy.SOFT_CHECKPOINT: "people can stop it",
    InterruptPolicy.HARD_STOP: "a person decides",
    InterruptPolicy.DENY: "it never runs",
}

_MOST_KNOWN = 4096
_known: dict[tuple[int, int], tuple[PolicySet, ToolSpec, Ruling]] = {}
"""Rulings that no rationale can change, by the identity of policy and spec.

Each entry keeps both alive, so that an id cannot come to mean another object while it is here.
"""


def rule(policy: PolicySet, spec: ToolSpec, rationale: Rationale, *, environment: str = "") -> Ruling:  # noqa: ARG001 - for rules
    """Say whether a call of this tool interrupts, how, by when, and every reason in words.

    `spec` has passed `check`. The rationale matters only to tools that are gated by confidence;
    its number can make a ruling stricter than the tool's own policy, never laxer. `environment` is
    where the agent runs: no row of the table depends on it.
    """
    if spec.confidence_threshold is not None or spec.interrupt_policy == CONFIDENCE_GATED:
        return _rule(policy, spec, rationale)
    key = (id(policy), id(spec))
    known = _known.get(key)
    if known is not None and known[0] is policy and known[1] is spec:
        return known[2]
    ruling = _rule(policy, spec, rationale)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = (policy, spec, ruling)
    return ruling


def _rule(policy: PolicySet, spec: ToolSpec, rationale: Rationale) -> Ruling:
    wanted, reasons = _wanted(policy, spec, rationale)
    applied = wanted
    if wanted is InterruptPolicy.SOFT_CHECKPOINT and not policy.channels:
        applied = _HARD
        reasons.append(_NO_CHANNEL)
    if policy.profile is Profile.RECORD and applied is not InterruptPolicy.DENY:
        # It never pauses; what its declaration forbids outright does not pause either, it does not run.
        applied, wanted = InterruptPolicy.NONE, applied
        reasons.append(_RECORD_ONLY)
    elif applied is InterruptPolicy.ASYNC_NOTIFICATION and not policy.channels:
        reasons.append(_NOBODY_TOLD)
    final = spec.worst is Reversibility.IRREVERSIBLE
    return Ruling(
        policy=applied,
        wanted=wanted,
        reasons=tuple(reasons),
        profile=policy.profile.value,
        policy_digest=policy.digest,
        expires_in=spec.expires_in or (SOON if final else LATER),
        approval_valid_for=spec.approval_valid_for or (CLAIM_SOON if final else LATER),
        window=(spec.window or WINDOW) if applied is InterruptPolicy.SOFT_CHECKPOINT else None,
    )


def _wanted(policy: PolicySet, spec: ToolSpec, rationale: Rationale) -> tuple[InterruptPolicy, list[Reason]]:
    """What the profile, the declaration and the claimed confidence ask for together, and why."""
    must = [*_must_stop(policy, spec)]
    default = _HARD if must else default_policy(policy.profile, spec)
    reasons = [_NATURE[spec.reversibility], *must]
    if not must and policy.profile is Profile.PHASE1 and spec.reversibility is Reversibility.REVERSIBLE:
        reasons.append(_PHASE1)
    if not must and policy.profile is Profile.EARNED and spec.reversibility is Reversibility.COMPENSABLE:
        reasons.append(_EARNED)
    declared, sure = declared_policy(spec), _confidence(spec, rationale)
    if sure is not None and spec.interrupt_policy == CONFIDENCE_GATED and sure.code == "confidence_enough":
        declared = _above(spec)
    wanted = default
    if declared is not None and declared is not default:
        floor = bool(must) or spec.worst is Reversibility.IRREVERSIBLE
        wanted, reason = _weigh(default, declared, floor=floor, profile=policy.profile)
        reasons.append(reason)
    if sure is not None:
        reasons.append(sure)
        if sure.code != "confidence_enough" and wanted.rank < _HARD.rank:
            wanted = _HARD
    return wanted, reasons


def _must_stop(policy: PolicySet, spec: ToolSpec) -> Iterator[Reason]:
    """Why a person decides whatever the reversibility: a high cost, and two kinds of reach."""
    cost = spec.cost
    if cost is not None and (cost.is_nan() or cost >= policy.expensive_from):
        limit = _amount(policy.expensive_from)
        yield Reason("costs", f"it may cost up to {_amount(cost)}, and {limit} or more is asked about")
    for reach, reason in _REACHES.items():
        if reach in spec.reach:
            yield reason


def _weigh(
    default: InterruptPolicy, declared: InterruptPolicy, *, floor: bool, profile: Profile
) -> tuple[InterruptPolicy, Reason]:
    """The declaration against what applies without it: stricter counts, looser is marked as such or not followed."""
    says = f"its own declaration says that {_SAYS[declared]}"
    if declared.rank > default.rank:
        return declared, Reason("declared", says)
    if floor:
        return default, Reason(
            "declaration_not_followed", f"{says}; for a tool like this a person decides all the same"
        )
    return declared, Reason("declared_looser", f"{says}, which is less than the profile {profile.value} asks for")


def _above(spec: ToolSpec) -> InterruptPolicy | None:
    """What `confidence_gated` stands for at or above the threshold: nobody is asked about what can be undone."""
    free = spec.worst in (Reversibility.READ_ONLY, Reversibility.REVERSIBLE)
    return InterruptPolicy.NONE if free else None


def _confidence(spec: ToolSpec, rationale: Rationale) -> Reason | None:
    """How the claimed confidence compares with the threshold; None where the tool is not gated by it.

    What is missing, not a number, or outside 0 to 1 counts as 0.
    """
    threshold = spec.confidence_threshold
    if threshold is None:
        if spec.interrupt_policy != CONFIDENCE_GATED:
            return None
        threshold = DEFAULT_THRESHOLD
    below = f"below {threshold} a person decides"
    if rationale.confidence is None:
        return Reason("confidence_missing", f"the agent does not say how sure it is, and {below}")
    claimed = _share(rationale.confidence)
    if claimed is None:
        return Reason(
            "confidence_unusable", f"the agent does not say how sure it is with a number from 0 to 1, and {below}"
        )
    if claimed >= threshold:
        return Reason("confidence_enough", f"the agent says it is {claimed} sure, and {threshold} is enough")
    return Reason("confidence_low", f"the agent says it is {claimed} sure, and {below}")


def _share(claimed: object) -> float | None:
    """A number from 0 to 1, or None for anything else that an agent may have said."""
    if isinstance(claimed, bool) or not isinstance(claimed, int | float) or not 0 <= claimed <= 1:
        return None
    return claimed


def _amount(amount: Decimal) -> str:
    """An amount as people write it, unless that would be absurdly long."""
    return f"{amount:f}" if amount.is_finite() and abs(amount.adjusted()) < 20 else str(amount)
