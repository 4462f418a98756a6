"""Adopt a policy: what an agent's executors rule by from now on, kept by its digest."""

from __future__ import annotations

from interlock.canonical import Json, parse
from interlock.domain.errors import InterlockError
from interlock.domain.events import EventType
from interlock.domain.ids import ProcessId
from interlock.domain.ruling import PolicyVersion
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids


class PolicyMoved(InterlockError):
    """Another policy was adopted since the ruling was made; nothing was written. Rule again, by this one too."""

    def __init__(self, version: PolicyVersion, content: bytes) -> None:
        super().__init__("policy_moved", f"the policy of {version.agent} is at epoch {version.epoch} by now")
        self.version = version
        self.content = content


def adopt_policy(
    agent: str, digest: str, content: bytes, process: ProcessId, ids: Ids, *, explicit: bool = True
) -> Unit[PolicyVersion]:
    """The unit that makes this the agent's policy, or answers that it is already.

    A policy without rules does not take the place of one with rules, unless it says that it is meant (`explicit`): a
    process that was started without its policy file follows the one that the others follow.
    """

    def unit(rows: Rows) -> Change[PolicyVersion]:
        now = rows.policy(agent)
        if now is not None and now.digest == digest:
            return Change(now)
        if now is not None and not explicit and _rules(rows.blob(now.digest)):
            return Change(now)
        draft = Draft(rows, ids)
        version = PolicyVersion(agent, now.epoch + 1 if now else 1, digest, rows.now)
        draft.policies.append(version)
        draft.blobs[digest] = content
        said: dict[str, Json] = {
            "agent": agent,
            "epoch": version.epoch,
            "policy_digest": digest,
            "rules": _rules(content),
        }
        draft.tell(EventType.POLICY_ADOPTED, actor=f"executor:{process}", body={
            **said, **({"before": now.digest} if now else {}),
        })  # fmt: skip
        return draft.change(version)

    return unit


def _rules(content: bytes | None) -> int:
    """How many rules a policy has, by its content."""
    said = parse(content) if content else None
    rules = said.get("rule") if isinstance(said, dict) else None
    return len(rules) if isinstance(rules, list) else 0


def approved_under(rows: Rows, agent: str, digests: tuple[str, ...]) -> None:
    """Raise `PolicyMoved` where the policy adopted last is none of those that an approval was looked at under."""
    now = rows.policy(agent)
    if now is not None and now.digest not in digests:
        raise PolicyMoved(now, rows.blob(now.digest) or b"")


def still_ruled_by(rows: Rows, agent: str, epoch: int) -> None:
    """Raise `PolicyMoved` where a ruling of this epoch is out of date; read inside the claim's transaction."""
    now = rows.policy(agent)
    if now is not None and now.epoch != epoch:
        raise PolicyMoved(now, rows.blob(now.digest) or b"")
