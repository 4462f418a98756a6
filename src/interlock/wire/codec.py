"""Domain values as JSON, and back exactly. What does not fit is refused with its path; unknown fields are no values."""

from __future__ import annotations

from functools import cache
from typing import Any, Generic, TypeVar

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from interlock.domain.errors import CallError

T = TypeVar("T")
CONFIG = ConfigDict(
    extra="forbid", ser_json_bytes="base64", val_json_bytes="base64", ser_json_timedelta="iso8601", strict=False
)


class Codec(Generic[T]):
    """Writes and reads values of one type: dataclasses as objects, bytes as base64, times as ISO 8601 in UTC."""

    def __init__(self, kind: Any) -> None:
        # A tuple of one: the configuration cannot be given for a dataclass by itself, and is handed down.
        wrapped: Any = tuple.__class_getitem__((kind,))
        self._adapter: TypeAdapter[tuple[T]] = TypeAdapter(wrapped, config=CONFIG)

    def write(self, value: T) -> bytes:
        """The value as JSON."""
        return self._adapter.dump_json((value,))[1:-1]

    def plain(self, value: T) -> Any:
        """The value as plain JSON types."""
        return orjson.loads(self.write(value))

    def read(self, data: bytes, root: str = "value") -> T:
        """The value of JSON; raises `CallError` `bad_request` with the path of what does not fit."""
        try:
            return self._adapter.validate_json(b"[" + data + b"]")[0]
        except ValidationError as error:
            raise _unfit(error, root) from None

    def read_text(self, text: str, root: str) -> T:
        """The value of a text that stands in an address; numbers and words are read as what is wanted."""
        try:
            return self._adapter.validate_json(orjson.dumps([text]))[0]
        except (ValidationError, orjson.JSONEncodeError):  # no text then: a number, say
            return self.read(text.encode("utf-8", "replace") if text.strip() else b"null", root)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the value, with its definitions."""
        made = self._adapter.json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        first: dict[str, Any] = made["prefixItems"][0]
        return {**first, "$defs": made.get("$defs", {})}


def _unfit(error: ValidationError, root: str) -> CallError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"][1:])
    return CallError("bad_request", f"{root}{path}: {first['msg']}"[:400], "Nothing was done; see /v1/openapi.json.")


@cache
def codec_of(kind: Any) -> Codec[Any]:
    """The codec of a type, made once."""
    return Codec(kind)
