"""Carries out single cases of the crash matrix, each in a process of its own that may be killed.

Importing the package takes longer than a case. So this program, started as an ordinary subprocess, imports it
once, never opens a store, keeps one thread, and forks for each request line: the child opens its own store.
Each answer is a line: how the child ended, and what it said.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from crash_checks import all_faults, card_faults
from crash_scenario import LATE, Fault, Session, Witness, define

from interlock.compose import Interlock

LIMIT_S = 30
"""A case that takes longer hangs."""

Making = Callable[..., Session]
"""Opens a session: `Session`, or one that is made like it."""


def chain(make: Making, request: dict[str, Any]) -> dict[str, Any]:
    """Play the roles one after the other, each in a session of its own, and keep the state before each."""
    folder, roles = Path(request["folder"]), []
    work = folder / "work"
    if "from" in request:
        shutil.copytree(request["from"], work)
    else:
        work.mkdir(parents=True)
    for number in range(20):
        kept = folder / str(number)
        shutil.copytree(work, kept)
        session = make(work, request["scenario"])
        if "from" in request:
            session.kernel.bury_dead()
        role = session.next_role()
        session.close()
        if role is None:
            shutil.rmtree(kept)
            break
        session = make(work, request["scenario"])
        before = len(session.witness.lines())
        session.play(role)
        calls, saves = session.store.calls, session.saves()
        tools = [line["tool"] for line in session.witness.lines()[before:]]
        session.close()
        roles.append(
            {
                "role": role,
                "folder": str(kept),
                "calls": [f"{method} {name}" for _, method, name in calls],
                "saves": saves,
                "tools": tools,
            }
        )
    return {"roles": roles}


def play(make: Making, request: dict[str, Any]) -> dict[str, Any]:
    """Play one role with its fault; with `recover` this same process goes on to the end."""
    session = make(Path(request["folder"]), request["scenario"], Fault(**request["fault"]))
    session.patiently(lambda: session.play(request["role"]))
    reached = session.reached()
    session.calm()
    answer = {"reached": reached, **(_recover(session) if request.get("recover") else {})}
    session.close()
    return answer


def recover(make: Making, request: dict[str, Any]) -> dict[str, Any]:
    """Bring a run to its end in a fresh process, and check everything."""
    session = make(Path(request["folder"]), request["scenario"], shift=LATE if request.get("late") else LATE * 0)
    answer = _recover(session)
    session.close()
    return answer


def _recover(session: Session) -> dict[str, Any]:
    faults: list[str] = []
    ended = session.recover(lambda session: faults.extend(card_faults(session)))
    return {"ended": ended, "faults": sorted({*faults, *all_faults(session, ended)}), "noted": session.noted()}


def together(make: Making, request: dict[str, Any]) -> dict[str, Any]:
    """Play roles in turn; with `at_once`, the first of them when so many processes have come so far."""
    folder = Path(request["folder"])
    folder.mkdir(exist_ok=True)
    session = make(folder, request["scenario"])
    if request.get("at_once"):
        (folder / f"ready-{os.getpid()}").touch()
        while len(list(folder.glob("ready-*"))) < request["at_once"]:
            time.sleep(0.001)
    for role in request["roles"]:
        session.patiently(lambda role=role: session.play(role))  # type: ignore[misc]
    session.close()
    return {}


def run(request: dict[str, Any], make: Making = Session) -> dict[str, Any]:
    """Carry out a request in this process, as the child does."""
    return {"chain": chain, "play": play, "recover": recover, "together": together}[request["op"]](make, request)


def warm_up() -> None:
    """Have everything imported that is imported late, so that no child has to."""
    il = Interlock("memory://")
    define(il, Witness(Path(), Fault()), "idempotent")


def serve(make: Making = Session) -> None:
    """Carry out requests, a line each, until there are no more. Have everything imported before."""
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            signal.alarm(LIMIT_S)
            try:
                answer = run(json.loads(line), make)
            except BaseException:  # noqa: BLE001  told to whoever asked
                answer = {"error": traceback.format_exc()}
            os.write(writer, json.dumps(answer).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            said = pipe.read()
        _, status = os.waitpid(child, 0)
        killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        print(json.dumps({"signal": killed, **(json.loads(said) if said else {})}), flush=True)


if __name__ == "__main__":
    warm_up()
    serve()
