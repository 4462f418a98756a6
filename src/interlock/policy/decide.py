"""Rule: a policy, a declared tool and the situation of its call become a ruling with reasons.

One function, `_trace`, looks at every rule and weighs them; `rule` takes the ruling from its trace, `explain` the
whole of it, so that an explanation cannot say anything else than what was ruled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

from interlock.domain.ruling import Reason, Requirement, Ruling
from interlock.domain.tool import CONFIDENCE_GATED, InterruptPolicy, Reversibility, ToolSpec
from interlock.policy.conditions import VARIABLES, context_of, holds, slices_of
from interlock.policy.ruleset import PolicySet, Profile, Rule
from interlock.policy.situation import Situation
from interlock.policy.table import CLAIM_SOON, LATER, SOON, WINDOW
from interlock.policy.tokens import names_of
from interlock.policy.unruled import SAYS, Unruled, compared, unruled

_HARD = InterruptPolicy.HARD_STOP

_NO_CHANNEL: Final = Reason(
    "no_channel", "there is no channel that could tell people in time to stop it, so it waits for a decision"
)
_NOBODY_TOLD: Final = Reason("nobody_told", "nobody was told: no channel")
_RECORD_ONLY: Final = Reason(
    "record_only", "the profile record asks nobody and writes down what cautious would have asked"
)


@dataclass(frozen=True, slots=True)
class Look:
    """What came of one rule for one call.

    `why` says in words why it matched or not. `asks` is what it asks for (None: it changes no policy), `loosely` that
    it may go below what applies without it; `reason` is what the ruling says of it.
    """

    rule: Rule
    came_to: Literal["matched", "not_matched", "failed"]
    why: str
    asks: InterruptPolicy | None = None
    loosely: bool = False
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a ruling came about: what applies without rules, what came of each rule, and what won."""

    ruling: Ruling
    without_rules: Unruled
    looks: tuple[Look, ...]
    won: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What has to be known before a call can be ruled on by the rules that may apply to its tool.

    `facts` are the names of the facts that their conditions mention, `roots` the variables. `arguments` says whether
    the arguments matter: to a condition, a slice, or a fact about equal effects.
    """

    rules: tuple[Rule, ...]
    facts: frozenset[str]
    roots: frozenset[str]
    arguments: bool


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a tool under a policy; `ruling` if nothing of its situation can change that.

    Keeps both alive, so that an id cannot come to mean another object while it is here.
    """

    policy: PolicySet
    spec: ToolSpec
    needs: Needs | None
    ruling: Ruling | None


_MOST_KNOWN = 4096
_known: dict[tuple[int, int], _Known] = {}


def rule(policy: PolicySet, spec: ToolSpec, situation: Situation) -> Ruling:
    """Say whether a call of this tool interrupts, how, by when, and every reason in words.

    `spec` has passed `check`, and `check_rules` with this policy. Only tools that a rule may apply to, or that are
    gated by confidence, have rulings that depend on the situation.
    """
    known = _look_up(policy, spec)
    if known.ruling is not None:
        return known.ruling
    return _trace(policy, spec, situation, known.needs).ruling


def explain(policy: PolicySet, spec: ToolSpec, situation: Situation) -> Explanation:
    """The same ruling with the way to it; every rule of the policy is in it."""
    return _trace(policy, spec, situation, _look_up(policy, spec).needs, every=True)


def needs_of(policy: PolicySet, spec: ToolSpec) -> Needs | None:
    """What has to be known of a call of this tool before it is ruled on; None where no rule can apply to it."""
    return _look_up(policy, spec).needs


def _look_up(policy: PolicySet, spec: ToolSpec) -> _Known:
    key = (id(policy), id(spec))
    known = _known.get(key)
    if known is not None and known.policy is policy and known.spec is spec:
        return known
    needs = _needs(policy, spec)
    gated = spec.confidence_threshold is not None or spec.interrupt_policy == CONFIDENCE_GATED
    ruling = None if gated or (needs is not None and needs.rules) else _trace(policy, spec, Situation(), None).ruling
    known = _Known(policy, spec, needs, ruling)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = known
    return known


