"""How long a decision takes to reach the agent: from the decision to the start of the tool, in a worker's process.

Run with `./dev run python bench/langgraph_resume_latency.py`; prints JSON. A worker in a process of its own has
registered the agent and is idle; this process starts runs, lets them pause and approves them one by one, each after a
pause of random length, so that nothing falls in with the worker's own rhythm. Counted from before the decision is
written to the tool's first line (one clock for both processes), and from the moment it was durable. The CPU of the idle
worker is counted over ten seconds in which nothing happens. Disks differ tenfold: `sync_ms` is one bare sync.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gated_agents import Interlocks, config_of, question, saver_in, starting

TICKS = os.sysconf("SC_CLK_TCK")


def worker(folder: Path) -> None:
    """Go on with runs for ever; a line for each tool that starts."""
    way = Interlocks(saver_in(folder), folder / "interlock.db", registered=True, worker=True)
    starting.append(lambda: print(time.monotonic_ns(), flush=True))
    way.agent.invoke(question(), config_of("warm"))  # pauses; what is loaded late is loaded by now
    print("ready", flush=True)
    assert way.worker is not None
    way.worker.run_forever()


def sync_ms(folder: Path) -> float:
    """Milliseconds of one bare write and sync."""
    with (folder / "probe").open("ab", buffering=0) as file:
        file.write(bytes(4096))
        before = time.perf_counter()
        os.fdatasync(file.fileno())
        return (time.perf_counter() - before) * 1000


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(folder: Path, runs: int, idle_s: float) -> dict[str, object]:
    way = Interlocks(saver_in(folder), folder / "interlock.db", registered=True)
    with subprocess.Popen(
        [sys.executable, __file__, "--child", str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        asked: list[float] = []
        durable: list[float] = []
        syncs: list[float] = []
        for number in range(runs):
            pause = way.pause(f"t{number}")
            time.sleep(random.uniform(0.05, 0.25))
            syncs.append(sync_ms(folder))
            before = time.monotonic_ns()
            way.desk.approve(pause["interrupt"], digest=pause["digest"])
            after = time.monotonic_ns()
            started = int(process.stdout.readline())
            if number >= runs // 10:  # the first ones warm both processes up
                asked.append((started - before) / 1e6)
                durable.append((started - after) / 1e6)
        time.sleep(2)
        cpu, wall = cpu_of(process.pid), time.perf_counter()
        time.sleep(idle_s)
        idle = (cpu_of(process.pid) - cpu) / (time.perf_counter() - wall)
        process.terminate()
    way.close()
    return {
        "from_the_decision_ms": percentiles(asked),
        "from_its_commit_ms": percentiles(durable),
        "sync_ms": percentiles(syncs),
        "idle_cpu_percent": round(idle * 100, 2),
        "goals": {"p95_ms": 25, "idle_cpu_percent": 2},
    }


def percentiles(taken: list[float]) -> dict[str, float]:
    ordered = sorted(taken)
    return {
        "p50": round(statistics.median(ordered), 2),
        "p95": round(ordered[len(ordered) * 95 // 100], 2),
        "most": round(ordered[-1], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--idle", type=float, default=10, help="seconds in which nothing happens")
    parser.add_argument("--folder", type=Path, default=None, help="where the files go (default: a temporary folder)")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        worker(arguments.child)
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        print(json.dumps(measure(Path(name), arguments.runs, arguments.idle), indent=2))


if __name__ == "__main__":
    main()
