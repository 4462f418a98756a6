"""A LangChain tool as the gate knows tools: its declaration from its schema, its body, what it returns.

What a tool returns is kept as it is where it is plain content; messages with more than that, commands and lists of them
are kept in LangGraph's own encoding.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Annotated, Any, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools import Tool as SimpleTool
from langchain_core.tools.base import TOOL_MESSAGE_BLOCK_TYPES
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from pydantic import BaseModel, Field, ValidationError

from interlock.adapters.guard.drivers import PausedInside
from interlock.adapters.guard.tool import Keywords, Tool, bind, make_tool
from interlock.domain.errors import CallError, NoEffect, ResultNotStored, SettingsError
from interlock.domain.ids import ActionId

PACKED = "langgraph"
"""The key under which a result stands that only LangGraph can read."""


class Bubbled(BaseException):
    """A pause of the graph's own, on its way through a guarded call: no failure of the tool."""

    def __init__(self, bubble: GraphBubbleUp) -> None:
        super().__init__(str(bubble))
        self.bubble = bubble


class InterruptBubbled(Bubbled, PausedInside):
    """An `interrupt()` in the body of a tool: LangGraph runs anew, with the answer, whatever makes one."""


def _bubbled(bubble: GraphBubbleUp) -> Bubbled:
    return InterruptBubbled(bubble) if isinstance(bubble, GraphInterrupt) else Bubbled(bubble)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: what the model gave, what the graph adds to it, and the configuration to run it with."""

    args: Mapping[str, Any]
    id: str | None
    injected: Mapping[str, Any]
    config: RunnableConfig | None
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GuardedTool:
    """A LangChain tool with its two bodies, synchronous and asynchronous, as tools of the gate."""

    original: BaseTool
    sync: Tool
    asynchronous: Tool

    @property
    def name(self) -> str:
        """The tool's name, as the model calls it."""
        return self.sync.spec.name

    def require_sync(self) -> None:
        """Raise `NotImplementedError`, as LangChain does, where it has no synchronous form."""
        if only_async(self.original):
            raise NotImplementedError(
                f"{self.name} has no synchronous form, so it was not run; call the graph with ainvoke or astream"
            )

    def split(self, args: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the model gave, and what the graph injected; the idempotency key is for neither of them to give."""
        shown, key = self.sync.parameters.names, self.sync.spec.idempotency_key
        given = {name: value for name, value in args.items() if name in shown or not self._knows(name)}
        return given, {name: value for name, value in args.items() if name not in given and name != key}

    def _knows(self, name: str) -> bool:
        """Whether it is a parameter that the graph fills in."""
        schema = self.original.args_schema
        if isinstance(schema, type) and name in cast("type[BaseModel]", schema).model_fields:
            return True
        # A schema of its own may leave out what only the function takes, the graph's runtime for example.
        fn = getattr(self.original, "func", None) or getattr(self.original, "coroutine", None)
        return fn is not None and name in inspect.signature(fn).parameters

    def values(self, given: Mapping[str, Any]) -> dict[str, object]:
        """The arguments as they will be shown and run: validated by the tool's own schema, defaults filled in.

        Raises `CallError` `arguments_invalid`.
        """
        schema = self.original.args_schema
        names = self.sync.parameters.names
        if isinstance(schema, type) and issubclass(schema, BaseModel) and set(schema.model_fields) == set(names):
            try:
                checked = schema.model_validate(dict(given))
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                where = ".".join(str(each) for each in first["loc"]) or "args"
                raise CallError(
                    "arguments_invalid", f"{self.name}: args.{where}: {first['msg']}", "Nothing was proposed."
                ) from None
            return bind(self.sync, (), {name: getattr(checked, name) for name in names})
        known = {name: value for name, value in given.items() if name in names}
        return bind(self.sync, (), known)


def read_call(tool: GuardedTool, input: Any, config: RunnableConfig | None, options: Mapping[str, Any]) -> ToolCall:
    """What `invoke` was given: a model's call, a dict of arguments, or a single argument."""
    if isinstance(input, Mapping) and cast("Mapping[str, Any]", input).get("type") == "tool_call":
        given, injected = tool.split(cast("Mapping[str, Any]", input["args"]))
        return ToolCall(given, id_of(tool, cast("Mapping[str, Any]", input)), injected, config, options)
    if isinstance(input, Mapping):
        given, injected = tool.split(cast("Mapping[str, Any]", input))
    else:
        given, injected = {next(iter(tool.sync.parameters.names), "input"): cast("object", input)}, dict[str, Any]()
    return ToolCall(given, None, injected, config, options)


def id_of(tool: GuardedTool, tool_call: Mapping[str, Any]) -> str:
    """The id of a model's call; one without could be given no answer, so it is refused before anybody is asked."""
    found = tool_call.get("id")
    if isinstance(found, str):
        return found
    raise CallError(
        "no_call_id",
        f"a call of {tool.name} has no id, so it was not run",
        "Give each of a message's tool calls an id.",
    )


_call: ContextVar[ToolCall] = ContextVar("interlock_tool_call")
"""The call whose body runs here."""


_key: ContextVar[Any] = ContextVar("interlock_idempotency_key", default=None)
"""The idempotency key of the call whose body runs here."""


def keyed(inner: Tool) -> Callable[..., Any]:
    """The bare function of a guarded one; it gets its idempotency key past a schema that does not know of it."""
    fn, name = inner.fn, inner.spec.idempotency_key
    if name is None:
        return fn
    if inner.is_async:

        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return await cast("Any", fn(*args, **{**kwargs, name: _key.get()}))

        return functools.wraps(fn)(call_async)

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **{**kwargs, name: _key.get()})

    return functools.wraps(fn)(call)


