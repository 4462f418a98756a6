"""Digests of documents and blobs, and the keyed hash of an effect."""

from __future__ import annotations

import hashlib
import hmac
from binascii import b2a_base64
from typing import Final

from interlock.canonical.encoding import canonical_bytes
from interlock.canonical.tree import CanonicalError, Json

ACTION_DOMAIN: Final = "interlock-action/v1"
"""Domain of action documents; every other kind of document uses one of its own."""

MIN_KEY: Final = 16
"""Bytes of the shortest HMAC key that is taken (128 bits; namespace keys have 32)."""

_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def digest(document: Json) -> str:
    """Digest an action document: `sha-256:` and 43 characters of unpadded base64url.

    The hash covers `interlock-action/v1`, a zero byte and the RFC 8785 bytes. Raises
    `CanonicalError` if the document has no canonical form.
    """
    return document_digest(canonical_bytes(document, root="action"))


def document_digest(data: bytes) -> str:
    """Digest an action document that is given as its canonical bytes (see `digest`)."""
    return digest_bytes(ACTION_DOMAIN, data)


def digest_bytes(domain: str, data: bytes) -> str:
    """Digest bytes under a domain, so that no two kinds of document share a digest.

    The domain is ASCII without a zero byte and not empty, like `interlock-action/v1`;
    anything else raises `ValueError`.
    """
    if not domain or not domain.isascii() or "\0" in domain:
        raise ValueError(f"not a digest domain: {domain!a}")
    return _sha256(domain.encode("ascii") + b"\0" + data)


def blob_digest(data: bytes) -> str:
    """Digest a blob without a domain: the same SHA-256 that any other tool computes."""
    return _sha256(data)


def effect_hash(key: bytes, tool: str, target: str, arguments: bytes) -> str:
    """Hash an effect with HMAC-SHA-256 under a namespace key: 43 characters of base64url.

    Equal hashes mean the same tool, target and canonical arguments. Each part is preceded
    by its length (8 bytes, big-endian), so that no two triples run into the same message.
    Raises `ValueError` for a key under 16 bytes and `CanonicalError` for a lone surrogate.
    """
    if len(key) < MIN_KEY:
        raise ValueError(f"an effect key has at least {MIN_KEY} bytes, not {len(key)}")
    named = (_utf8(tool, "tool"), _utf8(target, "target"), arguments)
    message = b"".join([piece for part in named for piece in (len(part).to_bytes(8, "big"), part)])
    return _base64url(hmac.digest(key, message, "sha256"))


def _utf8(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CanonicalError(name, "has a lone surrogate") from None


def _sha256(data: bytes) -> str:
    return "sha-256:" + _base64url(hashlib.sha256(data).digest())


def _base64url(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).translate(_URL_SAFE, b"=").decode("ascii")
