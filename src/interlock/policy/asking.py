"""Rulings where asking is the point: questions, and pauses that another framework made by itself."""

from __future__ import annotations

from dataclasses import replace

from interlock.domain.action import Asking
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.tool import InterruptPolicy
from interlock.policy.table import LATER, PolicySet


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


def held_by(ruling: Ruling, asking: Asking) -> Ruling:
    """The ruling on a call at which a framework pauses by itself: held, and still denied where it is denied."""
    held = ruling.stricter(InterruptPolicy.HARD_STOP, Reason("observed", asking.why))
    return replace(held, expires_in=asking.expires_in or ruling.expires_in)
