# pyright: reportMissingTypeStubs=false
"""Around a model call: calls that nobody answered any more, tools that ask why, and runs that have ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from interlock.adapters.guard.outcomes import ending_error, result_of
from interlock.adapters.guard.rationale import model_schema
from interlock.adapters.langgraph.places import turn_of
from interlock.adapters.langgraph.telling import refusal, told
from interlock.adapters.langgraph.tools import GuardedTool, unpack
from interlock.domain.action import Action, ActionState
from interlock.domain.errors import CallError, InterlockError, ResultNotStored
from interlock.ports.runtime import Runtime
from interlock.schema import codec_for

Find = Callable[[str, str, str], Action | None]
"""The action that a call became, by the turn of the conversation, the tool's name, and the call's name."""


def unanswered(messages: Sequence[AnyMessage]) -> bool:
    """Whether a call of the model has no answer although the conversation went on: most models refuse that."""
    return any(_open_calls(messages, place) for place, each in enumerate(messages) if isinstance(each, AIMessage))


def answered(messages: Sequence[AnyMessage]) -> list[tuple[str, str]]:
    """The calls of this turn of the conversation that have an answer, by tool and name."""
    found: list[tuple[str, str]] = []
    answers: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, ToolMessage):
            answers.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            calls = [each for each in message.tool_calls if each["id"] in answers]
            found.extend((each["name"], f"{message.id}/{each['id']}") for each in calls)
            answers.clear()
    return found


def repaired(messages: Sequence[AnyMessage], answer: Callable[[str, str, Mapping[str, Any]], Any]) -> list[AnyMessage]:
    """The conversation with an answer to every call; `answer` is given the turn, the message's id and the call."""
    mended: list[AnyMessage] = []
    for place, message in enumerate(messages):
        mended.append(message)
        if isinstance(message, AIMessage):
            turn = turn_of(messages[:place])
            mended.extend(answer(turn, message.id or "", call) for call in _open_calls(messages, place))
    return mended


def in_their_place(messages: Sequence[AnyMessage]) -> list[Any]:
    """An update of the state that puts these messages in the place of all others."""
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages]


def _open_calls(messages: Sequence[AnyMessage], place: int) -> list[Mapping[str, Any]]:
    message = cast("AIMessage", messages[place])
    answered: set[str] = set()
    for each in messages[place + 1 :]:
        if isinstance(each, ToolMessage):
            answered.add(each.tool_call_id)
        elif isinstance(each, (AIMessage, HumanMessage)) and each.id != message.id:
            break
    return [cast("Mapping[str, Any]", call) for call in message.tool_calls if call["id"] not in answered]


def what_became(runtime: Runtime, action: Action | None, tool: str, call_id: str) -> ToolMessage:
    """A call without an answer, as the model is told of it: the truth, as far as it is recorded."""
    if action is None:
        said = f"No answer to this call of {tool} is on record; the conversation went on without it."
        return ToolMessage(said, name=tool, tool_call_id=call_id, status="error")
    if action.state is ActionState.DONE:
        try:
            value = result_of(action, codec_for(Any), runtime.blob)
            value = value if action.answered_by else unpack(tool, action.id, value)
        except ResultNotStored as error:
            return refusal(error, tool, call_id)
        answer = told(runtime, action, tool, call_id, value)
        return answer if isinstance(answer, ToolMessage) else ToolMessage("It ran.", name=tool, tool_call_id=call_id)
    error = ending_error(action, ())
    if isinstance(error, InterlockError):
        return refusal(error, tool, call_id)
    doubt = CallError(
        "in_doubt", f"It is not known whether {tool} ran; a person is finding out. Do not make this call again."
    )
    return refusal(doubt, tool, call_id)


def asking_why(tools: Sequence[Any], guarded: Callable[[BaseTool], GuardedTool]) -> list[Any] | None:
    """The tools as the model sees them, where one of them asks for the agent's reasons; None where none does."""
    shown = [_asking(each, guarded(each)) if isinstance(each, BaseTool) else each for each in tools]
    return shown if any(a is not b for a, b in zip(shown, tools, strict=True)) else None


def _asking(tool: BaseTool, guarded: GuardedTool) -> BaseTool:
    spec = guarded.sync.spec
    if not spec.asks_rationale:
        return tool

    def refused(**_: Any) -> Any:
        raise CallError("no_way_round", f"{tool.name} is only described here; it was not run")

    return StructuredTool(name=tool.name, description=tool.description, args_schema=model_schema(spec), func=refused)
