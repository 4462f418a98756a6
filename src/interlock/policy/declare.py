"""What a tool may declare: what does not fit together is refused before the tool is ever called."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from interlock.domain.errors import SettingsError
from interlock.domain.tool import CONFIDENCE_GATED, InterruptPolicy, Reversibility, ToolSpec

DEFAULT_THRESHOLD: Final = 0.7
"""How sure an agent has to say it is, where a tool is `confidence_gated` and does not say."""

LONGEST: Final = timedelta(days=366)
"""No card, approval or window lasts longer: every interrupt expires, every approval has an age."""

_POLICIES: Final = {policy.value: policy for policy in InterruptPolicy}


def check(spec: ToolSpec) -> None:
    """Raise `SettingsError` where a declaration contradicts itself; its code and mend say how."""
    for code, message, mend in _faults(spec):
        raise SettingsError(code, f"{spec.name}: {message}", mend)


def declared_policy(spec: ToolSpec) -> InterruptPolicy | None:
    """What the tool's own declaration asks for; None where it leaves that to the profile or to confidence.

    Raises `SettingsError` for a word that is no policy.
    """
    word = spec.interrupt_policy
    if word is None or word == CONFIDENCE_GATED:
        return None
    policy = _POLICIES.get(word)
    if policy is None:
        known = ", ".join([*_POLICIES, CONFIDENCE_GATED])
        raise SettingsError("unknown_policy", f"{spec.name}: interrupt_policy={word!r} is none", f"Use one of {known}.")
    return policy


def _faults(spec: ToolSpec) -> Iterator[tuple[str, str, str]]:
    yield from _policy_faults(spec, declared_policy(spec))
    yield from _length_faults(spec)
    if spec.cost is not None and not (spec.cost.is_finite() and spec.cost >= 0):
        yield "bad_cost", f"cost={spec.cost} is no amount", "Give a finite number, 0 or more, or leave cost= out."
    if spec.idempotency_key is not None and not spec.idempotent:
        yield (
            "key_without_idempotent",
            f"idempotency_key={spec.idempotency_key!r} is given, but the tool is not idempotent",
            "Declare idempotent=True if a call repeated with the same key has no second effect.",
        )
    if spec.composite and spec.idempotent:
        yield (
            "composite_idempotent",
            "a composite tool is entered again, not repeated; it cannot be idempotent as a whole",
            "Leave idempotent= to the tools that it calls.",
        )
    if spec.compensated and spec.reversibility is Reversibility.READ_ONLY:
        yield (
            "nothing_to_undo",
            "a read_only tool changes nothing, so there is nothing to compensate",
            "Leave compensate= out, or declare how far the tool's effect can be taken back.",
        )


def _policy_faults(spec: ToolSpec, policy: InterruptPolicy | None) -> Iterator[tuple[str, str, str]]:
    if policy is InterruptPolicy.ASYNC_NOTIFICATION and not spec.compensated:
        yield (
            "async_without_undo",
            "async_notification tells people afterwards, and without compensate= there is nothing left for them to do",
            "Give compensate= a function that undoes the call, or use soft_checkpoint.",
        )
    if spec.window is not None and policy not in (None, InterruptPolicy.SOFT_CHECKPOINT):
        yield (
            "window_without_soft_checkpoint",
            f"window= is for a soft_checkpoint, and interrupt_policy is {spec.interrupt_policy}",
            "Leave window= out, or use expires_in= for how long a card stays open.",
        )
    threshold = spec.confidence_threshold
    if threshold is not None and not 0 < threshold <= 1:
        yield (
            "bad_threshold",
            f"confidence_threshold={threshold} is not above 0 and at most 1",
            "Use a number such as 0.7; leave it out where confidence is not to matter.",
        )


def _length_faults(spec: ToolSpec) -> Iterator[tuple[str, str, str]]:
    lengths = {
        "expires_in": spec.expires_in,
        "window": spec.window,
        "approval_valid_for": spec.approval_valid_for,
    }
    for name, length in lengths.items():
        if length is not None and not timedelta(0) < length <= LONGEST:
            yield (
                "bad_duration",
                f"{name}={length} is not a time to wait",
                f"Use more than 0 and at most {LONGEST.days} days.",
            )
