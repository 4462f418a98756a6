"""Secrets that people type into prompts and agents copy into arguments."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

_MASK: Final = "\u2022" * 4

# A mask hides part of what is approved, so it must not be able to hide a command: values
# end at white space, quotes and everything that a shell acts upon.
_VALUE = r"[^\s\"'`$(){}\[\]<>|&;,\\]"

_NAMES = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key"
    r"|(?:access|account|private|secret)[_-]?key|credentials?)"
)

# What a value may say without being a secret. References such as env://NAME name one.
_HARMLESS = r"(?!(?:none|null|true|false|undefined|redacted)\b|[a-z][a-z0-9+.-]{1,20}://|\*{3})"

_START = r"(?<![A-Za-z0-9])"

# What it is, words of which the text (in lower case) must hold one, and the pattern. The
# words are there for speed: looking for them takes a fiftieth of the time.
_PATTERNS: Final = tuple(
    (meaning, tuple(words.split()), re.compile(pattern))
    for meaning, words, pattern in (
        (
            "private key",
            "-----begin",
            (
                r"(?P<secret>(?P<keep>-----BEGIN) [A-Z0-9 ]{0,30}PRIVATE KEY-----(?:\s|\\[rn])*+"
                r"(?:[A-Za-z-]{1,20}: [A-Za-z0-9,-]{1,80}+(?:\s|\\[rn])++){0,4}"
                r"(?:[A-Za-z0-9+/=]{40,}+(?:\s|\\[rn])*+)*+"
                r"(?:(?:[A-Za-z0-9+/=]{1,39}(?:\s|\\[rn])*+)?-----END [A-Z0-9 ]{0,30}PRIVATE KEY-----)?)"
            ),
        ),
        ("API key", "sk-", _START + r"(?P<secret>(?P<keep>sk-)[A-Za-z0-9_-]{16,})"),
        (
            "API key",
            "k_live_ k_test_ whsec_",
            _START + r"(?P<secret>(?P<keep>[spr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{10,})",
        ),
        (
            "GitHub token",
            "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
            _START + r"(?P<secret>(?P<keep>gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,})",
        ),
        ("GitLab token", "glpat-", _START + r"(?P<secret>(?P<keep>glpat-)[A-Za-z0-9_-]{20,})"),
        ("Slack token", "xox xapp-", _START + r"(?P<secret>(?P<keep>xox[abeoprs]-|xapp-)[A-Za-z0-9-]{10,})"),
        ("AWS key id", "akia asia", _START + r"(?P<secret>(?P<keep>AKIA|ASIA)[A-Z0-9]{16})(?![A-Za-z0-9])"),
        ("Google key", "aiza ya29.", _START + r"(?P<secret>(?P<keep>AIza|ya29\.)[A-Za-z0-9_-]{30,})"),
        (
            "package registry token",
            "npm_ hf_ pypi-",
            _START + r"(?P<secret>(?P<keep>npm_|hf_|pypi-)[A-Za-z0-9_-]{30,})",
        ),
        (
            "JSON web token",
            "eyj",
            r"(?<![A-Za-z0-9_-])(?P<secret>(?P<keep>eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)",
        ),
        ("credential of a request", "bearer", r"(?i:\bbearer)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,})"),
        (
            "credential of a request",
            "authorization",
            (
                r"(?i:\bauthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?basic)\s{1,4}"
                r"(?P<secret>[A-Za-z0-9+/=_-]{6,})"
            ),
        ),
        (
            "password in an address",
            "://",
            r"://[^\s/:@\"'<>]{0,256}:(?P<secret>[^\s/@\"'`$(){}\[\]<>|;\\]{1,256})@",
        ),
        (
            "value of a secret field",
            "pass pwd secret token key credential",
            rf"(?i:{_NAMES}[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?{_HARMLESS})(?P<secret>{_VALUE}{{4,}})",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Mask:
    """A secret in a text: where it stands, what is shown in its place, what it is."""

    start: int
    end: int
    shown: str
    meaning: str


def find_secrets(text: str) -> list[Mask]:
    """Find the secrets in a text, in order and not overlapping (see `mask_secrets`)."""
    lowered = text.lower()
    hits = [
        (match.span("secret"), match.groupdict().get("keep") or "", meaning)
        for meaning, words, pattern in _PATTERNS
        if any(word in lowered for word in words)
        for match in pattern.finditer(text)
    ]
    hits.sort(key=lambda hit: hit[0][0])  # stable: at one place the more telling pattern wins
    merged: list[tuple[tuple[int, int], str, str]] = []
    for (start, end), keep, meaning in hits:
        if merged and start < merged[-1][0][1]:
            # Two patterns saw parts of one secret: the mask covers what either covers.
            (first, last), kept, meant = merged[-1]
            merged[-1] = ((first, max(last, end)), kept, meant)
        else:
            merged.append(((start, end), keep, meaning))
    return [_mask(text[start:end], start, end, *rest) for (start, end), *rest in merged]


def mask_secrets(text: str) -> str:
    """Replace secrets in a text by masks such as `sk-…••••(sha256 ab12cd34)`.

    Known are the tokens of common services, private keys, JSON web tokens, credentials in
    headers and addresses, and `name=value` or `"name": "value"` where the name says secret.
    The suffix is the first 32 bits of SHA-256 of the secret (for a field, of its value), so
    that two masks can be compared; a weak password can be guessed from it. The rest of the
    text is unchanged and NOT safe to show: `spans` and `plain` do both.
    """
    pieces: list[str] = []
    at = 0
    for mask in find_secrets(text):
        pieces += (text[at : mask.start], mask.shown)
        at = mask.end
    pieces.append(text[at:])
    return "".join(pieces)


def _mask(secret: str, start: int, end: int, keep: str, meaning: str) -> Mask:
    suffix = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    shown = f"{keep}\u2026{_MASK}" if keep else _MASK
    return Mask(start, end, f"{shown}(sha256 {suffix})", f"{meaning}, {len(secret):,} characters, masked")
