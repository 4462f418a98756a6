"""Fingerprints: a digest short enough for two people to compare."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode

_DIGEST = re.compile(r"sha-256:([A-Za-z0-9_-]{43})")
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_SYMBOLS = frozenset(_ALPHABET)
_MISREAD = str.maketrans("OIL", "011", "- \t")


def fingerprint(digest: str) -> str:
    """Shorten a digest to its first 40 bits in Crockford base32, like `7K3M-Q9TD`.

    It is for comparing by eye and tells 2^40 documents apart; it is not a proof and
    nothing may be looked up or authorised by it. Raises `ValueError` unless the digest
    is `sha-256:` and 43 characters of base64url.
    """
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise ValueError(f"not a sha-256 digest: {digest[:64]!a}")
    bits = int.from_bytes(urlsafe_b64decode(match[1] + "=")[:5], "big")
    return _grouped("".join(_ALPHABET[bits >> shift & 31] for shift in range(35, -1, -5)))


def parse_fingerprint(text: str) -> str | None:
    """Read a fingerprint as a person types it, or return None if it is not one.

    Lower case, missing or extra dashes and spaces, O for 0, and I or L for 1 are put
    right, as Crockford's base32 provides; the answer has the form of `fingerprint`.
    """
    if not text.isascii():  # upper() would turn a dotless i into I
        return None
    symbols = text.upper().translate(_MISREAD)
    if len(symbols) != 8 or not _SYMBOLS.issuperset(symbols):
        return None
    return _grouped(symbols)


def _grouped(symbols: str) -> str:
    return f"{symbols[:4]}-{symbols[4:]}"
