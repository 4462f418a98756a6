from __future__ import annotations

import base64
import hashlib
import hmac
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.canonical import (
    CanonicalError,
    blob_digest,
    canonical_bytes,
    digest,
    digest_bytes,
    document_digest,
    effect_hash,
    fingerprint,
    parse_fingerprint,
)

KEY = bytes(range(32))
FORM = re.compile(r"sha-256:[A-Za-z0-9_-]{43}")


def sha256(data: bytes) -> str:
    raw = hashlib.sha256(data).digest()
    return "sha-256:" + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def test_the_digest_is_the_hash_of_domain_zero_byte_and_canonical_bytes() -> None:
    assert digest({"v": 1, "a": "x"}) == sha256(b'interlock-action/v1\x00{"a":"x","v":1}')


def test_a_digest_never_changes_between_releases() -> None:
    assert digest({"tool": "payments.transfer", "v": 1}) == ("sha-256:eT3xDRWf9cy_gK9YLuq-RX0lWc2mLVD-LVJXhJjzVek")


def test_the_digest_of_bytes_is_that_of_the_document() -> None:
    document = {"b": [1, None, "\u00e9"], "a": {}}
    assert document_digest(canonical_bytes(document)) == digest(document)


def test_a_document_without_canonical_form_has_no_digest() -> None:
    with pytest.raises(CanonicalError, match=r"^action\.n is not a finite number$"):
        digest({"n": float("inf")})


def test_domains_keep_documents_of_different_kinds_apart() -> None:
    data = b"{}"
    found = {digest_bytes(f"interlock-{kind}/v1", data) for kind in ("action", "question", "reconcile")}
    assert len(found | {blob_digest(data)}) == 4
    assert digest_bytes("interlock-action/v1", data) == document_digest(data)


@pytest.mark.parametrize("domain", ["", "a\x00b", "d\u00f6main", "\ud800"])
def test_a_domain_that_could_be_mistaken_is_refused(domain: str) -> None:
    with pytest.raises(ValueError, match="digest domain"):
        digest_bytes(domain, b"")


@given(st.binary())
def test_a_blob_has_the_digest_that_any_tool_computes(data: bytes) -> None:
    assert blob_digest(data) == sha256(data)
    assert FORM.fullmatch(blob_digest(data))


def test_the_effect_hash_is_an_hmac_over_length_prefixed_parts() -> None:
    message = b"".join(len(part).to_bytes(8, "big") + part for part in (b"t\xc3\xa9", b"", b"{}"))
    expected = base64.urlsafe_b64encode(hmac.new(KEY, message, "sha256").digest()).rstrip(b"=")
    assert effect_hash(KEY, "t\u00e9", "", b"{}") == expected.decode()
    assert len(expected) == 43


parts = st.tuples(st.text("ab\0", max_size=3), st.text("ab\0", max_size=3), st.binary(max_size=3))


@given(parts, parts)
def test_effect_hashes_are_equal_only_for_equal_effects(one: tuple, other: tuple) -> None:
    assert (effect_hash(KEY, *one) == effect_hash(KEY, *other)) == (one == other)


def test_the_effect_hash_depends_on_the_key() -> None:
    assert effect_hash(KEY, "a", "b", b"") != effect_hash(KEY[::-1], "a", "b", b"")


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16 bytes, not 15"):
        effect_hash(b"k" * 15, "a", "b", b"")


def test_names_with_lone_surrogates_have_no_effect_hash() -> None:
    with pytest.raises(CanonicalError, match="tool has a lone surrogate"):
        effect_hash(KEY, "\ud800", "b", b"")
    with pytest.raises(CanonicalError, match="target has a lone surrogate"):
        effect_hash(KEY, "a", "\ud800", b"")


def test_the_fingerprint_is_the_first_forty_bits() -> None:
    zeros, ones = bytes(32), b"\xff" * 32
    for raw, shown in (
        (zeros, "0000-0000"),
        (ones, "ZZZZ-ZZZZ"),
        (b"\x00\x44\x32\x14\xc7" + zeros[5:], "0123-4567"),
    ):
        text = "sha-256:" + base64.urlsafe_b64encode(raw).decode().rstrip("=")
        assert fingerprint(text) == shown


@given(st.binary())
def test_a_fingerprint_is_read_back_however_it_is_typed(data: bytes) -> None:
    shown = fingerprint(blob_digest(data))
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}", shown)
    typed = shown.lower().replace("0", "o").replace("1", "l").replace("-", " ")
    for text in (shown, shown.replace("-", ""), f" {typed}\t", shown.replace("1", "I")):
        assert parse_fingerprint(text) == shown


@pytest.mark.parametrize("text", ["", "7K3M-Q9T", "7K3M-Q9TDD", "7K3M-Q9TU", "7K3M_Q9TD", "\u0131\u01310000000"])
def test_what_is_no_fingerprint_is_told_apart(text: str) -> None:
    assert parse_fingerprint(text) is None


@pytest.mark.parametrize("text", ["", "sha-256:abc", "sha-256:" + "a" * 44, "sha-256:" + "+" * 43])
def test_only_a_digest_has_a_fingerprint(text: str) -> None:
    with pytest.raises(ValueError, match="not a sha-256 digest"):
        fingerprint(text)
