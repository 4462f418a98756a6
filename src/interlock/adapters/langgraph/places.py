"""Where code runs in a graph, and what the graph calls the calls of its model.

Read from the configuration that LangGraph hands to every node and tool. Names that begin with
`__pregel_` are its own; they are read here and nowhere else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables.config import var_child_runnable_config

from interlock.adapters.guard.places import Named, Pass, Scope
from interlock.adapters.langgraph.knowing import Known
from interlock.domain.errors import CallError
from interlock.domain.ids import CallKey, RunId

LONGEST_AGENT = 40
"""Characters of an agent's name that stand in the names of its runs; of a longer one a hash stands beside them."""

LONGEST_THREAD = 120
"""Characters of a thread's id that stand in the name of its runs; a longer one is hashed."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a running graph: its thread, the names of the graphs around it, the task.

    `read` answers a channel of the graph's state as it was when the task began, `configurable` is what the
    application (and LangGraph) put into the configuration.
    """

    thread: str
    path: str
    task: str
    read: Callable[[str, bool], Any] | None
    durable: bool
    configurable: Mapping[str, Any]

    @property
    def graph(self) -> str:
        """The names of the graphs around this one."""
        return self.path.rpartition("|")[0]

    @property
    def scope(self) -> str:
        """The name of what this very task does."""
        return f"{self.path}:{self.task}"

    @property
    def inside(self) -> str:
        """A short name of this very start of a graph inside another one; it stays the same when that is resumed."""
        return _short(str(self.configurable.get("checkpoint_ns") or "").rpartition("|")[0], 8)

    @property
    def resumes(self) -> bool:
        """Whether the graph goes on from where it stood, and was not given new input."""
        return bool(self.configurable.get("__pregel_resuming"))

    @property
    def call(self) -> object:
        """What is one and the same object in all that one call of a graph does, graphs inside it included; or None."""
        return getattr(self.configurable.get("__pregel_runtime"), "control", None)

    @property
    def execution(self) -> object:
        """What is one and the same object in one execution of the task, and another when it is tried again; or None."""
        return getattr(self.configurable.get("__pregel_runtime"), "execution_info", None)

    def count_anew(self) -> None:
        """Have what the task starts (a `@task`, a graph) be named from the start again, where the task is tried again.

        LangGraph does so when the task is resumed, and names what a second attempt starts as if it were more of it.
        """
        if getattr(self.execution, "node_attempt", 1) > 1:
            pad = self.configurable.get("__pregel_scratchpad")
            for counter in (getattr(pad, "call_counter", None), getattr(pad, "subgraph_counter", None)):
                if hasattr(counter, "_counter"):
                    cast("Any", counter)._counter = None  # noqa: SLF001  LangGraph has no other way

    def messages(self) -> Sequence[AnyMessage]:
        """The conversation so far, or nothing where the graph keeps none."""
        try:
            found = self.read("messages", False) if self.read is not None else ()
        except KeyError:
            return ()
        return cast("Sequence[AnyMessage]", found) if isinstance(found, list) else ()


def spot_of(config: Mapping[str, Any] | None) -> Spot | None:
    """The place that a configuration stands for; None outside any task of a graph."""
    inside = cast("Mapping[str, Any]", (config or {}).get("configurable") or {})
    task = inside.get("__pregel_task_id")
    if task is None:
        return None
    names = str(inside.get("checkpoint_ns") or "")
    path = "|".join(each.partition(":")[0] for each in names.split("|"))
    saver = inside.get("__pregel_checkpointer")
    thread, read = str(inside.get("thread_id") or ""), inside.get("__pregel_read")
    return Spot(thread, path, str(task), read, saver is not None, inside)


def here() -> Spot | None:
    """The place where this code runs."""
    return spot_of(cast("Mapping[str, Any] | None", var_child_runnable_config.get()))


def nested(config: Mapping[str, Any] | None) -> bool:
    """Whether a graph that is called with this configuration is called inside another one."""
    return spot_of(config) is not None or here() is not None


def require_pausable(spot: Spot, what: str) -> None:
    """Raise `CallError` where the graph keeps nothing: then it could not be paused."""
    if not spot.thread or not spot.durable:
        missing = "no thread id" if spot.durable else "no checkpointer"
        raise CallError(
            "cannot_pause",
            f"{what} was called in a graph with {missing}, so it was not run",
            'Compile the graph with checkpointer=…, and call it with config={"configurable": {"thread_id": "…"}}.',
        )


