"""`interlock worker app:il` and graphs: found in the module, gone on with, in time and in the right version."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from tests.langgraph.agents import GO, Ledger, agent
from tests.langgraph.agents import THREAD as AGENT_THREAD
from tests.langgraph.scripted import calls, says
from tests.langgraph.test_observed import planning_graph

from interlock import Desk
from interlock.langgraph import register
from interlock.testing import Rehearsal

ROOT = Path(__file__).parents[2]

APP = """
    import sqlite3
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langgraph.checkpoint.sqlite import SqliteSaver
    from interlock import Interlock
    from interlock.langgraph import InterlockMiddleware
    from tests.langgraph.scripted import ScriptedModel, calls, says

    il = Interlock("sqlite:///interlock.db")

    @tool
    def send(to: str) -> str:
        '''Send a mail.'''
        with open("sent", "a") as file:
            file.write(to + "\\n")
        return f"sent to {to}"

    agent = create_agent(
        ScriptedModel(lines=[calls(("send", {"to": "bob"})), says("done")]),
        [send],
        checkpointer=SqliteSaver(sqlite3.connect("graph.db", check_same_thread=False)),
        middleware=[InterlockMiddleware(il, name="mailer", tools={"send": "irreversible"})],
    )
    THREAD = {"configurable": {"thread_id": "t-1"}}
    GO = {"messages": [{"role": "user", "content": "go"}]}
