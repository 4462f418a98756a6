"""A case as a LangGraph agent: `create_agent` with a scripted model, Interlock's middleware and an SQLite checkpointer.

The model reads nothing: in its nth message it makes the nth call of the plan, whatever the tools answered.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dojo import Case, Plan, plan_of
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver
from tools import langchain_tools
from world import FileWorld, World

from interlock import Interlock
from interlock.langgraph import InterlockMiddleware, register

CONFIG: Any = {"configurable": {"thread_id": "case"}}


class ScriptedModel(BaseChatModel):
    """Makes the calls of a plan, one in each message, and then says its words."""

    plan: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> ScriptedModel:
        """It knows its tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        spoken = sum(isinstance(each, AIMessage) for each in messages)
        said = AIMessage(self.plan.words, id=str(uuid.uuid4()))
        if spoken < len(self.plan.calls):
            call = self.plan.calls[spoken]
            made = {"name": call.tool, "args": call.args, "id": f"call-{spoken}", "type": "tool_call"}
            said = AIMessage("", tool_calls=[made], id=str(uuid.uuid4()))
        return ChatResult(generations=[ChatGeneration(message=said)])


@dataclass(frozen=True, slots=True)
class Stage:
    """A case in a folder: its plan, its world, its Interlock and the agent."""

    case: Case
    plan: Plan
    world: World
    il: Interlock
    agent: Any

    def begun(self) -> bool:
        """Whether the conversation has its first checkpoint."""
        return bool(self.agent.get_state(CONFIG).values)

    def begin(self) -> None:
        """Ask the agent what the user asks. The message has an id, so that asking once more is the same run."""
        self.agent.invoke({"messages": [HumanMessage(self.plan.prompt, id="task")]}, CONFIG)


@contextmanager
def stage(case: Case, folder: Path, world: FileWorld | None = None) -> Generator[Stage]:
    """Everything of a case, opened from its folder: what another process left there is taken up."""
    world, plan = world or FileWorld(case, folder / "world"), plan_of(case)
    with (
        closing(sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)) as database,
        opened(folder) as il,
    ):
        agent = create_agent(
            ScriptedModel(plan=plan),
            langchain_tools(il, case.suite, world),
            checkpointer=SqliteSaver(database),
            middleware=[InterlockMiddleware(il, name="assistant")],
        )
        yield Stage(case, plan, world, il, register(il, agent))


def opened(folder: Path) -> Interlock:
    """The Interlock of a case."""
    return Interlock(f"sqlite:///{folder / 'interlock.db'}", profile="cautious", agent="assistant")


def last_words(folder: Path) -> str:
    """What the agent said last, by its checkpoints; empty where the last word is not its own."""
    with closing(sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)) as database:
        kept = SqliteSaver(database).get_tuple(CONFIG)
    messages = kept.checkpoint["channel_values"].get("messages", []) if kept is not None else []
    return messages[-1].text if messages and isinstance(messages[-1], AIMessage) else ""
