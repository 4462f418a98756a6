"""A model with a script, for agents that need no network: it says its next line whatever it is asked."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

Line = AIMessage | Callable[[Sequence[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Says line number n when it has spoken n times in this conversation; the last line stands for all after it."""

    lines: list[Any]
    asked: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.asked.append(list(messages))
        spoken = sum(isinstance(each, AIMessage) for each in messages)
        line = self.lines[min(spoken, len(self.lines) - 1)]
        said = line(messages) if callable(line) else line.model_copy(deep=True)
        said.id = f"m-{uuid.uuid4()}"
        return ChatResult(generations=[ChatGeneration(message=said)])


def calls(*made: tuple[str, dict[str, Any]], text: str = "", ids: Sequence[str] = ()) -> AIMessage:
    """A line that calls tools, as `("send", {"to": "bob"})`; ids are c1, c2, … in every line."""
    return AIMessage(
        content=text,
        tool_calls=[
            {"name": name, "args": args, "id": ids[n] if ids else f"c{n + 1}", "type": "tool_call"}
            for n, (name, args) in enumerate(made)
        ],
    )


def says(text: str = "done") -> AIMessage:
    """A line that ends the agent's turn."""
    return AIMessage(content=text)
