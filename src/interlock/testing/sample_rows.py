"""Rows of the size and shape that a gated action has, for tests of stores and for measuring them."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from uuid import UUID

from interlock.canonical import Json, canonical_bytes, digest, effect_hash
from interlock.domain.action import Action, ActionState, Revision, Traits, Versions
from interlock.domain.decision import Decision, Shown, Verdict
from interlock.domain.events import Event, EventType
from interlock.domain.ids import (
    ActionId,
    CallKey,
    DecisionId,
    Digest,
    EffectHash,
    EventId,
    InterruptId,
    ProcessId,
    RunId,
)
from interlock.domain.interrupt import Ending, Interrupt, InterruptKind
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.run import Run, RunState
from interlock.domain.tool import InterruptPolicy
from interlock.ports.store import Change, Rows, Unit

_TOOL = "payments.transfer"
_REVIEWER = Principal(PrincipalKind.REVIEWER, "ana", "local", "8f2c1d")
_RULING = Ruling(
    policy=InterruptPolicy.HARD_STOP,
    wanted=InterruptPolicy.HARD_STOP,
    reasons=(Reason("irreversible", "irreversible tools always ask"),),
    profile="supervised",
    policy_digest=digest({"policy": "sample"}),
    approval_valid_for=timedelta(hours=1),
)
_TRAITS = Traits(reversibility="irreversible", reach=("outward", "spends"), tool_rev=digest({"tool": _TOOL}))


class Samples:
    """Makes rows with fresh ids, and the four units of a gated action's life.

    Every unit answers the row that it leaves: `propose`, `decide`, `claim`, `settle`, in this order.
    """

    def __init__(self, key: bytes = b"k" * 32) -> None:
        self._key = key
        self._numbers = count(time.time_ns() // 1_000_000 << 12)
        self.process = ProcessId(self.new_id())

    def new_id(self) -> str:
        """The next of ids that look and sort as real ones do; any thread may ask."""
        number = next(self._numbers)
        return str(UUID(int=number >> 12 << 80 | 7 << 76 | (number & 0xFFF) << 64 | 2 << 62 | secrets.randbits(62)))

    def run(self, now: datetime, *, state: RunState = RunState.RUNNING, run: str = "") -> Run:
        """A run of its own name that this process drives."""
        return Run(
            id=RunId(run or self.new_id()),
            agent="agent:billing",
            state=state,
            pass_no=1,
            started_at=now,
            updated_at=now,
            workflow="dunning",
            input=b'{"invoice":"INV-7"}',
            owner="user:alice",
            process=self.process,
            versions=Versions(agent="1.4.0", model="some-model-2", environment="production"),
        )

    def action(self, run: RunId, now: datetime, *, seq: int = 0, number: int = 0) -> tuple[Action, Revision, Interrupt]:
        """A held action with its first revision and its open card."""
        ids = ActionId(self.new_id()), InterruptId(self.new_id())
        arguments = self._arguments(number)
        document: dict[str, Json] = {
            "v": 1,
            "namespace": "default",
            "principal": "user:alice",
            "agent": "agent:billing",
            "run": run,
            "call": os.urandom(24).hex()[:32],
            "revision": 1,
            "tool": _TOOL,
            "tool_rev": _TRAITS.tool_rev,
            "target": "https://exec.example/payments",
            "salt": os.urandom(16).hex(),
            "arguments": arguments,
        }
        digest_of = Digest(digest(document))
        effect = EffectHash(effect_hash(self._key, _TOOL, "https://exec.example/payments", canonical_bytes(arguments)))
        action = Action(
            id=ids[0],
            run=run,
            agent="agent:billing",
            tool=_TOOL,
            call_key=CallKey(self._token()),
            scope="",
            seq=seq,
            state=ActionState.HELD,
            revision=1,
            digest=digest_of,
            effect_hash=effect,
            traits=_TRAITS,
            ruling=_RULING,
            proposed_at=now,
            interrupt=ids[1],
        )
        facts: dict[str, Json] = {"reasoning": "the invoice is overdue", "confidence": {"$t": "float", "v": "0.8"}}
        revision = Revision(
            ids[0], 1, run, digest_of, effect, canonical_bytes(document), canonical_bytes(facts), now, by=None
        )
        card = Interrupt(
            id=ids[1],
            kind=InterruptKind.ACTION,
            run=run,
            action=ids[0],
            revision=1,
            digest=digest_of,
            opened_at=now,
            expires_at=now + _RULING.expires_in,
            why=_RULING.reasons[0].words,
        )
        return action, revision, card

    def decision(self, card: Interrupt, now: datetime, verdict: Verdict = Verdict.APPROVE) -> Decision:
        """What the reviewer says about a card."""
        return Decision(
            id=DecisionId(self.new_id()),
            interrupt=card.id,
            action=card.action,
            run=card.run,
            revision=card.revision,
            digest=card.digest,
            verdict=verdict,
            by=_REVIEWER,
            at=now,
            shown=Shown(channel="console", render_digest=digest({"shown": card.id}), dwell_ms=4200),
        )

    def event(
        self,
        kind: EventType,
        now: datetime,
        *,
        run: RunId | None = None,
        action: Action | None = None,
        actor: str = "",
        body: Mapping[str, Json] | None = None,
    ) -> Event:
        """A fact about a run or an action."""
        return Event(
            id=EventId(self.new_id()),
            type=kind,
            at=now,
            actor=actor,
            run=action.run if action else run,
            action=action.id if action else None,
            revision=action.revision if action else None,
            interrupt=action.interrupt if action else None,
            body=body or {},
        )

    def propose(self, run: RunId, number: int = 0) -> Unit[Action]:
        """Hold an action: action, revision, card, event."""

        def propose(rows: Rows) -> Change[Action]:
            action, revision, card = self.action(run, rows.now, seq=number, number=number)
            said: dict[str, Json] = {
                "digest": action.digest,
                "tool": action.tool,
                "ruling": {"policy": "hard_stop", "profile": "supervised", "reasons": ["irreversible"]},
                "why": card.why,
            }
            held = self.event(EventType.ACTION_HELD, rows.now, action=action, body=said)
            return Change(action, actions=[action], revisions=[revision], interrupts=[card], events=[held])

        return propose

    def decide(self, action: ActionId) -> Unit[Action]:
        """Approve it: action, card, decision, event."""

        def decide(rows: Rows) -> Change[Action]:
            held, card = self._standing(rows, action)
            decision = self.decision(card, rows.now)
            cleared = replace(held, state=ActionState.CLEARED, cleared_at=rows.now, cleared_by=decision.id)
            closed = replace(card, ending=Ending.APPROVED, ended_at=rows.now, decision=decision.id)
            said: dict[str, Json] = {"decision": decision.id, "verdict": "approve", "digest": card.digest}
            fact = self.event(EventType.DECISION_RECORDED, rows.now, action=cleared, actor=str(decision.by), body=said)
            return Change(cleared, actions=[cleared], interrupts=[closed], decisions=[decision], events=[fact])

        return decide

    def claim(self, action: ActionId) -> Unit[Action]:
        """Take it for execution: action, event."""

        def claim(rows: Rows) -> Change[Action]:
            cleared, _ = self._standing(rows, action)
            taken = replace(
                cleared,
                state=ActionState.EXECUTING,
                fence=cleared.fence + 1,
                tries=cleared.tries + 1,
                process=self.process,
                claimed_at=rows.now,
            )
            said: dict[str, Json] = {"fence": taken.fence, "digest": taken.digest, "process": self.process}
            fact = self.event(EventType.ACTION_CLAIMED, rows.now, action=taken, body=said)
            return Change(taken, actions=[taken], events=[fact])

        return claim

    def settle(self, action: ActionId) -> Unit[Action]:
        """Record that it was done: action, event."""

        def settle(rows: Rows) -> Change[Action]:
            taken, _ = self._standing(rows, action)
            done = replace(
                taken,
                state=ActionState.DONE,
                process=None,
                settled_at=rows.now,
                result=b'{"receipt":"tr_51f0","status":"sent"}',
            )
            said: dict[str, Json] = {"fence": done.fence, "outcome": "done", "stored": True}
            fact = self.event(EventType.ACTION_DONE, rows.now, action=done, body=said)
            return Change(done, actions=[done], events=[fact])

        return settle

    def _standing(self, rows: Rows, action: ActionId) -> tuple[Action, Interrupt]:
        found = rows.action(action)
        card = rows.interrupt(found.interrupt) if found is not None and found.interrupt is not None else None
        if found is None or card is None:
            raise LookupError(action)
        return found, card

    def _token(self) -> str:
        from base64 import urlsafe_b64encode

        return urlsafe_b64encode(os.urandom(24)).decode()

    def _arguments(self, number: int) -> Json:
        return {"to": "DE02120300000000202051", "amount": {"$t": "decimal", "v": f"{number}.50"}, "reference": "INV-7"}
