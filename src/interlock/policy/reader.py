"""Reads one table of a policy file key by key; whatever does not fit is an error with its place and its mend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeVar, cast

from interlock.display.characters import is_hidden, token
from interlock.domain.errors import PolicyError
from interlock.policy.declare import LONGEST
from interlock.policy.nearest import mend_of
from interlock.policy.places import Path, Places

T = TypeVar("T")

_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhd])")
_FREE: Final = ("reason", "message", "rollback_text", "when")
"""Texts that may hold line breaks, and emoji with what joins them, beside what can be seen."""
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_KINDS: Final[Mapping[type, str]] = {str: "text", bool: "true or false", int: "a whole number", dict: "a table"}


class Table:
    """A table at a path of a file, or of a stored policy (then without `places`). `what` names it for people."""

    def __init__(self, data: Mapping[str, Any], path: Path, places: Places | None, what: str) -> None:
        self.data = data
        self.path = path
        self.places = places
        self.what = what

    def fault(self, code: str, message: str, mend: str, *keys: str | int, name: bool = False) -> PolicyError:
        """An error at the value of a key (and further inside it), at the key itself (`name`), or at the table."""
        line, column = 0, 0
        if self.places is not None:
            path = (*self.path, *keys)
            line, column = self.places.key(path) if name or not keys else self.places.value(path)
        return PolicyError(code, f"{self.what}{message}", mend, line, column)

    def only(self, known: Iterable[str]) -> None:
        """Refuse keys that are not known."""
        words = list(known)
        for key in self.data:
            if key not in words:
                raise self.fault("policy_key", f"there is no key {key}", mend_of(key, words), key, name=True)

    def needs(self, key: str, example: str) -> None:
        """Refuse a table without a key."""
        if key not in self.data:
            raise self.fault("policy_key", f"the key {key} is missing", f"Add it, for example: {key} = {example}")

    def text(self, key: str) -> str:
        """The text of a key, empty where it is not given; given, it may not be empty."""
        if key not in self.data:
            return ""
        found = self._typed(key, str, f'{key} = "..."')
        if not found.strip():
            raise self.fault("policy_value", f"{key} is empty", "Say it, or leave the key out.", key)
        self._visible(found, key, key)
        return found

    def _visible(self, text: str, what: str, *keys: str | int) -> None:
        """Refuse characters that nobody sees in what is compared, and text of nothing else. What is stored stands."""
        odd = [each for each in text if is_hidden(each)]
        among = len(odd) < len("".join(text.split())) and what in _FREE
        if odd and not among and self.places is not None:
            words = f"{what} holds {token(odd[0])}, which nobody sees"
            raise self.fault("policy_value", words, "Take it out.", *keys)

    def flag(self, key: str) -> bool:
        """True or false; false where it is not given."""
        return key in self.data and self._typed(key, bool, f"{key} = true")

    def number(self, key: str) -> float | int | None:
        """A number, or None."""
        found = self.data.get(key)
        if found is not None and (isinstance(found, bool) or not isinstance(found, int | float)):
            raise self._kind(key, "a number", f"{key} = 100")
        return found

    def span(self, key: str) -> timedelta | None:
        """A length of time such as `"4h"`, or None."""
        if key not in self.data:
            return None
        found = _DURATION.fullmatch(self._typed(key, str, f'{key} = "4h"'))
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0
        if not 0 < seconds <= LONGEST.total_seconds():
            raise self.fault(
                "policy_value",
                f"{key} = {self.data[key]!r} is not a time to wait",
                f'Write it like "90s", "10m", "4h" or "2d": more than 0, at most {LONGEST.days} days.',
                key,
            )
        return timedelta(seconds=seconds)

    def word(self, key: str, words: Iterable[str], otherwise: str = "") -> str:
        """One of some words; `otherwise` where it is not given."""
        if key not in self.data:
            return otherwise
        known = list(words)
        found = self._typed(key, str, f'{key} = "{known[0]}"')
        if found not in known:
            raise self.fault("policy_value", f"{key} = {found!r} is none that is known", mend_of(found, known), key)
        return found

    def names(self, key: str, words: Iterable[str] | None = None) -> tuple[str, ...]:
        """A text or a list of texts (of `words`, if given), each once and in order; empty where it is not given."""
        if key not in self.data:
            return ()
        found = self.data[key]
        several = cast("list[Any]", found if isinstance(found, list) else [found])
        known = None if words is None else list(words)
        if not several:
            raise self.fault(
                "policy_value", f"{key} is empty, so nothing would match", "Name one, or leave it out.", key
            )
        for index, each in enumerate(several):
            keys = (key, index) if isinstance(found, list) else (key,)
            if not isinstance(each, str) or not each:
                raise self.fault("policy_value", f"{key} takes names", f'Write it like: {key} = ["one"]', *keys)
            self._visible(each, key, *keys)
            if known is not None and each not in known:
                raise self.fault("policy_value", f"{key} has no {each!r}", mend_of(each, known), *keys)
        return tuple(sorted(set(cast("list[str]", several))))

    def tables(self, key: str, what: Callable[[int], str]) -> list[Table]:
        """The tables in a list; a single table counts as a list of one."""
        found = self.data.get(key, [])
        if isinstance(found, dict):
            return [Table(cast("dict[str, Any]", found), (*self.path, key), self.places, what(0))]
        if not isinstance(found, list):
            raise self._kind(key, "a table", f"{key} = {{ ... }}")
        several = cast("list[Any]", found)
        for index, each in enumerate(several):
            if not isinstance(each, dict):
                raise self.fault(
                    "policy_value", f"{key} takes tables", f"Write it like: {key} = [{{ ... }}]", key, index
                )
        return [Table(each, (*self.path, key, index), self.places, what(index)) for index, each in enumerate(several)]

    def table(self, key: str, what: str, example: str) -> Table:
        """The table of a key."""
        found: dict[str, Any] = cast("Any", self._typed(key, dict, example)) if key in self.data else {}
        return Table(found, (*self.path, key), self.places, what)

    def place(self) -> tuple[int, int]:
        """Where the table begins."""
        return (0, 0) if self.places is None else self.places.key(self.path)

    def characters(self, key: str) -> tuple[tuple[int, int], ...]:
        """Where each character of a text stands."""
        return () if self.places is None else self.places.characters((*self.path, key))

    def _typed(self, key: str, kind: type[T], example: str) -> T:
        found = self.data[key]
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise self._kind(key, _KINDS[kind], example)
        return found

    def whole(self, key: str, otherwise: int) -> int:
        """A whole number of at least 1; `otherwise` where it is not given."""
        found = self._typed(key, int, f"{key} = 2") if key in self.data else otherwise
        if found < 1:
            raise self.fault("policy_value", f"{key} = {found} is too few", "Use 1 or more.", key)
        return found

    def _kind(self, key: str, kind: str, example: str) -> PolicyError:
        return self.fault("policy_value", f"{key} has to be {kind}", f"Write it like: {example}", key)
