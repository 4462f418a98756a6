"""Pauses that graphs make by themselves: what people are shown of them, and their answers in the graph's own words.

Known are LangChain's `HumanInTheLoopMiddleware` in both of its forms, the older form that agent inboxes speak, and
whatever else a node gives to `interrupt()`: that is answered as `{"decision": …, "reason": …}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

EVERYTHING = ("approve", "modify", "reject", "respond")

_OLD = {"allow_accept": "approve", "allow_edit": "modify", "allow_ignore": "reject", "allow_respond": "respond"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that a pause asks: what is shown, under which name, and what can be said to it."""

    name: str
    payload: Any
    options: tuple[str, ...]


Told = Mapping[str, Any]
"""What people said: `decision`, `reason`, and `modified_action` or `value` where there is one."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a pause asks and is answered. `answer` makes one of what was said to each thing asked."""

    asks: Callable[[str, Any], list[Asked]]
    answer: Callable[[Any, Sequence[Told]], Any]


def form_of(value: Any) -> Form:
    """The form of the value that a node gave to `interrupt()`."""
    if isinstance(value, Mapping):
        known = cast("Mapping[str, Any]", value)
        if isinstance(known.get("action_requests"), list):
            return Form(_batched, _batched_answer)
        if known.get("type") == "tool_approval" and "args" in known:
            return Form(_one_call, lambda _, told: _decision(known["name"], told[0]))
        if _is_old(known):
            return Form(lambda _, given: [_old(given)], lambda _, told: [_old_answer(known, told[0])])
    if isinstance(value, list) and value and all(map(_is_old, cast("list[Any]", value))):
        many = cast("list[Any]", value)
        return Form(lambda _, __: [_old(each) for each in many], _old_answers)
    return Form(_free, _free_answer)


# -- LangChain's middleware -----------------------------------------------------------------------------


def _batched(_: str, value: Mapping[str, Any]) -> list[Asked]:
    allowed = {each["action_name"]: tuple(each["allowed_decisions"]) for each in value.get("review_configs", ())}
    return [
        Asked(each["name"], each.get("args", {}), allowed.get(each["name"], EVERYTHING))
        for each in value["action_requests"]
    ]


def _batched_answer(value: Mapping[str, Any], told: Sequence[Told]) -> Any:
    names = [each["name"] for each in value["action_requests"]]
    return {"decisions": [_decision(name, said) for name, said in zip(names, told, strict=True)]}


def _one_call(_: str, value: Mapping[str, Any]) -> list[Asked]:
    return [Asked(value["name"], value["args"], EVERYTHING)]


def _decision(name: str, told: Told) -> dict[str, Any]:
    decision = told["decision"]
    if decision == "approve":
        return {"type": "approve"}
    if decision == "modify":
        return {"type": "edit", "edited_action": {"name": name, "args": told["modified_action"]}}
    if decision == "respond":
        return {"type": "respond", "message": _text(told.get("value"))}
    return {"type": "reject", "message": _why(told)}


# -- the older form -------------------------------------------------------------------------------------


def _is_old(value: Any) -> bool:
    return (
        isinstance(value, Mapping) and isinstance(cast("Any", value).get("action_request"), Mapping)
        and isinstance(cast("Any", value).get("config"), Mapping)
    )  # fmt: skip


def _old(value: Mapping[str, Any]) -> Asked:
    allowed = tuple(word for key, word in _OLD.items() if value["config"].get(key))
    request = value["action_request"]
    return Asked(str(request.get("action", "action")), request.get("args", {}), allowed or ("reject",))


def _old_answer(value: Mapping[str, Any], told: Told) -> dict[str, Any]:
    decision = told["decision"]
    if decision == "approve":
        return {"type": "accept", "args": None}
    if decision == "modify":
        return {"type": "edit", "args": {"action": value["action_request"]["action"], "args": told["modified_action"]}}
    if decision == "respond":
        return {"type": "response", "args": _text(told.get("value"))}
    if value["config"].get("allow_respond") and not value["config"].get("allow_ignore"):
        return {"type": "response", "args": f"Not approved: {_why(told)}"}
    return {"type": "ignore", "args": None}


def _old_answers(value: Sequence[Any], told: Sequence[Told]) -> Any:
    return [_old_answer(each, said) for each, said in zip(value, told, strict=True)]


# -- anything else --------------------------------------------------------------------------------------


def _free(node: str, value: Any) -> list[Asked]:
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        options = given.get("options")
        if (
            isinstance(options, (list, tuple))
            and options
            and all(isinstance(each, str) for each in cast("list[object]", options))
        ):
            shown = {key: each for key, each in given.items() if key != "options"}
            return [Asked(node, shown, tuple(cast("Sequence[str]", options)))]
    return [Asked(node, value, EVERYTHING)]


def _free_answer(_: Any, told: Sequence[Told]) -> Any:
    (said,) = told
    if said["decision"] == "respond":
        return said.get("value")
    return {key: each for key, each in said.items() if key in ("decision", "reason", "modified_action")}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _why(told: Told) -> str:
    return str(told.get("reason") or told.get("ended") or "A reviewer said no.")