def calling(call: ToolCall) -> Any:
    """Say which call the next body belongs to; undo it with `called`."""
    return _call.set(call)


def called(token: Any) -> None:
    """Undo `calling`."""
    _call.reset(token)


def only_async(tool: BaseTool) -> bool:
    """Whether a tool was made of an asynchronous function and of no other."""
    return getattr(tool, "coroutine", None) is not None and getattr(tool, "func", None) is None


def only_sync(tool: BaseTool) -> bool:
    """Whether a tool has no asynchronous form of its own: LangChain runs it in a thread then."""
    run = inspect.getattr_static(type(tool), "_arun")
    inherited = any(run is inspect.getattr_static(kind, "_arun") for kind in (BaseTool, SimpleTool, StructuredTool))
    return inherited and getattr(tool, "coroutine", None) is None


def guarded_tool(original: BaseTool, keywords: Keywords, inner: Tool | None = None) -> GuardedTool:
    """Read a LangChain tool. Raises `SettingsError` for what cannot be guarded.

    `inner` is the guarded function that it was made of: then that one's declaration is taken over.
    """
    key = inner.spec.idempotency_key if inner is not None else keywords.get("idempotency_key")
    if inner is not None and key is not None:
        keywords = {**keywords, "idempotent": True, "idempotency_key": key}
    signature, annotations = _signature(original, key, always=inner is not None)

    def body(**values: Any) -> Any:
        _key.set(values.get(key or ""))
        return _ran(original, values, lambda call, input: original.invoke(input, call.config, **call.options))

    async def body_async(**values: Any) -> Any:
        call = _call.get()
        _key.set(values.get(key or ""))
        try:
            return pack(await original.ainvoke(_input(original, call, values), call.config, **call.options))
        except GraphBubbleUp as bubble:
            raise _bubbled(bubble) from None
        except ValidationError as error:
            raise _refused_by_schema(original, error) from None

    for each in (body, body_async):
        fn = cast("Any", each)
        fn.__name__, fn.__qualname__, fn.__module__ = original.name, original.name, "langchain"
        fn.__doc__ = original.description
        fn.__signature__, fn.__annotations__ = signature, annotations
    tool = make_tool(body, {**keywords, "result": Any})
    if inner is not None:
        tool = replace(inner, fn=body, parameters=tool.parameters, result=tool.result, is_async=False, plain=None)
    # The name is what stays the same when the code moves; what the tool takes is in its revision.
    spec = replace(tool.spec, target=f"langchain:{original.name}", schema=_json_schema(original, tool))
    tool = replace(tool, spec=spec)
    return GuardedTool(original, tool, replace(tool, fn=body_async, is_async=True, threaded=only_sync(original)))


def _ran(original: BaseTool, values: dict[str, Any], invoke: Callable[[ToolCall, Any], Any]) -> Any:
    call = _call.get()
    try:
        return pack(invoke(call, _input(original, call, values)))
    except GraphBubbleUp as bubble:
        raise _bubbled(bubble) from None
    except ValidationError as error:
        raise _refused_by_schema(original, error) from None


def _refused_by_schema(original: BaseTool, error: ValidationError) -> Exception:
    """What the tool's own schema refused has had no effect; any other validation may come from its body."""
    schema = original.args_schema
    if isinstance(schema, type) and error.title == schema.__name__:
        return NoEffect(f"{original.name} did not take its arguments: {error.errors(include_url=False)[0]['msg']}")
    return error


def _input(original: BaseTool, call: ToolCall, values: dict[str, Any]) -> dict[str, Any]:
    args = {**{name: value for name, value in values.items() if not _left_out(original, name, value)}, **call.injected}
    if call.id is None:
        return args
    return {"name": original.name, "args": args, "id": call.id, "type": "tool_call"}


