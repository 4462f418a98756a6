"""Rules on calls: brings together what the policy needs to know of one, and asks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import cast

from interlock.canonical import Json, digest_bytes
from interlock.domain.action import ActionKind, ActionRequest, Rationale, Versions
from interlock.domain.errors import StoreError
from interlock.domain.hiding import veiled
from interlock.domain.ids import ActionId, EffectHash
from interlock.domain.ruling import PolicyVersion, Reason, Ruling
from interlock.domain.run import Run
from interlock.domain.tool import InterruptPolicy, ToolSpec
from interlock.kernel.holder import Holder
from interlock.policy import (
    Explanation,
    PolicySet,
    Situation,
    asked,
    explain,
    from_content,
    held_by,
    held_for,
    needs_of,
    rule,
    slices,
)
from interlock.ports.store import Rows
from interlock.schema import fill
from interlock.schema.tags import tag_of
from interlock.usecases.adopt_policy import adopt_policy
from interlock.usecases.stored import stored_blob

MOST_COUNTED = 100_000
"""Facts count no further: a rule that speaks of more than this in a day speaks of something else."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is to be ruled on. `arguments` are asked for only if a rule looks at them.

    `action` is the action that the call is already, which its own counts leave out.
    """

    spec: ToolSpec
    run: Run | None
    arguments: Callable[[], Json]
    effect: Callable[[Json], EffectHash]
    rationale: Rationale = Rationale()
    action: ActionId | None = None
    slices: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Ruled:
    """A ruling, the slices of the call's arguments, and the epoch of the policy that it was made under."""

    ruling: Ruling
    slices: Mapping[str, str]
    epoch: int


class Rulings:
    """How an executor rules on the calls of its agents.

    Executors of one agent may run under different policies for a while: one has read a newer file. Each adopts
    its own when it starts, and the store keeps which was adopted last. A ruling is what its own and that one ask for
    together, so that a process with an old file does not let go what the new one holds.
    """

    def __init__(self, holder: Holder) -> None:
        self._holder = holder  # whose process adopts
        self._store = holder.store
        self._policy = holder.policy
        self._adopted: dict[str, PolicyVersion] = {}
        self._met: dict[str, PolicyVersion] = {}
        self._stored: dict[str, PolicySet] = {}

    def rule_on(self, request: ActionRequest, call: Call) -> Ruled:
        """The ruling on a proposal or a claim of an agent of this process; what it says only makes it stricter."""
        version = self.adopted(call.run.agent if call.run else "")
        asking = request.asking
        ruling, found = self._ruling(self._policy, call)
        if version.digest != self._policy.digest:
            ruling = self.under(version, call).and_also(ruling)  # where both ask for the same, the adopted one rules
        for objection in request.checked.objections:
            ruling = ruling.stricter(objection.policy, objection.reason)
        if asking is not None and asking.kind is ActionKind.OBSERVED:
            ruling = held_by(ruling, asking, ours=bool(request.spec.target))
        elif asking is not None and asking.kind is ActionKind.CALL:
            ruling = held_for(ruling, asking)
        elif asking is not None and ruling.policy is not InterruptPolicy.DENY:
            ruling = asked(self._policy, asking)
        return Ruled(_unseen(request, ruling), {**request.slices, **found}, version.epoch)

    def adopted(self, agent: str) -> PolicyVersion:
        """The policy that the agent's executors adopted last; this process adopts its own before anything else."""
        known = self._adopted.get(agent)
        if known is None:
            own, explicit = self._policy, bool(self._policy.source)
            process, ids = self._holder.process, self._holder.ids
            adopt = adopt_policy(agent, own.digest, own.content, process, ids, explicit=explicit)
            known = self._adopted[agent] = self._store.write(adopt).result()
        return known

    def learn(self, version: PolicyVersion | None, content: bytes = b"") -> bool:
        """Take note of what another process adopted; answers whether that was news."""
        if version is None or self._adopted.get(version.agent, self._met.get(version.agent)) == version:
            return False
        if content and version.digest not in self._stored:
            self._stored[version.digest] = from_content(content)
        # Before this process has ruled for the agent, it only follows what it finds.
        (self._adopted if version.agent in self._adopted else self._met)[version.agent] = version
        return True

    def policies(self) -> tuple[PolicySet, ...]:
        """Every policy that some agent of this process is ruled by now."""
        known = {**self._met, **self._adopted}
        others = (each for each in known.values() if each.digest != self._policy.digest)
        return (self._policy, *map(self._policy_of, others))

    def _policy_of(self, version: PolicyVersion) -> PolicySet:
        known = self._stored.get(version.digest)
        if known is None:
            found = self.policy_by(version.digest)
            if found is None:
                raise StoreError(
                    "store_inconsistent",
                    f"the policy {version.digest} of {version.agent} is not in the store, so nothing can be ruled",
                    "Restore the store from a backup, or start an executor with the policy file.",
                )
            known = self._stored[version.digest] = found
        return known

    def under(self, version: PolicyVersion, call: Call) -> Ruling:
        """The ruling on a call by a policy that was adopted."""
        return self._ruling(self._policy_of(version), call)[0]

    def strictest(self, digest: str, call: Call) -> Ruling:
        """What all policies ask for together: this process's, the one by this digest, and the one adopted last.

        A reviewer's process may know the policy of the agents only from the store.
        """
        ruling, _ = self._ruling(self._policy, call)
        agent = call.run.agent if call.run is not None else ""
        version = self._store.read(lambda rows: rows.policy(agent))
        for each in dict.fromkeys((digest, version.digest if version is not None else digest)):
            other = self.policy_by(each)
            if other is not None and other is not self._policy:
                ruling = self._ruling(other, call)[0].and_also(ruling)
        return ruling

    def _ruling(self, policy: PolicySet, call: Call) -> tuple[Ruling, Mapping[str, str]]:
        situation = self.situation(policy, call)
        return rule(policy, call.spec, situation), situation.slices

    def situation(self, policy: PolicySet, call: Call) -> Situation:
        """What a policy's rules need to know of a call, and no more: facts are read only if a rule mentions them."""
        needs, spec, run = needs_of(policy, call.spec), call.spec, call.run
        if needs is None:
            return Situation(rationale=call.rationale)
        arguments = call.arguments() if needs.arguments else {}
        whole = fill(arguments, self._blob) if _holds_blob(arguments) else arguments
        known = Situation(
            arguments=cast("Mapping[str, Json]", whole),
            rationale=call.rationale,
            agent=run.agent if run else "",
            versions=run.versions if run else Versions(),
            run=run.id if run else "",
            workflow=run.workflow if run else "",
            principal=run.owner if run else "",
            facts=self._facts(needs.facts, call, arguments) if needs.facts and run else {},
        )
        found = slices(policy, spec, known)
        if spec.sensitive:
            found = {name: veiled(text, known.arguments, spec.sensitive) for name, text in found.items()}
        return _with_slices(known, {**call.slices, **found})

    def _facts(self, wanted: frozenset[str], call: Call, arguments: Json) -> dict[str, int | float | bool]:
        run = cast("Run", call.run)
        effect = call.effect(arguments) if "repeated" in wanted else None
        return self._store.read(lambda rows: _read_facts(rows, wanted, call, run, effect))

    def _blob(self, digest: str) -> bytes:
        return self._store.read(lambda rows: stored_blob(rows, digest))

    def policy_by(self, digest: str) -> PolicySet | None:
        """The policy that has this digest: this process's own, or one that actions here were ruled under."""
        if digest == self._policy.digest:
            return self._policy
        content = self._store.read(lambda rows: rows.blob(digest)) if digest else None
        if content is None or digest_bytes("interlock-policy/v1", content) != digest:
            return None
        return from_content(content)

    def explanation(self, policy: PolicySet, call: Call) -> Explanation:
        """How a policy comes to its ruling on a call."""
        return explain(policy, call.spec, self.situation(policy, call))


