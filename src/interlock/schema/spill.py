"""Large values: strings and bytes over a limit leave the tree, content-addressed, and come back into it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import cast

from interlock.schema.errors import SchemaError, key_path, not_decodable
from interlock.schema.tags import Json, array_of, tag_of, tagged

SPILL_LIMIT = 64 * 1024
TEXT_TYPE = "text/plain;charset=utf-8"
BYTES_TYPE = "application/octet-stream"

# Tags whose array holds further trees; the arrays of the others (enum, secret, opaque, blob) are their own affair.
_NESTING = frozenset({"tuple", "set", "frozenset", "map"})


def spill(tree: Json, limit: int, blob_digest: Callable[[bytes], str]) -> tuple[Json, dict[str, bytes]]:
    """Replace what is larger than `limit` bytes by references to blobs.

    Strings (UTF-8) and `bytes` over the limit become `{"$t": "blob", "v": [digest, size, media type]}`. Returns the
    tree (the same object if nothing is large) and the contents by digest. Keys of objects stay where they are.
    """
    if not _any_large(tree, limit):
        return tree, {}
    blobs: dict[str, bytes] = {}

    def store(data: bytes, media_type: str) -> Json:
        digest = blob_digest(data)
        blobs[digest] = data
        return tagged("blob", [digest, len(data), media_type])

    def replace(node: Json) -> Json:
        if type(node) is str:
            return store(node.encode(), TEXT_TYPE) if _large_text(node, limit) else node
        if tag_of(node) == "bytes":
            text = cast("dict[str, str]", node)["v"]
            return store(_from_base64(text), BYTES_TYPE) if _large_bytes(text, limit) else node
        return _rebuild(node, replace)

    return replace(tree), blobs


def fill(tree: Json, get: Callable[[str], bytes]) -> Json:
    """Put the contents of blobs back; the inverse of `spill`.

    `get` returns the bytes of a digest. Raises SchemaError (`not_decodable`) for contents of another size or kind.
    """

    def replace(node: Json) -> Json:
        return _contents(node, get) if tag_of(node) == "blob" else _rebuild(node, replace)

    return replace(tree)


def _contents(node: Json, get: Callable[[str], bytes]) -> Json:
    digest, size, media_type = array_of(node, "blob", 3)
    if type(digest) is not str:
        raise not_decodable("the digest of a blob is a string")
    data = get(digest)
    if len(data) != size:
        raise not_decodable(f"the blob has {len(data)} bytes, not {size}")
    if media_type == BYTES_TYPE:
        return tagged("bytes", base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii"))
    if media_type != TEXT_TYPE:
        raise not_decodable("the blob is of an unknown media type")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise not_decodable("the blob is not UTF-8") from None


def _rebuild(node: Json, replace: Callable[[Json], Json]) -> Json:
    """Copy one level of a tree, with what lies inside replaced."""
    if type(node) is list:
        return [_at(f"[{index}]", item, replace) for index, item in enumerate(node)]
    if type(node) is not dict:
        return node
    tag = tag_of(node)
    if tag is None:
        return {name: _at(key_path(name), item, replace) for name, item in node.items()}
    v = node.get("v")
    if tag in _NESTING and type(v) is list:
        return tagged(tag, [_at(f"[{index}]", item, replace) for index, item in enumerate(v)])
    if tag == "model" and type(v) is list and len(v) > 1:
        return tagged(tag, [v[0], replace(v[1]), *v[2:]])
    return node


def _at(path: str, node: Json, replace: Callable[[Json], Json]) -> Json:
    try:
        return replace(node)
    except SchemaError as error:
        error.under(path)
        raise


def _any_large(tree: Json, limit: int) -> bool:
    """Tell whether anything could be over the limit; most trees end here, uncopied.

    Every string counts, those of tags and keys too: a false alarm costs a copy.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if type(node) is str:
            if _large_text(node, limit):
                return True
        elif type(node) is list:
            waiting.extend(node)
        elif type(node) is dict:
            waiting.extend(node.values())
    return False


def _large_text(text: str, limit: int) -> bool:
    length = len(text)
    # A character is one to four bytes.
    return length > limit or (length * 4 > limit and not text.isascii() and len(text.encode()) > limit)


def _large_bytes(text: str, limit: int) -> bool:
    return len(text) * 3 // 4 > limit


def _from_base64(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise not_decodable("not bytes in base64url") from None
