"""Values of the typed encoding as people read them: the real type, and everything that is in them.

A value of one piece is shown as it is, with its type beside it. What is nested is written as a literal: texts in
quotation marks, other types as `Decimal("5.00")`, so that no text can pose as another type.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from interlock.display import LookAlike, look_alike, plain, spans
from interlock.domain.hiding import HIDDEN
from interlock.schema import Json

FOLD_CHARACTERS = 240
FOLD_LINES = 6
"""What is longer is folded: shown by its beginning and its length until it is opened."""

_LINE = 72
_SHORT = 60
_NAMES = {"float": "float", "int": "int", "decimal": "Decimal", "uuid": "UUID", "path": "Path"}
_HARMLESS = ("\n", "\r", "\t")


@dataclass(frozen=True, slots=True)
class Value:
    """A value for people: its type, all of its text, and what stands for it while it is folded (None: never)."""

    kind: str
    whole: str
    short: str | None = None

    @property
    def folded(self) -> bool:
        """Whether it is too long for the face of a card."""
        return self.short is not None


def value_of(name: str, tree: Json) -> Value:
    """Describe the value of an argument; `name` matters where it says that the value is a secret."""
    if isinstance(tree, str):
        return _text(name, tree)
    tag, v = _tagged(tree)
    if tag == "blob":
        digest, size, _ = cast("list[str]", v)
        said = f"{int(size):,} bytes, kept apart ({plain(digest, limit=24)})"
        return Value("large", said, said)
    if tag == "bytes":
        data = base64.urlsafe_b64decode(cast("str", v) + "==")
        return _foldable("bytes", f"{len(data):,} bytes: {data.hex(' ', 4)}", f"{len(data):,} bytes")
    if tag is not None and isinstance(v, str):
        return _foldable(_NAMES.get(tag, plain(tag, limit=20)), plain(v), "")
    if tag == "secret":
        return Value("secret", f"a reference: {plain(str(cast('list[Json]', v)[0]))}")
    if tree is None or isinstance(tree, (bool, int)):
        return Value(_kind(tree), literal(tree))
    lines = [plain(line) for line in pretty(tree)]
    return _foldable(_kind(tree), "\n".join(lines), _size(tree))


def _text(name: str, text: str) -> Value:
    # A name such as `password` makes its value a secret, which the sanitiser sees when both stand together.
    start = f"{name}=" if name.isascii() and name.isidentifier() and "\n" not in text else ""
    whole = plain(start + text, multiline=True)[len(start) :]
    if len(whole) <= FOLD_CHARACTERS and whole.count("\n") < FOLD_LINES:
        return Value("text", whole)
    beginning = plain(text, limit=_SHORT) if not start else plain(start + text, limit=_SHORT + len(start))[len(start) :]
    lines = text.count("\n") + 1
    size = f"{len(text):,} characters" + (f", {lines:,} lines" if lines > 1 else "")
    return Value("text", whole, f"{beginning.rpartition('… (')[0] or beginning}… {size}")


def _foldable(kind: str, whole: str, size: str) -> Value:
    if len(whole) <= FOLD_CHARACTERS and whole.count("\n") < FOLD_LINES:
        return Value(kind, whole)
    return Value(kind, whole, size or f"{whole[:_SHORT]}… {len(whole):,} characters")


def _tagged(tree: Json) -> tuple[str | None, Json]:
    if isinstance(tree, dict) and isinstance(tag := tree.get("$t"), str):
        return tag, tree.get("v")
    return None, None


def _kind(tree: Json) -> str:
    tag, v = _tagged(tree)
    if tag in ("model", "enum") and isinstance(v, list) and v:
        return plain(str(v[0]), limit=30)
    if tag is not None:
        return _NAMES.get(tag, plain(tag, limit=20))
    names: dict[type[object], str] = {bool: "bool", int: "int", list: "list", dict: "object", str: "text"}
    return names.get(type(tree), "nothing")


def _size(tree: Json) -> str:
    tag, v = _tagged(tree)
    inner = v if tag in ("tuple", "set", "frozenset", "map", "list") else tree
    inner = v[1] if tag == "model" and isinstance(v, list) and len(v) > 1 else inner
    if isinstance(inner, (list, dict)):
        noun = "field" if isinstance(inner, dict) else "item"
        return f"{len(inner):,} {noun}{'' if len(inner) == 1 else 's'}, beginning {plain(literal(tree), limit=40)}"
    return ""


def literal(tree: Json) -> str:
    """A value on one line, not yet fit to be shown: use `plain` on the whole line, so that it sees every secret."""
    if isinstance(tree, str):
        return json.dumps(tree, ensure_ascii=False)
    if tree is None or isinstance(tree, (bool, int)):
        return json.dumps(tree)
    if isinstance(tree, list):
        return f"[{', '.join(map(literal, tree))}]"
    tag, v = _tagged(tree)
    if tag is None:
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {literal(x)}" for k, x in _items(tree)) + "}"
    return _literal_of_tag(tag, v)


def _literal_of_tag(tag: str, v: Json) -> str:
    if tag in ("int", "float", HIDDEN):
        return str(v)
    if isinstance(v, str):
        return f"{_NAMES.get(tag, tag)}({json.dumps(v, ensure_ascii=False)})"
    parts = v if isinstance(v, list) else []
    if tag == "model" and len(parts) > 1:
        return f"{parts[0]}({', '.join(f'{k}={literal(x)}' for k, x in _items(parts[1]))})"
    if tag == "enum" and len(parts) > 1:
        return f"{parts[0]}.{parts[1]}"
    if tag == "blob" and len(parts) > 1:
        return f"({parts[1]} bytes, kept apart)"
    return f"{tag}({', '.join(map(literal, parts))})"


def _items(tree: Json) -> list[tuple[str, Json]]:
    return list(tree.items()) if isinstance(tree, dict) else []


def pretty(tree: Json, indent: int = 0) -> Iterator[str]:
    """A value on as many lines as it needs, each line not yet fit to be shown."""
    pad, short = "  " * indent, literal(tree)
    if len(short) + len(pad) <= _LINE or not isinstance(tree, (list, dict)):
        yield pad + short
        return
    tag, v = _tagged(tree)
    if tag == "model" and isinstance(v, list) and len(v) > 1:
        yield from _spread(f"{pad}{v[0]}(", [(f"{k}=", x) for k, x in _items(v[1])], f"{pad})", indent)
    elif tag is not None and isinstance(v, list):
        yield from _spread(f"{pad}{tag}(", [("", x) for x in v], f"{pad})", indent)
    elif isinstance(tree, list):
        yield from _spread(f"{pad}[", [("", x) for x in tree], f"{pad}]", indent)
    elif tag is None:
        parts = [(f"{json.dumps(k, ensure_ascii=False)}: ", x) for k, x in _items(tree)]
        yield from _spread(pad + "{", parts, pad + "}", indent)
    else:
        yield pad + short


def _spread(start: str, parts: list[tuple[str, Json]], end: str, indent: int) -> Iterator[str]:
    yield start
    for before, part in parts:
        lines = list(pretty(part, indent + 1))
        lines[0] = "  " * (indent + 1) + before + lines[0].lstrip(" ")
        lines[-1] += ","
        yield from lines
    yield end


def holds_blob(tree: Json) -> bool:
    """Whether something in it is kept apart because of its size."""
    if isinstance(tree, list):
        return any(map(holds_blob, tree))
    return isinstance(tree, dict) and (tree.get("$t") == "blob" or any(map(holds_blob, tree.values())))


def texts(tree: Json) -> Iterator[str]:
    """Every text in a value, keys included."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for each in tree:
            yield from texts(each)
    elif isinstance(tree, dict):
        tag, v = _tagged(tree)
        if tag is not None:
            yield from texts(v)
            return
        for key, each in tree.items():
            yield key
            yield from texts(each)


def disguised(text: str) -> int:
    """How many parts of a text hide or turn something: shown as tokens, or counted."""
    parts = spans(text, multiline=True)
    return sum(1 for part in parts if part.kind in ("token", "spaces") and part.text not in _ORDINARY)


def masked(text: str) -> int:
    """How many parts of a text are masked as secrets."""
    return sum(1 for part in spans(text, multiline=True) if part.kind == "mask")


_ORDINARY = frozenset(span.text for sign in _HARMLESS for span in spans(sign))


def impostor(text: str) -> LookAlike | None:
    """What a host, address or path pretends to be, or None; prose is not looked at."""
    if len(text) > 256 or any(map(str.isspace, text)) or not any(sign in text for sign in ".@:/"):
        return None
    return look_alike(text)


def arguments_json(arguments: Mapping[str, Json]) -> str:
    """Plain JSON of typed arguments, for an editor: ASCII, so that nothing in it is invisible; secrets masked."""
    from interlock.kernel.shown import shown_plain

    return json.dumps({name: shown_plain(name, tree) for name, tree in arguments.items()}, indent=2) + "\n"