"""


def python(folder: Path, *args: str) -> str:
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_worker_finds_the_agents_of_its_module_and_goes_on_with_them(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(textwrap.dedent(APP), encoding="utf-8")
    python(tmp_path, "-c", "import app; app.agent.invoke(app.GO, app.THREAD); app.il.close()")
    assert not (tmp_path / "sent").exists()
    with Desk(f"sqlite:///{tmp_path / 'interlock.db'}") as desk:
        (view,) = desk.open()
        desk.approve(view.card.id, digest=view.card.digest)
    said = python(tmp_path, "-c", "from interlock.cli import main; main(['worker', 'app:il', '--once'])")
    assert "mailer" in said
    assert (tmp_path / "sent").read_text() == "bob\n"
    told = python(
        tmp_path, "-c", "import app; print(app.agent.get_state(app.THREAD).values['messages'][-1].text); app.il.close()"
    )
    assert told == "done\n"
    again = python(tmp_path, "-c", "from interlock.cli import main; main(['worker', 'app:il', '--once'])")
    assert "nothing was due" in again
    assert (tmp_path / "sent").read_text() == "bob\n"


def versions(stage: Rehearsal, saver: Any, version: str, accepts: tuple[str, ...] = ()) -> Any:
    il = stage.another()
    return il, planning_graph(il, saver, version=version, accepts=accepts)


def test_a_run_that_the_application_itself_brought_to_its_end_is_due_for_no_worker() -> None:
    with Rehearsal() as stage:

        @stage.il.tool("irreversible")
        def send(to: str) -> str:
            """Send a mail."""
            return f"sent to {to}"

        workflow = stage.il.workflow(lambda: send("bob"))
        waiting = workflow.start(key="job-1")
        stage.reviewer.decide("approve")
        assert stage.il.kernel.story(waiting.id).work is not None
        assert workflow.start(key="job-1").status == "finished"
        assert stage.il.kernel.story(waiting.id).work is None


def test_a_run_waits_for_a_worker_whose_graph_accepts_its_version() -> None:
    thread: Any = {"configurable": {"thread_id": "job-1"}}
    saver = InMemorySaver()
    with Rehearsal() as stage:
        _, graph = versions(stage, saver, "1")
        graph.invoke({}, thread)
        stage.reviewer.decide("approve")
        other, _ = versions(stage, saver, "2")
        other.worker().run_until_idle()
        assert graph.get_state(thread).next == ("gate",)
        stage.clock.advance("1m")
        newer, graph = versions(stage, saver, "3", accepts=("1",))
        newer.worker().run_until_idle()
        assert graph.get_state(thread).values["done"] == ["did it"]


def test_a_graph_whose_nodes_keep_failing_becomes_visible_and_does_not_loop() -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    tries: list[int] = []

    def node(state: MessagesState) -> Any:
        send("bob")
        tries.append(1)
        raise RuntimeError("broken")

    with Rehearsal() as stage:

        @stage.il.tool("irreversible")
        def send(to: str) -> str:
            return to

        builder = StateGraph(MessagesState)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        graph = register(stage.il, builder.compile(checkpointer=InMemorySaver()), name="broken")
        graph.invoke({"messages": []}, {"configurable": {"thread_id": "1"}})
        stage.reviewer.decide("approve")
        stage.il.worker().run_until_idle()
        (run,) = stage.il.kernel.runs()
        while run.state == "waiting" and len(tries) < 20:
            stage.clock.advance("10m")
            stage.il.worker().run_until_idle()
            (run,) = stage.il.kernel.runs()
        assert run.state in ("failed", "needs_attention")
        assert 1 <= len(tries) < 20


def test_configuration_that_is_plain_comes_back_with_the_worker() -> None:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph import START, MessagesState, StateGraph

    seen: list[Any] = []

    def node(state: MessagesState, config: RunnableConfig) -> Any:
        send("bob")
        seen.append(config["configurable"].get("tenant"))  # type: ignore[typeddict-item]
        return {}

    with Rehearsal() as stage:

        @stage.il.tool("irreversible")
        def send(to: str) -> str:
            return to

        builder = StateGraph(MessagesState)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        graph = register(stage.il, builder.compile(checkpointer=InMemorySaver()), name="tenants")
        graph.invoke({"messages": []}, {"configurable": {"thread_id": "1", "tenant": "acme"}})
        stage.reviewer.decide("approve")
        stage.il.worker().run_until_idle()
        assert seen == ["acme"]


def test_an_asynchronous_checkpointer_is_opened_for_each_run_that_is_gone_on_with(tmp_path: Path) -> None:
    import asyncio
    from contextlib import asynccontextmanager

    from langchain.agents import create_agent
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from tests.langgraph.kinds import GO, THREAD
    from tests.langgraph.scripted import ScriptedModel, calls, says

    from interlock.langgraph import InterlockMiddleware

    sent: list[str] = []

    async def send(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return f"sent to {to}"

    with Rehearsal() as stage:

        @asynccontextmanager
        async def opened() -> Any:
            async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "graph.db")) as saver:
                yield create_agent(
                    ScriptedModel(lines=[calls(("send", {"to": "bob"})), says("done")]),
                    [StructuredTool.from_function(coroutine=send)],
                    checkpointer=saver,
                    middleware=[InterlockMiddleware(stage.il, name="mailer", tools={"send": "irreversible"})],
                )

        register(stage.il, opened, name="mailer")

        async def begin() -> None:
            async with opened() as agent:
                await agent.ainvoke(GO, THREAD)

        asyncio.run(begin())
        stage.reviewer.decide("approve")
        stage.il.worker().run_until_idle()
        assert sent == ["bob"]
        assert stage.il.kernel.runs()[0].state == "finished"


@pytest.mark.parametrize("given", [None, 3, "graph"])
def test_what_is_no_graph_is_refused_with_the_mend(given: Any) -> None:
    from interlock.domain.errors import SettingsError

    with Rehearsal() as stage, pytest.raises(SettingsError, match="not_a_graph"):
        register(stage.il, given, name="x")


def test_a_graph_without_a_checkpointer_cannot_be_registered() -> None:
    from interlock.domain.errors import SettingsError

    with Rehearsal() as stage, pytest.raises(SettingsError, match="no_checkpointer"):
        planning_graph(stage.il, None)


def test_a_run_that_could_not_be_gone_on_with_says_why() -> None:
    with Rehearsal() as stage:
        agent(stage.il, [calls(("pay", {"what": "rent"})), says()], [Ledger().tool("pay")], registered=True).invoke(
            GO, AGENT_THREAD
        )
        stage.reviewer.decide("approve")
        later = stage.another()  # another process, whose checkpointer has never heard of the thread
        agent(later, [says()], [Ledger().tool("pay")], registered=True)
        for _ in range(6):
            later.worker().run_until_idle()
            stage.clock.advance("10m")
        (run,) = later.kernel.runs()
        assert (run.state, run.attention) == (
            "needs_attention",
            "resume was tried 5 times: EmptyInputError: Received no input for __start__",
        )