def _unseen(request: ActionRequest, ruling: Ruling) -> Ruling:
    """The ruling, with one more reason where people would decide without the preview that there should be."""
    preview = request.preview
    if preview is None or preview.text is not None or not ruling.policy.holds:
        return ruling
    words = f"its preview failed, so what it would do is not shown: {preview.failed}"
    return replace(ruling, reasons=(*ruling.reasons, Reason("no_preview", words)))


def _with_slices(situation: Situation, found: Mapping[str, str]) -> Situation:
    return replace(situation, slices=found) if found else situation


def _holds_blob(tree: Json) -> bool:
    if isinstance(tree, dict):
        return tag_of(tree) == "blob" or any(_holds_blob(each) for each in tree.values())
    return isinstance(tree, list) and any(_holds_blob(each) for each in tree)


def _read_facts(
    rows: Rows, wanted: frozenset[str], call: Call, run: Run, effect: EffectHash | None
) -> dict[str, int | float | bool]:
    """The facts that are wanted, as they stand now, without the call itself."""
    tool, mine = call.spec.name, 0 if call.action is None else 1

    def since(start: datetime, most: int = MOST_COUNTED) -> int:
        return max(0, rows.count_calls(run.agent, tool, start, most + mine) - mine)

    def repeated() -> int:
        found = rows.actions_with_effect(run.id, cast("EffectHash", effect))
        return len({action.id for action, _ in found} - {call.action})

    def cost_24h() -> float:
        return since(rows.now - timedelta(days=1)) * float(call.spec.cost or 0)

    made: dict[str, Callable[[], int | float | bool]] = {
        "repeated": repeated,
        "calls": lambda: max(0, rows.count_in_run(run.id, tool) - mine),
        "actions": lambda: max(0, rows.count_in_run(run.id, None) - mine),
        "novel": lambda: since(datetime.fromtimestamp(0, rows.now.tzinfo), 1) == 0,
        "count_1h": lambda: since(rows.now - timedelta(hours=1)),
        "count_24h": lambda: since(rows.now - timedelta(days=1)),
        "cost_24h": cost_24h,
    }
    return {name: made[name]() for name in wanted}