def _left_out(original: BaseTool, name: str, value: object) -> bool:
    """Whether an argument was not given: a plain JSON schema knows no defaults, so None stands for that there."""
    return value is None and isinstance(original.args_schema, dict) and name not in _required(original.args_schema)


def _required(schema: Mapping[str, Any]) -> list[str]:
    return cast("list[str]", schema.get("required", []))


def _signature(original: BaseTool, key: str | None, *, always: bool) -> tuple[Signature, dict[str, Any]]:
    """What the tool takes of the model, and the parameter for the idempotency key that the model need not see."""
    schema = cast("object", original.tool_call_schema)
    parameters: list[Parameter] = []
    if isinstance(schema, dict):
        known = cast("dict[str, Any]", schema)
        required = _required(known)
        for name in cast("dict[str, Any]", known.get("properties", {})):
            default = Parameter.empty if name in required else None
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, annotation=Any, default=default))
    elif isinstance(schema, type) and issubclass(schema, BaseModel):
        for name, field in schema.model_fields.items():
            said = [*field.metadata, *([Field(description=field.description)] if field.description else [])]
            annotation = Annotated[(field.annotation, *said)] if said else field.annotation
            default = field.default
            if field.is_required():
                default = Parameter.empty
            elif field.default_factory is not None:
                default = Field(default_factory=cast("Any", field.default_factory))
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default))
    else:
        raise SettingsError(
            "not_storable",
            f"{original.name} cannot be guarded: its args_schema is no Pydantic 2 model and no JSON schema",
            "Give it a schema of one of these kinds.",
        )
    full, known = original.args_schema, {each.name for each in parameters}
    fields = full.model_fields if isinstance(full, type) and issubclass(full, BaseModel) else {}
    if key is not None and key not in known and (always or key in fields):
        parameters.append(Parameter(key, Parameter.KEYWORD_ONLY, annotation=str, default=""))
    for each in parameters:
        if not each.name.isidentifier():
            raise SettingsError("not_storable", f"{original.name}: {each.name!r} is no name for an argument", "")
    return Signature(parameters), {each.name: each.annotation for each in parameters}


def _json_schema(original: BaseTool, tool: Tool) -> Mapping[str, Any]:
    """The schema of the arguments: a JSON schema as it was given, else ours."""
    schema = cast("object", original.args_schema)
    return cast("Mapping[str, Any]", schema) if isinstance(schema, dict) else tool.spec.schema


# -- results ------------------------------------------------------------------------------------------

_serde = JsonPlusSerializer()


def pack(value: Any) -> Any:
    """A tool's return value as it is kept; one that LangGraph cannot keep as it is: its caller gets that, nobody later.

    Never raises: the tool has returned, and whatever it returned makes no doubt of that.
    """
    try:
        if isinstance(value, ToolMessage):
            if type(value) is ToolMessage and value.status == "success" and value.artifact is None and _bare(value):
                return value.content
        elif _is_plain(value) and not _has_packed_shape(value):
            return value
        kind, data = _serde.dumps_typed(value)
    except Exception:
        return value
    return {PACKED: [kind, data]}


def unpack(tool: str, action: ActionId | None, value: Any) -> Any:
    """The inverse of `pack`: content, or what LangGraph kept. Raises `ResultNotStored` where it cannot be read."""
    if not _has_packed_shape(value):
        return cast("object", value)
    packed = cast("dict[str, Any]", value)[PACKED]
    if not isinstance(packed, list) or list(map(type, cast("list[Any]", packed))) != [str, bytes]:
        return cast("object", value)  # kept before such values were packed
    try:
        return _serde.loads_typed(cast("Any", tuple(cast("list[Any]", packed))))
    except Exception as error:
        raise ResultNotStored(tool, f"LangGraph cannot read it any more: {error}", action) from error


def _has_packed_shape(value: Any) -> bool:
    return isinstance(value, dict) and set(cast("dict[Any, Any]", value)) == {PACKED}


def as_content(value: Any) -> str | list[Any]:
    """A value as the content of a message: text and blocks as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(_is_block(each) for each in cast("list[Any]", value)):
        return cast("list[Any]", value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(cast("object", value))


def _is_block(value: Any) -> bool:
    """Whether LangChain takes it as a part of a message's content."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get("type") in TOOL_MESSAGE_BLOCK_TYPES
    return isinstance(value, str)


def _bare(message: ToolMessage) -> bool:
    return not message.additional_kwargs and not message.response_metadata


def _is_plain(value: Any) -> bool:
    if value is None or isinstance(value, (str, int, float, bool)):
        return True
    if isinstance(value, (list, tuple)):
        return all(_is_plain(each) for each in cast("list[Any]", value))
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_plain(v) for k, v in cast("dict[Any, Any]", value).items())
    return False
