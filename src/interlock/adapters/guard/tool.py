"""A tool of plain Python: its declaration, its codecs and its hooks."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypedDict, cast, get_args

from interlock.adapters.guard.hooks import Hook, hooks_of
from interlock.adapters.guard.keywords import check_kinds, users_frame
from interlock.adapters.guard.rationale import refuse_reserved
from interlock.adapters.guard.sensitive import cause, said, sensitive_paths
from interlock.domain.action import arguments_bytes
from interlock.domain.errors import CallError, SettingsError
from interlock.domain.tool import CONFIDENCE_GATED, InterruptPolicy, Reach, Reversibility, ToolSpec
from interlock.schema import Codec, Parameters, SchemaError, codec_for, refuse_streams, shape_of, storable_reason

Duration = timedelta | str | int | float
"""A timedelta, seconds, or text such as "90s", "10m", "4h", "2d"."""

ReversibilityName = Literal["read_only", "reversible", "compensable", "irreversible"]
PolicyName = Literal["none", "async_notification", "soft_checkpoint", "hard_stop", "deny", "confidence_gated"]


class Hints(TypedDict, total=False):
    """What `tool` understands beside the reversibility."""

    name: str
    description: str
    interrupt_policy: PolicyName
    reach: str | Sequence[str]
    cost: int | float | str | Decimal
    category: str
    confidence_threshold: float
    expires_in: Duration
    window: Duration
    approval_valid_for: Duration
    idempotent: bool
    idempotency_key: str
    occurrence_key: str | Callable[..., str]
    probe: Callable[..., object]
    no_effect_on: type[BaseException] | Sequence[type[BaseException]]
    composite: bool
    compensate: Callable[..., object]
    precheck: Callable[..., object]
    result: object
    sensitive: str | Sequence[str]
    preview: Callable[..., str]
    expected_outcome: str | Callable[..., str]
    ask_rationale: bool
    slices: Mapping[str, str | Callable[..., object]]


class Keywords(Hints, total=False):
    """What `guard` and `declare` understand about a tool."""

    reversibility: ReversibilityName


MOST_DIGITS = 30
"""Digits before and behind the point that a cost may have."""

MOST_NEW_ARGUMENTS = 4
"""So many arguments at once may be new in a version of a tool for a run that began under an older one."""

KEYWORDS = frozenset(Keywords.__annotations__)
SCHEMA_KEYS = frozenset({"parameters", "input_schema", "inputSchema", "schema", "type", "strict", "annotations"})
"""Keys of the tool schemas that teams keep beside their annotations; they pass, and decide nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A callable with everything the gate needs to know of it.

    `fn` is the bare callable. `plain` are the exact types of its arguments, by position, where each takes
    one kind of value that cannot change (str, int, bool): such a call needs no validation, only a look.
    `must_store` refuses a result that cannot be stored, rather than ask again in later passes. `threaded` says that the
    body of an asynchronous one runs in a thread, which no cancellation can stop.
    """

    spec: ToolSpec
    fn: Callable[..., object]
    parameters: Parameters
    result: Codec
    is_async: bool
    plain: tuple[type, ...] | None = None
    must_store: bool = False
    threaded: bool = False
    no_effect_on: tuple[type[BaseException], ...] = ()
    occurrence_key: str | Callable[..., str] | None = None
    probe: Callable[..., object] | None = None
    compensate: Callable[..., object] | None = None
    precheck: Callable[..., object] | None = None
    preview: Hook | None = None
    expects: str | Hook = ""
    slices: Mapping[str, str | Hook] = field(default_factory=dict[str, "str | Hook"])

    def twin(self, values: Mapping[str, object]) -> tuple[object, ...] | None:
        """The arguments as a call that is only recorded counts them: by position, where they are plain."""
        given = tuple(values.values())
        return given if self.plain is not None and tuple(map(type, given)) == self.plain else None

    def occurrence(self, values: Mapping[str, object]) -> str | None:
        """What tells this call from an equal one, where the tool says so."""
        if self.occurrence_key is None:
            return None
        if isinstance(self.occurrence_key, str):
            return str(values[self.occurrence_key])
        return str(self.occurrence_key(**values))


def make_tool(fn: Callable[..., object], keywords: Keywords) -> Tool:
    """Read a callable and its declaration. Raises `SettingsError` with the mend for what does not fit."""
    name = keywords.get("name") or name_of(fn)
    bare = inspect.unwrap(fn) if inspect.isfunction(fn) else fn
    hidden = keywords.get("idempotency_key")
    try:
        refuse_streams(bare)
        parameters = Parameters.of(fn, hide=frozenset({hidden} if hidden else ()))
    except SchemaError as error:
        if hidden and error.path == f"args.{hidden}":
            raise SettingsError(
                "no_such_parameter",
                f"{name} has no parameter {hidden} to receive the idempotency key",
                "Name one of its parameters.",
            ) from error
        raise SettingsError(
            "not_storable",
            f"{name} cannot be guarded: {error.path}: {error.reason}",
            "Annotate it with a type that can be stored.",
        ) from error
    occurrence = keywords.get("occurrence_key")
    if isinstance(occurrence, str) and occurrence not in parameters.names:
        raise SettingsError(
            "no_such_parameter",
            f"{name} has no parameter {occurrence} for occurrence_key",
            "Name one of its parameters.",
        )
    if keywords.get("ask_rationale"):
        refuse_reserved(name, parameters.signature)
    sensitive = sensitive_paths(name, keywords.get("sensitive"), parameters)
    preview, expects, slices = hooks_of(name, parameters.names, keywords, sensitive)
    spec = replace(_spec(name, fn, keywords, parameters), sensitive=sensitive, previewed=preview is not None)
    result = _result(name, fn, keywords, spec)
    shape = {"arguments": parameters.shapes, "result": shape_of(result), "types": parameters.types}
    spec = replace(spec, shape=shape, result_type=result.type_name)
    return Tool(
        spec=spec,
        fn=fn,
        parameters=parameters,
        result=result,
        is_async=_is_async(fn),
        plain=parameters.plain_types,
        no_effect_on=_errors(name, keywords.get("no_effect_on", ())),
        occurrence_key=occurrence,
        probe=keywords.get("probe"),
        compensate=keywords.get("compensate"),
        precheck=keywords.get("precheck"),
        preview=preview,
        expects=expects,
        slices=slices,
    )


def _module(fn: Callable[..., object]) -> str:
    """The module by the name under which others import it: a script is `__main__` here and `app` in its worker."""
    name = str(getattr(fn, "__module__", None) or "")
    main = sys.modules.get("__main__")
    if name != "__main__" or main is None:
        return name
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    return str(spec.name) if spec is not None else Path(file).stem if file else name


def _spec(name: str, fn: Callable[..., object], keywords: Keywords, parameters: Parameters) -> ToolSpec:
    reach = _reach(name, keywords.get("reach", ()))
    qualified = getattr(fn, "__qualname__", None)
    target = f"python:{_module(fn)}:{qualified if isinstance(qualified, str) else name}"
    rev = json.dumps([name, parameters.json_schema, target, sorted(reach)], sort_keys=True, default=str)
    return ToolSpec(
        name=name,
        reversibility=_one_of(name, "reversibility", keywords.get("reversibility"), Reversibility),
        target=target,
        tool_rev="sha-256:" + hashlib.sha256(rev.encode()).hexdigest()[:32],
        description=keywords.get("description") or (inspect.getdoc(fn) or "").split("\n\n")[0][:500],
        schema=parameters.json_schema,
        reach=reach,
        cost=amount(name, keywords.get("cost")),
        category=keywords.get("category", ""),
        interrupt_policy=_policy(name, keywords.get("interrupt_policy")),
        confidence_threshold=keywords.get("confidence_threshold"),
        expires_in=duration(name, "expires_in", keywords),
        window=duration(name, "window", keywords),
        approval_valid_for=duration(name, "approval_valid_for", keywords),
        idempotent=keywords.get("idempotent", False),
        idempotency_key=keywords.get("idempotency_key"),
        probed=keywords.get("probe") is not None,
        composite=keywords.get("composite", False),
        compensated=keywords.get("compensate") is not None,
        asks_rationale=keywords.get("ask_rationale", False),
    )


def _result(name: str, fn: Callable[..., object], keywords: Keywords, spec: ToolSpec) -> Codec:
    annotation = keywords["result"] if "result" in keywords else return_annotation(fn)
    reason = storable_reason(annotation)
    if reason is None:
        return codec_for(annotation)
    if spec.reversibility is not Reversibility.READ_ONLY:
        warnings.warn(
            f"the result of {name} cannot be stored ({reason}); after a pause, later passes get "
            "ResultNotStored instead of it. Return a type that can be stored, or declare one with result=.",
            stacklevel=users_frame(),
        )
    return codec_for(Any)


def return_annotation(fn: Callable[..., object]) -> object:
    """What a callable says it returns, resolved; Any where it says nothing."""
    bare = fn if inspect.isroutine(fn) else type(fn).__call__
    try:
        hints = inspect.get_annotations(bare, eval_str=True)
    except Exception:
        hints = inspect.get_annotations(bare)
    found = hints.get("return", Any)
    return Any if isinstance(found, str) else found


def check_keywords(name: str, given: Mapping[str, object], also: frozenset[str] = frozenset()) -> Keywords:
    """The keywords, if all of them are known; else `SettingsError` naming the nearest one."""
    unknown = given.keys() - KEYWORDS - also
    if unknown:
        from difflib import get_close_matches

        near = get_close_matches(min(unknown), KEYWORDS, 1)
        raise SettingsError(
            "unknown_keyword",
            f"{name}: there is no keyword {min(unknown)}",
            f"Did you mean {near[0]}?" if near else f"Known: {', '.join(sorted(KEYWORDS))}.",
        )
    known = {key: value for key, value in given.items() if key in KEYWORDS}
    check_kinds(name, known)
    return cast("Keywords", known)


def duration(name: str, keyword: str, keywords: Mapping[str, object]) -> timedelta | None:
    """A duration keyword as a timedelta; raises `SettingsError` for what is none."""
    given = keywords.get(keyword)
    if given is None or isinstance(given, timedelta):
        return given
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    try:
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            return timedelta(seconds=given)
        if isinstance(given, str) and given[-1:] in units:
            return timedelta(seconds=float(given[:-1]) * units[given[-1]])
    except (ValueError, OverflowError):
        pass
    raise SettingsError(
        "bad_duration",
        f"{name}: {keyword}={given!r} is no duration",
        'Use a timedelta, seconds, or text such as "90s", "10m", "4h", "2d".',
    )


def name_of(fn: object) -> str:
    """What a callable is called: a partial as what it calls, an object without a name as its class."""
    inner = _inner(fn)
    name = getattr(inner, "__name__", None)
    return name if isinstance(name, str) else type(inner).__name__


def _inner(fn: object) -> object:
    return cast("partial[object]", fn).func if isinstance(fn, partial) else fn


def _is_async(fn: Callable[..., object]) -> bool:
    inner = _inner(fn)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


def _one_of(name: str, keyword: str, given: object, kind: type[Reversibility]) -> Reversibility | None:
    if given is None:
        return None
    try:
        return kind(str(given))
    except ValueError:
        raise SettingsError(
            f"bad_{keyword}", f"{name}: {keyword}={given!r} is unknown", f"Use one of {', '.join(kind)}."
        ) from None


def _policy(name: str, given: object) -> InterruptPolicy | str | None:
    if given is None or given == CONFIDENCE_GATED:
        return cast("str | None", given)
    try:
        return InterruptPolicy(str(given))
    except ValueError:
        raise SettingsError(
            "bad_interrupt_policy",
            f"{name}: interrupt_policy={given!r} is unknown",
            f"Use one of {', '.join(get_args(PolicyName))}.",
        ) from None


def _reach(name: str, given: str | Sequence[str]) -> frozenset[Reach]:
    words = (given,) if isinstance(given, str) else tuple(given)
    try:
        return frozenset(Reach(word) for word in words)
    except ValueError:
        raise SettingsError(
            "bad_reach", f"{name}: reach={given!r} is unknown", f"Use some of {', '.join(Reach)}."
        ) from None


def amount(name: str, given: object) -> Decimal | None:
    """A cost as an exact number; raises `SettingsError` for what is none."""
    if given is None:
        return None
    try:
        cost = Decimal(str(given))
        if cost.is_finite() and cost >= 0 and not isinstance(given, bool) and abs(cost.adjusted()) <= MOST_DIGITS:
            return cost
    except InvalidOperation:
        pass
    raise SettingsError("bad_cost", f"{name}: cost={given!r} is no amount", "Use a number that is not negative.")


def _errors(name: str, given: object) -> tuple[type[BaseException], ...]:
    classes = tuple(cast("Sequence[object]", given)) if isinstance(given, (tuple, list)) else (given,)
    if not all(isinstance(each, type) and issubclass(each, BaseException) for each in classes):
        raise SettingsError(
            "bad_no_effect_on",
            f"{name}: no_effect_on takes exception classes",
            "For example no_effect_on=(ValueError,).",
        )
    return cast("tuple[type[BaseException], ...]", classes)


def bind(tool: Tool, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
    """Validated arguments by name, defaults filled in; raises `CallError` with the path of the offender."""
    try:
        return tool.parameters.bind(args, kwargs)
    except SchemaError as error:
        raise CallError(error.code, f"{tool.spec.name}: {said(tool.spec, error)}", "Nothing was proposed.") from cause(
            tool.spec, error
        )


def earlier_forms(tool: Tool, values: Mapping[str, object], encoded: Mapping[str, Any]) -> Iterator[bytes]:
    """The arguments without those that stand at their default: as versions that did not have them yet would say it."""
    at_default: list[str] = []
    for name in tool.parameters.names:
        try:
            others = tool.parameters.validate({each: value for each, value in values.items() if each != name})
            if tool.parameters.encode(others)[name] == encoded[name]:
                at_default.append(name)
        except SchemaError:
            continue  # it has no default
    newest = at_default[-MOST_NEW_ARGUMENTS:]
    for count in range(1, len(newest) + 1):
        for new in combinations(reversed(newest), count):
            yield arguments_bytes(cast("Any", {name: tree for name, tree in encoded.items() if name not in new}))


def encode(tool: Tool, values: Mapping[str, object], *, check: bool = False) -> dict[str, Any]:
    """Freeze the arguments; with `check`, a value that would not come back as it is is refused before any pause."""
    try:
        encoded = tool.parameters.encode(values)
        if check:
            tool.parameters.check_round_trip(values, encoded)
        return cast("dict[str, Any]", encoded)
    except SchemaError as error:
        raise CallError(error.code, f"{tool.spec.name}: {said(tool.spec, error)}", "Nothing was proposed.") from cause(
            tool.spec, error
        )
