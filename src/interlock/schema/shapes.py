"""Shapes: a codec as plain data, so that a process without the tool's code can encode what a person writes.

A shape is JSON. Words: `any none bool str int float decimal datetime date time timedelta bytes uuid path windows_path
secret`. Objects of one key: `{"list": s}`, `{"tuple": [s…]}`, `{"tuple_of": s}`, `{"set": s}`, `{"frozenset": s}`,
`{"dict": [key, item]}`, `{"union": [s…]}`, `{"literal": [value…]}`, `{"ref": name}`, and

- `{"enum": [type, members]}`, each member `[name, stored name]` or `[name, stored name, value]`; the names differ for
  aliases; a third item, true, marks flags;
- `{"record": {key: [s, required]}}` for a TypedDict;
- `{"model": [type, {field: [s, required]}, options]}`; a field that is not required has its default, encoded, as JSON
  text in a third place. Options, none for a dataclass: `as` (`pydantic` or `namedtuple`), `alias` (field to the name
  in the JSON Schema) and `extra` (unknown fields are kept).

Literals that are not themselves in the encoding are `[tag, v, value]`. Types with a name are written once, apart:
`{"defs": {name: s}, "is": s}`; so a type may contain itself, and no shape is deep. No object in a shape has a key `$t`.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Mapping
from pathlib import PureWindowsPath
from typing import Any, cast

from interlock.schema.codecs import Codec, Literals, Native, Number, Scalar, Secret, Union
from interlock.schema.containers import ANY, Anything, DictOf, FixedTuple, ListOf, SetOf, TupleOf
from interlock.schema.errors import SchemaError
from interlock.schema.forms import tree_to_plain
from interlock.schema.models import EnumCodec, NamedTupleRecord, PydanticRecord, Record, TypedDictCodec, label_of
from interlock.schema.tags import TAG, Json

# Types nested deeper than this inside one definition get definitions of their own.
_DEEP = 12
_DEFAULT_LIMIT = 2000
# Factories whose product is the same every time.
_CONSTANT: frozenset[Any] = frozenset({list, dict, set, frozenset, tuple, str, int, float, bool, bytes})


def shape_of(codec: Codec) -> Json:
    """Describe what a codec writes."""
    reader = _Reader()
    shape = reader.of(codec, 0)
    return {"defs": reader.defs, "is": shape} if reader.defs else shape


class _Reader:
    """One walk through a codec; `defs` are the types with names that were met."""

    def __init__(self) -> None:
        self.defs: dict[str, Json] = {}
        self._names: dict[int, str] = {}

    def of(self, codec: Codec, depth: int) -> Json:
        word = _word(codec)
        if word is not None:
            return word
        if isinstance(codec, Record | TypedDictCodec):
            # A codec under another name is a copy, and shares its fields.
            return self._named(codec, id(codec.fields()))
        if isinstance(codec, EnumCodec):
            return self._named(codec, id(_class_of(codec)))
        if isinstance(codec, Literals):
            return {"literal": [_literal(tree, value) for tree, value in codec.choices()]}
        name = _container(codec)
        if name is None or depth > _DEEP:
            return self._named(codec, id(codec))
        return self._inside(codec, name, depth)

    def _inside(self, codec: Codec, name: str, depth: int) -> Json:
        parts = [self.of(part, depth + 2) for part in codec.parts()]
        return {name: parts if name in ("tuple", "dict", "union") else parts[0]}

    def _named(self, codec: Codec, key: int) -> Json:
        name = self._names.get(key)
        if name is None:
            label = name = codec.type_name[:60]
            while name in self.defs:
                name = f"{label}~{len(self.defs)}"
            self._names[key] = name
            self.defs[name] = None  # the name is taken
            self.defs[name] = self._definition(codec)
        return {"ref": name}

    def _definition(self, codec: Codec) -> Json:
        if isinstance(codec, Record):
            return {"model": self._model(codec)}
        if isinstance(codec, TypedDictCodec):
            return {"record": {key: [self.of(c, 0), key in codec.required] for key, c in codec.fields().items()}}
        if isinstance(codec, EnumCodec):
            return {"enum": _enum(cast("type[enum.Enum]", _class_of(codec)))}
        name = _container(codec)
        if name is not None:
            return self._inside(codec, name, 0)
        # What is left is an alias that names itself: another name for the one codec inside it.
        (target,) = codec.parts()
        return self.of(target, 0)

    def _model(self, codec: Record) -> list[Json]:
        cls = _class_of(codec)
        fields: dict[str, Json] = {}
        for name, part in codec.fields().items():
            default = _default(codec, cls, name, part)
            fields[name] = [self.of(part, 0), True] if default is None else [self.of(part, 0), False, default]
        label = cast("tuple[str, object]", codec.claim())[0].removeprefix("model ")
        options = _options(codec, cls)
        return [label, fields, options] if options else [label, fields]


def _class_of(codec: Codec) -> Any:
    """Return the class that a codec of named things is for."""
    return cast("tuple[str, type[object]]", codec.claim())[1]


def _word(codec: Codec) -> str | None:
    """Name the shape of a codec that is a word."""
    if isinstance(codec, Scalar):
        tag, kind = cast("tuple[str, type[object]]", codec.claim())
        return "windows_path" if issubclass(kind, PureWindowsPath) else tag
    if isinstance(codec, Number):
        return "float" if codec.takes(0.5) else "int"
    if isinstance(codec, Native):
        return "str" if codec.takes("") else "bool" if codec.takes(True) else "none"
    if isinstance(codec, Secret):
        return "secret"
    return "any" if isinstance(codec, Anything) else None


def _container(codec: Codec) -> str | None:
    if isinstance(codec, SetOf):
        return "frozenset" if codec.takes(frozenset[object]()) else "set"
    names: dict[type[Codec], str] = {
        ListOf: "list",
        TupleOf: "tuple_of",
        FixedTuple: "tuple",
        DictOf: "dict",
        Union: "union",
    }
    return names.get(type(codec))


def _literal(tree: Json, value: object) -> Json:
    if type(tree) is not dict:
        return tree
    plain = _plain_value(value) if isinstance(value, enum.Enum) else []
    if type(value) is bytes:
        plain = [value.decode(errors="replace")]
    return [tree[TAG], tree["v"], plain[0] if plain else cast("Json", tree_to_plain(tree))]


def _enum(cls: type[enum.Enum]) -> list[Json]:
    members: list[Json] = [
        [name, stored_name(member), *_plain_value(member)] for name, member in cls.__members__.items()
    ]
    return [label_of(cls), members, True] if issubclass(cls, enum.Flag) else [label_of(cls), members]


def stored_name(member: enum.Enum) -> str:
    """Return the name under which a member is stored, which is not that of an alias."""
    return "|".join(cast("str", bit.name) for bit in member) if isinstance(member, enum.Flag) else member.name


def _plain_value(member: enum.Enum) -> list[Json]:
    """Return the value of a member as the JSON Schema has it, or nothing if it is none that people would write."""
    if type(member.value) is bytes:
        return [member.value.decode(errors="replace")]
    try:
        plain = tree_to_plain(ANY.encode(member.value))
    except SchemaError:
        return []
    return [] if type(plain) is dict else [cast("Json", plain)]


def _default(codec: Record, cls: Any, name: str, part: Codec) -> str | None:
    """Return the default of a field as JSON text, or None if there is none that is always the same."""
    try:
        text = json.dumps(part.encode(_constant(codec, cls, name)), ensure_ascii=False, separators=(",", ":"))
    except SchemaError:
        return None
    return text if len(text) <= _DEFAULT_LIMIT else None


# Any: the class is known at run time only, and so are its defaults.
def _constant(codec: Record, cls: Any, name: str) -> Any:
    """Return the default of a field, or something that nothing can encode."""
    if isinstance(codec, NamedTupleRecord):
        return cls._field_defaults.get(name, dataclasses.MISSING)
    if isinstance(codec, PydanticRecord):
        field = cls.__pydantic_fields__[name]
        default = dataclasses.MISSING if field.is_required() else field.default
        factory = field.default_factory or dataclasses.MISSING
    else:
        field = next(field for field in dataclasses.fields(cls) if field.name == name)
        default, factory = field.default, field.default_factory
    if factory is dataclasses.MISSING:
        return default
    made: Any = factory() if isinstance(factory, type) and factory in _CONSTANT else dataclasses.MISSING
    return made


def _options(codec: Record, cls: Any) -> dict[str, Json]:
    options: dict[str, Json] = {}
    if isinstance(codec, NamedTupleRecord):
        options["as"] = "namedtuple"
    if isinstance(codec, PydanticRecord):
        options["as"] = "pydantic"
        if cls.model_config.get("extra") == "allow":
            options["extra"] = True
    fields: Mapping[str, Any] = getattr(cls, "__pydantic_fields__", {})
    aliases: dict[str, Json] = {name: alias for name, field in fields.items() if (alias := _alias(field)) is not None}
    if aliases:
        options["alias"] = aliases
    return options


# Any: Pydantic's FieldInfo, which is not imported as long as nobody uses it.
def _alias(field: Any) -> str | None:
    """Return the name that the JSON Schema has for a field, if it is another one."""
    alias = field.validation_alias
    for choice in getattr(alias, "choices", [alias]):
        path: list[object] = getattr(choice, "path", [choice])
        if len(path) == 1 and isinstance(path[0], str):
            return path[0]
    return None
