"""Codecs of things with named parts: dataclasses, Pydantic models, NamedTuples, TypedDicts and enums.

Models are written field by field and come back field by field. Reading runs no validator and no `__post_init__` over
the fields, since code that changes a value a second time would make what runs differ from what was approved; where a
class has such a hook it still runs, for whatever it keeps beside the fields, and the stored fields are put back.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from typing_extensions import override

from interlock.schema.codecs import Codec
from interlock.schema.containers import ANY
from interlock.schema.errors import SchemaError, key_path, not_decodable, not_storable
from interlock.schema.reasons import why_not
from interlock.schema.tags import (
    TAG,
    Json,
    array_of,
    check_depth,
    check_read_depth,
    check_text,
    is_object,
    shape,
    tag_of,
    tagged,
)


def label_of(cls: type[object]) -> str:
    """Name a class in the encoding: its qualified name, without module and enclosing functions.

    The module is left out because the same class is `__main__` in a script and `app` in a worker.
    """
    return cls.__qualname__.rpartition("<locals>.")[2]


def _named(tree: object, tag: str, label: str) -> bool:
    """Tell whether a tree is a `tag` of the class `label`."""
    if tag_of(tree) != tag:
        return False
    v = cast("dict[str, object]", tree).get("v")
    return type(v) is list and cast("list[object]", v)[:1] == [label]


class Record(Codec):
    """The common part of all models: `{"$t": "model", "v": [type, fields]}`."""

    def __init__(self, cls: type[object], type_name: str | None = None) -> None:
        self.type_name = type_name or label_of(cls)
        self._cls = cls
        self._label = label_of(cls)
        self._fields: dict[str, Codec] = {}

    def fill(self, fields: Mapping[str, Codec]) -> None:
        """Set the codecs of the fields, once, after the codec itself exists: a class may contain itself."""
        self._fields.update(fields)

    def fields(self) -> Mapping[str, Codec]:
        """Return the codecs of the fields by name, in order; twins of one codec share the mapping."""
        return self._fields

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not self._cls:
            raise why_not(value, self.type_name)
        check_depth(depth + 3)
        fields: dict[str, Json] = {}
        for name, codec in self._fields.items():
            try:
                fields[name] = codec.write(self._get(value, name), depth + 3)
            except SchemaError as error:
                error.under(key_path(name))
                raise
        return tagged("model", [self._label, fields])

    @override
    def read(self, tree: object, depth: int) -> object:
        v = array_of(tree, "model")
        if len(v) not in (2, 3) or type(v[1]) is not dict:
            raise not_decodable("a model is its type and its fields")
        if v[0] != self._label:
            raise not_decodable(f"expected {self.type_name}, found another model")
        check_read_depth(depth + 3)
        values: dict[str, object] = {}
        for name, codec in self._fields.items():
            try:
                # A field that the class did not have when the value was stored takes its default.
                values[name] = codec.read(v[1][name], depth + 3) if name in v[1] else self._default(name)
            except SchemaError as error:
                error.under(key_path(name))
                raise
        return self._make(values, v, depth + 3)

    @override
    def takes(self, value: object) -> bool:
        return type(value) is self._cls

    @override
    def knows(self, tree: object) -> bool:
        return _named(tree, "model", self._label)

    @override
    def parts(self) -> Iterable[Codec]:
        return self._fields.values()

    @override
    def claim(self) -> tuple[str, type[object]] | None:
        return f"model {self._label}", self._cls

    def _get(self, value: object, name: str) -> object:
        try:
            return getattr(value, name)
        except AttributeError:
            raise not_storable("the field has no value") from None

    def _default(self, name: str) -> object:
        raise not_decodable(f"the stored value has no {name}")

    @abstractmethod
    def _make(self, values: dict[str, object], v: list[Json], depth: int) -> object:
        """Build the object from the values of its fields; `v` is the stored array."""

    def _refuse_unknown(self, v: list[Json]) -> None:
        if len(v) != 2:
            raise not_decodable("a model of this kind is its type and its fields")
        unknown = cast("dict[str, object]", v[1]).keys() - self._fields.keys()
        if unknown:
            name = min(unknown)
            raise SchemaError(key_path(name), "the type has no such field", "not_decodable")


class DataclassRecord(Record):
    """Dataclasses, those of Pydantic included."""

    @override
    def _default(self, name: str) -> object:
        field = next(field for field in dataclasses.fields(cast("Any", self._cls)) if field.name == name)
        if field.default is not dataclasses.MISSING:
            return field.default
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
        return super()._default(name)

    @override
    def _make(self, values: dict[str, object], v: list[Json], depth: int) -> object:
        self._refuse_unknown(v)
        # Any: the class is known at run time only.
        cls: Any = self._cls
        if cls.__dataclass_params__.init and hasattr(cls, "__post_init__"):
            given = {field.name: values[field.name] for field in dataclasses.fields(cls) if field.init}
            try:
                made = cls(**copy.deepcopy(given))
            except Exception as error:
                raise not_decodable(f"{self.type_name} refused its own fields: {type(error).__name__}") from error
        else:
            made = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(made, name, value)
        return made


class NamedTupleRecord(Record):
    """NamedTuples, and subclasses of them that add methods."""

    @override
    def _default(self, name: str) -> object:
        # Any: the class is known at run time only.
        cls: Any = self._cls
        return cls._field_defaults[name] if name in cls._field_defaults else super()._default(name)

    @override
    def _make(self, values: dict[str, object], v: list[Json], depth: int) -> object:
        self._refuse_unknown(v)
        # Any: `tuple.__new__`, since the class may have another, is generic in a way that is known at run time only.
        return cast("Any", tuple).__new__(self._cls, values.values())


class PydanticRecord(Record):
    """Pydantic models.

    Which fields were left unset is part of the value (`exclude_unset` decides what a patch changes), so a model with
    unset fields has their sorted names as a third item. Private attributes are made anew.
    """

    @override
    def _get(self, value: object, name: str) -> object:
        # A model made without validation may lack fields, and `getattr` would find the method of the same name.
        if name not in value.__dict__:
            raise not_storable("the field has no value")
        return value.__dict__[name]

    @override
    def _default(self, name: str) -> object:
        # Any: the class is known at run time only.
        field = cast("Any", self._cls).__pydantic_fields__[name]
        return super()._default(name) if field.is_required() else field.get_default(call_default_factory=True)

    @override
    def write(self, value: object, depth: int) -> Json:
        tree = super().write(value, depth)
        # Any: the attributes that Pydantic gives to every model.
        model = cast("Any", value)
        v = cast("dict[str, list[Json]]", tree)["v"]
        fields = cast("dict[str, Json]", v[1])
        for name, extra in cast("dict[str, object]", model.__pydantic_extra__ or {}).items():
            try:
                if name == TAG:
                    raise not_storable("a field of this name cannot be stored")
                check_text(name)
                fields[name] = ANY.write(extra, depth + 3)
            except SchemaError as error:
                error.under(key_path(name))
                raise
        unset: list[Json] = [*sorted(self._fields.keys() - model.__pydantic_fields_set__)]
        if unset:
            v.append(unset)
        return tree

    @override
    def _make(self, values: dict[str, object], v: list[Json], depth: int) -> object:
        # Any: the class is known at run time only.
        cls: Any = self._cls
        unset = cast("list[object]", v[2]) if len(v) == 3 else []
        names = [name for name in unset if type(name) is str and name in self._fields] if type(unset) is list else []
        if len(v) == 3 and (not unset or names != unset or sorted(set(names)) != names):
            raise not_decodable("the third item of a model names its unset fields")
        extra: dict[str, object] | None = None
        if cls.model_config.get("extra") == "allow":
            stored = cast("dict[str, Json]", v[1])
            extra = {}
            for name in stored.keys() - self._fields.keys():
                try:
                    extra[name] = ANY.read(stored[name], depth)
                except SchemaError as error:
                    error.under(key_path(name))
                    raise
        else:
            self._refuse_unknown(v[:2])
        given = (self._fields.keys() | (extra or {}).keys()) - set(names)
        added = self._fields.keys() - cast("dict[str, Json]", v[1]).keys()
        state = {"__dict__": dict(values), "__pydantic_extra__": extra, "__pydantic_fields_set__": given - added}
        made = cls.__new__(cls)
        made.__setstate__({**state, "__pydantic_private__": None})
        if cls.__pydantic_post_init__:
            try:
                made.model_post_init(None)
            except Exception as error:
                raise not_decodable(f"{self.type_name} refused its own fields: {type(error).__name__}") from error
            made.__dict__.update(values)
            object.__setattr__(made, "__pydantic_fields_set__", state["__pydantic_fields_set__"])
        return made


class TypedDictCodec(Codec):
    """TypedDicts, which are plain objects; `fill` gives the fields, as in Record, and which keys are `required`."""

    def __init__(self, cls: type[object]) -> None:
        self.type_name = label_of(cls)
        self._fields: dict[str, Codec] = {}
        self.required: frozenset[str] = frozenset()

    def fill(self, fields: Mapping[str, Codec], required: Iterable[str]) -> None:
        """Set the codecs of the keys and tell which keys must be there."""
        self._fields.update(fields)
        self.required = frozenset(required)

    def fields(self) -> Mapping[str, Codec]:
        """Return the codecs of the keys."""
        return self._fields

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not dict:
            raise why_not(value, self.type_name)
        check_depth(depth + 1)
        items = cast("dict[str, object]", value)
        self._check_keys(items, not_storable)
        out: dict[str, Json] = {}
        for name, item in items.items():
            try:
                out[name] = self._fields[name].write(item, depth + 1)
            except SchemaError as error:
                error.under(key_path(name))
                raise
        return out

    @override
    def read(self, tree: object, depth: int) -> object:
        if not self.knows(tree):
            raise not_decodable(f"expected {self.type_name}, found {shape(tree)}")
        check_read_depth(depth + 1)
        items = cast("dict[str, object]", tree)
        self._check_keys(items, not_decodable)
        out: dict[str, object] = {}
        for name, item in items.items():
            try:
                out[name] = self._fields[name].read(item, depth + 1)
            except SchemaError as error:
                error.under(key_path(name))
                raise
        return out

    def _check_keys(self, items: Mapping[str, object], refuse: Callable[[str], SchemaError]) -> None:
        for name in items:
            if name not in self._fields or type(name) is not str:
                error = refuse(f"{self.type_name} has no such key")
                error.under(key_path(name))
                raise error
        missing = self.required - items.keys()
        if missing:
            error = refuse("the key is missing")
            error.under(key_path(min(missing)))
            raise error

    @override
    def takes(self, value: object) -> bool:
        return type(value) is dict

    @override
    def knows(self, tree: object) -> bool:
        return is_object(tree)

    @override
    def parts(self) -> Iterable[Codec]:
        return self._fields.values()


# Any: flags, of whichever class.
def _both(left: Any, right: Any) -> Any:
    return left | right


class EnumCodec(Codec):
    """Enum members by name: `{"$t": "enum", "v": [type, name]}`; flags are the names of their bits, with `|`."""

    def __init__(self, cls: type[enum.Enum]) -> None:
        self.type_name = self._label = label_of(cls)
        self._cls = cls

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not self._cls:
            raise why_not(value, self.type_name)
        check_depth(depth + 2)
        name = self._name(value)
        if self._member(name) is not value:
            raise not_storable(f"this value of {self.type_name} has no name")
        return tagged("enum", [self._label, name])

    def _name(self, value: enum.Enum) -> str:
        if isinstance(value, enum.Flag):
            return "|".join(cast("str", bit.name) for bit in value)
        return value.name

    def _member(self, name: object) -> enum.Enum | None:
        members = self._cls.__members__
        if type(name) is str and name in members:
            return members[name]
        if type(name) is str and issubclass(self._cls, enum.Flag):
            parts = name.split("|") if name else []
            if all(part in members for part in parts):
                return functools.reduce(_both, (members[part] for part in parts), self._cls(0))
        return None

    @override
    def read(self, tree: object, depth: int) -> object:
        label, name = array_of(tree, "enum", 2)
        if label != self._label:
            raise not_decodable(f"expected {self.type_name}, found another enum")
        member = self._member(name)
        if member is None:
            raise not_decodable(f"{self.type_name} has no such member")
        if self._name(member) != name:
            raise not_decodable(f"not a {self.type_name} in its one exact form")
        return member

    @override
    def takes(self, value: object) -> bool:
        return type(value) is self._cls

    @override
    def knows(self, tree: object) -> bool:
        return _named(tree, "enum", self._label)

    @override
    def claim(self) -> tuple[str, type[object]] | None:
        return f"enum {self._label}", self._cls
