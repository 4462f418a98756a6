"""Reading annotations: of functions and of classes, written as objects or as strings."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

from interlock.schema.errors import SchemaError, not_storable

# Pydantic accepts `typing.TypedDict` from Python 3.12 on.
REWRITES_TYPED_DICTS = sys.version_info < (3, 12)

_QUALIFIERS = frozenset({"Required", "NotRequired", "ReadOnly", "Final"})


def is_alias_type(annotation: object) -> bool:
    """Tell whether an annotation is a type alias as `type X = …` makes it, of `typing` or of `typing_extensions`."""
    return type(annotation).__name__ == "TypeAliasType"


def is_qualifier(origin: object) -> bool:
    """Tell whether an origin marks a key or a field (`NotRequired`) and is no type of its own."""
    return getattr(origin, "__module__", "") in ("typing", "typing_extensions") and (
        str(origin).rpartition(".")[2] in _QUALIFIERS
    )


def target_of(fn: Callable[..., object]) -> Callable[..., object]:
    """Find the function whose annotations count: inside partials, wrappers, bound methods and callable objects."""
    while isinstance(fn, functools.partial):
        fn = cast("functools.partial[object]", fn).func
    if isinstance(fn, type):
        fn = cast("Callable[..., object]", fn.__init__)
    elif not inspect.isroutine(fn):
        fn = type(fn).__call__
    return inspect.unwrap(fn)


def namespace_of(fn: Callable[..., object]) -> dict[str, object]:
    """Collect the local names that annotations of `fn` may use.

    These are its closure, and the names of the functions and classes around it that are still being executed, as they
    are while a decorator runs.
    """
    target = target_of(fn)
    target = getattr(target, "__func__", target)
    if not isinstance(target, types.FunctionType):
        return {}
    names: dict[str, object] = {}
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals is target.__globals__ and target.__qualname__.startswith(f"{frame.f_code.co_qualname}."):
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    for name, cell in zip(target.__code__.co_freevars, target.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            # Not assigned yet: the name is found later or reported as unknown.
            continue
    names.update({parameter.__name__: parameter for parameter in getattr(target, "__type_params__", ())})
    return names


def evaluate(annotation: object, module: dict[str, Any], namespace: Mapping[str, object]) -> object:
    """Resolve an annotation that is, or contains, a string; raises SchemaError (`not_storable`)."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, module, dict(namespace), include_extras=True)["it"]
    except Exception as error:
        raise not_storable(f"the annotation {annotation!r} cannot be resolved: {error}") from error


def annotation_of(fn: Callable[..., object], raw: object, namespace: Mapping[str, object]) -> object:
    """Resolve one annotation of a function; a missing one is Any. Raises SchemaError (`not_storable`)."""
    if raw is inspect.Parameter.empty:
        return Any
    return evaluate(raw, getattr(target_of(fn), "__globals__", {}), namespace)


def result_annotation(fn: Callable[..., object]) -> object:
    """Tell the declared return type of a function, resolved; Any if there is none.

    For a coroutine function it is the type that awaiting gives. Raises SchemaError (`not_storable`) for a name that
    cannot be resolved.
    """
    try:
        return annotation_of(fn, inspect.signature(fn).return_annotation, namespace_of(fn))
    except SchemaError as error:
        error.under("return")
        raise


def class_hints(cls: type[object], args: tuple[object, ...], namespace: Mapping[str, object]) -> dict[str, object]:
    """Read the types of the fields of a class, in order, its type parameters replaced by `args`.

    InitVars of dataclasses are among them, for the caller to refuse. Raises SchemaError (`not_storable`).
    """
    if not dataclasses.is_dataclass(cls) and hasattr(cls, "__pydantic_fields__"):
        return _model_hints(cls, namespace)
    try:
        hints = typing.get_type_hints(cls, localns={**namespace, cls.__name__: cls}, include_extras=True)
    except Exception as error:
        raise not_storable(f"the annotations of {cls.__name__} cannot be resolved: {error}") from error
    if dataclasses.is_dataclass(cls):
        names = [field.name for field in dataclasses.fields(cls)]
        names += [name for name, hint in hints.items() if isinstance(hint, dataclasses.InitVar)]
    else:
        names = list(getattr(cls, "_fields", hints))
    bound = _bindings(cls, args)
    return {name: substitute(hints.get(name, Any), bound) for name in names}


# Any: the attributes that Pydantic gives to every model.
def _model_hints(cls: Any, namespace: Mapping[str, object]) -> dict[str, object]:
    try:
        if not cls.__pydantic_complete__:
            cls.model_rebuild(_types_namespace={**namespace, cls.__name__: cls})
    except Exception as error:
        raise not_storable(f"the annotations of {cls.__name__} cannot be resolved: {error}") from error
    return {name: field.annotation for name, field in cls.__pydantic_fields__.items()}


def _bindings(cls: type[object], args: tuple[object, ...]) -> dict[object, object]:
    bound: dict[object, object] = dict(zip(getattr(cls, "__parameters__", ()), args, strict=False))
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and origin is not typing.Generic:
            bound = {**_bindings(origin, tuple(substitute(arg, bound) for arg in get_args(base))), **bound}
    return bound


# Any: what an annotation is depends on the reader of it.
def substitute(annotation: Any, bound: Mapping[object, object]) -> Any:
    """Replace type variables in an annotation."""
    if isinstance(annotation, TypeVar):
        return bound.get(annotation, annotation)
    variables = getattr(annotation, "__parameters__", ()) if get_origin(annotation) else ()
    if not bound or not variables:
        return annotation
    return annotation[tuple(bound.get(variable, variable) for variable in variables)]


# Any: as in `substitute`.
def for_pydantic(annotation: Any, open_classes: tuple[type[object], ...] = ()) -> Any:
    """Rewrite `typing.TypedDict` classes, which Pydantic refuses before Python 3.12, as those it accepts."""
    if not REWRITES_TYPED_DICTS:
        return annotation
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return _modern_typed_dict(annotation, open_classes)
    args = get_args(annotation)
    origin = get_origin(annotation)
    if not args or origin is typing.Literal:
        return annotation
    if origin is Annotated:
        return Annotated[(for_pydantic(args[0], open_classes), *annotation.__metadata__)]
    new = tuple(for_pydantic(arg, open_classes) for arg in args)
    if new == args:
        return annotation
    if origin is typing.Union or origin is types.UnionType:
        return typing.Union[new]  # noqa: UP007 - made of a tuple
    return annotation.copy_with(new) if hasattr(annotation, "copy_with") else origin[new]


def _modern_typed_dict(cls: Any, open_classes: tuple[type[object], ...]) -> Any:
    import typing_extensions

    if cls in open_classes:
        raise not_storable(f"{cls.__name__} contains itself; write it with typing_extensions.TypedDict")
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(cls, include_extras=True).items():
        qualified = is_qualifier(get_origin(hint))
        inner = for_pydantic(get_args(hint)[0] if qualified else hint, (*open_classes, cls))
        required = name in cls.__required_keys__ if not qualified else "NotRequired" not in str(get_origin(hint))
        fields[name] = inner if required else typing_extensions.NotRequired[inner]
    modern: Any = typing_extensions.TypedDict(cls.__name__, fields)  # pyright: ignore[reportArgumentType] - made of a class known at run time only
    modern.__doc__ = cls.__doc__
    return modern
