"""Names as few bytes: ids, digests and hashes are text in the domain and packed in the database.

A UUID is its 16 bytes. Anything else is a tag byte, 0xFD to 0xFF, and what it says: 32 bytes of a
SHA-256 digest, the bytes of a base64url text, or plain UTF-8. No text gives another's bytes, and each
text comes back exactly; UUIDs sort as their texts do.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from functools import lru_cache

_DIGEST = "sha-256:"
_TAG_TEXT = b"\xff"
_TAG_DIGEST = b"\xfe"
_TAG_BASE64 = b"\xfd"
FIRST_TAG = 0xFD

_SHORTEST_BASE64 = 20
"""Shorter texts are likelier words; packing them would save next to nothing."""


def pack_new(text: str) -> bytes:
    """Pack a name that is not likely to come again. Raises `UnicodeEncodeError` for a lone surrogate."""
    if len(text) == 36 and text[8] == text[13] == text[18] == text[23] == "-":
        packed = _hexadecimal(text.replace("-", ""))
        if packed is not None:
            return packed
    elif text.startswith(_DIGEST):
        raw = _base64(text[len(_DIGEST) :])
        if raw is not None:
            return _TAG_DIGEST + raw
    elif len(text) >= _SHORTEST_BASE64:
        raw = _base64(text)
        if raw is not None:
            return _TAG_BASE64 + raw
    return _TAG_TEXT + text.encode()


pack = lru_cache(maxsize=8192)(pack_new)
"""Pack a name, remembering it: the same few stand in all rows of an action's life."""


@lru_cache(maxsize=8192)
def unpack(packed: bytes) -> str:
    """The name that was packed."""
    tag = packed[:1]
    if packed[0] < FIRST_TAG:
        text = packed.hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
    if tag == _TAG_DIGEST:
        return _DIGEST + _base64_text(packed[1:])
    if tag == _TAG_BASE64:
        return _base64_text(packed[1:])
    return packed[1:].decode()


def _hexadecimal(text: str) -> bytes | None:
    """16 bytes, if the text is their lower-case form and they cannot be taken for a tag."""
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return None
    return raw if len(raw) == 16 and raw[0] < FIRST_TAG and raw.hex() == text else None


def _base64(text: str) -> bytes | None:
    """The bytes of unpadded base64url, if encoding them gives the very same text."""
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (NotBase64, ValueError):
        return None
    return raw if _base64_text(raw) == text else None


def _base64_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
