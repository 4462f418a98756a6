"""What of a record people may see without a reveal, and what a reveal gives: whatever reads for people reads here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from interlock.canonical import Json
from interlock.display import mask_secrets
from interlock.domain.errors import DecisionError
from interlock.domain.events import Event, EventType
from interlock.domain.hiding import STAND_IN, find, hide, holds_hidden
from interlock.domain.tool import ToolSpec
from interlock.schema import tree_to_plain

MASK = "\u2022\u2022\u2022\u2022(sha256"
"""How the mask of what looks like a secret ends; no edit may hold one beside what a person wrote."""


def shown_arguments(arguments: Mapping[str, Json], tool: ToolSpec, salt: str) -> Mapping[str, Json]:
    """The arguments with the sensitive ones hidden. `salt` is the action's own, so that equal values look equal."""
    return hide(arguments, tool.sensitive, salt.encode()) if tool.sensitive else arguments


def shown_event(event: Event) -> Event:
    """An event with the sensitive arguments of a recorded call hidden; there is no salt for a suffix."""
    paths, arguments = event.body.get("sensitive"), event.body.get("arguments")
    if event.type is not EventType.CALL_RECORDED or not isinstance(paths, list) or not isinstance(arguments, dict):
        return event
    return replace(event, body={**event.body, "arguments": cast("Json", hide(arguments, map(str, paths)))})


def masked_value(name: str, tree: Json) -> Json:
    """A value of the typed encoding, or plain JSON, with all that looks like a secret masked.

    A text is looked at together with the `name` it stands under, because that may say what it is.
    """
    if isinstance(tree, str):
        start = f"{name}=" if name.isascii() and name.isidentifier() and "\n" not in tree else ""
        return mask_secrets(start + tree)[len(start) :]
    if isinstance(tree, list):
        return [masked_value("", each) for each in tree]
    if isinstance(tree, dict):
        # The text of a tagged value stands under the name that the whole of it has.
        inner = "$t" in tree
        return {key: masked_value(name if inner and key == "v" else key, each) for key, each in tree.items()}
    return tree


def hidden_paths(arguments: Mapping[str, Json], tool: ToolSpec) -> list[str]:
    """What can be revealed of arguments as they are shown: what is hidden, and those of which a part is masked."""
    hidden = [path for path in tool.sensitive if any(map(holds_hidden, find(arguments, path)))]
    heads = {path.partition(".")[0] for path in hidden}
    return hidden + [name for name, tree in arguments.items() if name not in heads and masked_value(name, tree) != tree]


def revealed(
    shown: Mapping[str, Json], arguments: Mapping[str, Json], paths: tuple[str, ...], tool: ToolSpec
) -> dict[str, Json]:
    """The values at the paths; raises `DecisionError` where nothing is there, or nothing of it is hidden."""
    return {path: _revealed(shown, arguments, path, tool) for path in paths}


def _revealed(shown: Mapping[str, Json], arguments: Mapping[str, Json], path: str, tool: ToolSpec) -> Json:
    found = find(arguments, path)
    if not found:
        raise DecisionError(
            "no_such_field",
            f"there is nothing at {path}",
            f"Name one of {', '.join(hidden_paths(shown, tool) or shown) or 'its arguments'}.",
        )
    name = path.rpartition(".")[2]
    seen = find(shown, path)
    if seen == found and all(masked_value(name, tree) == tree for tree in found):
        raise DecisionError("not_hidden", f"nothing is hidden at {path}", "The card shows it already.")
    return found[0] if len(found) == 1 else found


def shown_plain(name: str, tree: Json) -> object:
    """A shown argument as plain JSON, for programs and editors: what is hidden or masked stays so."""
    return masked_value(name, cast("Json", tree_to_plain(tree)))


def keep_hidden(
    changes: Mapping[str, object], shown: Mapping[str, Json], exact: Mapping[str, Json]
) -> dict[str, object]:
    """A person's edit, in which what stands in for a hidden value means: leave it as it is.

    Raises `DecisionError` where a stand-in came to another place: it would be run as the value itself.
    """
    kept: dict[str, object] = {}
    for name, given in changes.items():
        value = given
        if name in exact:
            value = _kept(given, shown_plain(name, shown[name]), tree_to_plain(exact[name]))
        if _stands_in(value):
            raise DecisionError(
                "bad_edit",
                f"args.{name}: what stands in for a hidden or masked value is no value",
                "Leave the value as it stood, or write all of it yourself.",
            )
        kept[name] = value
    return kept


def _kept(new: object, shown: object, exact: object) -> object:
    if new == shown:
        return exact
    if all(isinstance(each, dict) for each in (new, shown, exact)):
        said, was, real = (cast("dict[str, object]", each) for each in (new, shown, exact))
        return {
            key: _kept(each, was[key], real[key]) if key in was and key in real else each for key, each in said.items()
        }
    if all(isinstance(each, list) for each in (new, shown, exact)):
        items, were, reals = (cast("list[object]", each) for each in (new, shown, exact))
        if len(items) == len(were) == len(reals):
            return [_kept(*each) for each in zip(items, were, reals, strict=True)]
    return new


def _stands_in(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_stands_in, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return any(map(_stands_in, cast("list[object]", value)))
    return isinstance(value, str) and (STAND_IN.search(value) is not None or MASK in value)
