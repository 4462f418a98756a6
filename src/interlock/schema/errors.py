"""The one error of this room, and the path that it names."""

from __future__ import annotations

from typing import Literal

Code = Literal["arguments_invalid", "not_storable", "not_decodable"]


class SchemaError(ValueError):
    """A value or an annotation that cannot be validated, stored or read back.

    `path` names the offender (`args.items[3].when`), `reason` is one line in words, and `code` is one of
    `arguments_invalid` (validation said no), `not_storable` (the value, or every value of the annotation, has no
    typed encoding) and `not_decodable` (a stored tree does not fit the declared type).
    """

    path: str
    reason: str
    code: Code

    def __init__(self, path: str, reason: str, code: Code) -> None:
        super().__init__(path, reason, code)
        self.path = path
        self.reason = reason
        self.code = code

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason

    def under(self, prefix: str) -> None:
        """Put `prefix` before the path.

        Each container adds its own piece while the error passes through it, so that no path is built as long as
        nothing goes wrong.
        """
        self.path = prefix + self.path
        self.args = (self.path, self.reason, self.code)


def not_storable(reason: str) -> SchemaError:
    """Make the error of a value that has no typed encoding; the containers around it add the path."""
    return SchemaError("", reason, "not_storable")


def not_decodable(reason: str) -> SchemaError:
    """Make the error of a stored tree that does not fit; the containers around it add the path."""
    return SchemaError("", reason, "not_decodable")


def key_path(key: object) -> str:
    """Write the piece of a path for one key of a mapping: `.name`, or `['two words']` for anything else."""
    if isinstance(key, str) and key.isidentifier():
        return f".{key}"
    return f"[{short_repr(key, 40)}]"


def short_repr(value: object, limit: int) -> str:
    """Show a value in at most `limit` characters, whatever its `__repr__` does."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an error message must not fail over the value that it names
        text = f"<{type(value).__name__}>"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= limit else text[: limit - 1] + "…"
