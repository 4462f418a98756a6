"""The kernel: one object that offers each use case as a method, to agents, to people and to engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import cast

from interlock.canonical import Json, canonical_bytes, parse
from interlock.domain.action import Action, Revision
from interlock.domain.commands import Revised
from interlock.domain.decision import Decision, Receipt, Shown, Verdict
from interlock.domain.errors import DecisionError
from interlock.domain.events import Event
from interlock.domain.ids import ActionId, DecisionId, Digest, InterruptId, ProcessId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.reviewers import Principal
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import Freeze, Process, Run, RunState, Work
from interlock.domain.tool import InterruptPolicy
from interlock.kernel import documents, ledger, views
from interlock.kernel.access import Access
from interlock.kernel.attached import AttachedGate
from interlock.kernel.futures import tried
from interlock.kernel.health import Health, closed_by_fingerprint, health_of, left_behind, living
from interlock.kernel.knew import Knew, knew
from interlock.kernel.process import seen_dead
from interlock.kernel.record import Lately, lately
from interlock.kernel.rulings import Call
from interlock.kernel.shown import revealed, shown_event
from interlock.policy import PolicySet
from interlock.ports.store import EVERYTHING, Change, Page, Queue, Rows
from interlock.usecases.adopt_policy import PolicyMoved
from interlock.usecases.decide import Verdicting, decide
from interlock.usecases.engine_work import Mine, doable, finish_work, return_work, take_work
from interlock.usecases.expire import expire
from interlock.usecases.freeze import freeze, release
from interlock.usecases.processes import register
from interlock.usecases.retry_run import retry_run
from interlock.usecases.reveal import reveal
from interlock.usecases.revoke import revoke
from interlock.usecases.rollback import ask_rollback, end_rollback, start_rollback


class Kernel(Access):
    """`InProcessGate` for agents, and below it what people and engines ask for."""

    # -- people ---------------------------------------------------------------------------------

    def decide(
        self,
        interrupt: InterruptId,
        digest: Digest,
        verdict: Verdict,
        by: Principal,
        *,
        note: str = "",
        value: Json = None,
        has_value: bool = False,
        stored: bool = True,
        shown: Shown = Shown(),
    ) -> Future[Receipt]:
        """Decide a card. `value` is typed encoding: the new arguments of a `modify`, the result of a
        `respond` or of `found_done`; `has_value` tells None from nothing. Raises `DecisionError`.
        """
        data = canonical_bytes(value) if has_value else None
        never, nothing = datetime.min.replace(tzinfo=UTC), ""
        decision = Decision(
            DecisionId(self.ids()),
            interrupt,
            ActionId(nothing),
            RunId(nothing),
            0,
            digest,
            verdict,
            by,
            never,
            note=note,
            value=data,
            shown=shown,
        )
        revised, revision = self._revise(decision, value) if verdict is Verdict.MODIFY else (None, None)
        said = Verdicting(decision, revised, revision, stored)

        def again(error: BaseException) -> bool:
            nonlocal said
            if not isinstance(error, PolicyMoved):
                return False
            self._still_let_go(interrupt, error.version)
            said = replace(said, ruled_by=error.version.digest)
            return True

        return tried(lambda: self.store.write(decide(said, self.ids)), again)

    def _revise(self, decision: Decision, arguments: Json) -> tuple[Revised | None, Revision | None]:
        """The next revision with these arguments. The unit checks that it is still the next one."""
        view = self.card(decision.interrupt)
        if view is None or view.card.digest != decision.digest:
            return None, None  # the unit refuses this, and keeps the evidence
        about = view.about
        document = cast("dict[str, Json]", parse(about.current.document))
        data, digest = documents.revised_document(document, arguments)
        effect = documents.effect_of(self.store.namespace_key, about.tool.name, about.tool.target, arguments)
        ruling = self.rulings.strictest(
            about.action.ruling.policy_digest,
            Call(about.tool, view.run, lambda: arguments, lambda _: effect, action=about.action.id),
        )
        revision = Revision(
            about.action.id,
            about.action.revision + 1,
            about.action.run,
            digest,
            effect,
            data,
            b"{}",
            decision.at,
            decision.id,
        )
        return Revised(digest, effect, ruling), revision

    def _still_let_go(self, interrupt: InterruptId, version: PolicyVersion) -> None:
        """Raise `DecisionError` where a policy adopted since the proposal denies what is to be approved."""
        view = self.card(interrupt)
        assert view is not None, "a card that is decided is there"
        about, arguments = view.about, cast("Json", dict(view.about.current.exact))
        effect = partial(documents.effect_of, self.store.namespace_key, about.tool.name, about.tool.target)
        call = Call(about.tool, view.run, lambda: arguments, effect, action=about.action.id)
        ruling = self.rulings.under(version, call)
        if ruling.policy is InterruptPolicy.DENY:
            words = "; ".join(reason.words for reason in ruling.reasons)
            raise DecisionError(
                "policy_denies",
                f"the policy that {about.action.agent} is ruled by now denies it ({words}); nothing was decided",
                "Reject it, or change the policy.",
            )

    def revoke(self, interrupt: InterruptId, digest: Digest, by: Principal, note: str = "") -> Future[Interrupt]:
        """Take an approval back until it is claimed; answers the new card."""
        return self.store.write(revoke(interrupt, digest, by, note, self.ids))

    def retry(self, run: RunId, by: str, *, accept_divergence: bool = False) -> Future[Run]:
        """Make a stopped run due again."""
        return self.store.write(retry_run(run, by, accept_divergence, self.ids))

    def freeze(self, scope: str, name: str, by: Principal, reason: str = "") -> Future[Freeze]:
        """Stop everything, an agent, a tool or a run before its next claim."""
        if scope not in ("all", "agent", "tool", "run") or (scope == "all") is bool(name):
            raise DecisionError(
                "bad_scope", f"cannot freeze {scope} {name}".rstrip(), "Use all, or agent, tool or run with a name."
            )
        return self.store.write(freeze(Freeze(scope, name, str(by), datetime.now(UTC), reason), by, self.ids))

    def release(self, scope: str, name: str, by: Principal) -> Future[None]:
        """Lift a freeze and wake what waited behind it."""
        return self.store.write(release(scope, name, by, self.ids))

    def lately(self, most: int = 5_000) -> Lately:
        """How the questions among the newest events ended, by tool and by rule."""
        return self.snapshot(lambda rows: lately(rows, most))

    def policy_of(self, agent: str) -> tuple[PolicyVersion, PolicySet | None] | None:
        """The policy that an agent's executors adopted last, and its content where the store has it."""
        version = self.store.read(lambda rows: rows.policy(agent))
        return None if version is None else (version, self.rulings.policy_by(version.digest))

    def freezes(self) -> tuple[Freeze, ...]:
        return self.store.read(lambda rows: tuple(rows.freezes()))

    def ask_rollback(self, action: ActionId, by: Principal) -> Future[Work]:
        """Ask the workers to undo an action that is done."""
        return self.store.write(ask_rollback(action, by, self.ids))

    # -- looking --------------------------------------------------------------------------------

    def reveal(
        self, interrupt: InterruptId, digest: Digest, paths: tuple[str, ...], by: Principal, channel: str
    ) -> Future[dict[str, Json]]:
        """Record who sees which hidden values of a card, then answer them (typed encoding, by path)."""

        def look(rows: Rows) -> dict[str, Json]:
            view = views.card_view(rows, interrupt)
            assert view is not None, "the unit has found the card"
            revision = next(each for each in view.about.revisions if each.number == view.card.revision)
            return revealed(revision.arguments, revision.exact, paths, view.about.tool)

        return self.store.write(reveal(interrupt, digest, paths, by, channel, look, self.ids))

    def inbox(self, limit: int = 50, after: str | None = None, queue: Queue = EVERYTHING) -> tuple[views.CardView, ...]:
        """A page of open cards for a list, the riskiest first and in each band the oldest."""
        return self.store.read(lambda rows: views.open_cards(rows, Page(limit, after), queue))

    def now(self) -> datetime:
        """The store's clock."""
        return self.store.read(lambda rows: rows.now)

    def count_open(self, queue: Queue = EVERYTHING, most: int = 1_000) -> int:
        """How many cards wait; counts no further than `most`."""
        return self.store.read(lambda rows: rows.count_open(queue, most))

    def endings(self, interrupts: Sequence[InterruptId]) -> dict[InterruptId, Interrupt]:
        """Those of the cards that wait no longer."""
        found = self.store.read(lambda rows: [rows.interrupt(each) for each in interrupts])
        return {card.id: card for card in found if card is not None and not card.open}

    def card(self, interrupt: InterruptId) -> views.CardView | None:
        return self.store.read(lambda rows: views.card_view(rows, interrupt))

    def knew(self, interrupt: InterruptId, most: int) -> Knew:
        """The last messages of the conversation in which the agent made the call that a card is about."""
        view = self.card(interrupt)
        head = view.about.facts.get("messages") if view is not None else None
        return self.store.read(lambda rows: knew(rows, head, most))

    def by_fingerprint(self, fingerprint: str) -> tuple[Interrupt, ...]:
        """Open cards with this fingerprint (as canonical.fingerprint writes it)."""
        return self.store.read(lambda rows: views.by_fingerprint(rows, fingerprint))

    def closed_by_fingerprint(self, fingerprint: str) -> Interrupt | None:
        """The latest card with this fingerprint in the newest runs, open or not."""
        return self.store.read(lambda rows: closed_by_fingerprint(rows, fingerprint))

    def processes(self) -> tuple[Process, ...]:
        """Executor processes that live, as far as can be told from here."""
        return self.store.read(lambda rows: living(rows, _gone)[0])

    def left_behind(self) -> tuple[int, int, int]:
        """How many processes are gone that still hold something; the actions and runs that they hold."""
        return self.snapshot(lambda rows: left_behind(rows, _gone))

    def health(self) -> Health:
        """The state of the store as a whole; raises `StoreError` where it cannot be written."""
        self.store.write(lambda _: Change(None)).result()
        return self.snapshot(lambda rows: health_of(rows, _gone))

    def attach(self, name: str, pid: int, born: str, lease_s: float) -> AttachedGate:
        """Register an executor process that is elsewhere; answers the gate on its behalf."""
        now = datetime.now(UTC)
        row = Process(ProcessId(self.ids()), name, pid, born, now, now, lease_s)
        made = self.store.write(register(row, self.ids)).result()
        return AttachedGate(self.store, self.policy, made)

    def attached(self, process: ProcessId) -> AttachedGate | None:
        """The gate of a process that was registered before, here or by a server before this one."""
        row = self.store.read(lambda rows: rows.process(process))
        return None if row is None else AttachedGate(self.store, self.policy, row)

    def action(self, action: ActionId) -> views.ActionView | None:
        return self.store.read(lambda rows: views.action_of(rows, action))

    def story(self, run: RunId) -> views.RunView | None:
        """A run with everything that happened in it."""
        return self.snapshot(lambda rows: views.run_view(rows, run))

    def runs(self, states: Sequence[RunState] = (), limit: int = 50, after: str | None = None) -> tuple[Run, ...]:
        return self.snapshot(lambda rows: tuple(rows.runs(states, Page(limit, after))))

    def events(self, run: RunId | None, limit: int = 100, after: str | None = None) -> tuple[tuple[int, Event], ...]:
        """Events in commit order with their positions."""
        return self.snapshot(
            lambda rows: tuple((at, shown_event(event)) for at, event in rows.events(run, Page(limit, after)))
        )

    def events_forwards(self, run: RunId | None = None, after: str | None = None) -> Iterator[ledger.Recorded]:
        """Every event (of a run) behind a position, the oldest first, read page by page as it is asked for."""
        self.say_soon()
        return ledger.forwards(self.store, run, after)

    def events_backwards(self, under: int | None = None) -> Iterator[ledger.Recorded]:
        """Every event (under a position), the newest first, read page by page as it is asked for."""
        self.say_soon()
        return ledger.backwards(self.store, under)

    def leaf(self, event: Event) -> bytes:
        """An event exactly as it is recorded: the canonical bytes of its envelope."""
        return canonical_bytes(event.envelope(self.store.namespace), root="event")

    # -- engines --------------------------------------------------------------------------------

    def take_work(self, mine: Mine, limit: int = 1, lease: timedelta = timedelta(minutes=5)) -> tuple[Work, ...]:
        """Lease due work that is `mine` to this process. Looks first, so that idling writes nothing."""
        process = self.living_process()
        if not self.snapshot(lambda rows: any(True for _ in doable(rows, mine))):
            return ()
        return self.store.write(take_work(process, mine, limit, lease, self.ids)).result()

    def finish_work(self, work: Work) -> None:
        """Strike work off. Nobody waits for that: done once more, it finds nothing to do."""
        self.write_soon(finish_work(work, self.ids))

    def return_work(self, work: Work, error: str, delay: timedelta) -> None:
        """Give work back: with an error it counts as an attempt, without one it does not."""
        self.store.write(return_work(work, error, delay, self.ids)).result()

    def expire_due(self, limit: int = 200) -> int:
        """End overdue cards and wake their runs; answers how many. Nothing depends on this being called."""
        if not self.store.read(lambda rows: bool(rows.due_interrupts(rows.now, 1))):
            return 0
        return self.store.write(expire(limit, self.ids)).result()

    def tool_of(self, action: ActionId) -> str:
        """The name of an action's tool."""
        return self.look(action).action.tool

    def start_rollback(self, action: ActionId, by: str) -> tuple[Action, Json, bytes | None]:
        """Claim a rollback; answers the action, its stored arguments and its result."""
        self._undoing.add(action)
        try:
            return self.store.write(start_rollback(action, by, self.living_process(), self.ids)).result()
        except BaseException:
            self._undoing.discard(action)
            raise

    def end_rollback(self, action: ActionId, fence: int, came_to: str, words: str = "") -> Action:
        """Record what a rollback came to: `done`, `failed` or `conflict`."""
        try:
            return self._say(end_rollback(action, fence, came_to, words, self.process, self.ids)).result()
        finally:
            self._undoing.discard(action)


def _gone(process: Process) -> bool:
    return seen_dead(process.host, process.pid, process.born)
