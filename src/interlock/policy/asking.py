"""Rulings where asking is the point: questions, pauses of other frameworks, and calls that one was told to hold."""

from __future__ import annotations

from dataclasses import replace

from interlock.domain.action import Asking
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.tool import InterruptPolicy
from interlock.policy.ruleset import PolicySet
from interlock.policy.table import LATER


def asked(policy: PolicySet, asking: Asking) -> Ruling:
    """A question waits for its answer under every profile: there is nothing that could go on without it."""
    return Ruling(
        policy=InterruptPolicy.HARD_STOP,
        wanted=InterruptPolicy.HARD_STOP,
        reasons=(Reason("question", asking.why),),
        profile=policy.profile.value,
        policy_digest=policy.digest,
        expires_in=asking.expires_in or LATER,
    )


def held_by(ruling: Ruling, asking: Asking, *, ours: bool) -> Ruling:
    """The ruling on a pause that a framework makes by itself: held, and still denied where it is denied.

    `ours` says that a guarded tool of ours is to follow; else there is none that anybody could have declared.
    """
    if ruling.policy is InterruptPolicy.DENY:
        return ruling
    held = ruling.stricter(InterruptPolicy.HARD_STOP, Reason("observed", asking.why))
    if ours:
        return replace(held, expires_in=asking.expires_in or ruling.expires_in)
    reasons = tuple(reason for reason in held.reasons if reason.code != "undeclared")
    return replace(held, reasons=reasons, expires_in=asking.expires_in or LATER)


def held_for(ruling: Ruling, asking: Asking) -> Ruling:
    """The ruling on a call that the agent's own set-up wants decided: held, and still denied where it is denied."""
    if ruling.policy is InterruptPolicy.DENY:
        return ruling
    held = ruling.stricter(InterruptPolicy.HARD_STOP, Reason("asked_for", asking.why))
    return replace(held, expires_in=asking.expires_in or ruling.expires_in)
