"""The policy's answer for one revision of an action."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from interlock.domain.tool import InterruptPolicy


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a ruling is what it is: a stable code and one sentence for people."""

    code: str
    words: str


CHECK_HOLDS = frozenset({"check_holds", "check_failed", "check_late"})
"""Reasons by which a check of the team's own has a person decide."""

CHECK_DENIES = "check_denies"
"""The reason by which a check of the team's own refuses a call."""


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """The policy that an agent's executors adopted last: `epoch` counts adoptions, `digest` names its content."""

    agent: str
    epoch: int
    digest: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Requirement:
    """Who has to approve: at least `quorum` people of a group."""

    group: str
    quorum: int = 1


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether and how to interrupt, by when to answer, and every reason in words.

    `policy` is what applies; `wanted` is what was ruled before it was made stricter for want of
    means (a soft checkpoint without a channel becomes a hard stop). `expires_in` is the life of
    the card, `approval_valid_for` how long a yes may wait for its claim. `rules` names the rules of
    the policy that matched, in alphabetical order; `requires` says who has to approve, all of it at
    once. With `reason_required` a yes has to say why.
    """

    policy: InterruptPolicy
    wanted: InterruptPolicy
    reasons: tuple[Reason, ...]
    profile: str
    policy_digest: str = ""
    expires_in: timedelta = timedelta(hours=24)
    approval_valid_for: timedelta = timedelta(hours=24)
    window: timedelta | None = None
    rules: tuple[str, ...] = ()
    requires: tuple[Requirement, ...] = ()
    reason_required: bool = False

    @property
    def denied_by(self) -> str:
        """Who denies, where it denies: the policy, or a check of the team's own."""
        return "check" if self.reasons and self.reasons[0].code == CHECK_DENIES else "policy"

    def and_also(self, other: Ruling) -> Ruling:
        """What two policies ask for together: the stricter one's ruling, with everything else that either wants."""
        first, second = (other, self) if other.policy.rank > self.policy.rank else (self, other)
        quorums = {each.group: each.quorum for each in second.requires}
        quorums |= {each.group: max(each.quorum, quorums.get(each.group, 0)) for each in first.requires}
        return replace(
            first,
            rules=tuple(dict.fromkeys((*first.rules, *second.rules))),
            requires=tuple(Requirement(group, quorum) for group, quorum in quorums.items()),
            reason_required=first.reason_required or second.reason_required,
            expires_in=min(first.expires_in, second.expires_in),
            approval_valid_for=min(first.approval_valid_for, second.approval_valid_for),
        )

    def stricter(self, policy: InterruptPolicy, reason: Reason) -> Ruling:
        """This ruling, at least as strict as `policy`, with one more reason: first where it decides.

        Why something is asked about says nothing of why it is denied: a denial has its own reason only.
        """
        if policy is InterruptPolicy.DENY and self.policy is not InterruptPolicy.DENY:
            return replace(self, policy=policy, reasons=(reason,))
        if policy.rank > self.policy.rank:
            return replace(self, policy=policy, reasons=(reason, *self.reasons))
        return replace(self, reasons=(*self.reasons, reason))
