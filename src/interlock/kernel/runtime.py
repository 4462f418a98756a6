"""The runtime within a process: entering and leaving runs, and what an adapter asks about them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar, cast

from interlock.canonical import Json, blob_digest
from interlock.domain.action import Versions
from interlock.domain.decision import Decision
from interlock.domain.errors import StoreError
from interlock.domain.ids import ActionId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import PassGrant, PassReport, Run, RunState, Ticket
from interlock.kernel import documents
from interlock.kernel.futures import at_once, then
from interlock.kernel.holder import Holder
from interlock.kernel.rulings import Rulings
from interlock.kernel.views import action_of
from interlock.kernel.watching import Watching
from interlock.policy import PolicySet
from interlock.ports.store import Change, Rows, Store, Unit
from interlock.schema import spill
from interlock.usecases.enter_run import Entry, begun, enter_run
from interlock.usecases.leave_run import finish_run, leave_run
from interlock.usecases.settle import known
from interlock.usecases.stored import stored_arguments, stored_blob

A = TypeVar("A")

_NO_MENDING = ("store_closed", "forked", "store_inconsistent")
"""Errors of a store after which telling an outcome again is pointless."""

BLOB_LIMIT = 64 * 1024
"""Bytes from which a value is kept as a content-addressed blob (SECURITY section 1)."""


class InProcessRuntime(Holder):
    """`Runtime` over the store. `url_of` says where people can see a card."""

    def __init__(
        self,
        store: Store,
        policy: PolicySet,
        *,
        lease_s: float = 30.0,
        url_of: Callable[[Interrupt], str] = lambda _: "",
    ) -> None:
        super().__init__(store, policy, lease_s=lease_s)
        self._url_of = url_of
        self._watching = Watching(store.wait_for_change)
        self.rulings = Rulings(self)
        self._saying = threading.Lock()
        self._unsaid: list[Unit[Any]] = []

    def new_run(self) -> RunId:
        return RunId(self.ids())

    def enter(
        self,
        run: RunId,
        *,
        agent: str,
        workflow: str = "",
        input: bytes | None = None,
        owner: str = "",
        versions: Versions = Versions(),
        ticket: Ticket | None = None,
        thread: str = "",
        soon: bool = False,
    ) -> Future[PassGrant]:
        mine = self.process
        # Asked before the store is: what was begun soon, and is not written yet, is not new.
        driven = self.drives(run)
        soon = soon and not driven
        found, before, version, row, now = self.store.read(
            lambda rows: (
                rows.run(run),
                rows.unended_run(agent, thread) if soon else None,
                rows.policy(agent),
                rows.process(mine),
                rows.now,
            )
        )
        self._learn(version)
        if found is not None and found.state is RunState.RUNNING and not (driven and found.process == mine):
            self.bury_dead()
        process = mine if row is not None and row.alive(now) else self.living_process()
        entry = Entry(run, agent, process, workflow, input, owner, versions, ticket, thread)
        if soon and found is None and before is None:
            return at_once(lambda: self._begin_soon(entry, now))
        self.entering(run)
        try:
            granted = self.store.write(enter_run(entry, self.ids, self.run_key))
        except BaseException:
            self.entered(run, None)
            raise
        granted.add_done_callback(lambda done: self.entered(run, None if done.exception() else done.result()))
        return granted

    def _begin_soon(self, entry: Entry, now: datetime) -> PassGrant:
        """Enter a new run of a thread that is at nothing: the store need not be asked, and its first action follows.

        Where another process was quicker, whatever is proposed in this pass is refused.
        """
        run = begun(entry, now)
        grant = PassGrant(run, self.run_key(run.id), ())
        self.entering(run.id)
        self.entered(run.id, grant)
        written = self.write_soon(enter_run(entry, self.ids, self.run_key))
        written.add_done_callback(lambda done: self.left(run.id, run.pass_no) if done.exception() else None)
        return grant

    def create(
        self,
        run: RunId,
        *,
        agent: str,
        workflow: str,
        input: bytes,
        owner: str = "",
        versions: Versions = Versions(),
        ticket: Ticket | None = None,
    ) -> Future[Run]:
        entry = Entry(run, agent, None, workflow, input, owner, versions, ticket)
        return then(self.store.write(enter_run(entry, self.ids, self.run_key)), lambda grant: grant.run)

    def run_key(self, run: RunId) -> bytes:
        return documents.run_key(self.store.namespace_key, run)

    def leave(self, run: RunId, pass_no: int, report: PassReport, *, soon: bool = False) -> Future[Run]:
        self._say_unsaid()
        write = self.write_soon if soon else self.store.write
        try:
            left = write(leave_run(run, pass_no, self.process, report, self.ids))
        except BaseException:
            self.left(run, pass_no)
            raise
        left.add_done_callback(lambda _: self.left(run, pass_no))
        return left

    def finish(self, run: RunId) -> None:
        self.write_soon(finish_run(run, self.ids))

    def run(self, run: RunId) -> Run | None:
        return self.snapshot(lambda rows: rows.run(run))

    def unended_run(self, agent: str, thread: str) -> Run | None:
        return self.snapshot(lambda rows: rows.unended_run(agent, thread))

    def open_cards(self, run: RunId) -> tuple[Interrupt, ...]:
        def query(rows: Rows) -> tuple[Interrupt, ...]:
            named = (rows.interrupt(each.interrupt) for each in rows.actions_of_run(run) if each.interrupt is not None)
            return tuple(card for card in named if card is not None and card.open)

        return self.store.read(query)

    def decisions(self, run: RunId) -> tuple[tuple[str, Decision], ...]:
        return self.store.read(
            lambda rows: tuple(
                (action.tool, decision)
                for action in rows.actions_of_run(run)
                for decision in rows.decisions_of_action(action.id)
            )
        )

    def decisions_about(self, action: ActionId) -> tuple[Decision, ...]:
        return self.store.read(lambda rows: tuple(rows.decisions_of_action(action)))

    def wait_for_change(self, timeout: float) -> bool:
        return self.store.wait_for_change(timeout)

    def on_change(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Have `tell` called, from another thread, when something may have changed; answers what ends that."""
        return self._watching.subscribe(tell)

    def arguments(self, action: ActionId) -> Json:
        return self.store.read(lambda rows: stored_arguments(rows, known(rows, action)))

    def shown(self, action: ActionId) -> Json:
        found = self.store.read(lambda rows: action_of(rows, action))
        assert found is not None, "only recorded actions are told of"
        return cast("Json", dict(found.current.arguments))

    def put_blobs(self, tree: Json) -> Json:
        small, blobs = spill(tree, BLOB_LIMIT, blob_digest)
        if blobs:
            self.store.write(lambda _: Change(None, blobs=blobs)).result()
        return small

    def put_blob(self, data: bytes) -> str:
        """Keep bytes by their digest, and answer it."""
        digest = blob_digest(data)
        self.store.write(lambda _: Change(None, blobs={digest: data})).result()
        return digest

    def blob(self, digest: str) -> bytes:
        return self.store.read(lambda rows: stored_blob(rows, digest))

    def url(self, interrupt: Interrupt) -> str:
        return self._url_of(interrupt)

    def _learn(self, version: PolicyVersion | None, content: bytes = b"") -> bool:
        """Take up the policy that was adopted last; whether it was news."""
        return self.rulings.learn(version, content)

    # -- outcomes that have to be told ---------------------------------------------------------------

    def _say(self, unit: Unit[A]) -> Future[A]:
        """Write an outcome. One that the store fails to take is kept here, and told again before anything follows."""

        def keep(error: BaseException | None) -> None:
            if isinstance(error, StoreError) and error.code not in _NO_MENDING:
                with self._saying:
                    self._unsaid.append(unit)

        try:
            said = self.store.write(unit)
        except StoreError as error:
            keep(error)
            raise
        said.add_done_callback(lambda done: keep(done.exception()))
        return said

    def _say_unsaid(self) -> None:
        with self._saying:
            kept, self._unsaid = self._unsaid, []
        for unit in kept:
            with suppress(StoreError):
                self._say(unit)

    def give_up_strays(self) -> int:
        self._say_unsaid()
        return super().give_up_strays()
