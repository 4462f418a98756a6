"""From an annotation to its codec, once, when a tool is decorated."""

from __future__ import annotations

import dataclasses
import enum
import pathlib
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Annotated, Any, ForwardRef, Literal, NewType, TypeVar, cast, get_args, get_origin

from typing_extensions import override

from interlock.schema.codecs import BOOL, FLOATING, INT, NULL, SECRET, TEXT, Codec, Literals, Scalar, Union
from interlock.schema.containers import (
    ANY,
    SCALAR_CODECS,
    DictOf,
    FixedTuple,
    ListOf,
    SetOf,
    TupleOf,
    sequence_of,
    set_like,
)
from interlock.schema.errors import SchemaError, key_path, not_storable, short_repr
from interlock.schema.hints import class_hints, evaluate, is_alias_type, is_qualifier, substitute
from interlock.schema.models import (
    DataclassRecord,
    EnumCodec,
    NamedTupleRecord,
    PydanticRecord,
    Record,
    TypedDictCodec,
    label_of,
)
from interlock.schema.scalars import path_kind
from interlock.schema.tags import TAG, Json, SecretRef

_SIMPLE: dict[object, Codec] = {
    type(None): NULL,
    bool: BOOL,
    str: TEXT,
    int: INT,
    SecretRef: SECRET,
    object: ANY,
    **SCALAR_CODECS,
    float: FLOATING,
}

# Pydantic writes these as classes although their values are of the plain type.
_PYDANTIC_NAMES: dict[str, object] = {
    "EmailStr": str,
    "AwareDatetime": datetime,
    "NaiveDatetime": datetime,
    "PastDatetime": datetime,
    "FutureDatetime": datetime,
    "PastDate": date,
    "FutureDate": date,
}

STREAMS = (abc.Generator, abc.AsyncGenerator, abc.Iterator, abc.AsyncIterator, abc.Iterable, abc.AsyncIterable)

# Each is made of the codecs of its first and second type argument; without arguments it has the bare name.
_CONTAINERS: dict[object, Callable[[Codec, Codec, bool], Codec]] = {
    list: lambda item, _, full: ListOf(item, None if full else "list"),
    abc.MutableSequence: lambda item, _, full: ListOf(item, None if full else "list"),
    abc.Sequence: lambda item, _, full: sequence_of(item, f"Sequence[{item.type_name}]" if full else "Sequence"),
    set: lambda item, _, full: SetOf(item, frozen=False, type_name=None if full else "set"),
    abc.MutableSet: lambda item, _, full: SetOf(item, frozen=False, type_name=None if full else "set"),
    frozenset: lambda item, _, full: SetOf(item, frozen=True, type_name=None if full else "frozenset"),
    abc.Set: lambda item, _, full: set_like(item, f"Set[{item.type_name}]" if full else "Set"),
    dict: lambda key, item, full: DictOf(key, item, None if full else "dict"),
    abc.Mapping: lambda key, item, full: DictOf(key, item, None if full else "dict"),
    abc.MutableMapping: lambda key, item, full: DictOf(key, item, None if full else "dict"),
}

_cache: dict[object, Codec] = {}


def codec_for(annotation: object, *, namespace: Mapping[str, object] | None = None) -> Codec:
    """Return the codec of an annotation; the same annotation gives the same codec.

    `namespace` holds the names that annotations written as strings may use beside those of their module. Raises
    SchemaError (`not_storable`) for an annotation whose values have no typed encoding, and for a union of which two
    members could not be told apart when they are read.
    """
    # The repr is part of the key because `int | str` equals `str | int` and shows people another name.
    key = (annotation, repr(annotation)) if not namespace else None
    try:
        known = _cache.get(key) if key else None
    except TypeError:
        key, known = None, None
    if known is not None:
        return known
    codec = _Builder(namespace or {}).build(annotation)
    _check_unions(codec)
    if key:
        # Classes made inside functions would stay alive in a cache without a bound.
        if len(_cache) >= 2048:
            _cache.clear()
        codec = _cache.setdefault(key, codec)
    return codec


