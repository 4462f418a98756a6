"""What an execution came to, as the store keeps it, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from interlock.domain.action import Action, ActionState, arguments_bytes
from interlock.domain.commands import Outcome, OutcomeKind
from interlock.domain.errors import ActionFailed, Refused, ResultNotStored, RolledBack, StoreError
from interlock.domain.hiding import hide
from interlock.schema import (
    Codec,
    Json,
    decode_exception,
    decode_result,
    encode_result,
    fill,
    is_opaque,
    tree_to_plain,
)

Blob = Callable[[str], bytes]


def done(codec: Codec, value: object, put_blobs: Callable[[Any], Any]) -> Outcome:
    """The outcome of a tool that returned; what cannot be stored is kept as opaque."""
    tree, stored = encode_result(codec, value)
    try:
        return Outcome(OutcomeKind.DONE, arguments_bytes(put_blobs(tree)), stored)
    except (ValueError, StoreError):
        # Encoded, but no document (too deep, say), or there is no room for it: still done, and never repeated.
        opaque = {"$t": "opaque", "v": [type(value).__name__, "a value that no document can hold", ""]}
        return Outcome(OutcomeKind.DONE, arguments_bytes(cast("Any", opaque)), stored=False)


def failed(kind: OutcomeKind, failure: Json) -> Outcome:
    """The outcome of a tool that raised; `failure` is the error as it is recorded."""
    return Outcome(kind, failure=arguments_bytes(cast("Any", failure)))


def result_of(action: Action, codec: Codec, blob: Blob) -> object:
    """The recorded result of an action that is done; raises `ResultNotStored` where it was not kept."""
    tree = json.loads(action.result or b"null")
    if not action.stored or is_opaque(tree):
        raise ResultNotStored(action.tool, shown(tree), action.id)
    try:
        return decode_result(codec, fill(tree, blob))
    except ValueError as error:
        # The tool's result type changed since; the effect is not repeated for that.
        raise ResultNotStored(action.tool, f"it no longer fits the declared type: {error}", action.id) from error


def tree_of(data: bytes) -> Any:
    """Kept canonical bytes as typed encoding."""
    return json.loads(data)


def shown(tree: object) -> str:
    """An opaque result in words."""
    if isinstance(tree, dict):
        parts = cast("dict[str, Any]", tree).get("v")
        if isinstance(parts, list) and parts:
            words = cast("list[Any]", parts)[:2]
            return " ".join(str(word) for word in words)
    return "a result given by hand" if tree is None else repr(cast("object", tree))[:120]


def failure_of(
    failure: bytes | None, tool: str, known: Sequence[type[BaseException]], action: Action | None = None
) -> Exception:
    """The recorded failure, as its own class where that can be made again, else `ActionFailed`."""
    tree = json.loads(failure or b"null")
    again = decode_exception(tree, known) if tree is not None else None
    if again is not None:
        return again
    name, words = "", ""
    if isinstance(tree, dict):
        record = cast("dict[str, Any]", tree)
        name, words = str(record.get("type", "")), str(record.get("message", ""))
    by = f", says {action.answered_by}" if action is not None and action.answered_by else ""
    what = ": ".join(part for part in (name.rpartition(":")[2], words) if part)
    return ActionFailed(
        f"{tool} failed{by}" + (f": {what}" if what else ""), error=name, action=action.id if action else None
    )


def ending_error(action: Action, no_effect_on: Sequence[type[BaseException]]) -> Exception | None:
    """The exception that a pass gets from an action which ended otherwise than done, or None."""
    if action.state is ActionState.FAILED:
        return failure_of(action.failure, action.tool, no_effect_on, action)
    if action.state is ActionState.REFUSED and action.refusal is not None:
        kind = action.refusal.value
        by = action.refused_by.partition(":")[2] or action.refused_by or None
        told = {
            "expired": "nobody decided in time",
            "denied": {"ticket": "the run's ticket does not allow it", "check": "a check of the team's denies it"}.get(
                action.refused_by, "policy denies it"
            ),
            "repeated": "it was turned down before; do not retry it",
            "withdrawn": "it was withdrawn",
            "superseded": "the run moved on without it",
            "nested_pause": "it would pause inside a tool that cannot pause",
            "tool_changed": "the tool changed while it waited",
        }.get(kind, f"{kind} by {by}; do not retry it")
        say = action.words and kind not in ("expired", "nested_pause")  # those words are ours, and said already
        message = f"{action.tool} was not run: {told}" + (f" ({action.words})" if say else "")
        mend = "Declare the outer tool composite=True." if kind == "nested_pause" else ""
        return Refused(kind, message, words=action.words, by=by, tool=action.tool, action=action.id, mend=mend)
    if action.state in (ActionState.ROLLED_BACK, ActionState.ROLLBACK_FAILED, ActionState.ROLLING_BACK):
        return RolledBack(action.tool, action.id, action.state.value)
    return None


def call_text(tool: str, arguments: object, sensitive: Sequence[str] = ()) -> str:
    """A call in one line, cut to what can be read at a glance; what is sensitive is hidden."""
    values = hide(cast("dict[str, Any]", arguments), sensitive) if isinstance(arguments, dict) else {}
    said = ", ".join(f"{name}={json.dumps(tree_to_plain(cast('Json', tree)))}" for name, tree in sorted(values.items()))
    said = said.replace(r"\u00b7", "·")  # ASCII, so that nothing in it is invisible, but for the dot of a stand-in
    return f"{tool}({said if len(said) <= 120 else said[:119] + '…'})"
