"""Large strings and bytes leave the tree and come back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.schema import SPILL_LIMIT, Json, SchemaError, codec_for, fill, spill


def digest(data: bytes) -> str:
    return "sha-256:" + hashlib.sha256(data).hexdigest()


@dataclass
class Mail:
    body: str
    files: list[bytes]


values = st.recursive(
    st.text("aä€😀", max_size=20) | st.binary(max_size=20) | st.integers() | st.booleans(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text("ab", max_size=3) | st.just("$t") | st.integers(), inner, max_size=3),
        st.sets(st.text("aä", max_size=20) | st.binary(max_size=20), max_size=3),
    ),
)


def sizes(tree: Json) -> list[int]:
    if isinstance(tree, str):
        return [len(tree.encode())]
    if isinstance(tree, dict):
        if tree.get("$t") == "bytes":
            return [len(tree["v"]) * 3 // 4]  # pyright: ignore[reportArgumentType] - of the tag bytes
        return [] if tree.get("$t") in ("blob", "int") else [size for item in tree.values() for size in sizes(item)]
    return [size for item in tree for size in sizes(item)] if isinstance(tree, list) else []


@given(values, st.integers(0, 12))
def test_filling_is_the_inverse_of_spilling(value: object, limit: int) -> None:
    tree = codec_for(Any).encode(value)
    spilled, blobs = spill(tree, limit, digest)
    assert all(size <= max(limit, len("frozenset")) for size in sizes(spilled))
    assert fill(json.loads(json.dumps(spilled)), blobs.__getitem__) == tree
    assert codec_for(Any).decode(fill(spilled, blobs.__getitem__)) == value
    assert all(digest(data) == name for name, data in blobs.items())


def test_a_tree_without_large_values_is_the_same_object() -> None:
    tree: Json = {"a": ["x" * SPILL_LIMIT, "ä" * (SPILL_LIMIT // 2), {"$t": "bytes", "v": "AA"}, 1, None]}
    spilled, blobs = spill(tree, SPILL_LIMIT, digest)
    assert spilled is tree
    assert not blobs
    assert fill(tree, blobs.__getitem__) == tree


def test_large_values_are_replaced_by_references() -> None:
    text, data = "ä" * (SPILL_LIMIT // 2 + 1), bytes(SPILL_LIMIT + 1)
    codec = codec_for(Mail)
    tree = codec.encode(Mail(text, [data, b"small"]))
    spilled, blobs = spill(tree, SPILL_LIMIT, digest)
    assert spilled == {
        "$t": "model",
        "v": [
            "Mail",
            {
                "body": {"$t": "blob", "v": [digest(text.encode()), SPILL_LIMIT + 2, "text/plain;charset=utf-8"]},
                "files": [
                    {"$t": "blob", "v": [digest(data), SPILL_LIMIT + 1, "application/octet-stream"]},
                    {"$t": "bytes", "v": "c21hbGw"},
                ],
            },
        ],
    }
    assert codec.decode(fill(spilled, blobs.__getitem__)) == Mail(text, [data, b"small"])


def test_the_limit_is_exact() -> None:
    codec = codec_for(Any)
    for value in ("x" * 10, "ä" * 5, bytes(10)):
        assert spill(codec.encode([value]), 10, digest)[1] == {}
        assert len(spill(codec.encode([value]), 9, digest)[1]) == 1


def test_names_of_types_and_members_stay_where_they_are() -> None:
    for tree in ({"$t": "enum", "v": ["Colour", "RED"]}, {"$t": "opaque", "v": ["a", "b", "c"]}):
        assert spill(tree, 0, digest) == (tree, {})
    assert spill({"$t": "model", "v": ["Long", {}, ["unset"]]}, 0, digest) == (
        {"$t": "model", "v": ["Long", {}, ["unset"]]},
        {},
    )


def test_users_data_that_looks_like_a_blob_is_not_one() -> None:
    value = {"$t": "blob", "v": ["d", 1, "text/plain;charset=utf-8"]}
    tree = codec_for(Any).encode(value)
    assert codec_for(Any).decode(fill(tree, {}.__getitem__)) == value


@pytest.mark.parametrize(
    ("v", "words"),
    [
        (["d", 5, "text/plain;charset=utf-8"], "has 3 bytes, not 5"),
        (["d", 3, "text/html"], "unknown media type"),
        (["d", 3, "text/plain;charset=utf-8"], "not UTF-8"),
        ([1, 3, "text/html"], "is a string"),
        (["d"], "needs 3 items"),
    ],
)
def test_contents_that_do_not_fit_are_refused_with_their_path(v: list[Json], words: str) -> None:
    tree: Json = {"a": [1, {"$t": "tuple", "v": [{"$t": "blob", "v": v}]}]}
    with pytest.raises(SchemaError, match=words) as caught:
        fill(tree, lambda _: b"\xff\xfe\xfd")
    assert caught.value.path == ".a[1][0]"
    assert caught.value.code == "not_decodable"


def test_bytes_that_are_not_base64url_are_refused() -> None:
    with pytest.raises(SchemaError, match="base64url"):
        spill({"$t": "bytes", "v": "a" * 9}, 1, digest)


def test_numbers_and_shapeless_tags_are_left_alone() -> None:
    tree: Json = [{"$t": "model", "v": "x"}, {"$t": "tuple", "v": "xx"}, {"$t": "decimal", "v": "1" * 99}, 1]
    assert spill(tree, 1, digest) == (tree, {})
    assert fill(tree, {}.__getitem__) == tree
