"""How often somebody may ask: a bucket of permissions that refills, for each kind of request and each asker."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Scope

ASKERS = 10_000
"""So many askers are remembered; the longest silent is forgotten first."""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `burst` at once, and `each_minute` in the long run."""

    burst: int
    each_minute: float


SIGN_IN = Rate(10, 10)
"""Attempts to sign in from one address: far too few to guess a secret of 256 bits, enough for a person."""
DECIDE = Rate(120, 240)
"""Forms that one address sends: more than a person can decide."""
ASK = Rate(2_000, 60_000)
"""Everything else."""


class Limits:
    """Counts requests by kind and address. In memory: with several servers each counts for itself."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, rates: tuple[Rate, Rate, Rate] = (SIGN_IN, DECIDE, ASK)
    ) -> None:
        self._clock = clock
        self._rates = rates
        self._left: OrderedDict[tuple[int, str], tuple[float, float]] = OrderedDict()

    def allows(self, scope: Scope, headers: Mapping[bytes, str]) -> bool:  # noqa: ARG002  a proxy's header may count later
        """Whether this request is still one of those that its asker may make now; counts it."""
        kind = _kind(scope)
        rate = self._rates[kind]
        asker = (kind, str((scope.get("client") or ("",))[0]))
        now = self._clock()
        left, at = self._left.pop(asker, (float(rate.burst), now))
        left = min(rate.burst, left + (now - at) * rate.each_minute / 60)
        allowed = left >= 1
        self._left[asker] = (left - 1 if allowed else left, now)
        if len(self._left) > ASKERS:
            self._left.popitem(last=False)
        return allowed


def _kind(scope: Scope) -> int:
    if scope["method"] != "POST" or scope["path"].startswith("/v1/"):
        return 2
    return 0 if scope["path"] == "/signin" else 1


def too_many(scope: Scope) -> str:
    """What somebody is told who asked too often."""
    what = "attempts to sign in" if _kind(scope) == 0 else "requests"
    return f"too many {what}; wait ten seconds [too_many]"
