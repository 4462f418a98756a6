"""The leaf of an event, kept in half the space, byte for byte.

A leaf is canonical JSON (RFC 8785) of the event's envelope; four fifths of it are names of fields and
ids in hexadecimal. Here it is taken apart into what only this event says. The form is frozen: it does
not follow the code of the domain, and a leaf that this form would not give back exactly, byte by
byte, is kept as it is. So what is read is what was written, whatever becomes of the code.

    form 1:  0x01, flags, 16 bytes of id, of action and of interrupt where flagged, 8 bytes of time
             where it is not the transaction's, revision, type, length of actor, actor, body
    as it is:  the leaf itself; it begins with `{`

In the body, texts that are an id or a digest are packed: 0xFF and 16 bytes, 0xFE and 32 bytes; no UTF-8 has
such bytes.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache

import orjson

from interlock.domain.events import Event
from interlock.stores.sql.packing import FIRST_TAG, pack, pack_new, unpack
from interlock.stores.sql.times import instant, micros

_FORM_1 = 1
_HAS_ACTION, _HAS_INTERRUPT, _HAS_REVISION, _HAS_RUN, _OWN_TIME = 1, 2, 4, 8, 16
_UUID = 16
_SMALL = 256

TYPES = (
    "RunStarted", "RunResumed", "RunWaiting", "RunFinished", "RunFailed", "RunCancelled", "RunDiverged",
    "RunNeedsAttention", "RunRetried", "RunPassLost", "CallRecorded", "ActionHeld", "ActionCleared", "ActionRefused",
    "ActionHeldAgain", "ActionClaimed", "ActionDone", "ActionFailed", "ActionInDoubt", "ActionReconciled",
    "ActionWithdrawn", "ActionSuperseded", "ActionRetried", "CompositeSuspended", "ReconcileOpened", "DecisionRecorded",
    "DecisionRefused", "LateRejectionRecorded", "ApprovalRevoked", "InterruptExpired", "SilenceProceeded",
    "LateOutcomeRecorded", "OutcomeConflicted", "RollbackStarted", "RollbackDone", "RollbackFailed",
    "RollbackConflicted", "FreezeSet", "FreezeReleased", "ProcessLost", "WorkPoisoned", "ActionGivenBack",
    "AnswerDelivered", "AgentDecided", "PolicyAdopted", "ValueRevealed", "CredentialIssued",
    "CredentialEnded", "SignedIn",
)  # fmt: skip
"""Types by their number in form 1. Append only: a number that was written keeps its meaning."""

_NUMBERS = {name: number for number, name in enumerate(TYPES)}

_NAMES = re.compile(
    rb'"(?:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})'
    rb'|sha-256:([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]))"'
)
_PACKED = re.compile(rb"\xff(.{16})|\xfe(.{32})", re.DOTALL)


def pack_leaf(leaf: bytes, event: Event, namespace: str, at: int) -> bytes:
    """The leaf of `event` as it is kept in a row at `at` (microseconds)."""
    packed = _form_1(leaf, event, namespace, at)
    return leaf if packed is None else packed


def unpack_leaf(kept: bytes, namespace: str, run: bytes | None, at: int) -> bytes:
    """The leaf, from what was kept and the other columns of its row."""
    if kept[0] != _FORM_1:
        return kept
    flags, place = kept[1], 2
    id_, place = _text(kept[place : place + _UUID]), place + _UUID
    action = interrupt = revision = run_text = "null"
    if flags & _HAS_ACTION:
        action, place = f'"{_text(kept[place : place + _UUID])}"', place + _UUID
    if flags & _HAS_INTERRUPT:
        interrupt, place = f'"{_text(kept[place : place + _UUID])}"', place + _UUID
    if flags & _OWN_TIME:
        at, place = int.from_bytes(kept[place : place + 8], "big", signed=True), place + 8
    if flags & _HAS_REVISION:
        revision, place = str(kept[place]), place + 1
    if flags & _HAS_RUN and run is not None:
        run_text = _json(unpack(run))
    kind, length = TYPES[kept[place]], kept[place + 1]
    place += 2
    actor = kept[place : place + length].decode()
    head, tail = _frame(action, actor, _iso(at), id_, interrupt, namespace, revision, run_text, kind)
    return head + _PACKED.sub(_name, kept[place + length :]) + tail


def _form_1(leaf: bytes, event: Event, namespace: str, at: int) -> bytes | None:
    number, actor, own = _NUMBERS.get(event.type.value), event.actor.encode(), micros(event.at)
    if number is None or len(actor) >= _SMALL:
        return None
    flags, parts = 0, [pack_new(event.id)]
    action = interrupt = revision = run = "null"
    if event.action is not None:
        flags |= _HAS_ACTION
        action = f'"{event.action}"'
        parts.append(pack(event.action))
    if event.interrupt is not None:
        flags |= _HAS_INTERRUPT
        interrupt = f'"{event.interrupt}"'
        parts.append(pack(event.interrupt))
    for one in parts:
        if len(one) != _UUID or one[0] >= FIRST_TAG:
            return None
    if own != at:
        flags |= _OWN_TIME
        parts.append(own.to_bytes(8, "big", signed=True))
    if event.revision is not None:
        if not 0 <= event.revision < _SMALL:
            return None
        flags |= _HAS_REVISION
        revision = str(event.revision)
        parts.append(bytes((event.revision,)))
    if event.run is not None:
        flags |= _HAS_RUN
        run = _json(event.run)
    head, tail = _frame(action, event.actor, _iso(own), event.id, interrupt, namespace, revision, run, TYPES[number])
    # Nothing is believed of the envelope: a leaf that does not begin and end exactly so is kept as it is.
    if not leaf.startswith(head) or not leaf.endswith(tail) or len(leaf) < len(head) + len(tail):
        return None
    body = _NAMES.sub(_packed, leaf[len(head) : len(leaf) - len(tail)])
    return b"".join((bytes((_FORM_1, flags)), *parts, bytes((number, len(actor))), actor, body))


def _frame(
    action: str, actor: str, at: str, id_: str, interrupt: str, namespace: str, revision: str, run: str, kind: str
) -> tuple[bytes, bytes]:
    """The leaf of form 1 before and after the body. Frozen."""
    return (
        f'{{"action":{action},"actor":{_json(actor)},"at":"{at}","body":'.encode(),
        f',"id":"{id_}","interrupt":{interrupt},"namespace":{_json(namespace)},"revision":{revision},"run":{run},'
        f'"type":"{kind}","v":1}}'.encode(),
    )


def _packed(match: re.Match[bytes]) -> bytes:
    uuid, digest = match[1], match[2]
    if uuid is not None:
        return b"\xff" + bytes.fromhex(uuid.replace(b"-", b"").decode())
    return b"\xfe" + urlsafe_b64decode(digest + b"=")


def _name(match: re.Match[bytes]) -> bytes:
    uuid, digest = match[1], match[2]
    return b'"%b"' % (_text(uuid).encode() if uuid is not None else b"sha-256:" + urlsafe_b64encode(digest)[:-1])


def _text(uuid: bytes) -> str:
    text = uuid.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@lru_cache(maxsize=64)
def _iso(at: int) -> str:
    return instant(at).isoformat(timespec="microseconds")


@lru_cache(maxsize=256)
def _json(text: str) -> str:
    return orjson.dumps(text).decode()
