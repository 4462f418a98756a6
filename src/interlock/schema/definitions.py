"""Reading a shape: following its references, and naming it for people. `shapes` says what a shape is."""

from __future__ import annotations

from typing import Any, cast

from interlock.schema.errors import not_decodable
from interlock.schema.tags import Json


class Definitions:
    """A shape that is being read: its definitions, and what each part is."""

    def __init__(self, shape: Json) -> None:
        whole = shape if type(shape) is dict and "is" in shape else {"is": shape}
        self._defs = cast("dict[str, Json]", whole.get("defs") or {})
        self.root = whole["is"]

    def kind(self, shape: Json) -> tuple[str, Any]:
        """Return the kind of a shape and what it says; references are followed."""
        for _ in range(len(self._defs) + 1):
            if type(shape) is str:
                return shape, None
            if type(shape) is not dict or len(shape) != 1:
                break
            ((kind, inner),) = shape.items()
            if kind != "ref":
                return kind, inner
            shape = self._defs.get(str(inner))
        raise not_decodable("the type that is recorded for it cannot be read")

    def name(self, shape: Json) -> str:
        """Name a shape for people."""
        if type(shape) is dict and "ref" in shape:
            return str(shape["ref"])
        kind, inner = self.kind(shape)
        if kind in ("union", "tuple", "dict"):
            names = [self.name(each) for each in inner]
            return " | ".join(names) if kind == "union" else f"{kind}[{', '.join(names)}]"
        if kind in ("list", "set", "frozenset", "tuple_of"):
            return f"{kind.partition('_')[0]}[{self.name(inner)}{', ...' if kind == 'tuple_of' else ''}]"
        if kind == "literal":
            values = [cast("list[object]", each)[2] if type(each) is list else each for each in inner]
            return f"one of {', '.join(map(repr, values))}"
        if kind in ("enum", "model"):
            return str(inner[0])
        return "object" if kind == "record" else kind
