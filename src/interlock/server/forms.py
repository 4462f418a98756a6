"""Forms as browsers send them: read once, bounded, and only from a page of the session that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from interlock.domain.errors import DecisionError

if TYPE_CHECKING:
    from starlette.requests import Request

FIELDS = 2_000
"""Fields of one form."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a form holds: each field with all its values, in their order."""

    values: Mapping[str, tuple[str, ...]]

    def one(self, name: str, default: str = "") -> str:
        """The field's value; refuses one that was sent twice, since nobody can say which was meant."""
        found = self.values.get(name, ())
        if len(found) > 1:
            raise DecisionError("bad_form", f"{name} was sent twice", "Send the form as the page shows it.")
        return found[0] if found else default

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of the field."""
        return self.values.get(name, ())

    def below(self, prefix: str) -> dict[str, tuple[str, ...]]:
        """The fields whose names begin so, by the rest of their names."""
        return {name[len(prefix) :]: found for name, found in self.values.items() if name.startswith(prefix)}


async def read_form(request: Request) -> Form:
    """The form of a request; raises `DecisionError` `bad_form` for anything else."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise DecisionError("bad_form", "this is no form", "Send the form as the page shows it.")
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=FIELDS,
        )
    except (ValueError, UnicodeDecodeError):
        raise DecisionError("bad_form", "this form cannot be read", "Send the form as the page shows it.") from None
    values: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        # Browsers send every line break of a text as CR LF.
        values[name] = (*values.get(name, ()), value.replace("\r\n", "\n"))
    return Form(values)