def _needs(policy: PolicySet, spec: ToolSpec) -> Needs | None:
    rules, slices = policy.rules_for(spec), policy.slices_for(spec)
    if not rules and not slices:
        return None
    facts: set[str] = set()
    roots: set[str] = set()
    for condition in [rule.when for rule in rules if rule.when is not None]:
        names = names_of(condition.text)
        roots |= {reference.root for reference in names.references} & VARIABLES.keys()
        mentioned = names.fields("facts")
        facts |= set(VARIABLES["facts"]) if mentioned is None else mentioned
    arguments = bool(slices) or "args" in roots or "repeated" in facts
    return Needs(rules, frozenset(facts), frozenset(roots), arguments)


def slices(policy: PolicySet, spec: ToolSpec, situation: Situation) -> Mapping[str, str]:
    """The declared slices of a call's arguments, by name."""
    declared = policy.slices_for(spec)
    if not declared:
        return {}
    try:
        context = context_of(spec, situation)
    except Exception:  # noqa: BLE001 - an argument that no condition can take: a slice is left out, the call is not
        return {}
    return slices_of({each.name: each.condition for each in declared}, context)


class _Context:
    """The variables of one call; made when the first condition asks for them."""

    def __init__(self, spec: ToolSpec, situation: Situation, needs: Needs) -> None:
        self._spec, self._situation, self._needs = spec, situation, needs
        self._made: Any = None

    def variables(self) -> Any:
        """As the evaluator takes them; raises what an argument raises that it cannot take."""
        if self._made is None:
            self._made = context_of(self._spec, self._situation, self._needs.roots)
        return self._made


_NO_NEEDS: Final = Needs((), frozenset(), frozenset(), arguments=False)


def _trace(
    policy: PolicySet, spec: ToolSpec, situation: Situation, needs: Needs | None, *, every: bool = False
) -> Explanation:
    needs = needs or _NO_NEEDS
    before = unruled(policy, spec, situation.rationale)
    context = _Context(spec, situation, needs)
    looks = tuple(_look(each, spec, situation, context, before) for each in (policy.rules if every else needs.rules))
    counting = [look for look in looks if look.came_to != "not_matched"]
    wanted, won = _weigh(before, counting)
    reasons = [*before.reasons, *(look.reason for look in counting if look.reason is not None)]
    applied = wanted
    if wanted is InterruptPolicy.SOFT_CHECKPOINT and not policy.channels:
        applied = _HARD
        reasons.append(_NO_CHANNEL)
    if policy.profile is Profile.RECORD and applied is not InterruptPolicy.DENY:
        # It never pauses; what is forbidden outright does not pause either, it does not run.
        applied, wanted = InterruptPolicy.NONE, applied
        reasons.append(_RECORD_ONLY)
    elif applied is InterruptPolicy.ASYNC_NOTIFICATION and not policy.channels:
        reasons.append(_NOBODY_TOLD)
    if applied is InterruptPolicy.DENY:
        # Why somebody would have been asked says nothing of why it is denied.
        denying = [look.reason for look in counting if look.reason is not None and look.asks is InterruptPolicy.DENY]
        reasons = denying or reasons
    matched = [look.rule for look in looks if look.came_to == "matched"]
    final = spec.worst is Reversibility.IRREVERSIBLE
    ruling = Ruling(
        policy=applied,
        wanted=wanted,
        reasons=tuple(reasons),
        profile=policy.profile.value,
        policy_digest=policy.digest,
        expires_in=_stated(min, spec.expires_in, [each.expires_in for each in matched], SOON if final else LATER),
        approval_valid_for=_stated(
            min, spec.approval_valid_for, [each.approval_valid_for for each in matched], CLAIM_SOON if final else LATER
        ),
        # The longer window leaves people more time to stop it.
        window=_stated(max, spec.window, [each.window for each in matched], WINDOW)
        if applied is InterruptPolicy.SOFT_CHECKPOINT
        else None,
        rules=tuple(each.name for each in matched),
        requires=_together(matched),
        reason_required=any(each.reason_required for each in matched),
    )
    return Explanation(ruling, before, looks, won)


