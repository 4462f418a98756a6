"""What the tests of a store are made of: rows to write, units to run, listings to read to their end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from interlock.domain.action import ActionState, RefusalKind
from interlock.domain.credential import Credential, CredentialKind, Opening
from interlock.domain.decision import Shown, Verdict
from interlock.domain.errors import InterlockError
from interlock.domain.events import Event, EventType
from interlock.domain.ids import ActionId, CredentialId, DecisionId, InterruptId, RunId
from interlock.domain.interrupt import Band, Ending, Interrupt, InterruptKind
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import Freeze, Process, Run, Work, WorkKind
from interlock.ports.store import Change, Page, Rows, Store, Unit
from interlock.testing.clock import ManualClock
from interlock.testing.sample_rows import Samples

R = TypeVar("R")


class StoreSetting:
    """Short ways to fill a store and to read it."""

    samples: Samples

    def put(self, store: Store, **rows: Any) -> None:
        """Write rows as they are."""
        store.write(lambda _: Change(None, **rows)).result()

    def start_run(self, store: Store) -> Run:
        """A run of its own."""

        def start(rows: Rows) -> Change[Run]:
            run = self.samples.run(rows.now)
            return Change(run, runs=[run])

        return store.write(start).result()

    def open_cards(self, store: Store, clock: ManualClock, number: int) -> list[Interrupt]:
        """That many held actions; their cards in the order of their opening, some at the same instant."""
        run = self.start_run(store)
        for count in range(number):
            if count % 3 == 0:
                clock.advance(timedelta(seconds=1))
            store.write(self.samples.propose(run.id, count)).result()
        return list(store.read(lambda rows: rows.open_interrupts(Page(limit=number))))

    def tell(self, run: RunId, words: Sequence[str]) -> Unit[bool]:
        """A unit that records a free call for each word."""

        def tell(rows: Rows) -> Change[bool]:
            facts = [
                self.samples.event(EventType.CALL_RECORDED, rows.now, run=run, body={"word": word}) for word in words
            ]
            return Change(True, events=facts)

        return tell

    def increment(self, run: RunId) -> Unit[int]:
        """A unit that counts in a run and answers how far it is."""

        def increment(rows: Rows) -> Change[int]:
            found = rows.run(run)
            assert found is not None
            counted = replace(found, refusals=found.refusals + 1)
            return Change(counted.refusals, runs=[counted])

        return increment

    def count(self, store: Store, run: RunId) -> int:
        """How far `increment` has counted."""
        found = store.read(lambda rows: rows.run(run))
        assert found is not None
        return found.refusals

    @staticmethod
    def words(events: Iterable[Event]) -> list[str]:
        """What `tell` told."""
        return [str(event.body["word"]) for event in events]

    @staticmethod
    def code_of(future: Future[Any]) -> str:
        """The code of the error that the future holds."""
        error = future.exception()
        assert isinstance(error, InterlockError), error
        return error.code

    @staticmethod
    def all_pages(page: Callable[[Page], Sequence[R]], limit: int) -> list[R]:
        """Every row of a listing, read page by page."""
        rows: list[R] = []
        after: str | None = None
        while found := page(Page(limit, after)):
            rows += found
            after = str(getattr(found[-1], "id", ""))
        return rows

    @staticmethod
    def in_another_thread(call: Callable[[], R]) -> R:
        """What the call answers in a thread of its own."""
        answers: list[R] = []
        thread = threading.Thread(target=lambda: answers.append(call()))
        thread.start()
        thread.join()
        return answers[0]

    @staticmethod
    def wait_until(condition: Callable[[], bool]) -> None:
        """Look again until it is so; the time limit of the test is the only one."""
        pause = threading.Event()
        while not condition():
            pause.wait(0.005)


def everything(samples: Samples, now: datetime) -> Change[None]:
    """A change that holds one row at least of every kind, with nothing left at its default."""
    new_id = samples.new_id
    run = replace(
        samples.run(now, run="order 42, größer"),
        result=b"\x00\xff",
        stored=False,
        failure=b"{}",
        attention="look",
        refusals=2,
        accept_divergence=True,
        thread="t",
    )
    action, revision, card = samples.action(run.id, now)
    action = replace(
        action,
        parent=ActionId("a parent"),
        scope="s/1",
        attempt=3,
        state=ActionState.REFUSED,
        refusal=RefusalKind.REDIRECTED,
        words="not this\n…",
        refused_by="reviewer:ana",
        cleared_at=now,
        cleared_by=DecisionId(new_id()),
        fence=4,
        tries=2,
        process=samples.process,
        claimed_at=now + timedelta(microseconds=1),
        settled_at=now + timedelta(microseconds=2),
        result=b"r",
        stored=False,
        failure=b"f",
        answered_by="probe",
        retried=True,
    )
    second = replace(revision, number=2, facts=b"", by=DecisionId(new_id()), document=b"\x01 no json")
    card = replace(
        card,
        kind=InterruptKind.RECONCILE,
        previous=InterruptId(new_id()),
        document=b"{}",
        expires_at=None,
        ending=Ending.PROCEEDED,
        ended_at=now,
        decision=DecisionId(new_id()),
        band=Band.PROCEEDS,
        agent="agent:ä",
        tool="payments.transfer",
    )
    decision = replace(
        samples.decision(card, now, Verdict.RESPOND),
        note="a note",
        value=b"42",
        shown=Shown("slack", "sha-256:x", ("diff", "facts"), 1200, "b1"),
        mode="solo",
    )
    work = Work(new_id(), WorkKind.RESUME, run.id, "subject", now, 3, samples.process, now, "an error", True)
    blob = {"sha-256:" + "A" * 43: b"\x00" * 70_000, "short": b""}
    events = [
        samples.event(EventType.ACTION_HELD, now, action=action, actor="agent:ä", body={"digest": card.digest}),
        samples.event(EventType.FREEZE_SET, now - timedelta(days=1), body={"deep": [{"$t": "float", "v": "1.0"}]}),
        replace(samples.event(EventType.RUN_WAITING, now, run=run.id), action=ActionId("x"), revision=1000),
    ]
    return Change(
        None,
        runs=[run],
        actions=[action],
        revisions=[revision, second],
        interrupts=[card],
        decisions=[decision, replace(samples.decision(card, now + timedelta(seconds=1)), shown=Shown())],
        processes=[Process(samples.process, "host/boot", 4242, "born", now, now, 30.5)],
        freezes=[Freeze("tool", "payments.transfer", "operator:bo", now, "audit")],
        policies=[PolicyVersion("agent:ä", 7, "sha-256:" + "B" * 43, now)],
        credentials=[_login(samples, now)],
        openings=[Opening(card.id, "reviewer:ana", "body", now)],
        work=[work],
        blobs=blob,
        events=events,
    )


def _login(samples: Samples, now: datetime) -> Credential:
    name, parent = CredentialId(samples.new_id()), CredentialId(samples.new_id())
    kind = CredentialKind.LOGIN
    return Credential(name, kind, "ana", "link", b"\x00" * 32, now, now, "phone", parent, now, "used")
