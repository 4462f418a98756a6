"""What crashes in LangGraph: one job in every form that a graph can have, with a checkpointer that may fail, too.

A scenario is named by its form, the durability with which the application calls the graph, and who goes on after a
pause. The job: something read, something reversible, two irreversible calls at once (one is approved, one changed),
one that is rejected, the end.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast

sys.path.insert(0, str(Path(__file__).parents[1] / "langgraph"))

from crash_scenario import Session, die
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from scripted import ScriptedModel, calls, says

from interlock.compose import Interlock
from interlock.domain.errors import DecisionError, Refused
from interlock.domain.interrupt import InterruptKind
from interlock.domain.run import Run, RunState
from interlock.kernel.views import CardView
from interlock.langgraph import InterlockMiddleware, register
from interlock.ports.store import Page

CONFIG: Any = {"configurable": {"thread_id": "job-1"}}
NAME = "clerk"
DECLARED = {"look": "read_only", "rename": "reversible", "send": "irreversible"}
ONCE = ("send a", "send b2")
NEVER = ("send b", "send c")
NOT_TAKEN_UP = "an approval of send was not taken up"
"""Said of a call whose message the checkpointer lost: the approval names a call that the agent makes no more."""
LINES: list[AIMessage] = [
    calls(("look", {"to": "x"})),
    calls(("rename", {"to": "x"})),
    calls(("send", {"to": "a"}), ("send", {"to": "b"})),
    calls(("send", {"to": "c"})),
    says("done"),
]


class FailingSaver(SqliteSaver):
    """A checkpointer that counts its writes and acts at number `fail_at`."""

    def __init__(self, path: str, fail_at: int | None = None, when: str = "", act: Callable[[], None] = die) -> None:
        super().__init__(sqlite3.connect(path, check_same_thread=False, timeout=30))
        self.setup()
        self.fail_at, self._when, self._act = fail_at, when, act
        self.writes: list[str] = []
        self._counting = threading.Lock()

    def put(self, *args: Any, **options: Any) -> Any:
        return self._counted("put", lambda: super(FailingSaver, self).put(*args, **options))

    def put_writes(self, *args: Any, **options: Any) -> None:
        self._counted("put_writes", lambda: super(FailingSaver, self).put_writes(*args, **options))

    def _counted(self, method: str, write: Callable[[], Any]) -> Any:
        with self._counting:
            self.writes.append(method)
            chosen = len(self.writes) == self.fail_at
        if chosen and self._when == "before":
            self._act()
        answer = write()
        if chosen and self._when == "after":
            self._act()
        return answer


def broken() -> None:
    raise sqlite3.OperationalError("the checkpointer failed on purpose")


def tools_of(perform: Callable[[str, str], str]) -> list[BaseTool]:
    """The tools of the job; each call is an effect of its own: `perform("send", "a")`."""

    def made(name: str) -> BaseTool:
        def act(to: str) -> str:
            return perform(name, to)

        return StructuredTool.from_function(act, name=name, description=f"{name} something")

    return [made(name) for name in DECLARED]


def guarded(il: Interlock, perform: Callable[[str, str], str]) -> dict[str, BaseTool]:
    """The tools, each behind the gate."""
    return {each.name: il.guard(each, reversibility=DECLARED[each.name]) for each in tools_of(perform)}


def scripted(asked: list[Any]) -> ScriptedModel:
    """The model of the job; what it is asked is added to `asked`."""
    model = ScriptedModel(lines=LINES)
    model.asked = asked
    return model


def agent(il: Interlock, perform: Callable[[str, str], str], saver: Any, asked: list[Any]) -> Any:
    """An agent with the middleware."""
    middleware: Any = InterlockMiddleware(il, name=NAME, tools=DECLARED)
    return create_agent(scripted(asked), tools_of(perform), checkpointer=saver, middleware=[middleware])


def toolnode(il: Interlock, perform: Callable[[str, str], str], saver: Any, asked: list[Any]) -> Any:
    """A graph written by hand, with guarded tools in a `ToolNode`."""
    model = scripted(asked)

    def prepare(_: MessagesState) -> dict[str, Any]:
        return {"messages": [HumanMessage(str(il.step(perform, "step", "prepare")), id="h2")]}

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("prepare", prepare)
    graph.add_node("model", think)
    graph.add_node("tools", ToolNode(list(guarded(il, perform).values())))
    graph.add_edge(START, "prepare")
    graph.add_edge("prepare", "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def subgraph(il: Interlock, perform: Callable[[str, str], str], saver: Any, asked: list[Any]) -> Any:
    """An agent as one node of a larger graph."""

    def prepare(_: MessagesState) -> dict[str, Any]:
        il.step(perform, "step", "prepare")
        return {}

    def finish(_: MessagesState) -> dict[str, Any]:
        il.step(perform, "step", "finish")
        return {}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("prepare", prepare)
    graph.add_node("agent", agent(il, perform, None, asked))
    graph.add_node("finish", finish)
    graph.add_edge(START, "prepare")
    graph.add_edge("prepare", "agent")
    graph.add_edge("agent", "finish")
    graph.add_edge("finish", END)
    return graph.compile(checkpointer=saver)


def functional(il: Interlock, perform: Callable[[str, str], str], saver: Any, asked: list[Any]) -> Any:
    """The functional API: guarded tools called in tasks."""
    tools = guarded(il, perform)

    @task
    def act(tool: str, to: str) -> str:
        try:
            return str(tools[tool].invoke({"to": to}))
        except Refused as refused:
            return str(refused)

    @entrypoint(checkpointer=saver)
    def job(about: str) -> str:
        il.step(perform, "step", "prepare")
        act("look", about).result()
        act("rename", about).result()
        together = [act("send", "a"), act("send", "b")]
        for each in together:
            each.result()
        act("send", "c").result()
        return "done"

    return job


MAKERS: dict[str, Callable[[Interlock, Callable[[str, str], str], Any, list[Any]], Any]] = {
    "agent": agent,
    "toolnode": toolnode,
    "subgraph": subgraph,
    "functional": functional,
}


def first_input(form: str) -> Any:
    """What the application gives a graph of this form; the same when it has to give it again."""
    return "x" if form == "functional" else {"messages": [HumanMessage("go", id="h1")]}


def said_last(form: str, values: Any) -> str:
    """The last words of a graph that has come to its end."""
    if form == "functional":
        return str(values)
    messages: Sequence[Any] = values.get("messages", ()) if isinstance(values, dict) else ()
    return str(messages[-1].content) if messages else ""


class GraphSession(Session):
    """One process's view of the job in a graph."""

    def define(self) -> None:
        self.form, durability, self.who = self.scenario.split()
        self.durability = cast("Literal['sync', 'async', 'exit']", durability)
        act = die if self.fault.kind == "kill" else broken
        self.saver = FailingSaver(str(self.folder / "graph.db"), self.fault.save, self.fault.when, act)
        self.asked: list[Any] = []
        made = MAKERS[self.form](self.il, self._perform, self.saver, self.asked)
        self.graph = register(self.il, made, name=NAME)

    def _perform(self, tool: str, to: str) -> str:
        return self.witness.write(f"{tool} {to}", to)

    def close(self) -> None:
        super().close()
        self.saver.conn.close()

    def reached(self) -> bool:
        return super().reached() and (self.fault.save is None or len(self.saver.writes) >= self.fault.save)

    def calm(self) -> None:
        super().calm()
        self.saver.fail_at = None

    def saves(self) -> list[str]:
        return list(self.saver.writes)

    # -- roles ----------------------------------------------------------------------------------

    def play(self, role: str) -> None:
        roles = {
            "start": self.start,
            "decide": self.decide,
            "approve": self.decide,
            "reject": self.reject,
            "work": self.work,
            "go_on": self.go_on,
            "retry": self.retry,
        }
        roles[role]()

    def start(self) -> None:
        """Call the graph; where something was kept of an earlier call, go on from there."""
        given = first_input(self.form) if self.saver.get_tuple(CONFIG) is None else None
        self.graph.invoke(given, CONFIG, durability=self.durability)

    def go_on(self) -> None:
        self.graph.invoke(None, CONFIG, durability=self.durability)

    def retry(self) -> None:
        """A person has looked at a run that stopped, and lets it go on."""
        with (self.folder / "retried").open("a") as retried:
            retried.write(f"{self.runs()[-1].attention or self.runs()[-1].state}\n")
        self.desk.retry(self.runs()[-1].id)

    def reject(self) -> None:
        """Turn down whatever is open, the last card first, as far as nobody else has decided."""
        for view in reversed(self.desk.open()):
            with suppress(DecisionError):
                self.desk.reject(view.card.id, digest=view.card.digest)
                with (self.folder / "rejected").open("a") as rejected:
                    rejected.write(f"send {view.about.current.arguments['to']}\n")

    def decide(self) -> int:
        """Decide every open card by the script, as far as nobody else has."""
        views = self.desk.open()
        for view in views:
            with suppress(DecisionError):
                receipt = self._decided(view)
                with (self.folder / "acknowledged").open("a") as acknowledged:
                    acknowledged.write(receipt.decision.id + "\n")
        return len(views)

    def _decided(self, view: CardView) -> Any:
        """Approve, change or reject; of what is in doubt, or made twice, say what the witness shows."""
        card, to = view.card, str(view.about.current.arguments["to"])
        effect = f"{view.about.action.tool} {to}"
        seen = self.witness.saw(effect) or (to == "b" and self.witness.saw("send b2"))
        if card.kind is InterruptKind.RECONCILE and not seen:
            left = view.run.state is RunState.NEEDS_ATTENTION  # the agent makes that call no more
            return self.desk.reconcile(card.id, digest=card.digest, found="failed" if left else "run_again")
        if card.kind is InterruptKind.RECONCILE:
            return self.desk.reconcile(card.id, digest=card.digest, found="done", result=f"{effect} of {to}")
        if effect == "send c":
            return self.desk.reject(card.id, digest=card.digest, note="not to c")
        if seen:
            return self.desk.respond(card.id, digest=card.digest, result=f"{effect} of {to}")
        if effect == "send b":
            return self.desk.modify(card.id, digest=card.digest, arguments={"to": "b2"})
        return self.desk.approve(card.id, digest=card.digest)

    # -- looking --------------------------------------------------------------------------------

    def runs(self) -> list[Run]:
        found = list(self.kernel.store.read(lambda rows: rows.runs((), Page(50))))
        return sorted(found, key=lambda run: (run.started_at, run.state is not RunState.CANCELLED))

    def next_role(self) -> str | None:
        runs = self.runs()
        if not runs or self.saver.get_tuple(CONFIG) is None:
            return "start"  # nothing was kept of the call: the application makes it again
        run = runs[-1]
        if run.state is RunState.NEEDS_ATTENTION and not self.desk.open():
            return "retry" if self._retried() < 3 else None
        if self.who == "worker" and self.kernel.store.read(lambda rows: rows.due_work(rows.now, 1)):
            return "work"
        if self.desk.open():
            return "decide"
        if run.state in (RunState.FINISHED, RunState.CANCELLED):
            return None
        if self.who == "application":
            return "go_on"
        if run.state is RunState.FAILED and self._retried() < 3:
            return "retry"
        return None

    def pending(self) -> bool:
        """Whether a worker has something to do a little later; the application looks itself."""
        return self.who == "worker" and super().pending()

    def _retried(self) -> int:
        path = self.folder / "retried"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def patiently(self, act: Callable[[], Any]) -> None:
        with suppress(sqlite3.OperationalError):
            super().patiently(act)

    def noted(self) -> list[str]:
        noted = [f"{line['tool']} once more" for line in self._repeated(("look x", "rename x"))]
        noted += [f"{effect} was not done" for effect in ONCE if not self.witness.saw(effect)]
        path = self.folder / "retried"
        return noted + [f"retried: {line}" for line in (path.read_text().splitlines() if path.exists() else ())]

    def _repeated(self, effects: Sequence[str]) -> list[dict[str, str]]:
        lines = [line for line in self.witness.lines() if line["tool"] in effects]
        return [line for number, line in enumerate(lines) if line["tool"] in {each["tool"] for each in lines[:number]}]

    def world_faults(self, ended: str) -> Iterator[str]:
        if ended != "finished":
            yield f"the run is {ended}"
        seen = Counter(line["tool"] for line in self.witness.lines())
        path = self.folder / "rejected"
        rejected = set(path.read_text().splitlines()) if path.exists() else set[str]()
        for effect in ONCE:
            if {effect, effect.rstrip("2")} & rejected:
                continue
            lost = self.durability != "sync" and not seen[effect] and NOT_TAKEN_UP in " ".join(self.noted())
            if seen[effect] != 1 and not lost and (seen[effect] or ended == "finished"):
                yield f"{effect} happened {seen[effect]} times"
        refused = {*NEVER, *rejected, *(["send b2"] if "send b" in rejected else [])}
        yield from (f"{effect} happened" for effect in refused if seen[effect])
        yield from (f"{effect} never happened" for effect in ("look x", "rename x") if not seen[effect])
        snapshot = self.graph.get_state(CONFIG)
        if snapshot.tasks or snapshot.next:
            yield f"the graph still stands at {snapshot.next}"
        if ended == "finished" and said_last(self.form, snapshot.values) != "done":
            yield f"the graph ended with {snapshot.values}"
        if self.desk.open():
            yield "a card was left open"
