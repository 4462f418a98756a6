"""Asks the agent why, beside the arguments: parameters that the model sees and the tool never gets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Annotated, Any, cast

from pydantic import Field

from interlock.adapters.guard.hooks import why
from interlock.domain.action import Rationale
from interlock.domain.errors import SettingsError
from interlock.domain.tool import ToolSpec

saying: ContextVar[Rationale] = ContextVar("interlock_rationale", default=Rationale())
"""What the agent says about the calls it makes now."""

_ASKED: Mapping[str, tuple[Any, object, dict[str, object], str]] = {
    "reasoning": (str, "", {"type": "string"}, "Why this call is right now, in one or two sentences for a reviewer."),
    "confidence": (
        float | None,
        None,
        {"type": "number", "minimum": 0, "maximum": 1},
        "How sure you are that this call is right, from 0 to 1.",
    ),
    "uncertainty_reasons": (
        list[str] | None,
        None,
        {"type": "array", "items": {"type": "string"}},
        "What you are not sure about, one reason each.",
    ),
    "expected_outcome": (str, "", {"type": "string"}, "What you expect to come of it."),
}
"""By name: the annotation, the default, the JSON schema, and the words that the model reads."""


def refuse_reserved(tool: str, signature: Signature) -> None:
    """Raise `SettingsError` where the tool itself has a parameter of one of the names."""
    taken = sorted(_ASKED.keys() & signature.parameters.keys())
    if taken:
        raise SettingsError(
            "reserved_parameter",
            f"{tool} has a parameter {taken[0]}, which ask_rationale takes for the agent's reasons",
            "Give the parameter another name, or leave ask_rationale out.",
        )


def asking_signature(signature: Signature) -> Signature:
    """The signature with the parameters that ask why: by keyword only, all of them optional."""
    parameters = list(signature.parameters.values())
    at = next((n for n, each in enumerate(parameters) if each.kind is Parameter.VAR_KEYWORD), len(parameters))
    asked = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for (name, (_, default, _, _)), annotation in zip(_ASKED.items(), asked_annotations().values(), strict=True)
    ]
    return signature.replace(parameters=[*parameters[:at], *asked, *parameters[at:]])


def asking_annotations(fn: Callable[..., object]) -> dict[str, Any]:
    """The annotations of the tool, and those of the parameters that ask why."""
    return {**inspect.get_annotations(fn), **asked_annotations()}


def asked_annotations() -> dict[str, Any]:
    """The parameters that ask why, annotated so that what makes a schema of a signature shows the model the words."""
    return {name: Annotated[kind, Field(description=words)] for name, (kind, _, _, words) in _ASKED.items()}


def model_schema(spec: ToolSpec) -> dict[str, Any]:
    """The JSON schema of what the model may give: the arguments and, where the tool asks for them, its reasons."""
    schema = cast("dict[str, Any]", dict(spec.schema))
    if spec.asks_rationale:
        asked = {name: {**form, "description": words} for name, (_, _, form, words) in _ASKED.items()}
        schema["properties"] = {**schema.get("properties", {}), **asked}
    return schema


def take(kwargs: Mapping[str, object], said: Rationale) -> tuple[dict[str, object], Rationale]:
    """The arguments without the reasons, and the reasons: they win over what was `said` around the call.

    What is of the wrong kind is kept as words; it never breaks a call.
    """
    rest = dict(kwargs)
    given = {name: rest.pop(name) for name in _ASKED if name in rest}
    told = {name: value for name, value in given.items() if value is not None and value != ""}
    if "reasoning" in told:
        said = replace(said, reasoning=_words(told["reasoning"]))
    if "expected_outcome" in told:
        said = replace(said, expected=_words(told["expected_outcome"]))
    if "confidence" in told:
        claimed = told["confidence"]
        usable = isinstance(claimed, (int, float)) and not isinstance(claimed, bool)
        said = replace(said, confidence=cast("Any", claimed if usable else _words(claimed)))
    if "uncertainty_reasons" in told:
        doubts = told["uncertainty_reasons"]
        each = cast("list[object]", doubts) if isinstance(doubts, (list, tuple)) else [doubts]
        if each:
            said = replace(said, uncertainty=tuple(map(_words, each[:20])))
    return rest, said


def _words(value: object) -> str:
    try:
        return "".join(str(value))
    except Exception as error:
        return f"({why(error)})"
