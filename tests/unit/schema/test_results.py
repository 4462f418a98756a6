"""Results: stored by their declared type, described where they cannot be, refused where they stream."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import AsyncIterator, Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.schema import (
    Codec,
    Json,
    Parameters,
    SchemaError,
    codec_for,
    decode_result,
    encode_result,
    is_opaque,
    refuse_streams,
    result_annotation,
    storable_reason,
)
from interlock.schema.compare import same


@dataclass
class Booking:
    room: str
    price: float = 0.0


def opaque_of(value: object) -> list[Any]:
    tree, stored = encode_result(codec_for(Any), value)
    assert not stored
    assert is_opaque(tree)
    json.dumps(tree)
    v = cast("dict[str, list[Any]]", tree)["v"]
    assert len(v[1]) <= 120
    return v


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Booking, Booking("a")),
        (Booking, Booking("a", 1)),
        (list[Booking] | None, [Booking("a")]),
        (Any, {"a": (1, datetime(2026, 1, 1, tzinfo=UTC))}),
        (None, None),
        # Not of the declared type, and kept as what they are.
        (float, 1),
        (str, None),
        (dict[str, str], {"n": 1}),
        (Booking, {"room": "a"}),
        (date, datetime(2026, 1, 1, tzinfo=UTC)),
        (list[date], ["2026-01-01"]),
    ],
)
def test_a_result_is_read_back_as_it_was(annotation: object, value: object) -> None:
    codec = codec_for(annotation)
    tree, stored = encode_result(codec, value)
    assert stored
    assert not is_opaque(tree)
    assert same(decode_result(codec, json.loads(json.dumps(tree))), value)


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as hostile as can be

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise RuntimeError


class Exiting:
    def __repr__(self) -> str:
        raise SystemExit


class MetaName(type):
    @property
    def __name__(cls) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise RuntimeError


class OddlyNamed(metaclass=MetaName):
    pass


class Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return Text("\ud800" * 200)


class DeepRepr:
    def __repr__(self) -> str:
        return repr(self)


def generator() -> Generator[int]:
    yield 1


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Fraction(1, 3), "Fraction"),
        (Booking("a"), "Booking"),
        (generator(), "generator"),
        (object(), "object"),
        (Hostile(), "Hostile"),
        (Exiting(), "Exiting"),
        (OddlyNamed(), "OddlyNamed"),
        (Text("x"), "Text"),
        (DeepRepr(), "DeepRepr"),
        (float("nan"), "float"),
        ("\ud800", "str"),
        ([object()] * 20_000, "list"),
        ({Fraction(n) for n in range(20_000)}, "set"),
        (b"x" * 3 and bytearray(20_000), "bytearray"),
        (lambda: None, "function"),
        (type("\ud800".encode("utf-8", "backslashreplace").decode(), (), {})(), "\\ud800"),
    ],
    ids=lambda value: value if type(value) is str else "value",
)
def test_what_cannot_be_stored_is_described(value: object, name: str) -> None:
    assert opaque_of(value)[0] == name


def test_a_description_has_the_repr_and_its_hash() -> None:
    value = Fraction(1, 3)
    assert opaque_of(value) == ["Fraction", "Fraction(1, 3)", hashlib.sha256(b"Fraction(1, 3)").hexdigest()]
    long = [Fraction(n) for n in range(100)]
    assert opaque_of(long)[1].endswith("…")
    assert opaque_of(long)[2] == hashlib.sha256(repr(long).encode()).hexdigest()


@pytest.mark.parametrize("stage", ["encode", "repr"])
def test_ctrl_c_passes(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    codec = codec_for(Any)
    if stage == "encode":
        monkeypatch.setattr(type(codec), "write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        encode_result(codec, Interrupting())


@given(st.recursive(st.builds(object) | st.just("\ud800") | st.floats(), lambda inner: st.lists(inner, max_size=3)))
def test_encoding_a_result_never_raises(value: object) -> None:
    tree, stored = encode_result(codec_for(Any), value)
    assert stored != is_opaque(tree)


class Lossy(Codec):
    """A codec that loses what it stores."""

    type_name = "lossy"

    def write(self, value: object, depth: int) -> Json:
        return "x"

    def read(self, tree: object, depth: int) -> object:
        return tree

    def takes(self, value: object) -> bool:
        return True

    def knows(self, tree: object) -> bool:
        return True


def test_a_result_that_would_come_back_different_is_not_stored() -> None:
    assert encode_result(Lossy(), "x") == ("x", True)
    tree, stored = encode_result(Lossy(), Fraction(1))
    assert not stored
    assert is_opaque(tree)


def test_an_opaque_result_cannot_be_read() -> None:
    tree, _ = encode_result(codec_for(Any), object())
    with pytest.raises(SchemaError, match="could not be stored") as caught:
        decode_result(codec_for(Any), tree)
    assert caught.value.code == "not_decodable"


def test_a_stored_result_that_fits_nothing_is_refused_in_the_words_of_its_declared_type() -> None:
    with pytest.raises(SchemaError, match="expected Booking, found another model"):
        decode_result(codec_for(Booking), {"$t": "model", "v": ["Other", {}]})


def test_a_warning_says_why_results_will_be_opaque() -> None:
    assert storable_reason(list[Booking]) is None
    assert storable_reason(list[Fraction]) == "[]: values of the type Fraction cannot be stored"


def stream_gen() -> Any:
    yield 1


async def stream_agen() -> Any:
    yield 1


def stream_annotated() -> Iterator[int]:
    return iter([1])


def stream_annotated_async() -> AsyncIterator[int]: ...


def stream_bare() -> Iterator: ...  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]


@contextlib.contextmanager
def stream_context() -> Generator[int]:
    yield 1


class StreamCall:
    def __call__(self) -> Any:
        yield 1

    def method(self) -> Any:
        yield 1


@pytest.mark.parametrize(
    "fn",
    [
        stream_gen,
        stream_agen,
        stream_annotated,
        stream_annotated_async,
        stream_bare,
        stream_context,
        StreamCall(),
        StreamCall().method,
        functools.partial(stream_gen),
    ],
)
def test_streams_are_refused(fn: Any) -> None:
    with pytest.raises(SchemaError, match="return a list") as caught:
        refuse_streams(fn)
    assert (caught.value.path, caught.value.code) == ("return", "not_storable")


def plain() -> list[int]: ...  # pyright: ignore[reportReturnType]


def iterable() -> Iterable[int]: ...  # pyright: ignore[reportReturnType]


async def coroutine() -> Booking: ...  # pyright: ignore[reportReturnType]


def unresolved() -> Nowhere: ...  # pyright: ignore[reportUndefinedVariable] # noqa: F821


def untyped(): ...  # noqa: ANN201


@pytest.mark.parametrize("fn", [plain, iterable, coroutine, unresolved, untyped, Booking, len, dict])
def test_what_returns_a_value_is_no_stream(fn: Any) -> None:
    refuse_streams(fn)


def test_the_return_type_of_a_function_is_resolved() -> None:
    assert result_annotation(coroutine) is Booking
    assert result_annotation(untyped) is Any
    with pytest.raises(SchemaError, match="Nowhere") as caught:
        result_annotation(unresolved)
    assert caught.value.path == "return"


def test_builtin_functions_are_read_as_far_as_they_say() -> None:
    assert Parameters.of(len).names == ("obj",)
    assert result_annotation(len) is Any
