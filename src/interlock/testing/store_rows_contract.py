"""The part of the contract of stores that is about rows: what was written comes back, and every query's answer."""

# ruff: noqa: D102  tests: they assert, and their names are their sentences

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest

from interlock.domain.action import ActionState
from interlock.domain.errors import StoreError
from interlock.domain.ids import ActionId, DecisionId, EffectHash, InterruptId, ProcessId, RunId
from interlock.domain.interrupt import Ending, Interrupt
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import Freeze, Process, Run, RunState, Work, WorkKind
from interlock.ports.store import Change, Page, Rows, Store
from interlock.testing.clock import ManualClock
from interlock.testing.sample_rows import Samples
from interlock.testing.store_access_contract import StoreAccessContract
from interlock.testing.store_setting import everything

R = TypeVar("R")


class StoreRowsContract(StoreAccessContract):
    """Rows: each comes back as it was written, and each query answers what the port says."""

    def make_store(self, clock: Callable[[], datetime]) -> Store:
        """A new, empty store that goes by this clock."""
        raise NotImplementedError

    def reopen(self, store: Store) -> Store:
        """Close the store and open the same rows again (a store that keeps nothing may return itself)."""
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The clock of the store."""
        return ManualClock()

    @pytest.fixture
    def store(self, clock: ManualClock) -> Iterator[Store]:
        """A store that is closed after the test."""
        self.samples = Samples()
        store = self.make_store(clock)
        yield store
        store.close()

    def test_everything_that_a_change_holds_comes_back(self, store: Store, clock: ManualClock) -> None:
        change = everything(self.samples, clock())
        store.write(lambda _: change).result()
        (run,), (action,), (card,) = change.runs, change.actions, change.interrupts
        (process,), (freeze,), (work,) = change.processes, change.freezes, change.work

        def check(rows: Rows) -> None:
            assert rows.run(run.id) == run
            assert rows.action(action.id) == rows.action_of_call(run.id, action.call_key) == action
            assert rows.revision(action.id, 2) == change.revisions[1]
            assert rows.revisions(action.id) == change.revisions
            assert rows.interrupt(card.id) == card
            assert rows.interrupts_of_action(action.id) == [card]
            assert rows.decision(change.decisions[0].id) == change.decisions[0]
            assert rows.decisions_of_action(action.id) == change.decisions
            assert rows.process(process.id) == process
            assert rows.processes() == [process]
            assert rows.freezes() == [freeze]
            assert rows.policy(change.policies[0].agent) == change.policies[0]
            assert rows.policy("nobody") is None
            assert rows.work(work.id) == work
            assert {digest: rows.blob(digest) for digest in change.blobs} == change.blobs
            assert [event for _, event in rows.events(None, Page())] == change.events
            assert [event for _, event in rows.events(run.id, Page())] == [change.events[0], change.events[2]]

        store.read(check)
        again = self.reopen(store)
        try:
            again.read(check)
        finally:
            again.close()

    def test_what_is_not_there_is_none_or_nothing(self, store: Store) -> None:
        def look(rows: Rows) -> None:
            nobody = self.samples.new_id()
            assert rows.run(RunId(nobody)) is None
            assert rows.action(ActionId(nobody)) is None
            assert rows.revision(ActionId(nobody), 1) is None
            assert rows.interrupt(InterruptId(nobody)) is None
            assert rows.decision(DecisionId(nobody)) is None
            assert rows.process(ProcessId(nobody)) is None
            assert rows.work(nobody) is None
            assert rows.blob(nobody) is None
            assert not rows.actions_of_run(RunId(nobody))
            assert not rows.open_interrupts(Page())
            assert not rows.events(None, Page())
            assert rows.last_event() == 0
            assert not rows.runs([], Page())

        store.read(look)

    def test_a_row_takes_the_place_of_the_one_with_its_id(self, store: Store) -> None:
        run = self.start_run(store)
        action = store.write(self.samples.propose(run.id)).result()
        for unit in (self.samples.decide, self.samples.claim, self.samples.settle):
            action = store.write(unit(action.id)).result()
        assert action.state is ActionState.DONE
        assert store.read(lambda rows: rows.actions_of_run(run.id)) == [action]
        stricter = replace(
            action, traits=replace(action.traits, tool_rev="2"), ruling=replace(action.ruling, profile="x")
        )
        self.put(store, actions=[stricter])
        assert store.read(lambda rows: rows.action(action.id)) == stricter

    def test_revisions_and_decisions_are_only_added(self, store: Store) -> None:
        run = self.start_run(store)
        action = store.write(self.samples.propose(run.id)).result()
        store.write(self.samples.decide(action.id)).result()
        revision, decision = store.read(lambda rows: (rows.revision(action.id, 1), rows.decisions_of_action(action.id)))
        assert revision is not None
        assert self.code_of(store.write(lambda _: Change(None, revisions=[revision]))) == "store_inconsistent"
        assert self.code_of(store.write(lambda _: Change(None, decisions=decision))) == "store_inconsistent"

    def test_two_actions_cannot_stand_for_one_call(self, store: Store) -> None:
        run = self.start_run(store)
        action = store.write(self.samples.propose(run.id)).result()
        other = replace(action, id=ActionId(self.samples.new_id()))
        assert self.code_of(store.write(lambda _: Change(None, actions=[other]))) == "store_inconsistent"

    def test_a_blob_may_be_added_again(self, store: Store) -> None:
        for _ in range(2):
            self.put(store, blobs={"sha-256:x": b"the same"})
        assert store.read(lambda rows: rows.blob("sha-256:x")) == b"the same"

    # Listings.

    def test_runs_are_listed_newest_first_page_by_page(self, store: Store, clock: ManualClock) -> None:
        states = list(RunState)
        runs = [
            self.samples.run(clock.advance(timedelta(seconds=number % 3)), state=states[number % len(states)])
            for number in range(25)
        ]
        self.put(store, runs=runs)
        newest = sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True)

        def pages(wanted: Sequence[RunState]) -> list[Run]:
            return self.all_pages(lambda page: store.read(lambda rows: rows.runs(wanted, page)), 4)

        assert pages([]) == newest
        for wanted in ([RunState.WAITING], [RunState.WAITING, RunState.FAILED], states):
            assert pages(wanted) == [run for run in newest if run.state in wanted]
        assert store.read(lambda rows: rows.runs([], Page(after="no such run"))) == []

    def test_open_cards_are_listed_oldest_first_page_by_page(self, store: Store, clock: ManualClock) -> None:
        cards = self.open_cards(store, clock, 23)
        self.put(store, interrupts=[replace(card, ending=Ending.EXPIRED) for card in cards[::5]])
        still = [card for number, card in enumerate(cards) if number % 5]

        def page(at: Page) -> Sequence[Interrupt]:
            return store.read(lambda rows: rows.open_interrupts(at))

        assert self.all_pages(page, 4) == still
        # A card that was answered while somebody looked at its page still marks its place.
        assert page(Page(3, cards[5].id)) == still[4:7]
        assert page(Page(after="no such card")) == []

    def test_cards_are_due_when_their_time_has_come(self, store: Store, clock: ManualClock) -> None:
        cards = self.open_cards(store, clock, 6)
        now = clock()
        times = [now - timedelta(seconds=1), now, now + timedelta(microseconds=1), None, now - timedelta(hours=1), now]
        changed = [replace(card, expires_at=at) for card, at in zip(cards, times, strict=True)]
        changed[5] = replace(changed[5], ending=Ending.APPROVED)
        self.put(store, interrupts=changed)
        assert store.read(lambda rows: rows.due_interrupts(now, 10)) == [changed[4], changed[0], changed[1]]
        assert store.read(lambda rows: rows.due_interrupts(now, 1)) == [changed[4]]

    def test_work_is_due_unless_it_is_leased_or_poison(self, store: Store, clock: ManualClock) -> None:
        run, now, second = self.start_run(store), clock(), timedelta(seconds=1)
        mine = self.samples.process

        def work(due: datetime, **rest: Any) -> Work:
            return Work(self.samples.new_id(), WorkKind.RESUME, run.id, "s", due, **rest)

        plain, early = work(now), work(now - second)
        ended, leased = (work(now - 2 * second, process=mine, leased_until=now + one * second) for one in (0, 1))
        others = [work(now + second), work(now - second, poison=True), leased]
        self.put(store, work=[plain, early, ended, *others])
        assert store.read(lambda rows: rows.due_work(now, 10)) == [ended, early, plain]
        assert store.read(lambda rows: rows.due_work(now, 1)) == [ended]
        assert store.read(lambda rows: rows.work_of_process(mine)) == [ended, leased]
        self.put(store, work_done=[early.id], work=[replace(plain, poison=True)])
        assert store.read(lambda rows: rows.due_work(now, 10)) == [ended]
        poison = sorted([plain.id, others[1].id])

        def page(at: Page) -> Sequence[Work]:
            return store.read(lambda rows: rows.poison_work(at))

        assert [one.id for one in self.all_pages(page, 1)] == poison

    def test_events_are_read_from_a_position_on(self, store: Store) -> None:
        one, two = self.start_run(store), self.start_run(store)
        for number in range(9):
            store.write(self.tell((one, two)[number % 2].id, [str(number)])).result()
        everything = store.read(lambda rows: rows.events(None, Page()))
        assert store.read(lambda rows: rows.last_event()) == everything[-1][0]
        assert self.words(event for _, event in everything) == [str(number) for number in range(9)]
        after = str(everything[3][0])
        assert store.read(lambda rows: rows.events(None, Page(2, after))) == everything[4:6]
        assert store.read(lambda rows: rows.events(one.id, Page(2, after))) == [everything[4], everything[6]]
        with pytest.raises(StoreError) as raised:
            store.read(lambda rows: rows.events(None, Page(after="x")))
        assert raised.value.code == "bad_page"

    def test_actions_are_found_by_run_effect_and_claim(self, store: Store, clock: ManualClock) -> None:
        run, other, now = self.start_run(store), self.start_run(store), clock()
        one, first, _ = self.samples.action(run.id, now, seq=2)
        two, second, _ = self.samples.action(run.id, now, seq=1)
        far, third, _ = self.samples.action(other.id, now)
        effect = first.effect_hash
        again = replace(second, number=2)
        second = replace(second, effect_hash=EffectHash("another"))
        mine = self.samples.process
        one = replace(one, state=ActionState.EXECUTING, process=mine)
        far = replace(far, state=ActionState.ROLLING_BACK, process=mine)
        two = replace(two, state=ActionState.DONE, process=mine)
        self.put(store, actions=[one, two, far], revisions=[first, second, again, third])
        assert store.read(lambda rows: rows.actions_of_run(run.id)) == [two, one]
        assert store.read(lambda rows: rows.actions_with_effect(run.id, effect)) == [(two, 2), (one, 1)]
        assert store.read(lambda rows: rows.claims_of_process(mine)) == sorted([one, far], key=lambda each: each.id)
        self.put(store, actions=[replace(one, state=ActionState.DONE)])
        assert store.read(lambda rows: rows.claims_of_process(mine)) == [replace(far)]

    def test_actions_are_counted_by_run_and_by_tool_and_time(self, store: Store, clock: ManualClock) -> None:
        run, other = self.start_run(store), self.start_run(store)
        first = store.write(self.samples.propose(run.id)).result()
        clock.advance(timedelta(seconds=60))
        last = store.write(self.samples.propose(run.id, 1)).result()
        another, *_ = self.samples.action(other.id, last.proposed_at)
        self.put(store, actions=[replace(another, tool="another_tool", agent="another_agent")])

        def count(rows: Rows) -> list[int]:
            agent, tool = first.agent, first.tool
            return [
                rows.count_in_run(run.id, None),
                rows.count_in_run(run.id, tool),
                rows.count_in_run(other.id, tool),
                rows.count_calls(agent, tool, first.proposed_at, 10),
                rows.count_calls(agent, tool, first.proposed_at, 1),
                rows.count_calls(agent, tool, last.proposed_at, 10),
                rows.count_calls(agent, tool, last.proposed_at + timedelta(microseconds=1), 10),
                rows.count_calls("another_agent", tool, first.proposed_at, 10),
            ]

        assert store.read(count) == [2, 2, 0, 2, 1, 1, 0, 0]

    def test_runs_processes_and_freezes_are_found_while_they_count(self, store: Store, clock: ManualClock) -> None:
        now = clock()
        runs = [replace(self.samples.run(now + timedelta(seconds=number)), thread="t") for number in range(3)]
        runs[1] = replace(runs[1], state=RunState.WAITING)
        mine = self.samples.process
        lost = Process(ProcessId(self.samples.new_id()), "h", 1, "b", now, now, 30, lost=True)
        live = replace(lost, id=mine, lost=False)
        freezes = [Freeze("all", "", "bo", now), Freeze("run", runs[0].id, "bo", now + timedelta(seconds=1))]
        self.put(store, runs=runs, processes=[lost, live], freezes=freezes)
        assert store.read(lambda rows: rows.runs_of_process(mine)) == [runs[0], runs[2]]
        runs[0] = replace(runs[0], state=RunState.FINISHED)
        self.put(store, runs=runs[:1])
        found = [(runs[0].agent, runs[0].thread), ("another", runs[0].thread), (runs[0].agent, "another")]
        assert [store.read(lambda rows, f=f: rows.unended_run(*f)) for f in found] == [runs[2], None, None]
        assert store.read(lambda rows: rows.processes()) == [live]
        self.put(store, processes=[replace(live, lost=True)], released=[freezes[0]])
        assert store.read(lambda rows: (rows.processes(), rows.freezes())) == ([], [freezes[1]])
        first = PolicyVersion("billing", 1, "sha-256:" + "A" * 43, now)
        self.put(store, policies=[first])
        self.put(store, policies=[replace(first, epoch=2)])
        assert store.read(lambda rows: rows.policy("billing")) == replace(first, epoch=2)
        renewed = replace(freezes[1], reason="again")
        self.put(store, freezes=[renewed])
        assert store.read(lambda rows: rows.freezes()) == [renewed]
