"""What applies to a call before any rule: the profile's table, the tool's declaration, the claimed confidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from interlock.domain.action import Rationale
from interlock.domain.ruling import Reason
from interlock.domain.tool import CONFIDENCE_GATED, InterruptPolicy, Reach, Reversibility, ToolSpec
from interlock.policy.conditions import share_of
from interlock.policy.declare import DEFAULT_THRESHOLD, declared_policy
from interlock.policy.ruleset import PolicySet, Profile
from interlock.policy.table import default_policy

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

SAYS: Final = {
    InterruptPolicy.NONE: "nobody is asked",
    InterruptPolicy.ASYNC_NOTIFICATION: "people are told afterwards",
    InterruptPolicy.SOFT_CHECKPOINT: "people can stop it",
    InterruptPolicy.HARD_STOP: "a person decides",
    InterruptPolicy.DENY: "it never runs",
}
"""What each policy means, to go on after "says that"."""


@dataclass(frozen=True, slots=True)
class Unruled:
    """What applies without any rule.

    `table` is what the profile asks for, `declared` what the tool's declaration does (None: nothing). `applies` is
    what follows from the two, and `at_least` what low confidence adds to that. Rules that loosen never go below
    `floor`.
    """

    table: InterruptPolicy
    declared: InterruptPolicy | None
    applies: InterruptPolicy
    at_least: InterruptPolicy
    floor: InterruptPolicy
    reasons: tuple[Reason, ...]
    confidence: Reason | None


def unruled(policy: PolicySet, spec: ToolSpec, rationale: Rationale) -> Unruled:
    """What the profile, the declaration and the claimed confidence ask for together, and why."""
    must = [*_must_stop(policy, spec)]
    table = _HARD if must else default_policy(policy.profile, spec)
    reasons = [_NATURE[spec.reversibility], *must]
    if not must and policy.profile is Profile.PHASE1 and spec.reversibility is Reversibility.REVERSIBLE:
        reasons.append(_PHASE1)
    if not must and policy.profile is Profile.EARNED and spec.reversibility is Reversibility.COMPENSABLE:
        reasons.append(_EARNED)
    declared, sure = declared_policy(spec), _confidence(spec, rationale)
    if sure is not None and spec.interrupt_policy == CONFIDENCE_GATED and sure.code == "confidence_enough":
        declared = _above(spec)
    final = spec.worst is Reversibility.IRREVERSIBLE
    applies = table
    if declared is not None and declared is not table:
        applies, reason = _weigh(table, declared, floor=bool(must) or final, profile=policy.profile)
        reasons.append(reason)
    unsure = sure is not None and sure.code != "confidence_enough"
    if sure is not None:
        reasons.append(sure)
    # What costs or reaches far may be loosened by rule where the evidence allows it; what is final never is.
    by_rule = not final and (not must or policy.profile is Profile.EARNED)
    return Unruled(
        table=table,
        declared=declared,
        applies=applies,
        at_least=_HARD if unsure else InterruptPolicy.NONE,
        floor=InterruptPolicy.NONE if by_rule else _HARD,
        reasons=tuple(reasons),
        confidence=sure,
    )


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
    table: InterruptPolicy, declared: InterruptPolicy, *, floor: bool, profile: Profile
) -> tuple[InterruptPolicy, Reason]:
    """The declaration against what applies without it: stricter counts, looser is marked as such or not followed."""
    says = f"its own declaration says that {SAYS[declared]}"
    if declared.rank > table.rank:
        return declared, Reason("declared", says)
    if floor:
        return table, Reason("declaration_not_followed", f"{says}; for a tool like this a person decides all the same")
    return declared, Reason("declared_looser", f"{says}, which is less than the profile {profile.value} asks for")


def _above(spec: ToolSpec) -> InterruptPolicy | None:
    """What `confidence_gated` stands for at or above the threshold: nobody is asked about what can be undone."""
    free = spec.worst in (Reversibility.READ_ONLY, Reversibility.REVERSIBLE)
    return InterruptPolicy.NONE if free else None


def _confidence(spec: ToolSpec, rationale: Rationale) -> Reason | None:
    """How the claimed confidence compares with the threshold; None where the tool is not gated by it."""
    threshold = spec.confidence_threshold
    if threshold is None:
        if spec.interrupt_policy != CONFIDENCE_GATED:
            return None
        threshold = DEFAULT_THRESHOLD
    return compared(rationale, threshold, f"below {threshold} {SAYS[_HARD]}")


def compared(rationale: Rationale, threshold: float, below: str) -> Reason:
    """How sure the agent says it is. What is missing, not a number, or outside 0 to 1 counts as 0."""
    if rationale.confidence is None:
        return Reason("confidence_missing", f"the agent does not say how sure it is, and {below}")
    claimed = share_of(rationale.confidence)
    if claimed is None:
        return Reason(
            "confidence_unusable", f"the agent does not say how sure it is with a number from 0 to 1, and {below}"
        )
    if claimed >= threshold:
        return Reason(
            "confidence_enough", f"the agent says it is {rationale.confidence} sure, and {threshold} is enough"
        )
    return Reason("confidence_low", f"the agent says it is {rationale.confidence} sure, and {below}")


def _amount(amount: Decimal) -> str:
    """An amount as people write it, unless that would be absurdly long."""
    return f"{amount:f}" if amount.is_finite() and abs(amount.adjusted()) < 20 else str(amount)
