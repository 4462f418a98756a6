"""What every store does with credentials, openings and queues, as tests."""

# ruff: noqa: D102  tests: they assert, and their names are their sentences

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any

from interlock.domain.credential import Credential, CredentialKind, Opening
from interlock.domain.ids import CredentialId, InterruptId
from interlock.domain.interrupt import Band, Ending, Interrupt
from interlock.ports.store import EVERYTHING, Page, Queue, Store
from interlock.testing.clock import ManualClock
from interlock.testing.store_setting import StoreSetting


def credential(number: int, now: datetime, **given: Any) -> Credential:
    """A session, one of many."""
    name = CredentialId(f"00000000-0000-7000-8000-{number:012d}")
    return replace(Credential(name, CredentialKind.SESSION, "ana", "link", bytes([number % 256]) * 32, now), **given)


class StoreAccessContract(StoreSetting):
    """Part of `StoreContract`."""

    # -- credentials --------------------------------------------------------------------------------

    def test_a_credential_comes_back_as_it_was_given(self, store: Store, clock: ManualClock) -> None:
        now = clock()
        login = credential(1, now, kind=CredentialKind.LOGIN, expires_at=now + timedelta(minutes=15), label="laptop")
        session = credential(2, now, parent=login.id)
        self.put(store, credentials=[login, session])
        with_ends = replace(login, ended_at=now + timedelta(seconds=1), why="used")
        assert store.read(lambda rows: (rows.credential(login.id), rows.credential(session.id))) == (login, session)
        assert store.read(lambda rows: rows.credential(CredentialId("00000000-0000-7000-8000-000000000099"))) is None
        self.put(store, credentials=[with_ends])
        assert store.read(lambda rows: rows.credential(login.id)) == with_ends

    def test_credentials_are_listed_by_kind_newest_first_while_they_hold(
        self, store: Store, clock: ManualClock
    ) -> None:
        now = clock()
        made = [credential(number, now + timedelta(seconds=number)) for number in range(5)]
        key = credential(9, now, kind=CredentialKind.AGENT_KEY)
        self.put(store, credentials=[*made, key])
        self.put(store, credentials=[replace(made[2], ended_at=now, why="revoked")])
        listed = store.read(lambda rows: rows.credentials(CredentialKind.SESSION, Page(2)))
        assert list(listed) == [made[4], made[3]]
        rest = store.read(lambda rows: rows.credentials(CredentialKind.SESSION, Page(9, made[3].id)))
        assert list(rest) == [made[1], made[0]]
        nowhere = Page(9, "00000000-0000-7000-8000-000000000099")
        assert list(store.read(lambda rows: rows.credentials(CredentialKind.SESSION, nowhere))) == []
        assert list(store.read(lambda rows: rows.credentials(CredentialKind.AGENT_KEY, Page()))) == [key]

    def test_sessions_are_found_by_what_they_came_from(self, store: Store, clock: ManualClock) -> None:
        login = credential(1, clock(), kind=CredentialKind.LOGIN)
        ours = [credential(number, clock(), parent=login.id) for number in (2, 3)]
        self.put(store, credentials=[login, *ours, credential(4, clock())])
        self.put(store, credentials=[replace(ours[0], ended_at=clock(), why="signed out")])
        assert list(store.read(lambda rows: rows.sessions_from(login.id))) == [ours[1]]

    # -- openings -----------------------------------------------------------------------------------

    def test_an_opening_is_kept_once_for_each_person_and_part(self, store: Store, clock: ManualClock) -> None:
        card = InterruptId("00000000-0000-7000-8000-000000000001")
        first = Opening(card, "reviewer:ana", "body", clock())
        others = [replace(first, part="attached"), replace(first, by="reviewer:bo")]
        self.put(store, openings=[first, *others])
        self.put(store, openings=[replace(first, at=clock() + timedelta(hours=1))])
        found = store.read(lambda rows: rows.openings(card, "reviewer:ana"))
        assert list(found) == [others[0], first]
        assert list(store.read(lambda rows: rows.openings(card, "reviewer:cy"))) == []

    # -- the queue ----------------------------------------------------------------------------------

    def queue_of(self, store: Store, clock: ManualClock) -> list[Interrupt]:
        """Open cards of two agents and two tools in three bands, and one that is closed; in the queue's order."""
        cards: list[Interrupt] = []
        combinations = product((Band.OTHER, Band.IN_DOUBT, Band.COSTLY), ("billing", "support"), ("mail", "pay"))
        for band, agent, tool in combinations:
            clock.advance(timedelta(seconds=1))
            cards.append(self.add_card(store, band=band, agent=agent, tool=tool))
        closed = self.add_card(store, band=Band.IN_DOUBT, agent="billing", tool="mail")
        self.put(store, interrupts=[replace(closed, ending=Ending.REJECTED, ended_at=clock())])
        return sorted(cards, key=lambda card: (card.band, card.opened_at, card.id))

    def add_card(self, store: Store, **given: Any) -> Interrupt:
        """One more open card with a run and an action of its own."""
        run = self.start_run(store)
        now = store.read(lambda rows: rows.now)
        action, revision, card = self.samples.action(run.id, now)
        made = replace(card, **given)
        self.put(store, actions=[action], revisions=[revision], interrupts=[made])
        return made

    def test_cards_are_queued_by_band_and_in_each_by_age(self, store: Store, clock: ManualClock) -> None:
        cards = self.queue_of(store, clock)
        assert list(store.read(lambda rows: rows.open_interrupts(Page(100)))) == cards

    def test_paging_through_a_queue_meets_every_card_once_also_behind_a_closed_one(
        self, store: Store, clock: ManualClock
    ) -> None:
        cards = self.queue_of(store, clock)
        met: list[Interrupt] = []
        page = Page(5)
        while batch := store.read(lambda rows: list(rows.open_interrupts(page))):  # noqa: B023  read at once
            met += batch
            last = batch[-1]
            self.put(store, interrupts=[replace(last, ending=Ending.REJECTED, ended_at=clock())])
            page = Page(5, last.id)
        assert met == cards

    def test_a_queue_can_be_of_a_band_an_agent_a_tool_and_what_came_since(
        self, store: Store, clock: ManualClock
    ) -> None:
        cards = self.queue_of(store, clock)
        since = cards[3].opened_at
        queues = [
            Queue(band=Band.COSTLY),
            Queue(agent="billing"),
            Queue(tool="pay"),
            Queue(Band.IN_DOUBT, "support", "mail"),
            Queue(agent="billing", since=since),
            Queue(agent="nobody"),
        ]
        for queue in queues:
            wanted = [card for card in cards if queue.takes(card)]
            found = store.read(lambda rows: list(rows.open_interrupts(Page(100), queue)))  # noqa: B023  read at once
            assert found == wanted
            rest = store.read(lambda rows: list(rows.open_interrupts(Page(100, cards[4].id), queue)))  # noqa: B023
            assert rest == [card for card in cards[5:] if queue.takes(card)]
            count = store.read(lambda rows: rows.count_open(queue, 100))  # noqa: B023  read at once
            assert count == len(wanted)

    def test_a_count_goes_no_further_than_it_is_asked_to(self, store: Store, clock: ManualClock) -> None:
        self.queue_of(store, clock)
        assert store.read(lambda rows: (rows.count_open(EVERYTHING, 3), rows.count_open(EVERYTHING, 99))) == (3, 12)

    def test_a_page_of_cards_brings_what_belongs_to_each(self, store: Store, clock: ManualClock) -> None:
        cards = self.queue_of(store, clock)
        found = store.read(lambda rows: list(rows.open_cards(Page(7))))
        assert [card for card, *_ in found] == cards[:7]
        for card, action, run, revision in found:
            known = store.read(
                lambda rows, card=card: (
                    rows.action(card.action),
                    rows.run(card.run),
                    rows.revision(card.action, card.revision),
                )
            )
            assert (action, run, revision) == known