def _look(rule: Rule, spec: ToolSpec, situation: Situation, context: _Context, before: Unruled) -> Look:
    missed = _missed(rule, spec, situation)
    if missed:
        return Look(rule, "not_matched", missed)
    if rule.when is not None:
        answer = holds(rule.when, context.variables)
        if isinstance(answer, str):
            words = f"the condition of the rule {rule.name!r} could not be evaluated ({answer}), so a person decides"
            return Look(rule, "failed", words, _HARD, reason=Reason("rule_failed", words))
        if not answer:
            return Look(rule, "not_matched", "its condition is false")
    asks, loosely, sure = rule.interrupt_policy, rule.loosens, ""
    if rule.confidence is not None:
        below = f"below {rule.confidence.threshold} {SAYS[rule.confidence.below]}"
        reason = compared(situation.rationale, rule.confidence.threshold, below)
        enough = reason.code == "confidence_enough"
        # How sure an agent says it is loosens nothing by itself: only at or above the threshold may the rule do so.
        asks, loosely = (rule.confidence.above, loosely) if enough else (rule.confidence.below, False)
        sure = f"; {reason.words}"
    why = "its condition is true" if rule.when is not None else "it names this call"
    return Look(rule, "matched", why + sure, asks, loosely, _reason(rule, asks, loosely, sure, before))


def _missed(rule: Rule, spec: ToolSpec, situation: Situation) -> str:
    """Which of the rule's selectors does not name this call, in words; empty where all do."""
    if not rule.selects(spec):
        return "it is for other tools"
    if rule.agents and situation.agent not in rule.agents:
        return "it is for other agents"
    if rule.environments and situation.environment not in rule.environments:
        return "it is for other environments"
    return ""


def _reason(rule: Rule, asks: InterruptPolicy | None, loosely: bool, sure: str, before: Unruled) -> Reason | None:
    if asks is None:
        return None
    undo = f"; to undo it: {rule.rollback_text}" if asks is InterruptPolicy.ASYNC_NOTIFICATION and rule.rollback else ""
    said = f"; {rule.message}" if rule.message else ""
    says = f"the rule {rule.name!r} says that {SAYS[asks]}{sure}{undo}{said}"
    if asks.rank >= before.applies.rank:
        return Reason("rule", says)
    if not loosely:
        return Reason("rule_not_stricter", f"{says}, and more than that applies here anyway")
    answers = f"({rule.owner}: {rule.reason})"
    if asks.rank < before.floor.rank:
        return Reason("rule_not_followed", f"{says} {answers}; for a tool like this a person decides all the same")
    return Reason("rule_loosens", f"{says} {answers}")


def _weigh(before: Unruled, looks: Sequence[Look]) -> tuple[InterruptPolicy, str]:
    """The strictest of what applies and of what the rules ask for, and which of them it is from."""
    loose = [look for look in looks if look.loosely and look.asks is not None]
    applies, won = before.applies, _source(before)
    if loose:
        strictest = max(loose, key=_rank)
        applies, won = _asked(strictest), f"the rule {strictest.rule.name!r}"
        if applies.rank < before.floor.rank:
            applies, won = before.floor, "what no rule may loosen"
    if before.at_least.rank > applies.rank:
        applies, won = before.at_least, "the claimed confidence"
    strict = [look for look in looks if not look.loosely and look.asks is not None]
    for look in sorted(strict, key=_rank):
        if _rank(look) > applies.rank:
            applies, won = _asked(look), f"the rule {look.rule.name!r}"
    return applies, won


def _source(before: Unruled) -> str:
    """Whose word applies where no rule changes it."""
    if before.declared is not before.applies:
        return "the profile"
    return "the profile and the declaration" if before.table is before.applies else "the declaration"


def _asked(look: Look) -> InterruptPolicy:
    return look.asks or InterruptPolicy.NONE


def _rank(look: Look) -> int:
    return _asked(look).rank


def _stated(
    pick: Callable[[Sequence[timedelta]], timedelta],
    declared: timedelta | None,
    ruled: Sequence[timedelta | None],
    otherwise: timedelta,
) -> timedelta:
    """What tool and rules state, picked from; else what goes without saying."""
    stated = [each for each in (declared, *ruled) if each is not None]
    return pick(stated) if stated else otherwise


def _together(rules: Sequence[Rule]) -> tuple[Requirement, ...]:
    """Everything that the rules require, at once: for each group the most that any asks for."""
    quorums: dict[str, int] = {}
    for each in [wanted for rule in rules for wanted in rule.reviewers]:
        quorums[each.group] = max(quorums.get(each.group, 0), each.quorum)
    return tuple(Requirement(group, quorums[group]) for group in sorted(quorums))
