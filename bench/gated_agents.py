"""One gated tool call of a LangChain agent, in every way of pausing for people that is compared here.

No script of its own: `langgraph_added_cost.py`, `langgraph_resume_latency.py` and `langgraph_growth.py` measure it.
"""

import itertools
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from interlock import Interlock
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.kernel.desk import ReviewDesk
from interlock.langgraph import InterlockMiddleware, register

ANA = Principal(PrincipalKind.REVIEWER, "ana", authn="local")
ARGUMENTS = {"to": "ap@newco.example", "subject": "Overdue invoice", "body": "Dear all, " * 30}
_numbers = itertools.count(1)


class OneCall(BaseChatModel):
    """Calls `send_email` once after each message of a person, and ends the turn once it has the answer."""

    @property
    def _llm_type(self) -> str:
        return "one-call"

    def bind_tools(self, *_: Any, **__: Any) -> "OneCall":
        """It knows its tool already."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        number = next(_numbers)
        said = AIMessage("done", id=f"m-{number}")
        if isinstance(messages[-1], HumanMessage):
            call = {"name": "send_email", "args": dict(ARGUMENTS), "id": f"c-{number}", "type": "tool_call"}
            said = AIMessage("They have not answered.", id=f"m-{number}", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail."""
    for tell in starting:
        tell()
    return f"sent to {to}: {subject} ({len(body)})"


starting: list[Callable[[], object]] = []
"""Who wants to know when the tool starts."""


def saver_in(folder: Path) -> SqliteSaver:
    """LangGraph's own saver on a file."""
    saver = SqliteSaver(sqlite3.connect(folder / "checkpoints.db", check_same_thread=False))
    saver.setup()
    return saver


def agent_with(saver: Any, *middleware: Any) -> Any:
    tools = [StructuredTool.from_function(send_email)]
    return create_agent(OneCall(), tools, checkpointer=saver, middleware=list(middleware))


def config_of(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def question(text: str = "Write to them.") -> dict[str, Any]:
    return {"messages": [HumanMessage(text, id=f"h-{next(_numbers)}")]}


class LangChains:
    """LangChain's own middleware, in one of its modes."""

    def __init__(self, saver: Any, mode: Any) -> None:
        self.per_call = mode == "per_call"
        ruled: Any = {"send_email": {"allowed_decisions": ["approve", "edit", "reject"]}}
        self.agent = agent_with(saver, HumanInTheLoopMiddleware(ruled, interrupt_mode=mode))

    def run(self, thread: str) -> dict[str, Any]:
        """One input of a conversation: asked, paused, approved, resumed, ended."""
        config = config_of(thread)
        (pause,) = self.agent.invoke(question(), config)["__interrupt__"]
        decision = {"type": "approve"}
        answer = {pause.id: decision} if self.per_call else {"decisions": [decision]}
        return self.agent.invoke(Command(resume=answer), config)

    def settle(self) -> None:
        """Nothing is left for later."""

    def close(self) -> None:
        """Nothing to close."""


class Interlocks:
    """Our middleware; `registered` or not, and resumed by the application or by our worker."""

    def __init__(self, saver: Any, database: Path, *, registered: bool, worker: bool = False) -> None:
        self.il = Interlock(f"sqlite:///{database}")
        middleware = InterlockMiddleware(self.il, name="billing", tools={"send_email": "irreversible"})
        self.agent = agent_with(saver, middleware)
        if registered:
            register(self.il, self.agent)
        self.worker = self.il.worker() if worker else None
        self.desk = ReviewDesk(self.il.kernel, ANA)

    def pause(self, thread: str) -> Any:
        """An input of a conversation up to its pause: the value that the application sees."""
        (pause,) = self.agent.invoke(question(), config_of(thread))["__interrupt__"]
        return pause.value

    def run(self, thread: str) -> dict[str, Any]:
        """One input of a conversation: asked, paused, approved, resumed, ended."""
        pause = self.pause(thread)
        self.desk.approve(pause["interrupt"], digest=pause["digest"])
        if self.worker is None:
            return self.agent.invoke(None, config_of(thread))
        assert self.worker.step(), "the run was due"
        return {}

    def settle(self) -> None:
        """Have everything written that was left for later."""
        self.il.kernel.store.flush()

    def close(self) -> None:
        """Close the store."""
        self.il.close()


def ways(saver: Any, folder: Path, names: Sequence[str]) -> dict[str, Any]:
    """The ways of these names, each with a database of its own."""
    made: dict[str, Callable[[], Any]] = {
        "batched": lambda: LangChains(saver, "batched"),
        "per_call": lambda: LangChains(saver, "per_call"),
        "unregistered": lambda: Interlocks(saver, folder / "unregistered.db", registered=False),
        "registered": lambda: Interlocks(saver, folder / "registered.db", registered=True),
        "worker": lambda: Interlocks(saver, folder / "worker.db", registered=True, worker=True),
    }
    return {name: made[name]() for name in names}
