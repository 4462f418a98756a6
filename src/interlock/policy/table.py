"""The table of defaults: what each profile asks for, by how far a tool can be taken back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final

from interlock.canonical import canonical_bytes, digest_bytes
from interlock.domain.errors import SettingsError
from interlock.domain.tool import InterruptPolicy, Reversibility, ToolSpec


class Profile(StrEnum):
    """How much is asked while trust is being earned; `cautious` is where a team starts.

    `record` asks nobody and writes down what `cautious` would have asked; `phase1` is for the first
    weeks with a new agent; `earned` is for where the evidence allows less.
    """

    RECORD = "record"
    PHASE1 = "phase1"
    CAUTIOUS = "cautious"
    EARNED = "earned"


@dataclass(frozen=True, slots=True)
class PolicySet:
    """What a team has settled about asking.

    A tool that costs `expensive_from` or more is asked about, whatever can be undone. `channels`
    says whether there is a channel that can deliver a notice: without one a soft checkpoint, which
    nobody could see in time, becomes a hard stop. `digest` names this content in every ruling.
    """

    profile: Profile = Profile.CAUTIOUS
    expensive_from: Decimal = Decimal(100)
    channels: bool = False
    digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.expensive_from.is_finite() or self.expensive_from < 0:
            raise SettingsError(
                "bad_expensive_from",
                f"expensive_from is {self.expensive_from}, which is no amount",
                "Give a finite number, 0 or more.",
            )
        content = canonical_bytes(
            {
                "v": 1,
                "profile": self.profile.value,
                "expensive_from": _shortest(self.expensive_from),
                "channels": self.channels,
            }
        )
        object.__setattr__(self, "digest", digest_bytes("interlock-policy/v1", content))


def _shortest(amount: Decimal) -> str:
    """One text for equal amounts (100, 100.0, 1E+2), at any precision; none is negative."""
    _, digits, exponent = amount.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    return f"{kept}e{int(exponent) + len(text) - len(kept)}" if kept else "0"


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
