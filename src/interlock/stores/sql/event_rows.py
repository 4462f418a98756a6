"""Event <-> row: the leaf that the ledger will hash, and the columns that it is found by."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from interlock.canonical import Json, canonical_bytes, parse
from interlock.domain.events import MATCHED, Event, EventType
from interlock.domain.ids import EventId
from interlock.stores.sql.leaves import pack_leaf, unpack_leaf
from interlock.stores.sql.packing import pack
from interlock.stores.sql.rows import Row


def event_row(event: Event, namespace: str, now: int) -> Row:
    """The row of an event in a transaction at `now`; its leaf is what the ledger will hash.

    Raises `CanonicalError` where the body has no canonical form.
    """
    leaf = canonical_bytes(event.envelope(namespace), root="event")
    kept = pack_leaf(leaf, event, namespace, now)
    return (None if event.run is None else pack(event.run), now, int(event.type in MATCHED), kept)


def read_event(row: Row, namespace: str) -> Event:
    """An event from its `run`, `at` and `leaf`."""
    run, at, kept = row
    said = cast("dict[str, Any]", parse(unpack_leaf(kept, namespace, run, at), root="event"))
    return Event(
        id=EventId(said["id"]),
        type=EventType(said["type"]),
        at=datetime.fromisoformat(said["at"]),
        actor=said["actor"],
        run=said["run"],
        action=said["action"],
        revision=said["revision"],
        interrupt=said["interrupt"],
        body=cast("dict[str, Json]", said["body"]),
    )