class _Builder:
    """One walk through an annotation; remembers the classes on the way, since a class may contain itself."""

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._classes: dict[object, Codec] = {}
        self._open_aliases: dict[object, _Later] = {}

    def build(self, annotation: object) -> Codec:
        if annotation is None or annotation is Any:
            return NULL if annotation is None else ANY
        if isinstance(annotation, str | ForwardRef):
            return self.build(evaluate(annotation, {}, self._namespace))
        if isinstance(annotation, NewType):
            return self.build(annotation.__supertype__).renamed(annotation.__name__)
        if isinstance(annotation, TypeVar):
            return self._type_var(annotation)
        origin = get_origin(annotation)
        if is_alias_type(annotation) or is_alias_type(origin):
            return self._alias(annotation)
        args: tuple[object, ...] = get_args(annotation)
        if origin is Annotated or is_qualifier(origin):
            return self.build(args[0])
        if origin is Literal:
            return Literals(args, [self.build(type(value)) for value in args])
        if origin is typing.Union or origin is types.UnionType:
            return Union([self.build(arg) for arg in args])
        if origin is not None:
            return self._generic(annotation, origin, args)
        return self._generic(annotation, annotation, ())

    def _type_var(self, variable: TypeVar) -> Codec:
        if variable.__constraints__:
            return Union([self.build(arg) for arg in variable.__constraints__])
        return self.build(variable.__bound__) if variable.__bound__ is not None else ANY

    # Any: a type alias is one of two classes, of `typing` or of `typing_extensions`.
    def _alias(self, annotation: Any) -> Codec:
        if annotation.__name__ == "JsonValue" and annotation.__module__.startswith("pydantic."):
            return ANY.renamed("JSON value")
        if annotation in self._open_aliases:
            return self._open_aliases[annotation]
        later = self._open_aliases[annotation] = _Later(str(annotation))
        alias = get_origin(annotation) or annotation
        bound = dict(zip(alias.__type_params__, get_args(annotation), strict=False))
        module = vars(sys.modules[alias.__module__]) if alias.__module__ in sys.modules else {}
        value = evaluate(alias.__value__, module, {**self._namespace, alias.__name__: alias})
        later.target = self.build(substitute(value, bound))
        del self._open_aliases[annotation]
        return later

    def _generic(self, annotation: object, origin: object, args: tuple[object, ...]) -> Codec:
        if not isinstance(origin, abc.Hashable):
            raise _unsupported(annotation)
        simple = _SIMPLE.get(origin)
        if simple is not None:
            return simple
        if origin is tuple:
            return self._tuple(annotation, args)
        make = _CONTAINERS.get(origin)
        if make is not None:
            return make(self._item(args, 0), self._item(args, 1), bool(args))
        if isinstance(origin, type):
            return self._class(annotation, cast("type[object]", origin), args)
        raise _unsupported(annotation)

    def _item(self, args: tuple[object, ...], index: int) -> Codec:
        return self._inner(args[index], "[]") if index < len(args) else ANY

    def _inner(self, annotation: object, path: str) -> Codec:
        try:
            return self.build(annotation)
        except SchemaError as error:
            error.under(path)
            raise

    def _tuple(self, annotation: object, args: tuple[object, ...]) -> Codec:
        if not args and get_origin(annotation) is None:
            return TupleOf(ANY, "tuple")
        if len(args) == 2 and args[1] is ...:
            return TupleOf(self._inner(args[0], "[]"))
        return FixedTuple([self._inner(arg, f"[{index}]") for index, arg in enumerate(args)])

    def _class(self, annotation: object, cls: type[object], args: tuple[object, ...]) -> Codec:
        known = self._classes.get(annotation)
        if known is not None:
            return known
        if issubclass(cls, pathlib.PurePath) and cls.__module__.partition(".")[0] == "pathlib":
            return Scalar(path_kind(cls))
        if issubclass(cls, enum.Enum) and cls.__members__:
            return EnumCodec(cls)
        if cls.__module__.startswith("pydantic.") and cls.__name__ in _PYDANTIC_NAMES:
            return self.build(_PYDANTIC_NAMES[cls.__name__])
        if dict in cls.__mro__ and hasattr(cls, "__required_keys__"):
            return self._typed_dict(annotation, cls, args)
        record = self._record(cls)
        if record is None:
            raise _unsupported(annotation)
        self._classes[annotation] = record
        record.fill(self._fields(cls, args))
        if args:
            return record.renamed(f"{label_of(cls)}[{', '.join(self.build(arg).type_name for arg in args)}]")
        return record

    def _record(self, cls: type[object]) -> Record | None:
        if dataclasses.is_dataclass(cls):
            return DataclassRecord(cls)
        if tuple in cls.__mro__ and hasattr(cls, "_fields"):
            return NamedTupleRecord(cls)
        # A class cannot be a model of Pydantic's before Pydantic is imported, and it is not imported to find out.
        pydantic = sys.modules.get("pydantic")
        if pydantic is not None and pydantic.BaseModel in cls.__mro__[1:]:
            return PydanticRecord(cls)
        return None

    def _fields(self, cls: type[object], args: tuple[object, ...]) -> dict[str, Codec]:
        fields: dict[str, Codec] = {}
        for name, hint in class_hints(cls, args, self._namespace).items():
            if name == TAG:
                raise SchemaError(key_path(name), "a field of this name cannot be stored", "not_storable")
            if isinstance(hint, dataclasses.InitVar):
                raise SchemaError(key_path(name), "an InitVar is not kept by the object, so not stored", "not_storable")
            fields[name] = self._inner(hint, key_path(name))
        return fields

    def _typed_dict(self, annotation: object, cls: type[object], args: tuple[object, ...]) -> Codec:
        codec = TypedDictCodec(cls)
        self._classes[annotation] = codec
        required: set[str] = set(getattr(cls, "__required_keys__", ()))
        for name, hint in class_hints(cls, args, self._namespace).items():
            # With postponed annotations the class itself could not see these marks.
            mark = str(get_origin(hint)).rpartition(".")[2]
            if mark == "NotRequired":
                required.discard(name)
            elif mark == "Required":
                required.add(name)
        codec.fill(self._fields(cls, args), required)
        return codec


