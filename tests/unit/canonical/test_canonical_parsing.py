from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.canonical import MAX_INTEGER, CanonicalError, Json, canonical_bytes, parse

texts = st.text(st.characters(exclude_categories=["Cs"]))
trees: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
)


def refusal(data: bytes, root: str = "value") -> CanonicalError:
    with pytest.raises(CanonicalError) as caught:
        parse(data, root=root)
    return caught.value


@given(trees)
@example(1e20)
@example(-9007199254740992.0)
def test_canonical_text_can_always_be_read_again(tree: Json) -> None:
    encoded = canonical_bytes(tree)
    assert canonical_bytes(parse(encoded)) == encoded


@given(trees)
def test_any_spelling_of_a_tree_is_read_the_same(tree: Json) -> None:
    for text in (json.dumps(tree), json.dumps(tree, ensure_ascii=False, indent=2)):
        assert canonical_bytes(parse(text.encode())) == canonical_bytes(tree)


@given(st.binary(max_size=30) | st.text('[]{}":,0123456789eE+-.\\utrufalsn \n', max_size=30))
def test_whatever_can_be_read_has_one_canonical_form(raw: bytes | str) -> None:
    data = raw.encode() if isinstance(raw, str) else raw
    try:
        tree = parse(data)
    except CanonicalError:
        return
    encoded = canonical_bytes(tree)
    assert canonical_bytes(parse(encoded)) == encoded


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b'{"a":1,"a":2}', "value.a"),
        (b'{"a":1,"a":1}', "value.a"),
        (b'{"x":[{"a":1,"b":2,"\\u0062":3}]}', "value.x[0].b"),
        (b'{"x":{"a b":1.5,"a b":1.5}}', 'value.x["a b"]'),
    ],
)
def test_duplicate_keys_are_refused(data: bytes, path: str) -> None:
    error = refusal(data)
    assert (error.path, error.reason) == (path, "is a duplicate key")


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400"])
def test_numbers_that_are_not_finite_are_not_read(literal: bytes) -> None:
    assert str(refusal(b'{"n":[' + literal + b"]}", "args")) == "args.n[0] is not a finite number"


@pytest.mark.parametrize("literal", [b"9007199254740993", b"-9007199254740993", b"1234567890123456789", b"9" * 9000])
def test_integers_that_no_double_holds_are_refused(literal: bytes) -> None:
    error = refusal(b"[0," + literal + b"]")
    assert error.path == "value[1]"
    assert "integer beyond" in error.reason


def test_an_integer_literal_that_rfc_8785_writes_for_a_double_is_that_double() -> None:
    number = parse(b"100000000000000000000")
    assert type(number) is float
    assert number == 1e20
    assert type(parse(b"9007199254740992")) is float
    assert type(parse(b"9007199254740991")) is int


@pytest.mark.parametrize("data", [b'["\\ud800"]', b'["\\udc00\\ud800"]'])
def test_lone_surrogates_are_not_read(data: bytes) -> None:
    assert str(refusal(data)) == "value[0] has a lone surrogate"


def test_surrogate_pairs_are_one_character() -> None:
    assert parse(b'"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize("spaces", [b"", b" "])
def test_depth_is_bounded_whichever_way_the_text_is_written(spaces: bytes) -> None:
    assert canonical_bytes(parse(spaces + b"[" * 32 + b"]" * 32)) == b"[" * 32 + b"]" * 32
    for depth in (33, 200, 100_000):
        error = refusal(spaces + b"[" * depth + b"]" * depth)
        assert "nested more than 32 deep" in error.reason


@pytest.mark.parametrize(
    "data",
    [b"", b"[1", b"[1,]", b"{'a':1}", b"01", b"1 2", b'"\n"', b"\xef\xbb\xbf1", b"nul", b"+1"],
)
def test_what_is_not_json_is_refused(data: bytes) -> None:
    error = refusal(data, root="body")
    assert error.path == "body"
    assert error.reason.startswith("is not JSON: ")


@pytest.mark.parametrize("data", [b'"\xff"', b'"\xed\xa0\x80"', '"a"'.encode("utf-16")])
def test_other_encodings_than_utf_8_are_refused(data: bytes) -> None:
    assert refusal(data).reason.startswith("is not UTF-8 (at byte ")


@pytest.mark.parametrize(
    ("data", "tree"),
    [
        (b"null", None),
        (b"-0", 0),
        (b" [1, true , {} ]", [1, True, {}]),
        (b'{"b":1,"a":"\\u00e9"}', {"a": "\u00e9", "b": 1}),
        (b"[-0.0,1.0,2e3]", [0.0, 1.0, 2000.0]),
    ],
)
def test_ordinary_json_is_read(data: bytes, tree: Any) -> None:
    assert parse(data) == tree
