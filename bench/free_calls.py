"""What a guarded read-only call costs over the bare call, with and without the writing of its record.

Run with `./dev run python bench/free_calls.py`; prints JSON. Times are CPU microseconds; the smallest of several rounds
is the one that other work on the machine disturbed least. "caller" is the calling thread, "process" includes the
thread that writes the records.
"""

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from interlock import Interlock

CALLS, ROUNDS = 5_000, 9


def bare(name: str, number: int) -> str:  # noqa: ARG001  a call with two arguments
    return name


def per_call(fn: Callable[[str, int], str], clock: Callable[[], float], settle: Callable[[], None]) -> list[float]:
    rounds: list[float] = []
    for _ in range(ROUNDS):
        begun = clock()
        for number in range(CALLS):
            fn("hello", number)
        settle()
        rounds.append((clock() - begun) / CALLS * 1e6)
    return rounds


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    with Interlock(f"sqlite:///{folder}/bench.db") as il:
        look = il.tool("read_only")(bare)
        with il.run("bench"):
            look("warm", 0)
            il.kernel.store.flush()
            figures = {
                "bare": per_call(bare, time.thread_time, lambda: None),
                "guarded_caller": per_call(look, time.thread_time, il.kernel.store.flush),
                "guarded_process": per_call(look, time.process_time, il.kernel.store.flush),
            }
        size = (folder / "bench.db").stat().st_size
    shutil.rmtree(folder)
    least = {name: min(rounds) for name, rounds in figures.items()}
    print(json.dumps({
        "calls": CALLS * ROUNDS,
        "us_per_call_least": {name: round(value, 2) for name, value in least.items()},
        "us_per_call_median": {name: round(statistics.median(rounds), 2) for name, rounds in figures.items()},
        "us_over_the_bare_call_caller": round(least["guarded_caller"] - least["bare"], 2),
        "us_over_the_bare_call_with_its_record": round(least["guarded_process"] - least["bare"], 2),
        "bytes_per_recorded_call": round(size / (2 * CALLS * ROUNDS)),
    }, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
