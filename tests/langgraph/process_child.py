"""Agents in processes of their own, over files: one that may be killed, several that go on with the same thread.

Importing LangChain takes longer than anything that is done here. So this program imports it once, keeps no file open,
and forks for each request of a line (JSON); the child opens its own. It answers with a line: how the children ended.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import Interlock
from interlock.langgraph import InterlockMiddleware, register
from interlock.testing import scripted_reviewer

LIMIT_S = 60
"""A child that takes longer hangs."""

THREAD: Any = {"configurable": {"thread_id": "job-1"}}
GO: Any = {"messages": [{"role": "user", "content": "go"}]}


def until(happened: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    while not happened():
        time.sleep(0.002)


def lines_of(folder: Path) -> list[str]:
    """What really happened."""
    ledger = folder / "ledger"
    return ledger.read_text().splitlines() if ledger.exists() else []


def pay_in(folder: Path, request: dict[str, Any]) -> StructuredTool:
    """A tool that writes down that it paid; then it dies, or waits for what the request says."""

    def pay(amount: int) -> str:
        """Pay."""
        with (folder / "ledger").open("a") as ledger:
            ledger.write(f"pay {amount}\n")
        if request.get("die"):
            os.kill(os.getpid(), signal.SIGKILL)
        if "meets" in request:
            until(lambda: len(lines_of(folder)) >= request["meets"])
        if "holds" in request:
            until((folder / request["holds"]).exists)
        return f"paid {amount}"

    return StructuredTool.from_function(pay)


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Call the agent once, as the request says."""
    folder, gate = Path(request["folder"]), request["gate"]
    connection = sqlite3.connect(folder / "graph.db", check_same_thread=False, timeout=LIMIT_S)
    saver, model = SqliteSaver(connection), ScriptedModel(lines=[calls(("pay", {"amount": 10})), says()])
    tools, il = [pay_in(folder, request)], None
    if gate in ("alone", "registered"):
        il = Interlock(f"sqlite:///{folder}/interlock.db")
        middleware: Any = InterlockMiddleware(il, name="tester")
    else:
        middleware = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=gate)
    agent = create_agent(model, tools, checkpointer=saver, middleware=[middleware])
    if il is not None and gate == "registered":
        agent = register(il, agent)
    if "ready" in request:
        (folder / request["ready"]).touch()
        until(lambda: len(list(folder.glob("ready*"))) >= request["waits_for"])
    if "after" in request:
        until(lambda: len(lines_of(folder)) >= request["after"])
    try:
        if il is not None and "decides" in request:
            scripted_reviewer(il).decide(request["decides"])
        else:
            resume = Command(resume=request["resume"]) if "resume" in request else None
            agent.invoke(GO if request.get("begins") else resume, THREAD, durability=request.get("durability", "async"))
    except Exception as error:  # noqa: BLE001  told to whoever asked
        said = f"{getattr(error, 'code', type(error).__name__)}: {error}"
    else:
        said = ""
    if "says" in request:
        (folder / request["says"]).touch()
    state = agent.get_state(THREAD)
    over = not state.next and not any(task.interrupts for task in state.tasks)
    told = [str(each.content) for each in state.values.get("messages", []) if each.type == "tool"]
    if il is not None:
        il.close()
    connection.close()
    return {"error": said, "over": over, "told": told}


def warm_up() -> None:
    """Have everything imported that is imported late, so that no child has to; what kept threads has ended by then."""
    with tempfile.TemporaryDirectory() as folder:
        run({"folder": folder, "gate": "registered", "begins": True})


def serve() -> None:
    """Fork a child for each request of a line; those of one line live at the same time."""
    warm_up()
    for line in sys.stdin:
        begun = [_fork(request) for request in json.loads(line)]
        answers: list[dict[str, Any]] = []
        for child, reader in begun:
            with os.fdopen(reader) as pipe:
                said = pipe.read()
            _, status = os.waitpid(child, 0)
            killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            answers.append({"signal": killed, **(json.loads(said) if said else {})})
        print(json.dumps(answers), flush=True)


def _fork(request: dict[str, Any]) -> tuple[int, int]:
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    signal.alarm(LIMIT_S)
    try:
        answer = run(request)
    except BaseException:  # noqa: BLE001  told to whoever asked
        answer = {"error": traceback.format_exc()}
    os.write(writer, json.dumps(answer).encode())
    os._exit(0)


if __name__ == "__main__":
    serve()
