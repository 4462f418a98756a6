"""The table of defaults: what each profile asks for, by how far a tool can be taken back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from interlock.domain.tool import InterruptPolicy, Reversibility, ToolSpec
from interlock.policy.ruleset import Profile

SOON: Final = timedelta(hours=4)
"""How long a card for what cannot be undone stays open; its approval is good for an hour."""

LATER: Final = timedelta(hours=24)
"""How long any other card stays open, and how long its approval is good for."""

CLAIM_SOON: Final = timedelta(hours=1)

WINDOW: Final = timedelta(minutes=10)
"""How long a soft checkpoint leaves for stopping what would go on by itself."""

_NONE, _ASYNC, _SOFT, _HARD = (
    InterruptPolicy.NONE,
    InterruptPolicy.ASYNC_NOTIFICATION,
    InterruptPolicy.SOFT_CHECKPOINT,
    InterruptPolicy.HARD_STOP,
)

_TABLE: Final[Mapping[Profile, Mapping[Reversibility | None, InterruptPolicy]]] = {
    Profile.PHASE1: {
        Reversibility.READ_ONLY: _NONE,
        Reversibility.REVERSIBLE: _SOFT,
        Reversibility.COMPENSABLE: _HARD,
        Reversibility.IRREVERSIBLE: _HARD,
        None: _HARD,
    },
    Profile.CAUTIOUS: {
        Reversibility.READ_ONLY: _NONE,
        Reversibility.REVERSIBLE: _NONE,
        Reversibility.COMPENSABLE: _HARD,
        Reversibility.IRREVERSIBLE: _HARD,
        None: _HARD,
    },
    Profile.EARNED: {
        Reversibility.READ_ONLY: _NONE,
        Reversibility.REVERSIBLE: _NONE,
        Reversibility.COMPENSABLE: _SOFT,
        Reversibility.IRREVERSIBLE: _HARD,
        None: _HARD,
    },
}


def default_policy(profile: Profile, spec: ToolSpec) -> InterruptPolicy:
    """What a profile asks for by reversibility alone (for `record`: what `cautious` asks for)."""
    column = _TABLE[Profile.CAUTIOUS if profile is Profile.RECORD else profile]
    if profile is Profile.PHASE1 and spec.compensated and spec.reversibility is Reversibility.REVERSIBLE:
        return _ASYNC
    if (
        profile is Profile.EARNED
        and spec.compensated
        and spec.reversibility is Reversibility.COMPENSABLE
        and spec.interrupt_policy == _ASYNC
    ):
        return _ASYNC
    return column[spec.reversibility]
