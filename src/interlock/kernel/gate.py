"""The gate within a process: what an adapter does with calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import cast

from interlock.canonical import Json, blob_digest, canonical_bytes
from interlock.domain.action import Action, ActionKind, ActionRequest, AgentDecision
from interlock.domain.commands import Outcome
from interlock.domain.decision import Answer
from interlock.domain.errors import CallError
from interlock.domain.events import Event, EventType
from interlock.domain.ids import ActionId, CallKey, EffectHash, EventId, ProcessId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import Run
from interlock.domain.tool import InterruptPolicy, Reversibility, ToolSpec
from interlock.kernel import documents
from interlock.kernel.futures import at_once, tried
from interlock.kernel.process import host
from interlock.kernel.rulings import Call
from interlock.kernel.runtime import BLOB_LIMIT, InProcessRuntime
from interlock.policy import PolicySet, Situation, needs_of, rule
from interlock.ports.gate import FreeCall, Standing
from interlock.ports.store import Change, Rows, Store
from interlock.schema import spill
from interlock.usecases.adopt_policy import PolicyMoved
from interlock.usecases.answers import answer_to, deliver
from interlock.usecases.cancel import cancel
from interlock.usecases.claim import claim, standing
from interlock.usecases.draft import Draft
from interlock.usecases.give_back import give_back
from interlock.usecases.park import park
from interlock.usecases.probe import probed
from interlock.usecases.propose import Proposal, propose, proposed_before
from interlock.usecases.settle import known, settle
from interlock.usecases.suspend import suspend


class InProcessGate(InProcessRuntime):
    """`Gate` and `Runtime` over the store. Keeps only what is handy within a pass: the run it serves."""

    def __init__(
        self,
        store: Store,
        policy: PolicySet,
        *,
        lease_s: float = 30.0,
        url_of: Callable[[Interrupt], str] = lambda _: "",
    ) -> None:
        super().__init__(store, policy, lease_s=lease_s, url_of=url_of)
        self._host = host()
        self._tools: dict[int, tuple[ToolSpec, bool, str, bytes]] = {}
        self._described: set[str] = set()

    def is_free(self, spec: ToolSpec) -> bool:
        return self._tool(spec)[1]

    def _tool(self, spec: ToolSpec) -> tuple[ToolSpec, bool, str, bytes]:
        """What is made once of a tool: whether it is free, and its document."""
        kept = self._tools.get(id(spec))
        if kept is None or kept[0] is not spec:
            free = (
                spec.reversibility is Reversibility.READ_ONLY
                and not spec.composite
                and all(_lets_go(policy, spec) for policy in self.rulings.policies())
            )
            kept = (spec, free, *documents.tool_document(spec))
            self._tools[id(spec)] = kept
        return kept

    def record(self, call: FreeCall) -> None:
        self.store.write_later(partial(self._recorded, call))

    def _recorded(self, call: FreeCall, rows: Rows) -> Change[None]:
        """The unit that writes a free call's event; one that no document can hold is asked again another time."""
        try:
            (result, stored), arguments, key = call.outcome(), call.arguments, call.call_key()
            said, blobs = spill({"arguments": arguments, "result": result}, BLOB_LIMIT, blob_digest)
            canonical_bytes(said)
        except (ValueError, CallError):
            return Change(None)
        body: dict[str, Json] = {
            "tool": call.tool,
            "scope": call.path,
            "seq": call.seq,
            "call": key,
            "pass": call.pass_no,
            **cast("dict[str, Json]", said),
        }
        if call.sensitive:
            body["sensitive"] = list(call.sensitive)
        if call.failure is not None:
            body["failure"] = call.failure
        if not stored:
            body["stored"] = False
        event = Event(EventId(self.ids()), EventType.CALL_RECORDED, rows.now, run=call.run, body=body)
        return Change(None, events=(event,), blobs=blobs)

    def propose(self, request: ActionRequest) -> Future[Standing]:
        run = self.driven(request.run) or self.run(request.run)
        if run is None:
            raise CallError("unknown_run", f"there is no run {request.run}")
        found = at_once(lambda: self._proposed_before(request)) if request.known else None
        if found is not None and (found.exception() is not None or found.result() is not None):
            return cast("Future[Standing]", found)
        return tried(lambda: self._propose(request, run), self._moved)

    def _proposed_before(self, request: ActionRequest) -> Standing | None:
        arguments, _ = spill(request.arguments, BLOB_LIMIT, blob_digest)
        effect = self._effect(request.spec, arguments)
        return self.store.read(lambda rows: proposed_before(rows, request, effect))

    def _propose(self, request: ActionRequest, run: Run) -> Future[Standing]:
        spec, (_, _, tool, described) = request.spec, self._tool(request.spec)
        arguments, blobs = spill(request.arguments, BLOB_LIMIT, blob_digest)
        blobs |= request.conversation.added
        if tool not in self._described:
            blobs[tool] = described
        effect, whole = self._effect(spec, arguments), request.arguments
        call = Call(spec, run, lambda: whole, lambda _: effect, request.rationale, slices=request.slices)
        ruled = self.rulings.rule_on(request, call)
        request = replace(request, arguments=arguments)
        document, digest = documents.action_document(
            namespace=self.store.namespace,
            principal=run.owner,
            agent=run.agent,
            request=request,
            arguments=arguments,
            revision=1,
        )
        facts = documents.facts_document(
            request, versions=run.versions, tool=tool, slices=ruled.slices, host=self._host, pid=os.getpid()
        )
        proposal = Proposal(
            request=request,
            action=ActionId(self.ids()),
            agent=run.agent,
            digest=digest,
            effect=effect,
            document=document,
            facts=facts,
            blobs=blobs,
            ruling=ruled.ruling,
            epoch=ruled.epoch,
        )
        proposed = self.store.write(propose(proposal, self.ids))
        proposed.add_done_callback(lambda done: None if done.exception() else self._described.add(tool))
        return proposed

    def _moved(self, error: BaseException) -> bool:
        """Whether another policy was adopted meanwhile, so that the call is to be ruled on anew."""
        if isinstance(error, PolicyMoved):
            self._learn(error.version, error.content)  # another thread may have learnt it by now, too
            return True
        return False

    def _learn(self, version: PolicyVersion | None, content: bytes = b"") -> bool:
        news = super()._learn(version, content)
        if news:
            self._tools.clear()  # what was free under the policies known before may not be by now
        return news

    def park(self, action: ActionId, process: ProcessId, why: str = "") -> Future[Standing]:
        return self.store.write(park(action, process, why, self.ids))

    def claim(self, request: ActionRequest, action: ActionId) -> Future[Standing]:
        spec, run = request.spec, self.driven(request.run) or self.run(request.run)
        effect, said = partial(self._effect, spec), request.rationale
        # The stored arguments: a person may have changed them since this pass made the call.
        call = Call(spec, run, lambda: self.arguments(action), effect, said, action, request.slices)

        def attempt() -> Future[Standing]:
            ruled = self.rulings.rule_on(request, call)
            return self.store.write(claim(request, action, ruled.ruling, ruled.epoch, self.ids))

        return tried(attempt, self._moved)

    def find(self, run: RunId, call: CallKey) -> Action | None:
        return self.store.read(lambda rows: rows.action_of_call(run, call))

    def report_pause(self, request: ActionRequest) -> Future[Standing]:
        if request.asking is None or request.asking.kind is not ActionKind.OBSERVED:
            raise CallError("not_observed", "a pause is reported with what people are asked")
        return self.propose(request)

    def answer(self, action: ActionId) -> Answer | None:
        return self.store.read(lambda rows: answer_to(rows, action))

    def deliver(self, action: ActionId, process: ProcessId) -> Future[Standing]:
        return self.store.write(deliver(action, process, self.ids))

    def note(self, decision: AgentDecision) -> None:
        self.store.write_later(partial(self._noted, decision))

    def _noted(self, decision: AgentDecision, rows: Rows) -> Change[None]:
        said, blobs = spill(dict(decision.said), BLOB_LIMIT, blob_digest)
        body = documents.decision_body(decision, cast("dict[str, Json]", said))
        actor = f"agent:{decision.agent}"
        event = Event(EventId(self.ids()), EventType.AGENT_DECIDED, rows.now, actor, decision.run, body=body)
        return Change(None, events=(event,), blobs=blobs)

    def _effect(self, spec: ToolSpec, arguments: Json) -> EffectHash:
        return documents.effect_of(self.store.namespace_key, spec.name, spec.target, arguments)

    def give_back(self, action: ActionId, process: ProcessId, fence: int, *, paused: bool = False) -> Future[Standing]:
        return self.store.write(give_back(action, process, fence, paused, self.ids))

    def settle(self, action: ActionId, process: ProcessId, fence: int, outcome: Outcome) -> Future[Standing]:
        return self._say(settle(action, process, fence, outcome, self.ids))

    def probed(self, action: ActionId, process: ProcessId, happened: bool, result: Outcome | None) -> Future[Standing]:
        return self.store.write(probed(action, process, happened, result, self.ids))

    def suspend(self, action: ActionId, process: ProcessId, fence: int) -> Future[Standing]:
        return self.store.write(suspend(action, process, fence, self.ids))

    def cancel(self, run: RunId, by: str, reason: str = "") -> Future[None]:
        return self.store.write(cancel(run, by, reason, self.ids))

    def look(self, action: ActionId) -> Standing:
        return self.store.read(lambda rows: standing(Draft(rows, self.ids), known(rows, action)))


def _lets_go(policy: PolicySet, spec: ToolSpec) -> bool:
    """Whether a policy asks nobody about any call of this tool, and no rule looks at it."""
    needs = needs_of(policy, spec)
    ruled = needs is not None and bool(needs.rules)
    return not ruled and rule(policy, spec, Situation()).policy is InterruptPolicy.NONE
