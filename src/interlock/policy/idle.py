"""What a rule asks for and never gets: less than what applies to a tool, where nothing lets it loosen that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.domain.action import Rationale
from interlock.domain.tool import InterruptPolicy, ToolSpec
from interlock.policy.ruleset import PolicySet, Rule
from interlock.policy.unruled import Unruled, unruled

_BINDING: Final = frozenset({"irreversible", "undeclared", "costs", "reach_privilege", "reach_delegates"})
"""The reasons for which no rule may loosen what applies."""

_CERTAIN: Final = Rationale(confidence=1.0)
"""With an agent as sure as can be, the least applies without rules."""


def idle_rules(policy: PolicySet, spec: ToolSpec) -> Iterator[tuple[Rule, InterruptPolicy, str]]:
    """Each rule for this tool that would loosen and never can: the rule, what it asks for in vain, and why, in words.

    A rule that is for many tools and loosens nothing may ask for less than what applies to one of them; that is no
    mistake, unless it asks for `none` or names the tool.
    """
    before = unruled(policy, spec, _CERTAIN)
    for rule in policy.rules_for(spec):
        for asks, loosens in _asked(rule):
            meant = loosens or asks is InterruptPolicy.NONE or spec.name in rule.tools
            why = _in_vain(policy, before, asks, loosens) if meant and asks.rank < before.applies.rank else ""
            if why:
                yield rule, asks, why


def _asked(rule: Rule) -> list[tuple[InterruptPolicy, bool]]:
    """What a rule may come to, and whether it may loosen then: below its threshold of confidence it may not."""
    return [(asks, rule.loosens and place == 0) for place, asks in enumerate(rule.asks)]


def _in_vain(policy: PolicySet, before: Unruled, asks: InterruptPolicy, loosens: bool) -> str:
    """Why less than what applies never applies; empty where it may."""
    if before.floor.rank >= before.applies.rank:
        reasons = " and ".join(each.words for each in before.reasons if each.code in _BINDING)
        return f"no rule loosens it, since {reasons}"
    if not loosens:
        return f"{before.applies.value} applies to it, and only a rule with loosens = true asks for less"
    held = before.applies is InterruptPolicy.HARD_STOP and not policy.channels
    if held and asks is InterruptPolicy.SOFT_CHECKPOINT:
        return "without a channel that tells people in time a soft_checkpoint waits for a decision all the same"
    return ""
