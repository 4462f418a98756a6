"""Whether to ask, before anything is done: a declared tool under a policy becomes a ruling with reasons.

Pure: the same policy, tool and rationale always get the same ruling.
"""

from interlock.policy.asking import asked, held_by
from interlock.policy.decide import rule
from interlock.policy.declare import DEFAULT_THRESHOLD, LONGEST, check
from interlock.policy.table import PolicySet, Profile

__all__ = ["DEFAULT_THRESHOLD", "LONGEST", "PolicySet", "Profile", "asked", "check", "held_by", "rule"]
