"""Whether recorded arguments are those that a test expects, and how they are written in a failure text."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.canonical import canonical_bytes
from interlock.display import plain
from interlock.schema import Json, SchemaError, codec_for, decode_result, encode_result, tree_to_plain

_LONGEST = 80


def matches(arguments: Mapping[str, Json], expected: Mapping[str, object]) -> bool:
    """Whether every expected argument is there with that value; those that are not named may be anything.

    A value is given as the code has it (`Decimal("480.00")`), as plain JSON (`"480.00"`), or as any object that is
    equal to one of the two (`unittest.mock.ANY`, `pytest.approx`).
    """
    return all(name in arguments and _same(value, arguments[name]) for name, value in expected.items())


def _same(expected: object, tree: Json) -> bool:
    exact = canonical_bytes(tree)
    if any(_stored(kind, expected) == exact for kind in (object, type(expected))):
        return True
    return any(
        isinstance(expected, bool) is isinstance(value, bool) and bool(expected == value)
        for value in (tree_to_plain(tree), _object(tree))
    )


def _stored(kind: type, value: object) -> bytes | None:
    """The canonical bytes of a value, of which `True` and `1` have different ones; None where it has none."""
    try:
        tree, whole = encode_result(codec_for(kind), value)
    except SchemaError:  # a type that no tool can declare
        return None
    return canonical_bytes(tree) if whole else None


def _object(tree: Json) -> object:
    """The value as the code had it, where its type is one that needs no declaration."""
    try:
        return decode_result(codec_for(object), tree)
    except SchemaError:
        return tree_to_plain(tree)


def call(tool: str, arguments: Mapping[str, object]) -> str:
    """A call on one line: `refund(order='88', amount='480.00')`; texts of agents are cleaned, long ones cut."""
    given = ", ".join(f"{plain(name, limit=40)}={_shown(value)}" for name, value in arguments.items())
    return f"{plain(tool, limit=60)}({given})"


def recorded_call(tool: str, arguments: Mapping[str, Json]) -> str:
    """A recorded call on one line."""
    return call(tool, {name: tree_to_plain(tree) for name, tree in arguments.items()})


def _shown(value: object) -> str:
    return plain(repr(value), limit=_LONGEST)