class _Later(Codec):
    """The codec of a type alias that names itself, before and after its definition is known."""

    target: Codec

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    @override
    def write(self, value: object, depth: int) -> Json:
        return self.target.write(value, depth)

    @override
    def read(self, tree: object, depth: int) -> object:
        return self.target.read(tree, depth)

    @override
    def takes(self, value: object) -> bool:
        return self.target.takes(value)

    @override
    def knows(self, tree: object) -> bool:
        return self.target.knows(tree)

    @override
    def parts(self) -> Iterable[Codec]:
        return (self.target,)


def _unsupported(annotation: object) -> SchemaError:
    origin = get_origin(annotation) or annotation
    name = short_repr(annotation, 80)
    if isinstance(origin, type):
        name = origin.__name__
        if name in ("SecretStr", "SecretBytes"):
            return not_storable(f"a {name} would be stored in clear; declare a SecretRef")
        if origin in STREAMS:
            return not_storable(f"{name} is a stream, which is gone once it is read; declare a list or a Sequence")
    return not_storable(f"values of the type {name} cannot be stored")


def _reachable(codec: Codec, into_models: bool) -> list[Codec]:
    """List a codec and those inside it, each once; what a model contains is found by the name of the model."""
    found: dict[int, Codec] = {}
    waiting = [codec]
    while waiting:
        codec = waiting.pop()
        if id(codec) in found:
            continue
        found[id(codec)] = codec
        if into_models or not isinstance(codec, Record):
            waiting.extend(codec.parts())
    return list(found.values())


def _check_unions(codec: Codec) -> None:
    for union in _reachable(codec, into_models=True):
        if not isinstance(union, Union):
            continue
        claims: dict[str, type[object]] = {}
        for member in union.parts():
            for part in _reachable(member, into_models=False):
                name, cls = part.claim() or ("", object)
                if claims.setdefault(name, cls) is not cls:
                    raise not_storable(
                        f"two members of {union.type_name} are both stored as {name}, so they "
                        "cannot be told apart; rename one class"
                    )
