"""Reading a signature: which parameters are arguments, of which types, with which defaults."""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from inspect import Parameter, Signature
from typing import Annotated, Any, Optional, Union, cast, get_args, get_origin
from uuid import UUID

from interlock.schema.annotations import codec_for
from interlock.schema.codecs import Codec
from interlock.schema.errors import SchemaError
from interlock.schema.hints import annotation_of, namespace_of

# Validation leaves values of exactly these types as they are, if the annotation says nothing more.
_PLAIN = frozenset(
    {str, int, float, bool, bytes, type(None), date, datetime, timedelta, Decimal, UUID},
)


@dataclass(slots=True)
class Argument:
    """One parameter that is an argument: everything that is known of it when the tool is decorated.

    `plain` holds the exact types that need no validation (None: validation is needed). `factory` makes a default anew
    from the values of the other arguments.
    """

    name: str
    kind: Any
    annotation: Any
    codec: Codec
    plain: frozenset[type[object]] | None
    has_default: bool
    default: object = None
    factory: Callable[[Mapping[str, object]], object] | None = None

    def fresh_default(self) -> object:
        """Return the default, copied if somebody could change it."""
        return self.default if type(self.default) in _PLAIN else copy.deepcopy(self.default)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a signature says: the whole of it, the part an agent sees, and the arguments."""

    signature: Signature
    visible: Signature
    takes_self: bool
    arguments: tuple[Argument, ...]
    namespace: Mapping[str, object]


def read_arguments(fn: Callable[..., object], hide: frozenset[str]) -> Reading:
    """Read the signature of a callable without the parameters in `hide`; raises SchemaError (`not_storable`)."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError) as error:
        what = "put the decorator under @classmethod" if isinstance(fn, classmethod) else str(error)
        raise SchemaError("args", f"no signature: {what}", "not_storable") from error
    unknown = sorted(hide - signature.parameters.keys())
    if unknown:
        raise SchemaError(f"args.{unknown[0]}", "is to be hidden, but there is no such parameter", "not_storable")
    takes_self = _takes_self(fn, signature)
    namespace = namespace_of(fn)
    arguments: list[Argument] = []
    parameters: list[Parameter] = []
    for index, parameter in enumerate(signature.parameters.values()):
        if parameter.name in hide or (takes_self and index == 0):
            continue
        try:
            annotation = annotation_of(fn, parameter.annotation, namespace)
            arguments.append(_argument(parameter, annotation, namespace))
        except SchemaError as error:
            error.under(f"args.{parameter.name}")
            raise
        parameters.append(parameter.replace(annotation=annotation))
    resolved = {parameter.name: parameter for parameter in parameters}
    whole = [resolved.get(name, parameter) for name, parameter in signature.parameters.items()]
    return Reading(
        signature.replace(parameters=whole),
        signature.replace(parameters=parameters),
        takes_self,
        tuple(arguments),
        namespace,
    )


def _takes_self(fn: Callable[..., object], signature: Signature) -> bool:
    """Tell whether a function stands in a class and its first parameter is the instance or the class."""
    if not isinstance(fn, types.FunctionType):
        return False
    around = fn.__qualname__.rpartition(".")[0]
    first = next(iter(signature.parameters.values()), None)
    return (
        bool(around)
        and not around.endswith("<locals>")
        and first is not None
        and first.name in ("self", "cls")
        and first.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    )


def _argument(parameter: Parameter, annotation: Any, namespace: Mapping[str, object]) -> Argument:
    kind = parameter.kind
    default: object = parameter.default
    if kind is Parameter.VAR_POSITIONAL:
        annotation, default = tuple[annotation, ...], ()
    elif kind is Parameter.VAR_KEYWORD:
        annotation = _keywords(annotation)
        default = Parameter.empty if getattr(annotation, "__required_keys__", None) else {}
    has_default = default is not Parameter.empty
    annotation, field = _split_field(annotation, default)
    factory = None
    if field is not None:
        has_default = not field.is_required()
        default, factory = _field_default(field) if has_default else (None, None)
    codec = codec_for(annotation, namespace=namespace)
    if has_default and default is None and factory is None and not codec.takes(None):
        # `def f(x: int = None)`: what everybody means, and no longer what PEP 484 says.
        annotation = Optional[annotation]  # noqa: UP045 - `|` is not defined for every annotation
        codec = codec_for(annotation, namespace=namespace)
    return Argument(parameter.name, kind, annotation, codec, _plain(annotation), has_default, default, factory)


def _keywords(annotation: Any) -> Any:
    """Tell the type of the dict of `**kwargs`: `Unpack[TD]` is TD itself."""
    origin = get_origin(annotation)
    if origin is not None and str(origin).rpartition(".")[2] == "Unpack":
        return get_args(annotation)[0]
    return dict[str, annotation]


# Any: what an annotation is depends on the reader of it.
def _split_field(annotation: Any, default: object) -> tuple[Any, Any]:
    """Take Pydantic's `Field(default=…)` out of a default or an annotation; it stays there for its constraints.

    Returns the annotation, whose fields have no default any more, and the field that has one (or None).
    """
    from pydantic.fields import FieldInfo

    found = None
    metadata: list[object] = []
    for item in getattr(annotation, "__metadata__", ()) if get_origin(annotation) is Annotated else ():
        has_default = isinstance(item, FieldInfo) and not item.is_required()
        found = found or (item if has_default else None)
        metadata.append(_without_default(item) if has_default else item)
    if metadata:
        annotation = Annotated[(get_args(annotation)[0], *metadata)]
    if isinstance(default, FieldInfo):
        return Annotated[annotation, _without_default(default)], default
    return annotation, found if default is Parameter.empty else None


def _without_default(field: Any) -> Any:
    from pydantic_core import PydanticUndefined

    bare = copy.copy(field)
    bare.default, bare.default_factory = PydanticUndefined, None
    # Pydantic has no public way to take a default away from a field.
    given: dict[str, object] = field._attributes_set  # noqa: SLF001 - see above
    kept = {name: value for name, value in given.items() if name not in ("default", "default_factory")}
    bare._attributes_set = kept  # noqa: SLF001 - see above
    return bare


def _field_default(field: Any) -> tuple[object, Callable[[Mapping[str, object]], object] | None]:
    if field.default_factory is None:
        return field.default, None
    return None, lambda values: field.get_default(call_default_factory=True, validated_data=dict(values))


def _plain(annotation: Any) -> frozenset[type[object]] | None:
    if get_origin(annotation) in (Union, types.UnionType):
        members = [_plain(member) for member in get_args(annotation)]
        return (
            None
            if None in members
            else frozenset[type[object]]().union(*cast("list[frozenset[type[object]]]", members))
        )
    return frozenset({annotation}) if isinstance(annotation, type) and annotation in _PLAIN else None
