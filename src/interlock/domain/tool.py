"""What a tool is: how far it can be taken back, how far it reaches, and what it declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum


class Reversibility(StrEnum):
    """How far the worst effect that a tool's arguments allow can be taken back."""

    READ_ONLY = "read_only"
    REVERSIBLE = "reversible"
    COMPENSABLE = "compensable"
    IRREVERSIBLE = "irreversible"


class Reach(StrEnum):
    """What a tool touches beyond its own data."""

    OUTWARD = "outward"
    PRIVILEGE = "privilege"
    DELEGATES = "delegates"
    SPENDS = "spends"


class InterruptPolicy(StrEnum):
    """How a call interrupts, from the laxest to the strictest, in this order."""

    NONE = "none"
    ASYNC_NOTIFICATION = "async_notification"
    SOFT_CHECKPOINT = "soft_checkpoint"
    HARD_STOP = "hard_stop"
    DENY = "deny"

    @property
    def rank(self) -> int:
        """How strict it is; a higher one is stricter."""
        return _RANKS[self]

    @property
    def holds(self) -> bool:
        """Whether an action under this policy waits for people."""
        return self in (InterruptPolicy.SOFT_CHECKPOINT, InterruptPolicy.HARD_STOP)


_RANKS = {policy: rank for rank, policy in enumerate(InterruptPolicy)}

CONFIDENCE_GATED = "confidence_gated"
"""What a declaration may say instead of a policy; a ruling never says it."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as declared. Nothing here is code: a process without the tool's code can read it.

    `reversibility` None means that nobody declared it; it is then treated as irreversible.
    `schema` is the JSON schema of the arguments, `shape` the types from which a person's edit is
    encoded where the tool's code is not at hand, `tool_rev` the digest of name, schema, target and
    reach (SECURITY: not of the description). Durations are timedeltas, `cost` is in the currency
    the team thinks in; only comparisons are made with it. `sensitive` are paths of arguments (see `hiding`),
    `previewed` says that the tool can show what a call would do, `asks_rationale` that the agent's reasons are asked
    for beside the arguments.
    """

    name: str
    reversibility: Reversibility | None = None
    target: str = ""
    tool_rev: str = ""
    description: str = ""
    schema: Mapping[str, object] = field(default_factory=dict[str, object])
    shape: Mapping[str, object] = field(default_factory=dict[str, object])
    reach: frozenset[Reach] = frozenset()
    cost: Decimal | None = None
    category: str = ""
    interrupt_policy: InterruptPolicy | str | None = None
    confidence_threshold: float | None = None
    expires_in: timedelta | None = None
    window: timedelta | None = None
    approval_valid_for: timedelta | None = None
    idempotent: bool = False
    idempotency_key: str | None = None
    probed: bool = False
    composite: bool = False
    compensated: bool = False
    result_type: str = ""
    sensitive: tuple[str, ...] = ()
    previewed: bool = False
    asks_rationale: bool = False

    @property
    def worst(self) -> Reversibility:
        """The reversibility to reckon with: undeclared counts as irreversible."""
        return self.reversibility or Reversibility.IRREVERSIBLE
