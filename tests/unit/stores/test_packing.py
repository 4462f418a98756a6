"""Names, documents and leaves take less room and come back exactly."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.canonical import canonical_bytes, digest
from interlock.domain.action import Traits, Versions
from interlock.domain.decision import Shown
from interlock.domain.events import MATCHED, Event, EventType
from interlock.domain.ids import ActionId, EventId, InterruptId, RunId
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.tool import InterruptPolicy
from interlock.stores.sql import forms
from interlock.stores.sql.documents import pack_document, unpack_document
from interlock.stores.sql.event_rows import event_row, read_event
from interlock.stores.sql.leaves import TYPES, pack_leaf, unpack_leaf
from interlock.stores.sql.packing import pack, unpack
from interlock.stores.sql.times import instant, micros

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
UUIDS = st.uuids().map(str)
DIGESTS = st.binary(max_size=40).map(lambda data: digest({"x": data.hex()}))
NAMES = st.one_of(TEXT, UUIDS, UUIDS.map(str.upper), DIGESTS, DIGESTS.map(lambda text: text[8:]))
A_UUID = "0199a2b4-7c1e-7abc-8def-0123456789ab"


@given(NAMES)
@example("")
@example("f" * 8 + A_UUID[8:])
@example(A_UUID.replace("-", " "))
@example("sha-256:")
@example("sha-256:" + "A" * 42 + "B")
@example("fifteen letters")
@example("a" * 20 + "=")
def test_a_name_comes_back_exactly(name: str) -> None:
    assert unpack(pack(name)) == name


@given(NAMES, NAMES)
def test_no_two_names_are_packed_alike(one: str, other: str) -> None:
    assert (pack(one) == pack(other)) == (one == other)


@given(UUIDS, UUIDS)
def test_ids_sort_packed_as_they_do_in_text(one: str, other: str) -> None:
    if max(one, other) < "fd":
        assert (pack(one) < pack(other)) == (one < other)


def test_ids_digests_and_hashes_are_packed_small() -> None:
    assert len(pack(A_UUID)) == 16
    assert len(pack(digest({}))) == 33
    assert len(pack(digest({})[8:])) == 33
    assert pack("order-7") == b"\xfforder-7"


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda data: b"\x01" + data)))
@example(b"")
@example(b"\x00")
@example(b"\x01")
@example(b'{"agent":"agent:billing","arguments":{},"v":1}' * 100)
def test_a_document_comes_back_exactly(data: bytes) -> None:
    assert unpack_document(pack_document(data)) == data


def test_a_document_takes_about_half_the_room() -> None:
    document = canonical_bytes(
        {
            "agent": "agent:billing",
            "arguments": {"to": "ana@example.org", "subject": "Invoice 7", "body": "It is overdue."},
            "call": digest({})[8:40],
            "namespace": "default",
            "principal": "user:alice",
            "revision": 1,
            "run": "INV-7",
            "salt": "AAECAwQFBgcICQoLDA0ODw",
            "target": "",
            "tool": "send_email",
            "tool_rev": digest({}),
            "v": 1,
        }
    )
    assert len(pack_document(document)) < 0.6 * len(document)


BODIES = st.dictionaries(TEXT, st.one_of(TEXT, UUIDS, DIGESTS, st.integers(-5, 5), st.none()), max_size=4)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=2))])
FIRST, LAST = (datetime(year, 1, 1) for year in (1, 9999))  # noqa: DTZ001  hypothesis adds the zone
MOMENTS = st.datetimes(FIRST, LAST, timezones=ZONES)
EVENTS = st.builds(
    Event,
    id=NAMES.map(EventId),
    type=st.sampled_from(EventType),
    at=MOMENTS,
    actor=TEXT,
    run=st.none() | NAMES.map(RunId),
    action=st.none() | NAMES.map(ActionId),
    revision=st.none() | st.integers(0, 400),
    interrupt=st.none() | UUIDS.map(InterruptId),
    body=BODIES,
)


@given(EVENTS, TEXT, MOMENTS)
def test_a_leaf_comes_back_byte_for_byte(event: Event, namespace: str, now: datetime) -> None:
    leaf = canonical_bytes(event.envelope(namespace))
    kept = pack_leaf(leaf, event, namespace, micros(now))
    assert unpack_leaf(kept, namespace, None if event.run is None else pack(event.run), micros(now)) == leaf


@given(EVENTS, TEXT)
def test_an_event_comes_back_from_its_row(event: Event, namespace: str) -> None:
    run, at, free, leaf = event_row(event, namespace, micros(event.at))
    assert read_event((run, at, leaf), namespace) == event
    assert free == (event.type in MATCHED)


def an_event() -> Event:
    ids = [str(UUID(int=(7 << 76) + number)) for number in range(4)]
    return Event(
        id=EventId(ids[0]),
        type=EventType.ACTION_CLAIMED,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        run=RunId(ids[1]),
        action=ActionId(ids[2]),
        revision=1,
        interrupt=InterruptId(ids[3]),
        body={"fence": 1, "digest": digest({}), "process": ids[0]},
    )


def test_a_usual_leaf_takes_a_third_of_the_room() -> None:
    event = an_event()
    leaf = canonical_bytes(event.envelope("default"))
    assert len(pack_leaf(leaf, event, "default", micros(event.at))) < len(leaf) / 3


@pytest.mark.parametrize("change", [b'"v":2}', b'"v":1,"w":0}'])
def test_a_leaf_of_another_form_is_kept_as_it_is(change: bytes) -> None:
    event = an_event()
    leaf = canonical_bytes(event.envelope("default")).replace(b'"v":1}', change)
    assert pack_leaf(leaf, event, "default", micros(event.at)) == leaf
    assert unpack_leaf(leaf, "default", None, 0) == leaf


def test_every_type_of_event_has_its_number() -> None:
    assert set(TYPES) >= {kind.value for kind in EventType}
    assert len(set(TYPES)) == len(TYPES) < 256


@given(MOMENTS)
def test_a_time_comes_back_to_the_microsecond(at: datetime) -> None:
    assert instant(micros(at)) == at


def test_small_parts_come_back() -> None:
    traits = Traits("irreversible", True, False, True, False, ("outward",), "sha-256:x")
    assert forms.read_traits(forms.traits_bytes(traits)) == traits
    ruling = Ruling(
        InterruptPolicy.SOFT_CHECKPOINT, InterruptPolicy.HARD_STOP, (Reason("a", "b ä"), Reason("c", "d")), "p", "q",
        timedelta(microseconds=1), timedelta(days=400), timedelta(0),
    )  # fmt: skip
    assert forms.read_ruling(forms.ruling_bytes(ruling)) == ruling
    versions = Versions("1", "2", "3", "4")
    assert forms.read_versions(forms.versions_bytes(versions)) == versions
    assert forms.versions_bytes(Versions()) is None
    principal = Principal(PrincipalKind.OPERATOR, "bo", "oidc", "s")
    assert forms.read_principal(forms.principal_bytes(principal)) == principal
    shown = Shown("slack", "sha-256:x", ("a", "b"), None, "b1")
    assert forms.read_shown(forms.shown_bytes(shown)) == shown
    assert forms.read_shown(forms.shown_bytes(Shown())) == Shown()
