"""What the model is told: results, refusals, and what people changed, as messages that say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolOutputMixin
from langgraph.types import Command

from interlock.adapters.guard.outcomes import call_text
from interlock.adapters.langgraph.tools import as_content
from interlock.domain.action import Action
from interlock.domain.decision import Decision, Verdict
from interlock.domain.errors import InterlockError, Refused
from interlock.ports.runtime import Runtime

MARK = "interlock"
"""The key in `additional_kwargs` of a message under which a program finds what became of the call."""


def told(runtime: Runtime, action: Action, tool: str, call_id: str | None, value: Any, notice: str = "") -> Any:
    """The tool's answer as its caller gets it: for a model's call a message, with what people changed or said.

    `notice` stands for our own words about a change.
    """
    answer = message_of(tool, call_id, value)
    words = people_said(runtime, action, notice) if call_id is not None else ""
    return _with(words, answer, cast("str", call_id)) if words else answer


def message_of(tool: str, call_id: str | None, value: Any) -> Any:
    """A tool's value as LangChain returns it: for a model's call as a message, unless it is a command of the graph."""
    if call_id is None:
        return value
    if isinstance(value, ToolMessage):
        return value.model_copy(update={"tool_call_id": call_id})
    return value if _is_output(value) else ToolMessage(content=as_content(value), name=tool, tool_call_id=call_id)


def refusal(error: InterlockError, tool: str, call_id: str) -> ToolMessage:
    """A call that was not run, as the model is told: why, in the words of those who decided."""
    kind = error.kind if isinstance(error, Refused) else error.code
    said = str(error)
    if isinstance(error, Refused) and error.kind == "redirected":
        said += " Plan again with what the reviewer said; do not make this call again."
    action = str(getattr(error, "action", None) or "")
    return ToolMessage(
        content=said,
        name=tool,
        tool_call_id=call_id,
        status="error",
        additional_kwargs={MARK: {"refused": kind, "action": action}},
    )


def people_said(runtime: Runtime, action: Action, notice: str = "") -> str:
    """What the model has to know beside the result: that something else ran, or what a reviewer wrote."""
    if action.cleared_by is None and not action.answered_by:
        return ""
    mine = runtime.decisions_about(action.id)
    lines: list[str] = []
    if action.revision > 1:
        ran = call_text(action.tool, runtime.shown(action.id))
        lines.append(
            f"{notice} Executed instead: {ran}."
            if notice
            else f"A reviewer changed this call before it ran. What ran instead: {ran}. "
            "The call as you made it was not run and must not be made again."
        )
    if action.answered_by and mine and mine[-1].verdict is Verdict.RESPOND:
        lines.append("A reviewer answered in place of the tool; it was not run.")
    lines.extend(f"The reviewer's note: {each.note}" for each in mine if each.note and _about(each, action))
    return "\n".join(lines)


def _about(decision: Decision, action: Action) -> bool:
    """Whether a decision is one that stands: an approval that was taken back says nothing any more."""
    return decision.id == action.cleared_by or decision.verdict in (Verdict.RESPOND, Verdict.MODIFY)


def _with(words: str, answer: Any, call_id: str) -> Any:
    """An answer with these words in the message for this call, wherever the message stands."""
    if isinstance(answer, ToolMessage):
        if answer.tool_call_id != call_id:
            return answer
        return answer.model_copy(update={"content": _beside(words, answer.content)})
    if isinstance(answer, list):
        return [_with(words, each, call_id) for each in cast("list[Any]", answer)]
    if isinstance(answer, Command):
        command = cast("Command[Any]", answer)
        update = cast("object", command.update)
        if isinstance(update, dict):
            known = cast("dict[str, Any]", update)
            told = {key: _with(words, known[key], call_id) for key in ("messages",) if key in known}
            return replace(command, update={**known, **told})
    return cast("object", answer)


def _beside(words: str, content: Any) -> Any:
    if isinstance(content, list):
        return [{"type": "text", "text": words}, *cast("list[Any]", content)]
    return f"{words}\n\n{content}" if content else words


def _is_output(value: Any) -> bool:
    if isinstance(value, list):
        found = cast("list[Any]", value)
        return bool(found) and all(isinstance(each, ToolOutputMixin) for each in found)
    return isinstance(value, ToolOutputMixin)
