"""Codecs: how the values of one annotation become a tree and come back, without loss or not at all.

A tree says by itself what it holds (tags), and a codec says what was declared. Writing demands the declared type
exactly, subclasses included in the refusal, because reading could only bring the declared type back.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

from typing_extensions import override

from interlock.schema.compare import same
from interlock.schema.errors import SchemaError, not_decodable, not_storable
from interlock.schema.reasons import why_not
from interlock.schema.scalars import BIG_INT, FLOAT, Kind
from interlock.schema.tags import (
    MAX_SAFE_INT,
    Json,
    SecretRef,
    array_of,
    check_depth,
    check_text,
    shape,
    tag_of,
    tagged,
    text_of,
)

T = TypeVar("T")


class Codec(ABC):
    """How values of one annotation are stored.

    `type_name` is the annotation as people read it (`list[Booking]`). A codec is immutable and may be shared between
    threads.
    """

    type_name: str

    def encode(self, value: object, path: str = "value") -> Json:
        """Write a value as a tree of JSON types in the typed encoding.

        Raises SchemaError (`not_storable`) whose path starts with `path`.
        """
        try:
            return self.write(value, 0)
        except SchemaError as error:
            error.under(path)
            raise

    def decode(self, tree: object, path: str = "value") -> object:
        """Read a tree back as a value of the declared type; raises SchemaError (`not_decodable`)."""
        try:
            return self.read(tree, 0)
        except SchemaError as error:
            error.under(path)
            raise

    def check(self, value: object, path: str = "value") -> None:
        """Prove that a value survives the round trip: equal, of the same types, models field by field.

        Raises SchemaError: `not_storable`, or what decoding raises.
        """
        self.check_tree(value, self.encode(value, path), path)

    def check_tree(self, value: object, tree: Json, path: str = "value") -> None:
        """Prove that `tree`, made from `value` earlier, reads back as that value; raises like `check`."""
        if not same(self.decode(tree, path), value):
            raise SchemaError(path, "the value read back differs from the one stored", "not_storable")

    def renamed(self, type_name: str) -> Codec:
        """Return the same codec under another name for people (a NewType)."""
        twin = copy.copy(self)
        twin.type_name = type_name
        return twin

    @abstractmethod
    def write(self, value: object, depth: int) -> Json:
        """Encode a value that lies inside `depth` arrays and objects; errors carry the path from here on."""

    @abstractmethod
    def read(self, tree: object, depth: int) -> object:
        """Decode a tree that lies inside `depth` arrays and objects; errors carry the path from here on."""

    @abstractmethod
    def takes(self, value: object) -> bool:
        """Tell by the outside of a value whether this codec is the one for it (members of unions)."""

    @abstractmethod
    def knows(self, tree: object) -> bool:
        """Tell by the outside of a tree whether this codec is the one for it (members of unions)."""

    def parts(self) -> Iterable[Codec]:
        """Name the codecs inside this one."""
        return ()

    def claim(self) -> tuple[str, type[object]] | None:
        """Name what this codec decodes by name alone, which two members of a union cannot both do."""
        return None


class Native(Codec):
    """Null and booleans, which are themselves."""

    def __init__(self, kind: type[object], type_name: str) -> None:
        self.type_name = type_name
        self._kind = kind

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not self._kind:
            raise why_not(value, self.type_name)
        return cast("bool | None", value)

    @override
    def read(self, tree: object, depth: int) -> object:
        if type(tree) is not self._kind:
            raise not_decodable(f"expected {self.type_name}, found {shape(tree)}")
        return tree

    @override
    def takes(self, value: object) -> bool:
        return type(value) is self._kind

    @override
    def knows(self, tree: object) -> bool:
        return type(tree) is self._kind


class Text(Native):
    """Strings, which are themselves; those with lone surrogates are refused."""

    def __init__(self) -> None:
        super().__init__(str, "str")

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not str:
            raise why_not(value, self.type_name)
        if not value.isascii():
            check_text(value)
        return value


class Number(Codec):
    """Integers, and floats if `floating`.

    A bool is an int and an int is a float wherever Python's type checkers say so; each keeps its own form in the tree,
    so the value comes back as what it was.
    """

    def __init__(self, floating: bool) -> None:
        self.type_name = "float" if floating else "int"
        self._floating = floating

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is int:
            if -MAX_SAFE_INT <= value <= MAX_SAFE_INT:
                return value
            check_depth(depth + 1)
            return tagged("int", BIG_INT.write(value))
        if type(value) is bool:
            return value
        if self._floating and type(value) is float:
            check_depth(depth + 1)
            return tagged("float", FLOAT.write(value))
        raise why_not(value, self.type_name)

    @override
    def read(self, tree: object, depth: int) -> object:
        if type(tree) is bool or (type(tree) is int and -MAX_SAFE_INT <= tree <= MAX_SAFE_INT):
            return tree
        if self._floating and tag_of(tree) == "float":
            return read_scalar(FLOAT, tree)
        if tag_of(tree) == "int":
            return read_scalar(BIG_INT, tree)
        raise not_decodable(f"expected {self.type_name}, found {shape(tree)}")

    @override
    def takes(self, value: object) -> bool:
        return type(value) in (int, bool) or (self._floating and type(value) is float)

    @override
    def knows(self, tree: object) -> bool:
        return type(tree) in (int, bool) or tag_of(tree) in (("int", "float") if self._floating else ("int",))


def read_scalar(kind: Kind, tree: object) -> object:
    """Read the one string of a scalar kind, and only in the form in which it would be written."""
    text = text_of(tree, kind.tag)
    try:
        value = kind.read(text)
        exact = type(value) is kind.type and kind.write(value) == text
    except SchemaError as error:
        raise not_decodable(error.reason) from None
    except (ValueError, ArithmeticError, TypeError, NotImplementedError) as error:
        raise not_decodable(f"not a {kind.tag}: {error}"[:160]) from None
    if not exact:
        raise not_decodable(f"not a {kind.tag} in its one exact form")
    return value


class Scalar(Codec):
    """Kinds that are one tagged string: datetime, Decimal, bytes, UUID, Path and their like."""

    def __init__(self, kind: Kind) -> None:
        self.type_name = kind.name
        self._kind = kind

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not self._kind.type:
            raise why_not(value, self.type_name)
        check_depth(depth + 1)
        return tagged(self._kind.tag, self._kind.write(value))

    @override
    def read(self, tree: object, depth: int) -> object:
        return read_scalar(self._kind, tree)

    @override
    def takes(self, value: object) -> bool:
        return type(value) is self._kind.type

    @override
    def knows(self, tree: object) -> bool:
        return tag_of(tree) == self._kind.tag

    @override
    def claim(self) -> tuple[str, type[object]] | None:
        return self._kind.tag, self._kind.type


class Secret(Codec):
    """References to secrets; the secret itself is never here."""

    type_name = "secret"

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not SecretRef:
            raise why_not(value, self.type_name)
        reference: object = value.reference
        if type(reference) is not str:
            raise not_storable("the reference of a secret is a string")
        check_text(reference)
        check_depth(depth + 2)
        return tagged("secret", [reference])

    @override
    def read(self, tree: object, depth: int) -> object:
        (reference,) = array_of(tree, "secret", 1)
        if type(reference) is not str:
            raise not_decodable("the reference of a secret is a string")
        return SecretRef(reference)

    @override
    def takes(self, value: object) -> bool:
        return type(value) is SecretRef

    @override
    def knows(self, tree: object) -> bool:
        return tag_of(tree) == "secret"


class Literals(Codec):
    """A fixed list of values; `codecs` are those of the single values, in the same order."""

    def __init__(self, values: Sequence[object], codecs: Sequence[Codec]) -> None:
        self.type_name = f"one of {', '.join(map(repr, values))}"
        self._choices = [(codec.encode(value), value) for value, codec in zip(values, codecs, strict=True)]
        self._codecs = tuple(codecs)

    def choices(self) -> Sequence[tuple[Json, object]]:
        """Return the values with their trees."""
        return self._choices

    @override
    def write(self, value: object, depth: int) -> Json:
        for tree, choice in self._choices:
            if type(value) is type(choice) and value == choice:
                check_depth(depth + 2 if type(tree) is dict else depth)
                return copy.deepcopy(tree)
        raise why_not(value, self.type_name)

    @override
    def read(self, tree: object, depth: int) -> object:
        for known, choice in self._choices:
            if same(tree, known):
                return choice
        raise not_decodable(f"expected {self.type_name}, found {shape(tree)}")

    @override
    def takes(self, value: object) -> bool:
        return any(type(value) is type(choice) and value == choice for _, choice in self._choices)

    @override
    def knows(self, tree: object) -> bool:
        return any(same(tree, known) for known, _ in self._choices)

    @override
    def parts(self) -> Iterable[Codec]:
        return self._codecs


class Union(Codec):
    """One of several members, found by the exact type of a value or the tag of a tree, in declared order."""

    def __init__(self, members: Sequence[Codec]) -> None:
        self.type_name = " | ".join(member.type_name for member in members)
        self._members = tuple(members)

    @override
    def write(self, value: object, depth: int) -> Json:
        candidates = [member for member in self._members if member.takes(value)]
        if not candidates:
            raise why_not(value, self.type_name)
        return _first([lambda member=member: member.write(value, depth) for member in candidates])

    @override
    def read(self, tree: object, depth: int) -> object:
        candidates = [member for member in self._members if member.knows(tree)]
        if not candidates:
            raise not_decodable(f"expected {self.type_name}, found {shape(tree)}")
        return _first([lambda member=member: member.read(tree, depth) for member in candidates])

    @override
    def takes(self, value: object) -> bool:
        return any(member.takes(value) for member in self._members)

    @override
    def knows(self, tree: object) -> bool:
        return any(member.knows(tree) for member in self._members)

    @override
    def parts(self) -> Iterable[Codec]:
        return self._members


def _first(attempts: Sequence[Callable[[], T]]) -> T:
    """Take the first attempt that succeeds; the error of the one that came furthest says most."""
    errors: list[SchemaError] = []
    for attempt in attempts:
        try:
            return attempt()
        except SchemaError as error:
            errors.append(error)
    raise max(errors, key=lambda error: len(error.path))


NULL = Native(type(None), "None")
BOOL = Native(bool, "bool")
TEXT = Text()
INT = Number(floating=False)
FLOATING = Number(floating=True)
SECRET = Secret()
