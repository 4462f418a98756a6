"""A person's edit of stored arguments, in a process that need not have the tool's code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from interlock.schema.before import NOTHING, Nothing
from interlock.schema.compare import same
from interlock.schema.definitions import Definitions
from interlock.schema.errors import SchemaError, key_path
from interlock.schema.forms import Describer
from interlock.schema.plain import plain_to_tree
from interlock.schema.tags import Json

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator


def revise(
    schema: Mapping[str, object], shape: Mapping[str, object], current: Mapping[str, Json], edit: Mapping[str, object]
) -> dict[str, Json]:
    """Return the arguments with an edit applied, in the typed encoding.

    `schema` is the JSON Schema of the arguments; `shape` has their shapes by name under `arguments`; `current` are the
    stored arguments and `edit` plain JSON values by name. Names that are not in the edit keep their values, and so do
    parts of a value that the person did not change. Each changed argument must keep to the schema: bounds, lengths,
    patterns, lists of values. Validators written in Python have no part in this. Raises SchemaError
    (`arguments_invalid`), also for an edit that changes nothing.
    """
    shapes = cast("Mapping[str, Json]", shape.get("arguments") or {})
    changed: dict[str, Json] = {}
    for name, value in edit.items():
        where = f"args{key_path(name)}"
        if name not in shapes:
            takes = f"it takes {', '.join(shapes)}" if shapes else "the tool takes none that could be edited"
            raise SchemaError(where, f"no such argument; {takes}", "arguments_invalid")
        before = current.get(name, NOTHING)
        tree = plain_to_tree(shapes[name], value, where, before)
        if isinstance(before, Nothing) or not same(tree, before):
            changed[name] = tree
    if not changed:
        raise SchemaError("args", "nothing is changed", "arguments_invalid")
    _check(schema, shapes, current, changed)
    return {**current, **changed}


def _check(
    schema: Mapping[str, object], shapes: Mapping[str, Json], current: Mapping[str, Json], changed: Mapping[str, Json]
) -> None:
    import jsonschema_rs

    try:
        # Nothing is fetched, and formats are the business of the encoding.
        validator = jsonschema_rs.validator_for(_exact(schema), validate_formats=False, offline=True, mask="it")
    except ValueError as error:
        reason = f"the JSON Schema of the tool cannot be used: {str(error).partition(chr(10))[0]}"
        raise SchemaError("args", reason[:300], "arguments_invalid") from None
    for name, tree in changed.items():
        check = _Check(validator, name, shapes[name])
        # A schema that knows decimals as one of number and string only is not asked about the other.
        forms = [form for form in (False, True) if name not in current or check.complaint(current[name], form) is None]
        for form in forms or (False, True):
            error = check.complaint(tree, form)
            if error is not None:
                raise error


class _Check:
    """The JSON Schema of the arguments, asked about one of them."""

    def __init__(self, validator: Validator, name: str, shape: Json) -> None:
        self._validator = validator
        self._name = name
        self._definitions = Definitions(shape)

    def complaint(self, tree: Json, decimals_as_text: bool) -> SchemaError | None:
        """Return the first thing that the schema says against a value, or None."""
        describer = Describer(self._definitions, decimals_as_text)
        described = describer.of(self._definitions.root, tree, (self._name,))
        return _complaint(self._validator.iter_errors({self._name: described}), describer.unchecked)


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


# Any: a JSON Schema.
def _exact(schema: Any) -> Any:
    """Return a schema whose bounds are not floats: with these the validator would compare decimals as floats."""
    if isinstance(schema, Mapping):
        items = cast("Mapping[str, Any]", schema)
        return {name: _bound(item) if name in _BOUNDS else _exact(item) for name, item in items.items()}
    return [_exact(item) for item in cast("list[Any]", schema)] if isinstance(schema, list) else schema


def _bound(bound: Any) -> Any:
    if type(bound) is not float:
        return _exact(bound)
    return int(bound) if bound.is_integer() else Decimal(repr(bound))


def _complaint(errors: Iterable[ValidationError], unchecked: Sequence[tuple[str | int, ...]]) -> SchemaError | None:
    """Turn the first error inside an argument into a refusal; whether all required ones are there is known before."""
    # The validator takes keys that look like numbers for places in an array.
    unknown = [[str(part) for part in place] for place in unchecked]
    for found in errors:
        path = tuple(found.instance_path)
        if not path or [str(part) for part in path] in unknown:
            continue
        error = _inmost(found)
        where = "args" + "".join(f"[{p}]" if isinstance(p, int) else key_path(p) for p in error.instance_path)
        return SchemaError(where, " ".join(error.message.split())[:200], "arguments_invalid")
    return None


def _inmost(error: ValidationError) -> ValidationError:
    """Find what to say where no alternative fits: what the one says that is of the right type."""
    branches: list[list[ValidationError]] = getattr(error.kind, "context", [])
    right = [branch[0] for branch in branches if branch and branch[0].kind.name != "type"]
    return _inmost(right[0]) if len(right) == 1 else error
