"""Checks rules against the tools that they are for, before any call: names, types, and what could not be kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from interlock.canonical import Json
from interlock.domain.errors import PolicyError
from interlock.domain.tool import InterruptPolicy, ToolSpec
from interlock.policy.conditions import VARIABLES, why_failed
from interlock.policy.nearest import mend_of
from interlock.policy.ruleset import Condition, PolicySet, Rule
from interlock.policy.samples import Shaped, combinations, kind_of, shapes_of
from interlock.policy.tokens import Names, Reference, names_of

_TYPES: Final = frozenset({"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"})
_FUNCTIONS: Final = frozenset(
    {
        "all", "bytes", "contains", "double", "duration", "dyn", "endsWith", "exists", "existsOne", "exists_one",
        "filter", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours",
        "getMilliseconds", "getMinutes", "getMonth", "getSeconds", "has", "int", "map", "matches", "size",
        "startsWith", "string", "timestamp", "type", "uint",
    }
)  # fmt: skip
_MIXED: Final = re.compile(r"\b(?:float \S int|int \S float)\b")
_SAMPLES: Final[Mapping[str, Json]] = {
    "string": "str",
    "double": "float",
    "int": "int",
    "bool": "bool",
    "list": {"list": "str"},
    "map": {"dict": ["str", "str"]},
}


def check_rules(policy: PolicySet, specs: Iterable[ToolSpec]) -> None:
    """Raise `PolicyError` for the first rule or slice that does not fit a tool; says where and how to mend it."""
    for spec in specs:
        for rule in policy.rules_for(spec):
            _check_undo(rule, spec)
            if rule.when is not None:
                check_condition(rule.when, policy, spec, f"the rule {rule.name!r}", "bool")
        for each in policy.slices_for(spec):
            check_condition(each.condition, policy, spec, f"the slice {each.name}", "string")


def check_names(condition: Condition, what: str) -> None:
    """Raise `PolicyError` for a name that no condition can use, whatever the tool is."""
    names = names_of(condition.text)
    for name, start in names.bound:
        if name in VARIABLES:
            raise _error(
                "condition_name",
                condition,
                start,
                f"{what} gives the name {name}, which stands for something else already, to the items of a list",
                "Give the items another name, for example each.",
            )
    for index, token in enumerate(names.tokens[:-1]):
        if token.kind == "name" and names.tokens[index + 1].text == "(" and token.text not in _FUNCTIONS:
            raise _error(
                "condition_name",
                condition,
                token.start,
                f"{what} calls {token.text}, which there is none of",
                mend_of(token.text, _FUNCTIONS),
            )
    bound = {name for name, _ in names.bound}
    for reference in names.references:
        if reference.root not in bound and reference.root not in _TYPES:
            _check_root(condition, reference, what)


def _check_root(condition: Condition, reference: Reference, what: str) -> None:
    if reference.root not in VARIABLES:
        raise _error(
            "condition_name",
            condition,
            reference.starts[0],
            f"{what} names {reference.root}, which there is none of",
            mend_of(reference.root, VARIABLES),
        )
    fields = VARIABLES[reference.root]
    if isinstance(fields, str) or reference.root == "args" or len(reference.names) == 1:
        return
    if reference.names[1] not in fields:
        raise _error(
            "condition_name",
            condition,
            reference.starts[1],
            f"{what} names {reference.root}.{reference.names[1]}, which there is none of",
            mend_of(reference.names[1], fields),
        )


def _check_undo(rule: Rule, spec: ToolSpec) -> None:
    if InterruptPolicy.ASYNC_NOTIFICATION in rule.asks and not spec.compensated and not rule.rollback:
        raise PolicyError(
            "rule_without_undo",
            f"the rule {rule.name!r} tells people about {spec.name} afterwards, and it has no compensate= to undo it",
            'Give the tool compensate=, use soft_checkpoint, or say rollback = "manual" with a rollback_text.',
            rule.line,
            rule.column,
        )


def check_condition(condition: Condition, policy: PolicySet, spec: ToolSpec, what: str, wanted: str) -> None:
    """Raise `PolicyError` where a condition does not fit a tool: names, comparisons, and trials on sample values."""
    names = names_of(condition.text)
    slices = frozenset(each.name for each in policy.slices_for(spec))
    shapes = shapes_of(spec)
    for reference in names.references:
        if reference.names[:2] == ("action", "slices"):
            if len(reference.names) > 2 and reference.names[2] not in slices:
                raise _error(
                    "condition_name",
                    condition,
                    reference.starts[2],
                    f"{what} names the slice {reference.names[2]}, which {spec.name} has none of",
                    mend_of(reference.names[2], slices, f"Declare it under [slices.{spec.name}]."),
                )
        elif reference.root == "args" and shapes is not None:
            _check_argument(condition, reference, shapes, spec, what)
    known = _Known(names, shapes, slices)
    _check_equalities(condition, names, known, what)
    _try(condition, known, what, wanted)


def _check_argument(
    condition: Condition, reference: Reference, shapes: Mapping[str, Json], spec: ToolSpec, what: str
) -> None:
    """Every name of `args.booking.room`, as far as the declared types tell."""
    for place in range(1, len(reference.names)):
        name = reference.names[place]
        if place == 1:
            known, of = frozenset(shapes), spec.name
        else:
            found = Shaped(shapes[reference.names[1]]).fields(reference.names[2:place])
            if found is None:
                return
            known, of = found, ".".join(reference.names[:place])
        if name not in known:
            kind = "argument" if place == 1 else "field"
            raise _error(
                "condition_argument",
                condition,
                reference.starts[place],
                f"{what} names {'.'.join(reference.names[: place + 1])}, and {of} has no {kind} {name}",
                mend_of(name, known),
            )


class _Known:
    """What is known of the variables that a condition names: the types and values of each."""

    def __init__(self, names: Names, shapes: Mapping[str, Json] | None, slices: frozenset[str]) -> None:
        self.names = names
        literals = names.literals()
        self._arguments = {name: Shaped(shape, literals) for name, shape in (shapes or {}).items()}
        self._unknown = shapes is None
        self._fixed: dict[tuple[str, ...], Shaped] = {}
        for root, fields in VARIABLES.items():
            if isinstance(fields, str):
                self._fixed[root,] = Shaped(_SAMPLES[fields], literals)
            else:
                self._fixed.update({(root, name): Shaped(_SAMPLES[kind], literals) for name, kind in fields.items()})
        self._fixed.pop(("action", "slices"))
        self._fixed.update({("action", "slices", name): Shaped("str", literals) for name in slices})

    def kinds(self, reference: Reference) -> frozenset[str]:
        """The kinds of values that may stand where a reference points; empty where that is not known."""
        if reference.root == "args" and len(reference.names) > 1 and reference.names[1] in self._arguments:
            return self._arguments[reference.names[1]].kinds(reference.names[2:])
        found = self._fixed.get(reference.names)
        return found.kinds() if found is not None else frozenset({"any"})

    def columns(self) -> dict[str, list[object]]:
        """Values for each variable that the condition names, one for all others."""
        used = {reference.names[: len(path)] for reference in self.names.references for path in self._paths()}
        return {
            ".".join(path): shaped.values() if path in used or path[:1] in used else shaped.values()[:1]
            for path, shaped in self._paths().items()
        }

    def _paths(self) -> dict[tuple[str, ...], Shaped]:
        return {**{("args", name): shaped for name, shaped in self._arguments.items()}, **self._fixed}

    @property
    def certain(self) -> bool:
        """Whether every argument that the condition names has a type that is known."""
        used = self.names.fields("args")
        if self._unknown:
            return used == frozenset()
        return all(shaped.certain for name, shaped in self._arguments.items() if used is None or name in used)


def _check_equalities(condition: Condition, names: Names, known: _Known, what: str) -> None:
    """A comparison of two kinds is no error to the evaluator; it is only never true, and the rule never matches."""
    for reference, literal, start in names.equalities():
        kinds = known.kinds(reference)
        if kinds and "any" not in kinds and kind_of(literal) not in kinds | {"null"}:
            raise _error(
                "condition_type",
                condition,
                start,
                f"{what} compares {reference} ({' or '.join(sorted(kinds))}) with {_shown(literal)}, which it never is",
                "Compare it with a value of its own type.",
            )


def _shown(literal: object) -> str:
    return json.dumps(literal, default=repr)


def _try(condition: Condition, known: _Known, what: str, wanted: str) -> None:
    """Run the condition on samples. Errors of type count at once; others only where every sample fails."""
    if not known.certain:
        return  # what is not known may be right
    failures: list[tuple[Exception, Mapping[str, object]]] = []
    tried = 0
    for sample in combinations(known.columns()):
        tried += 1
        try:
            answer = condition.program.execute(_nested(sample))
        except Exception as error:  # noqa: BLE001 - what it is decides whether it counts
            failures.append((error, sample))
            if known.certain and _of_type(error):
                break
            continue
        if (kind_of(answer) if isinstance(answer, bool | str) else "other") != wanted:
            gives = "text" if isinstance(answer, str) else f"a value of type {type(answer).__name__}"
            aim = "true or false" if wanted == "bool" else "text"
            raise _error(
                "condition_type",
                condition,
                0,
                f"{what} gives {gives}, and has to give {aim}",
                "For example: args.amount > 500.0"
                if wanted == "bool"
                else "For example: args.amount < 100.0 ? 'small' : 'large'",
            )
    counting = [each for each in failures if _of_type(each[0])]
    if not counting and len(failures) == tried:
        counting = [each for each in failures if not isinstance(each[0], (KeyError, IndexError))]
    if counting:
        error, sample = counting[0]
        used = known.names.fields("args") or frozenset()
        empty = next((name for name in sorted(used) if sample.get(f"args.{name}", 0) is None), "")
        words, mend = _told(error, condition.text, empty)
        raise _error("condition_type", condition, _clause(condition, known, sample), f"{what}: {words}", mend)


def _of_type(error: Exception) -> bool:
    """Whether an error lies in the condition, and not in the values that it met."""
    return isinstance(error, TypeError) or "Undefined variable" in str(error) or "not a valid regex" in str(error)


def _told(error: Exception, text: str, empty: str) -> tuple[str, str]:
    """An error of type in words that people can use, and its mend. `empty` names an argument that was null."""
    said = str(error)
    if empty:
        return f"it fails where args.{empty} is null", f"Ask first: args.{empty} != null && ..."
    if _MIXED.search(said):
        mend = "Whole numbers and decimals do not mix: write 500.0 instead of 500, or double(...)."
        return why_failed(error, text), mend
    if "regex" in said:
        return "its regular expression is not valid", "Mend it, or use contains, startsWith or endsWith."
    if isinstance(error, TypeError) and said.startswith("No such overload"):
        words = "it compares or combines values whose types do not go together"
        return words, "Use values of one type; convert with int(...), double(...), string(...) or timestamp(...)."
    return why_failed(error, text), "Mend this part; it fails whatever the arguments are."


def _clause(condition: Condition, known: _Known, sample: Mapping[str, object]) -> int:
    """Where the part of the condition begins that fails by itself: parts are what `&&` and `||` join."""
    import cel

    starts, depth = [0], 0
    for token in known.names.tokens:
        depth += (token.text in "([{") - (token.text in ")]}") if token.kind == "sign" else 0
        if depth == 0 and token.text in ("&&", "||"):
            starts.append(token.start)
    for start, end in zip(starts, [*starts[1:], len(condition.text)], strict=True):
        part = condition.text[start:end]
        bare = part.removeprefix("&&").removeprefix("||").lstrip()
        try:
            cel.evaluate(bare, _nested(sample))
        except Exception as error:  # noqa: BLE001 - the part that has such an error is looked for
            if _of_type(error):
                return start + len(part) - len(bare)
    return 0


def _nested(sample: Mapping[str, object]) -> dict[str, Any]:
    """Variables as the evaluator takes them, from values by path."""
    found: dict[str, Any] = {"args": {}, "action": {"slices": {}}}
    for path, value in sample.items():
        *outer, last = path.split(".", 2)
        inside = found
        for name in outer:
            inside = inside.setdefault(name, {})
        inside[last] = value
    return found


def _error(code: str, condition: Condition, start: int, message: str, mend: str) -> PolicyError:
    return PolicyError(code, message, mend, *condition.place(start))


def conditions_of(policy: PolicySet) -> Iterator[tuple[Condition, str]]:
    """Every condition of a policy, with what it belongs to in words."""
    for rule in policy.rules:
        if rule.when is not None:
            yield rule.when, f"the rule {rule.name!r}"
    for each in policy.slices:
        yield each.condition, f"the slice {each.name}"
