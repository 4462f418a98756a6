"""Documents in about half the space: deflated (RFC 1951) with a dictionary of what they all say.

    0x01, deflated with dictionary 1     what is smaller so
    0x00, the bytes                      what is not, and would else be taken for the above
    the bytes                            anything else; canonical JSON begins with a printable character

What comes back is what was written, byte for byte: a document is what was shown, hashed and run.
"""

from __future__ import annotations

import zlib

_PLAIN = b"\x00"
_DEFLATED_1 = b"\x01"
_WINDOW = -10
"""A window of 1 KiB, raw: enough for the dictionary, and quick to set up."""

# Frozen: what was deflated with it is read with it. A better one gets a number of its own.
_DICTIONARY_1 = (
    b'","considered":["uncertainty":[","expected":"","parents":["0","slices":{"recipient":"","messages":["sha-256:'
    b'{"agent_version":"1.0","confidence":{"$t":"float","v":"0.9"},"environment":"production","host":"","model":"",'
    b'"pid":1,"prompt":"","reasoning":"","tool":""}'
    b'"title":"","name":"","path":"","query":"","url":"https://","id":"","date":{"$t":"date","v":"20'
    b'"when":{"$t":"datetime","v":"2026-01-01T00:00:00+00:00"},"currency":"EUR","amount":{"$t":"decimal","v":"'
    b'"message":"","text":"","body":"","subject":"","to":"","cc":null,"force":false,"dry_run":true,"limit":10,'
    b'{"agent":"agent:","arguments":{"'
    b'},"call":"","namespace":"default","principal":"user:local","revision":1,"run":"0","salt":"","target":"",'
    b'"tool":"","tool_rev":"sha-256:","v":1}'
)

_BLANK = zlib.compressobj(6, zlib.DEFLATED, _WINDOW, 4, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY_1)


def pack_document(data: bytes) -> bytes:
    """The bytes as they are kept."""
    deflate = _BLANK.copy()  # setting one up anew costs as much as deflating a document
    packed = deflate.compress(data) + deflate.flush()
    if len(packed) + 1 < len(data):
        return _DEFLATED_1 + packed
    return _PLAIN + data if data[:1] in (_PLAIN, _DEFLATED_1) else data


def unpack_document(kept: bytes) -> bytes:
    """The bytes that were kept."""
    first = kept[:1]
    if first == _DEFLATED_1:
        inflate = zlib.decompressobj(_WINDOW, _DICTIONARY_1)
        return inflate.decompress(kept[1:]) + inflate.flush()
    return kept[1:] if first == _PLAIN else kept
