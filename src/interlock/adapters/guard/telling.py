"""What a tool's own code says of a call before it runs: a preview, what to expect, the slices it falls into.

All of it looks at copies made from the frozen arguments, so nothing that it does to them changes what is shown,
hashed or run. It is called outside any transaction, and what it raises never breaks the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import cast

from interlock.adapters.guard.frames import Frame, current, entered
from interlock.adapters.guard.hooks import SLICE_LIMIT, Hook, why
from interlock.adapters.guard.tool import Tool
from interlock.domain.action import Action, ActionRequest, ActionState, Preview, PreviewText, words_digest
from interlock.domain.hiding import veiled
from interlock.ports.runtime import Runtime
from interlock.schema import Json, fill

PREVIEW_LIMIT = 8_000
"""Characters that are kept of a preview."""

FAILS = (Exception, SystemExit)
"""What counts as a failure of code that only describes a call: it never breaks the call."""

_UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool's own code says of a call."""

    preview: Preview | None
    expects: str
    slices: Mapping[str, str]


NOTHING = Told(None, "", {})


def tell(tool: Tool, arguments: Mapping[str, Json]) -> Told:
    """All that the tool's code says of a call with these (encoded) arguments."""
    if tool.preview is None and not tool.expects and not tool.slices:
        return NOTHING
    return Told(preview_of(tool, arguments), _expected(tool, arguments), _slices(tool, arguments))


def preview_of(tool: Tool, arguments: Mapping[str, Json]) -> Preview | None:
    """What the tool's preview shows; None where it has none. Never raises what the preview raises."""
    if tool.preview is None:
        return None
    try:
        found = _ask(tool, tool.preview, arguments)
        text, kind = _text(found), found.kind if isinstance(found, PreviewText) else ""
    except FAILS as error:
        return Preview(failed=veiled(why(error), arguments, tool.spec.sensitive))
    return Preview(_cut(veiled(text, arguments, tool.spec.sensitive)), kind=kind)


def shown_anew(tool: Tool, request: ActionRequest, action: Action, runtime: Runtime) -> ActionRequest:
    """The request with what the tool's code shows now of the arguments about to run, where people were shown it."""
    if tool.preview is None:
        return request
    if action.interrupt is None or action.state is not ActionState.CLEARED:
        return replace(request, preview=None)
    try:
        stored = cast("dict[str, Json]", fill(runtime.arguments(action.id), runtime.blob))
    except ValueError as error:
        return replace(request, preview=Preview(failed=why(error)))
    return replace(request, preview=preview_of(tool, stored))


def _expected(tool: Tool, arguments: Mapping[str, Json]) -> str:
    if not isinstance(tool.expects, Hook):
        return tool.expects
    try:
        said = _text(_ask(tool, tool.expects, arguments))
    except FAILS as error:
        said = f"cannot be told: {why(error)}"
    return _cut(veiled(said, arguments, tool.spec.sensitive))


def _slices(tool: Tool, arguments: Mapping[str, Json]) -> dict[str, str]:
    return {name: _slice(tool, each, arguments) for name, each in tool.slices.items()}


def _slice(tool: Tool, by: str | Hook, arguments: Mapping[str, Json]) -> str:
    try:
        found = _ask(tool, by, arguments) if isinstance(by, Hook) else _values(tool, arguments)[by]
    except FAILS:
        return _UNKNOWN
    if isinstance(found, Enum):
        found = found.name
    if found is None:
        return "none"
    if isinstance(found, (bool, int, float, Decimal)):
        found = str(found)
    if not isinstance(found, str):
        _forget(found)
        return _UNKNOWN
    text = veiled(_clean(found), arguments, tool.spec.sensitive)
    return text if len(text) <= SLICE_LIMIT else text[: SLICE_LIMIT - 1] + "…"


def _ask(tool: Tool, hook: Hook, arguments: Mapping[str, Json]) -> object:
    here = cast("Frame", current())
    with entered(Frame(here.scope, barred=f"code that only describes a call of {tool.spec.name}")):
        return hook(_values(tool, arguments))


def _values(tool: Tool, arguments: Mapping[str, Json]) -> dict[str, object]:
    """New objects each time: nobody's changes to them reach anybody else."""
    return tool.parameters.decode(dict(arguments))


def _text(found: object) -> str:
    if isinstance(found, str):
        return _clean(found)
    _forget(found)
    raise TypeError(f"it gave {type(found).__name__}, not text")


def _forget(found: object) -> None:
    if inspect.iscoroutine(found):
        found.close()  # else Python warns of it, long after


def _clean(text: str) -> str:
    """Text that can be kept, of the plain type whatever subclass it was."""
    return "".join(text).encode("utf-8", "backslashreplace").decode()


def _cut(text: str) -> str:
    """The text, bounded; what is cut off still counts where two previews are compared."""
    if len(text) <= PREVIEW_LIMIT:
        return text
    return f"{text[:PREVIEW_LIMIT]} [{len(text):,} characters, cut here; all of it is {words_digest(text)}]"
