"""Conditions: expressions in CEL, compiled when the policy is read and run when a call is ruled on.

CEL (Common Expression Language) always ends, changes nothing and reaches nothing but the variables below. The
evaluator is imported with the first condition, so that a policy without any costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from interlock.domain.errors import PolicyError
from interlock.domain.tool import ToolSpec
from interlock.policy.ruleset import UNDECLARED, Condition, place_in
from interlock.policy.situation import Situation
from interlock.policy.values import to_value

if TYPE_CHECKING:
    from decimal import Decimal

VARIABLES: Final[Mapping[str, Mapping[str, str] | str]] = {
    "tool": {
        "name": "string",
        "target": "string",
        "category": "string",
        "reversibility": "string",
        "reach": "list",
        "cost": "double",
    },
    "args": {},
    "agent": {"name": "string", "environment": "string", "version": "string", "model": "string"},
    "run": {"id": "string", "workflow": "string"},
    "action": {
        "reversibility": "string",
        "category": "string",
        "confidence": "double",
        "cost": "double",
        "reach": "list",
        "slices": "map",
    },
    "facts": {
        "repeated": "int",
        "calls": "int",
        "actions": "int",
        "novel": "bool",
        "count_1h": "int",
        "count_24h": "int",
        "cost_24h": "double",
    },
    "principal": "string",
}
"""What a condition can name, and the type of each field; the fields of `args` are the tool's own parameters."""

LONGEST_CONDITION: Final = 4_000
"""Characters; the evaluator goes as deep as a condition is nested, and nobody reviews a longer one."""

_WHERE: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?([^\n]*)")


def compile_condition(text: str, places: tuple[tuple[int, int], ...] = (), what: str = "") -> Condition:
    """Compile an expression; raises `PolicyError` `condition_syntax` with line and column in the file."""
    import cel

    if len(text) > LONGEST_CONDITION:
        raise PolicyError(
            "condition_syntax",
            f"{what}the condition has {len(text):,} characters, more than {LONGEST_CONDITION:,}",
            "Split it into several rules; all that match count.",
            *place_in(places, 0),
        )
    try:
        return Condition(text, cel.compile(text), places)
    except ValueError as error:
        found = _WHERE.search(str(error))
        line, column, words = (int(found[1]), int(found[2]), found[3]) if found else (1, 1, str(error))
        offset = sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1
        said = words.partition(" expecting ")[0].replace("mismatched input '<EOF>'", "it ends too early")
        raise PolicyError(
            "condition_syntax",
            f"{what}the condition cannot be read: {said}",
            "Conditions are CEL, for example: args.amount > 500.0 && agent.environment == 'prod'",
            *place_in(places, offset),
        ) from None


def context_of(spec: ToolSpec, situation: Situation, roots: frozenset[str] = frozenset(VARIABLES)) -> Any:
    """The variables of one call, made once for all conditions that look at it; only those in `roots`."""
    import cel

    return cel.Context({root: _VALUES[root](spec, situation) for root in roots})


def _tool(spec: ToolSpec, _: Situation) -> object:
    return {
        "name": spec.name,
        "target": spec.target,
        "category": spec.category,
        "reversibility": spec.reversibility.value if spec.reversibility else UNDECLARED,
        "reach": sorted(each.value for each in spec.reach),
        "cost": _number(spec.cost),
    }


def _args(_: ToolSpec, situation: Situation) -> object:
    return {name: to_value(tree) for name, tree in situation.arguments.items()}


def _agent(_: ToolSpec, situation: Situation) -> object:
    versions = situation.versions
    return {
        "name": situation.agent,
        "environment": versions.environment,
        "version": versions.agent,
        "model": versions.model,
    }


def _run(_: ToolSpec, situation: Situation) -> object:
    return {"id": situation.run, "workflow": situation.workflow}


def _action(spec: ToolSpec, situation: Situation) -> object:
    return {
        "reversibility": spec.worst.value,
        "category": spec.category,
        "confidence": share_of(situation.rationale.confidence) or 0.0,
        "cost": _number(spec.cost),
        "reach": sorted(each.value for each in spec.reach),
        "slices": dict(situation.slices),
    }


_VALUES: Final[Mapping[str, Callable[[ToolSpec, Situation], object]]] = {
    "tool": _tool,
    "args": _args,
    "agent": _agent,
    "run": _run,
    "action": _action,
    "facts": lambda _, situation: dict(situation.facts),
    "principal": lambda _, situation: situation.principal,
}


_FUNCTION: Final = re.compile(r"Function '(\w+)' error")
_WORDS: Final[Mapping[type[Exception], str]] = {
    IndexError: "a list is too short",
    OverflowError: "a number is too large",
    ZeroDivisionError: "it divides by zero",
    ValueError: "an argument cannot be read",
}


def share_of(claimed: object) -> float | None:
    """A number from 0 to 1, or None for anything else that an agent may have said."""
    if isinstance(claimed, bool) or not isinstance(claimed, int | float) or not 0 <= claimed <= 1:
        return None
    return float(claimed)


def _number(amount: Decimal | None) -> float:
    return 0.0 if amount is None else float(amount)


def holds(condition: Condition, variables: Callable[[], Any]) -> bool | str:
    """Whether a condition is true; where it fails, or gives no answer, the reason in words."""
    try:
        answer = condition.program.execute(variables())
    except Exception as error:  # noqa: BLE001 - whatever it is, the rule holds the action because of it
        return why_failed(error, condition.text)
    return answer if isinstance(answer, bool) else f"it gives {type(answer).__name__}, not true or false"


def why_failed(error: Exception, text: str) -> str:
    """What went wrong in the condition `text`, in a few words; never with a value of an argument."""
    if isinstance(error, KeyError):
        key = str(error.args[0])
        return f"there is no {key}" if key in text else "a key is missing"
    for kind, words in _WORDS.items():
        if isinstance(error, kind):
            return words
    if "not a valid regex" in str(error):
        return "its regular expression is not valid"
    function = _FUNCTION.match(str(error))
    if function:
        return f"{function[1]}(...) cannot take what it is given"
    return " ".join(str(error).partition(". ")[0].split())[:160] or type(error).__name__


def slices_of(condition_of: Mapping[str, Condition], context: Any) -> dict[str, str]:
    """The slices of a call's arguments; one that fails, or is no text, says nothing and is left out."""
    found: dict[str, str] = {}
    for name, condition in condition_of.items():
        try:
            text = condition.program.execute(context)
        except Exception:  # noqa: BLE001, S112 - a condition that needs it will fail, and hold
            continue
        if isinstance(text, str):
            found[name] = text[:80]
    return found
