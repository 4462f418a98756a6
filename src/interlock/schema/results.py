"""Results of tools: stored by their declared type, described where they cannot be stored, refused where they stream."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections import abc
from collections.abc import Callable
from typing import cast, get_origin

from interlock.schema.annotations import codec_for
from interlock.schema.codecs import Codec
from interlock.schema.compare import same
from interlock.schema.containers import ANY
from interlock.schema.errors import SchemaError
from interlock.schema.hints import result_annotation, target_of
from interlock.schema.tags import ENVELOPE, Json, tag_of, tagged

_STREAMS = (abc.Generator, abc.AsyncGenerator, abc.Iterator, abc.AsyncIterator, abc.AsyncIterable)
# A repr of a builtin container longer than this is not worth the memory that it takes for a moment.
_LARGE = 10_000


def encode_result(codec: Codec, value: object) -> tuple[Json, bool]:
    """Store a result and tell whether it can be read back.

    The declared type comes first; a result that is not of its declared type is kept by its real one where that is a
    builtin kind. Anything else becomes `{"$t": "opaque", "v": [type, short repr, SHA-256 of the repr]}` and False.
    Never raises, whatever the object does; Ctrl-C passes.
    """
    for candidate in (codec, ANY):
        try:
            tree = candidate.write(value, ENVELOPE)
            if same(decode_result(codec, tree), value):
                return tree, True
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001, S112 - the effect has happened; no object may keep its outcome from being recorded
            continue
    return _opaque(value), False


def decode_result(codec: Codec, tree: object) -> object:
    """Read a result back as `encode_result` stored it; raises SchemaError (`not_decodable`), also for opaque ones."""
    if is_opaque(tree):
        raise SchemaError("result", "the result could not be stored; only its description was kept", "not_decodable")
    try:
        return codec.decode(tree, "result")
    except SchemaError:
        # Tags speak for themselves, so what the declared type refuses is read as what it is or not at all.
        try:
            return ANY.decode(tree)
        except SchemaError:
            pass
        raise


def is_opaque(tree: object) -> bool:
    """Tell whether a tree describes a result that could not be stored."""
    return tag_of(tree) == "opaque"


def _opaque(value: object) -> Json:
    name = type.__dict__["__name__"].__get__(type(value))  # not by way of a metaclass, which could raise
    try:
        text = _bounded_repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as in encode_result
        text = f"<{name} object>"
    data = text.encode("utf-8", "backslashreplace")
    shown = data.decode()
    short = shown if len(shown) <= 120 else shown[:119] + "…"
    return tagged("opaque", [_plain_text(name), short, hashlib.sha256(data).hexdigest()])


def _bounded_repr(value: object) -> str:
    import reprlib

    if type(value) in (str, bytes, bytearray, list, tuple, dict, set, frozenset) and len(cast("str", value)) > _LARGE:
        return f"{reprlib.repr(value)} ({len(cast('str', value))} items)"
    # A repr may be of a subclass of str, with methods of its own.
    return "".join(repr(value))


def _plain_text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def storable_reason(annotation: object) -> str | None:
    """Tell why results of this annotation cannot be read back later, or None if they can."""
    try:
        codec_for(annotation)
    except SchemaError as error:
        return str(error)
    return None


def refuse_streams(fn: Callable[..., object]) -> None:
    """Refuse a function whose result is a stream: it is gone once it is read, so a later pass could not have it.

    Raises SchemaError (`not_storable`) for generator functions and for the return types Iterator, Generator and their
    asynchronous kin.
    """
    inner = fn
    while isinstance(inner, functools.partial):
        inner = cast("functools.partial[object]", inner).func
    for each in (inner, target_of(fn), getattr(inner, "__call__", inner)):  # noqa: B004 - the method is what is asked
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise SchemaError("return", "a generator is gone once it is read; return a list", "not_storable")
    try:
        annotation = result_annotation(fn)
    except (SchemaError, TypeError, ValueError):
        # What cannot be resolved is reported where the codec is asked for.
        return
    origin = get_origin(annotation) or annotation
    if origin in _STREAMS:
        name = getattr(origin, "__name__", str(origin))
        raise SchemaError("return", f"{name} is a stream, gone once it is read; return a list", "not_storable")
