"""What asks people without being a call of a tool: questions, pauses of other frameworks, hand-offs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, lru_cache
from keyword import iskeyword
from typing import Any, Literal, cast

from interlock.adapters.guard.tool import Tool, make_tool
from interlock.domain.action import ActionKind, Asking
from interlock.domain.decision import Answer, Verdict
from interlock.domain.errors import CallError
from interlock.schema import Json, storable_reason, tree_to_plain

VERDICTS = ("approve", "modify", "reject", "respond", "redirect")
_ALSO = {"edit": "modify", "accept": "approve", "ignore": "reject", "response": "respond"}
"""Words of other frameworks for the same."""

MOST_OPTIONS = 20
LONGEST_OPTION = 200


def question(question: str) -> Any:  # noqa: ARG001  what a person is shown
    """A person is asked; the answer is the result."""
    raise AssertionError("a question is answered, never executed")


def _question_in_context(question: str, context: Any) -> Any:  # noqa: ARG001  what a person is shown
    """A person is asked, and shown something with it; the answer is the result."""
    raise AssertionError("a question is answered, never executed")


def question_tool(kind: object, *, in_context: bool) -> Tool:
    """A question whose answer is of this type; raises `CallError` for one that could not be stored."""
    reason = storable_reason(kind)
    if reason is not None:
        raise CallError("not_storable", f"an answer of that type cannot be kept: {reason}", "Ask for a simpler type.")
    try:
        return _question_tool(kind, in_context)
    except TypeError:  # an annotation that cannot be hashed
        return _question_tool.__wrapped__(kind, in_context)


@lru_cache(maxsize=256)
def _question_tool(kind: object, in_context: bool) -> Tool:
    asked = _question_in_context if in_context else question
    return make_tool(asked, {"name": "question", "reversibility": "read_only", "result": kind})


def asking_question(text: str, expires_in: timedelta | None) -> Asking:
    """How a question asks."""
    return Asking(ActionKind.QUESTION, f"the agent asks: {text}"[:500], expires_in=expires_in)


def one_of(options: Sequence[str]) -> object:
    """The type of an answer that is one of these; raises `CallError` where they are none."""
    given = list(cast("Sequence[object]", options)) if isinstance(cast("object", options), Iterable) else []
    fits = all(isinstance(each, str) and 0 < len(each) <= LONGEST_OPTION for each in given)
    if isinstance(options, str) or not fits or not 0 < len(given) <= MOST_OPTIONS or len(set(given)) < len(given):
        raise CallError(
            "bad_options",
            f"nobody could choose from options={options!r:.200}",
            f"Give 1 to {MOST_OPTIONS} different texts of up to {LONGEST_OPTION} characters.",
        )
    return cast("Any", Literal)[tuple(given)]


@dataclass(frozen=True, slots=True)
class Pausing:
    """A pause that is not ours, ready to be reported: as the call of `tool` with `values`.

    `guarded` says that a call of ours will follow an approval: it joins the card and takes the claim. `options` are
    the framework's own words for what a person can choose; `on_expiry` is what it gets when nobody does.
    """

    tool: Tool
    values: dict[str, object]
    asking: Asking
    guarded: bool
    options: tuple[str, ...]
    on_expiry: str

    def with_values(self, values: dict[str, object]) -> Pausing:
        """The same with its values validated."""
        return replace(self, values=values)


def pausing(
    name: str,
    payload: object,
    options: Sequence[str],
    guarded: Tool | None,
    expires_in: timedelta | None,
    on_expiry: str,
) -> Pausing:
    """Read what a framework's pause holds. Raises `CallError` for what cannot be shown or answered."""
    if isinstance(options, str) or not isinstance(cast("object", options), (list, tuple)):
        one_of(())
    own = [_ALSO.get(each, each) if isinstance(cast("object", each), str) else each for each in options]
    choices = tuple(each for each in own if each not in VERDICTS)
    result = one_of(choices) if choices else Any
    answers = tuple(dict.fromkeys(each if each in VERDICTS else "respond" for each in own))
    if guarded is None:
        tool, values = _pause_tool(name, payload, result)
    elif isinstance(payload, Mapping):
        tool, values = guarded, dict(cast("Mapping[str, object]", payload))
    else:
        raise CallError("bad_payload", f"{name}: the arguments of {guarded.spec.name} are to be a dict")
    if on_expiry not in ("reject", *choices):
        raise CallError("bad_options", f"on_expiry={on_expiry!r} is no option", "Use reject, or one of the options.")
    why = f"{name} pauses here by itself; Interlock shows the pause and passes the answer on"
    asking = Asking(ActionKind.OBSERVED, why, answers, expires_in)
    return Pausing(tool, values, asking, guarded is not None, tuple(options), on_expiry)


def _pause_tool(name: str, payload: object, result: object) -> tuple[Tool, dict[str, object]]:
    """A tool that stands for the pause: its arguments are what the framework shows."""
    fields = dict(cast("Mapping[object, object]", payload)) if isinstance(payload, Mapping) else {}
    named = bool(fields) and all(
        isinstance(each, str) and each.isidentifier() and not iskeyword(each) for each in fields
    )
    values: dict[str, object] = {"payload": payload}
    if named:
        values = {str(key): value for key, value in fields.items()}

    def pause(**_: Any) -> Any:
        raise AssertionError("a pause is answered, never executed")

    kinds = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, annotation=Any) for each in values]
    cast("Any", pause).__signature__ = inspect.Signature(kinds, return_annotation=Any)
    pause.__annotations__ = dict.fromkeys((*values, "return"), Any)
    pause.__qualname__ = pause.__name__ = name
    made = make_tool(pause, {"name": name, "result": result})
    # No target: there is no code of ours behind it, and the card says so.
    return replace(made, spec=replace(made.spec, target="")), values


def answered(pausing: Pausing, answer: Answer, kept: Callable[[Json], object]) -> dict[str, object]:
    """The answer as most frameworks take it: `decision`, `reason`, `by`, and what was changed or chosen.

    `modified_action` holds all arguments by name as plain values. `kept` fills in what is stored apart.
    """
    told: dict[str, object] = {"reason": answer.words, "by": answer.by}
    if answer.verdict is None:
        # Silence gets what was agreed for silence; whatever else ended it lets nothing go.
        told["decision"] = pausing.on_expiry if answer.ended == "expired" else "reject"
        told["ended"] = answer.ended
        return told
    told["decision"] = answer.verdict.value
    if answer.verdict is Verdict.MODIFY:
        told["modified_action"] = tree_to_plain(cast("Any", kept(answer.arguments)))
    if answer.verdict is Verdict.RESPOND:
        told["value"] = tree_to_plain(cast("Any", kept(answer.value)))
        if told["value"] in pausing.options:
            told["decision"] = told["value"]
    return told


def _handoff(*, to: str, task: str) -> Any:
    """Hand a task to another agent, or to people."""


def _handoff_with_details(*, to: str, task: str, details: Any) -> Any:
    """Hand a task to another agent, or to people."""


@cache
def _handoff_tool(with_details: bool) -> Tool:
    fn = _handoff_with_details if with_details else _handoff
    return make_tool(fn, {"name": "handoff", "reversibility": "compensable", "reach": "delegates", "composite": True})


def handoff_tool(perform: Callable[[], object] | None, *, with_details: bool) -> Tool:
    """The tool behind `il.handoff`: it sets another agent going, so a person decides; `perform` may pause inside."""
    tool = _handoff_tool(with_details)
    if perform is None:
        return tool

    def body(**_: object) -> object:
        return perform()

    return replace(tool, fn=body, is_async=inspect.iscoroutinefunction(perform))
