"""Agents for tests: made of a script, of tools that note what they really did, and of what stands in their way."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from tests.langgraph.scripted import ScriptedModel

from interlock import Interlock
from interlock.langgraph import InterlockMiddleware, register
from interlock.testing import Rehearsal

THREAD: Any = {"configurable": {"thread_id": "job-1"}}
GO: Any = {"messages": [{"role": "user", "content": "go"}]}


class Ledger(list[str]):
    """What really happened, in order; `tool` makes a tool that writes here."""

    def tool(self, name: str, then: Callable[[], None] = lambda: None) -> BaseTool:
        """A tool `name` that takes `what`, notes it here as `name what`, and returns that."""

        def act(what: str) -> str:
            self.append(f"{name} {what}")
            then()
            return f"{name} {what}"

        return StructuredTool.from_function(act, name=name, description=f"Do {name}.")


def agent(
    il: Interlock,
    lines: Sequence[Any],
    tools: Sequence[Any],
    *,
    outside: Sequence[Any] = (),
    inside: Sequence[Any] = (),
    saver: Any = None,
    registered: bool = False,
    said: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """An agent with our middleware, and others around it and within it."""
    made = create_agent(
        ScriptedModel(lines=list(lines)),
        list(tools),
        checkpointer=saver or InMemorySaver(),
        middleware=[*outside, InterlockMiddleware(il, name="tester", tools=said), *inside],
        **options,
    )
    return register(il, made) if registered else made


def theirs(lines: Sequence[Any], tools: Sequence[BaseTool], mode: Any, *others: Any, when: Any = None) -> Any:
    """The same agent with LangChain's own gate for every tool."""
    asked: Any = {"allowed_decisions": ["approve", "edit", "reject", "respond"]}
    if when is not None:
        asked["when"] = when
    gate = HumanInTheLoopMiddleware({each.name: asked for each in tools}, interrupt_mode=mode)
    return create_agent(
        ScriptedModel(lines=list(lines)), list(tools), checkpointer=InMemorySaver(), middleware=[gate, *others]
    )


def answer(mode: str, *decisions: dict[str, Any]) -> Any:
    """What LangChain's own gate takes as an answer."""
    return {"decisions": list(decisions)} if mode == "batched" else decisions[0]


def go_on(stage: Rehearsal, made: Any, registered: bool) -> None:
    """Have a decided agent go on: by a worker where it is registered, else by the application."""
    if registered:
        stage.go_on()
    else:
        made.invoke(None, THREAD)


def results(made: Any, thread: Any = THREAD) -> list[ToolMessage]:
    """What the model was told of its calls, in order."""
    return [each for each in made.get_state(thread).values.get("messages", []) if isinstance(each, ToolMessage)]


def texts(made: Any) -> list[str]:
    """The same as texts."""
    return [str(each.content) for each in results(made)]


def refusals(made: Any) -> list[str]:
    """Of each call, as what it was refused; empty where it ran."""
    return [each.additional_kwargs.get("interlock", {}).get("refused", "") for each in results(made)]


def is_over(made: Any) -> bool:
    """Whether the agent has said its last word."""
    last = made.get_state(THREAD).values["messages"][-1]
    return isinstance(last, AIMessage) and not last.tool_calls


def cards(stage: Rehearsal) -> list[str]:
    """The open cards, as `tool what`."""
    return [f"{view.about.action.tool} {view.about.current.arguments.get('what')}" for view in stage.reviewer.open()]
