"""The callables with which a tool's declaration describes calls: which arguments they take, checked when it is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from interlock.domain.errors import SettingsError
from interlock.schema import encode_exception

SLICE_LIMIT = 64
"""Characters of the name of a slice, and of what is kept of its text."""

MOST_SLICES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """A callable, and which arguments of the tool it takes: by position, and by name (None: all the others)."""

    fn: Callable[..., object]
    positional: tuple[str, ...] = ()
    named: tuple[str, ...] | None = None

    def __call__(self, values: Mapping[str, object]) -> object:
        """Call it with those of the values that it takes."""
        args = [values[name] for name in self.positional]
        if self.named is None:
            return self.fn(*args, **{name: each for name, each in values.items() if name not in self.positional})
        return self.fn(*args, **{name: values[name] for name in self.named})


def hook_of(tool: str, keyword: str, fn: Callable[..., object], names: Sequence[str]) -> Hook:
    """Read which of the tool's parameters a callable takes; `SettingsError` where it cannot be called with them."""
    inner: object = cast("partial[object]", fn).func if type(fn) is partial else fn
    if inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None)):  # noqa: B004
        raise SettingsError(
            "async_hook",
            f"{tool}: {keyword} is asynchronous, and nothing could wait for it while people look",
            "Give it a plain function (def).",
        )
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return Hook(fn)
    positional: list[str] = []
    named: list[str] = []
    takes_all = False
    for each in parameters:
        takes_all = takes_all or each.kind is inspect.Parameter.VAR_KEYWORD
        if each.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
            continue
        if each.name in names:
            (positional if each.kind is inspect.Parameter.POSITIONAL_ONLY else named).append(each.name)
        elif each.default is inspect.Parameter.empty:
            raise SettingsError(
                "no_such_parameter",
                f"{tool} has no parameter {each.name} for {keyword}",
                f"It gets the tool's arguments by name: {', '.join(names) or 'there are none'}.",
            )
    return Hook(fn, tuple(positional), None if takes_all else tuple(named))


def hooks_of(
    tool: str, names: Sequence[str], keywords: Mapping[str, Any], sensitive: Sequence[str]
) -> tuple[Hook | None, str | Hook, dict[str, str | Hook]]:
    """The preview, the expected outcome and the slices of a declaration; `SettingsError` for what does not fit."""
    make = partial(hook_of, tool, names=names)
    preview, expects = keywords.get("preview"), keywords.get("expected_outcome") or ""
    given = cast("Mapping[str, Any]", keywords.get("slices") or {})
    if len(given) > MOST_SLICES:
        raise SettingsError(
            "bad_slices", f"{tool}: {len(given)} slices", f"Keep at most {MOST_SLICES}: those that reviews differ by."
        )
    slices: dict[str, str | Hook] = {}
    for name, by in given.items():
        if not name.strip() or len(name) > SLICE_LIMIT:
            raise SettingsError(
                "bad_slices", f"{tool}: a slice has no usable name: {name!r}"[:200], "Name it in a word."
            )
        if isinstance(by, str) and by not in names:
            raise SettingsError(
                "no_such_parameter", f"{tool} has no parameter {by} for the slice {name}", "Name one of its parameters."
            )
        if isinstance(by, str) and any(path.partition(".")[0] == by for path in sensitive):
            raise SettingsError(
                "bad_slices",
                f"{tool}: the slice {name} would show {by}, which is sensitive",
                "Give it a callable that tells only what may be seen.",
            )
        slices[name] = by if isinstance(by, str) else make(f"the slice {name}", by)
    return (
        make("preview", preview) if preview is not None else None,
        make("expected_outcome", expects) if not isinstance(expects, str) else expects,
        slices,
    )


def why(error: BaseException) -> str:
    """An error in one line, whatever its own `str` does."""
    told = cast("dict[str, Any]", encode_exception(error))
    name, words = str(told["type"]).rpartition(":")[2].rpartition(".")[2], " ".join(str(told["message"]).split())
    said = f"{name}: {words}" if words else name
    return said if len(said) <= 300 else said[:299] + "…"
