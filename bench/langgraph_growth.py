"""What a gated call of a LangChain agent leaves in our database, and what it costs, as its conversation grows.

Run with `./dev run python bench/langgraph_growth.py`; prints JSON. The bytes are those of our own database only (what
a checkpointer keeps is its own business): the pages of a packed copy, before and after the counted calls. Each call is
one turn of one conversation that had so many messages when the counting began. LangChain's middleware does the same
beside it, over a checkpointer in memory, since what is looked for is what *we* add.
"""

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from gated_agents import ARGUMENTS, Interlocks, LangChains, config_of
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

LENGTHS = (10, 100, 1000)
KINDS = ("plain", "calls")
"""What the conversation consists of: words, or earlier calls of the very tool that is gated."""


def conversation(kind: str, length: int) -> list[BaseMessage]:
    """So many messages of what went before."""
    said: list[BaseMessage] = []
    for number in range(length):
        turn, part = divmod(number, 4 if kind == "calls" else 2)
        if part == 0:
            said.append(HumanMessage("Write to them.", id=f"h{number}"))
        elif kind == "calls" and part == 1:
            made = {"name": "send_email", "args": {**ARGUMENTS, "to": f"{turn}@x.example"}, "id": f"c{turn}"}
            said.append(AIMessage("", id=f"a{number}", tool_calls=[{**made, "type": "tool_call"}]))
        elif kind == "calls" and part == 2:
            said.append(ToolMessage("sent", id=f"t{number}", tool_call_id=f"c{turn}", name="send_email"))
        else:
            said.append(AIMessage("They have not answered yet, shall I write again?", id=f"a{number}"))
    return said


def stored(database: Path) -> int:
    """Bytes of the pages of a packed copy."""
    with tempfile.TemporaryDirectory(dir=database.parent) as name:
        packed = Path(name) / "packed.db"
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
            connection.execute("VACUUM INTO ?", (str(packed),))
        return packed.stat().st_size


def spent(way: Any, thread: str) -> float:
    before = time.process_time()
    way.run(thread)
    way.settle()
    return (time.process_time() - before) * 1000


def measure(folder: Path, kind: str, length: int, calls: int, *, registered: bool) -> dict[str, Any]:
    """The growth of one conversation; each turn adds four messages."""
    folder.mkdir()
    saver = InMemorySaver()
    ours = Interlocks(saver, folder / "interlock.db", registered=registered)
    theirs = LangChains(saver, "batched")
    for agent, thread in ((ours.agent, "ours"), (theirs.agent, "theirs")):
        agent.update_state(config_of(thread), {"messages": conversation(kind, length)}, as_node="model")
    for _ in range(3):
        ours.run("ours")
        theirs.run("theirs")
    ours.settle()
    start = stored(folder / "interlock.db")
    cpu: list[tuple[float, float]] = []
    for number in range(calls):
        if number % 2:
            other, mine = spent(theirs, "theirs"), spent(ours, "ours")
        else:
            mine, other = spent(ours, "ours"), spent(theirs, "theirs")
        cpu.append((mine, other))
    grown = (stored(folder / "interlock.db") - start) / calls
    ours.close()
    return {
        "bytes_per_action": round(grown),
        "cpu_ms": round(statistics.median(mine for mine, _ in cpu), 2),
        "cpu_ms_of_batched": round(statistics.median(other for _, other in cpu), 2),
        "cpu_ms_added": round(statistics.median(mine - other for mine, other in cpu), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=60, help="gated calls at each length")
    parser.add_argument("--folder", type=Path, default=None, help="where the files go (default: a temporary folder)")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"goals": {"bytes_per_action": 2560, "flat": True}}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        for registered in (False, True):
            for kind in KINDS:
                key = f"{'registered' if registered else 'unregistered'}, {kind}"
                results[key] = {
                    length: measure(Path(name) / f"{key}{length}", kind, length, arguments.calls, registered=registered)
                    for length in LENGTHS
                }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
