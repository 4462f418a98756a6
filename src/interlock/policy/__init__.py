"""Whether to ask, before anything is done: a declared tool under a policy becomes a ruling with reasons.

Pure: the same policy, tool and situation always get the same ruling.
"""

from interlock.policy.asking import asked, held_by, held_for
from interlock.policy.check import check_rules
from interlock.policy.decide import Explanation, Look, Needs, explain, needs_of, rule, slices
from interlock.policy.declare import DEFAULT_THRESHOLD, LONGEST, check
from interlock.policy.idle import idle_rules
from interlock.policy.parse import from_content, parse_policy
from interlock.policy.ruleset import PolicySet, Profile
from interlock.policy.situation import Situation, no_facts

__all__ = [
    "DEFAULT_THRESHOLD",
    "LONGEST",
    "Explanation",
    "Look",
    "Needs",
    "PolicySet",
    "Profile",
    "Situation",
    "asked",
    "check",
    "check_rules",
    "explain",
    "from_content",
    "held_by",
    "held_for",
    "idle_rules",
    "needs_of",
    "no_facts",
    "parse_policy",
    "rule",
    "slices",
]
