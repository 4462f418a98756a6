"""What Interlock adds to a LangChain agent, against LangChain's own human-in-the-loop middleware.

Run with `./dev run python bench/langgraph_added_cost.py`; prints JSON. One gated call a run: the agent is asked,
pauses, a person approves, the agent goes on and ends. All ways share one `SqliteSaver` on a file, and each of ours has
a database of its own; the decision counts, in ours as a durable commit. Repetitions take turns, so only ratios mean
anything; syncs are counted by strace over two lengths, so that opening and closing cancel out.
"""

import argparse
import gc
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gated_agents import saver_in, ways

WAYS = ("batched", "per_call", "unregistered", "registered", "worker")
OURS = WAYS[2:]
GOALS = {
    "cpu_of_batched": {"unregistered": 1.15, "registered": 1.15, "worker": 1.30},
    "wall_of_batched": {"unregistered": 1.25, "registered": 1.25},
    "cpu_of_per_call": {"unregistered": 0.8, "registered": 0.8},
    "wall_of_per_call": {"unregistered": 0.8, "registered": 0.8},
}


def measured(way: Any, thread: str) -> tuple[float, float]:
    """Milliseconds of wall and CPU (of all threads) that one run takes, with what it leaves for later."""
    wall, cpu = time.perf_counter(), time.process_time()
    way.run(thread)
    way.settle()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


def compare(folder: Path, repetitions: int, warm: int) -> dict[str, Any]:
    """Every way once in each repetition, another one first each time."""
    made = ways(saver_in(folder), folder, WAYS)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for number in range(warm + repetitions):
        if number == warm:
            gc.collect()
            gc.freeze()
        first = number % len(WAYS)
        for name in (*WAYS[first:], *WAYS[:first]):
            one = measured(made[name], f"{name}-{number}")
            if number >= warm:
                taken[name].append(one)
    for way in made.values():
        way.close()
    walls = {name: [wall for wall, _ in each] for name, each in taken.items()}
    cpus = {name: [cpu for _, cpu in each] for name, each in taken.items()}
    return {
        "cpu_ms": {name: round(statistics.median(each), 3) for name, each in cpus.items()},
        "wall_ms": {name: round(statistics.median(each), 3) for name, each in walls.items()},
        "cpu_of_batched": {name: ratio(cpus[name], cpus["batched"]) for name in WAYS[1:]},
        "wall_of_batched": {name: ratio(walls[name], walls["batched"]) for name in WAYS[1:]},
        "cpu_of_per_call": {name: ratio(cpus[name], cpus["per_call"]) for name in OURS},
        "wall_of_per_call": {name: ratio(walls[name], walls["per_call"]) for name in OURS},
    }


def ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the ratios of runs that stood beside each other."""
    return round(statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True)), 3)


def count_syncs(folder: Path) -> dict[str, float] | str:
    """Disk syncs of one run."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    counts: dict[str, float] = {}
    for name in WAYS:
        totals: list[int] = []
        for runs in (10, 40):
            with tempfile.NamedTemporaryFile("r", dir=folder) as report:
                traced = ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", report.name]
                asked = ["--child", name, "--repetitions", str(runs), "--folder", str(folder)]
                subprocess.run([*traced, sys.executable, __file__, *asked], check=True)
                # Columns: share, seconds, microseconds for each call, calls, perhaps errors, name.
                lines = [line.split() for line in report.read().splitlines() if line.endswith(("fsync", "fdatasync"))]
                totals.append(sum(int(fields[3]) for fields in lines))
        counts[name] = round((totals[1] - totals[0]) / 30, 2)
    return counts


def child(name: str, folder: Path, runs: int) -> None:
    (way,) = ways(saver_in(folder), folder, (name,)).values()
    for number in range(runs):
        way.run(f"{number}")
    way.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--warm", type=int, default=50, help="repetitions that are not counted")
    parser.add_argument("--no-syncs", action="store_true")
    parser.add_argument("--folder", type=Path, default=None, help="where the files go (default: a temporary folder)")
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        if arguments.child:
            child(arguments.child, folder, arguments.repetitions)
            return
        results = compare(folder, arguments.repetitions, arguments.warm)
        results["goals"] = GOALS
        if not arguments.no_syncs:
            results["syncs"] = count_syncs(folder)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