def turn_of(messages: Sequence[AnyMessage]) -> str:
    """What tells one input of a conversation from the next: the last message of a person."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return message.id or ""
    return ""


def run_name(agent: str, thread: str, turn: str) -> RunId:
    """The run that one input of a thread is. The same in every process that sees the same state."""
    shown = thread if len(thread) <= LONGEST_THREAD and thread.isprintable() else _short(thread, 32)
    named = agent if len(agent) <= LONGEST_AGENT else f"{agent[:LONGEST_AGENT]}~{_short(agent, 8)}"
    return RunId(f"{named}:{shown}/{_short(turn, 8)}")


def _short(text: str, length: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:length]


def named_call(
    pass_: Pass, spot: Spot, tool: str, call_id: str, retry: int, *, acts: bool, known: Known
) -> tuple[Named | None, AIMessage | None]:
    """The identity of a model's call: the message it stands in, and its id there. None where no message has it.

    Where the tool `acts`, the keys of its calls that the conversation holds come along, as far as this run may have
    them, and the conversation.
    """
    messages = spot.messages()
    for message in reversed(messages):
        if isinstance(message, AIMessage) and message.id and any(each["id"] == call_id for each in message.tool_calls):
            ref = f"{message.id}/{call_id}"
            if not acts:
                return Named(spot.graph, ref, retry), message
            knew = partial(known.conversation, f"{pass_.run_id} {spot.graph}", messages)
            return Named(spot.graph, ref, retry, _history(pass_, spot, messages, tool), knew), message
    return None, None


def named_scope(pass_: Pass, named: Named, around: Scope) -> Scope:
    """The scope of one call that has a name: siblings live and die on their own."""
    return Scope(pass_, f"{named.path}#{_short(named.ref, 12)}", around)


def _history(pass_: Pass, spot: Spot, messages: Sequence[AnyMessage], tool: str) -> frozenset[CallKey]:
    """The keys of the tool's calls in the conversation, from the newest message back to the oldest call of this run.

    All calls of the newest message count: siblings may be proposed while this looks.
    """
    with pass_.lock:
        known = {key for key, past in pass_.known.items() if past.tool == tool and not past.gone and not past.retried}
        wanted = known | (pass_.seen - pass_.known.keys())
    found: set[CallKey] = set()
    for message in reversed(messages):
        if isinstance(message, AIMessage) and message.tool_calls:
            if found and wanted <= found:
                break
            named = (call["id"] or "" for call in message.tool_calls if call["name"] == tool)
            found.update(pass_.key_of(spot.graph, tool, f"{message.id}/{one}") for one in named)
    return frozenset(found)


# -- what an application passes back on resume ----------------------------------------------------------


def answers_by_id(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was passed back by the ids of interrupts (`Command(resume={id: answer})`), to whomever it is."""
    inside = cast("Mapping[str, Any]", config.get("configurable") or {})
    return cast("Mapping[str, Any]", inside.get("__pregel_resume_map") or {})


def has_bare_answer(config: Mapping[str, Any]) -> bool:
    """Whether something was passed back without an id, and nobody has taken it."""
    pad = cast("Mapping[str, Any]", config.get("configurable") or {}).get("__pregel_scratchpad")
    return pad is not None and pad.get_null_resume(False) is not None


def take_bare_answer(config: Mapping[str, Any]) -> tuple[Any, Left | None]:
    """What was passed back without any id, once; None where nothing was. No `interrupt()` gets it after this.

    LangGraph keeps such a value beside the checkpoint, for whoever asks first in any later call. The second part says
    where: `Left` is what the checkpointer is to put in its place.
    """
    inside = cast("Mapping[str, Any]", config.get("configurable") or {})
    pad, saver = inside.get("__pregel_scratchpad"), inside.get("__pregel_checkpointer")
    found = pad.get_null_resume(True) if pad is not None else None
    root = cast("Mapping[str, str]", inside.get("checkpoint_map") or {}).get("")
    if found is None or saver is None or root is None:
        return found, None
    where = {"thread_id": str(inside.get("thread_id") or ""), "checkpoint_ns": "", "checkpoint_id": root}
    return found, Left(saver, {"configurable": where})


@dataclass(frozen=True, slots=True)
class Left:
    """Where a value that was passed back without an id is kept, and how it is emptied."""

    saver: Any
    config: Any

    def empty(self) -> None:
        """Put nothing in its place."""
        self.saver.put_writes(self.config, [_NO_ANSWER], _INPUT)

    async def empty_async(self) -> None:
        """The same from asynchronous code."""
        await self.saver.aput_writes(self.config, [_NO_ANSWER], _INPUT)


_NO_ANSWER = ("__resume__", None)
_INPUT = "00000000-0000-0000-0000-000000000000"
"""The task under whose name LangGraph keeps what came in from outside."""


def not_taken(error: BaseException) -> BaseException:
    """Mark an error as one about an answer: LangGraph keeps nothing of it, and the pause can be answered again."""
    vars(error)["_langgraph_invalid_resume"] = True
    return error
