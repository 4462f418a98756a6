"""What an agent knew when it made a call: its conversation, kept message by message.

Each message is a blob that names the one before it, so a conversation is kept once however many calls
are made in it, and the digest of its last message stands for the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from interlock.canonical import Json, blob_digest, canonical_bytes


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation up to a call. `head` names its last message, `added` are the blobs that may not be kept yet.

    `model` is what spoke last, with which `parameters`, as far as that is known.
    """

    head: str = ""
    added: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    model: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])


NOTHING_SAID = Conversation()
"""Where a framework tells of no conversation."""


def go_on(
    head: str, messages: Sequence[Json], model: str = "", parameters: Mapping[str, Json] = MappingProxyType({})
) -> Conversation:
    """The conversation after more messages; raises `CanonicalError` for what is no JSON."""
    added: dict[str, bytes] = {}
    for message in messages:
        data = canonical_bytes({"before": head, "message": message})
        head = blob_digest(data)
        added[head] = data
    return Conversation(head, added, model, parameters)
