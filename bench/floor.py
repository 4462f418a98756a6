"""How far the store is from the floor: four bare commits of the very same rows through the standard driver.

Run with `./dev run python bench/floor.py`; prints JSON. The cycle is proposal, decision, claim and outcome of one
gated action. What our store writes in a few cycles is recorded statement by statement; the floor replays it with
`sqlite3` alone, the same settings, one transaction for each of ours. Blocks of both sides take turns, so that a slow
disk slows both; only ratios, counts, CPU and bytes mean anything.

`--cycle package.module:factory` measures another cycle: `factory(store)` answers `prepare(number)`, which answers the
steps of one cycle as callables without arguments; each step is one durable write.
"""

# ruff: noqa: SLF001  it looks inside our store, to record what it writes

import argparse
import importlib
import json
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from interlock.domain.action import Action
from interlock.domain.events import EventType
from interlock.domain.ids import InterruptId
from interlock.ports.store import Change, Page, Rows
from interlock.stores.sqlite import SqliteStore
from interlock.testing.sample_rows import Samples

Step = Callable[[], object]
Prepare = Callable[[int], Sequence[Step]]
Written = list[tuple[str, list[tuple[Any, ...]]]]

WRITES = ("INSERT", "UPDATE", "DELETE")


def sample_cycle(store: SqliteStore) -> Prepare:
    """The four units of a gated action, on one run."""
    samples = Samples()

    def start(rows: Rows) -> Change[Any]:
        run = samples.run(rows.now)
        return Change(run, runs=[run])

    run = store.write(start).result()

    def prepare(number: int) -> Sequence[Step]:
        action: list[Action] = []

        def propose() -> None:
            action.append(store.write(samples.propose(run.id, number)).result())

        def then(unit: Callable[[Any], Any]) -> Step:
            return lambda: store.write(unit(action[0].id)).result()

        return (propose, then(samples.decide), then(samples.claim), then(samples.settle))

    return prepare


def load(name: str) -> Callable[[SqliteStore], Prepare]:
    if not name:
        return sample_cycle
    module, _, factory = name.partition(":")
    return getattr(importlib.import_module(module), factory)


class Recorder:
    """A connection that notes what is written, transaction by transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.transactions: list[Written] = []

    def execute(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """As the connection's."""
        if sql == "BEGIN IMMEDIATE":
            self.transactions.append([])
        elif sql.startswith(WRITES):
            self.transactions[-1].append((sql, [tuple(values)]))
        return self._connection.execute(sql, values)

    def executemany(self, sql: str, values: Sequence[tuple[Any, ...]]) -> sqlite3.Cursor:
        """As the connection's."""
        self.transactions[-1].append((sql, [tuple(row) for row in values]))
        return self._connection.executemany(sql, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def record(store: SqliteStore, cycles: list[Sequence[Step]], ready: int) -> list[Written]:
    """What the next steps of the cycles write, one entry for each transaction that wrote something.

    All steps of a cycle, or only one of each where some are `ready`.
    """
    store.flush()
    recorder: Any = Recorder(store._connection)
    store._writer._connection = store._writer._rows._connection = recorder
    for steps in cycles:
        for step in steps[ready : ready + 1] if ready else steps:
            step()
    store._writer._connection = store._writer._rows._connection = recorder._connection
    return [one for one in recorder.transactions if one]


def bare(path: Path) -> sqlite3.Connection:
    """The standard driver with the settings of our writer."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "wal_autocheckpoint = 4000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def replay(connection: sqlite3.Connection, written: Written) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for sql, rows in written:
        if len(rows) == 1:
            connection.execute(sql, rows[0])
        else:
            connection.executemany(sql, rows)
    connection.execute("COMMIT")


def copied(store: SqliteStore, path: Path) -> Path:
    with closing(sqlite3.connect(store._path)) as source:
        source.execute("VACUUM INTO ?", (str(path),))
    return path


def measured(block: Callable[[], None], count: int) -> tuple[float, float]:
    """Seconds and CPU seconds for each of `count`."""
    wall, cpu = time.perf_counter(), time.process_time()
    block()
    return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


def size_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(FULL)")
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        (page,) = connection.execute("PRAGMA page_size").fetchone()
    return (pages - free) * page


class Pair:
    """Our store, and a floor that replays what the same cycle wrote to a store of the same beginning."""

    def __init__(self, folder: Path, cycle: Callable[[SqliteStore], Prepare], count: int, ready: int = 0) -> None:
        """`ready` steps of each of `count` cycles are done beforehand, on both sides."""
        folder.mkdir()
        self.path, self.floor_path = folder / "ours.db", folder / "floor.db"
        self.store = SqliteStore(self.path)
        self.steps = beginning(cycle(self.store), count, ready)
        with closing(SqliteStore(folder / "model.db")) as model:
            steps = beginning(cycle(model), count, ready)
            copied(model, self.floor_path)
            self.written = record(model, steps, ready)
        self.floor = bare(self.floor_path)

    def close(self) -> None:
        """Close both."""
        self.store.close()
        self.floor.close()


def beginning(prepare: Prepare, count: int, ready: int) -> list[Sequence[Step]]:
    cycles = [prepare(number) for number in range(count)]
    for steps in cycles:
        for step in steps[:ready]:
            step()
    return cycles


def compare_cycles(folder: Path, cycle: Callable[[SqliteStore], Prepare], cycles: int, blocks: int) -> dict[str, Any]:
    """One caller, one cycle after the other: ours and the floor in turns."""
    warm = cycles  # the first block of each side is not counted
    pair = Pair(folder, cycle, warm + cycles * blocks)
    per_cycle = len(pair.written) / (warm + cycles * blocks)
    walls: dict[str, list[float]] = {"ours": [], "floor": []}
    cpus: dict[str, list[float]] = {"ours": [], "floor": []}
    start = 0
    for block in range(blocks + 1):
        numbers = range(block * cycles, (block + 1) * cycles)
        mine = [step for number in numbers for step in pair.steps[number]]
        theirs = pair.written[round(numbers.start * per_cycle) : round(numbers.stop * per_cycle)]
        sides: list[tuple[str, Callable[[], None]]] = [
            ("ours", lambda mine=mine: [step() for step in mine] and None),
            ("floor", lambda theirs=theirs: [replay(pair.floor, one) for one in theirs] and None),
        ]
        for name, work in sides if block % 2 else sides[::-1]:
            wall, cpu = measured(work, cycles)
            if block:
                walls[name].append(wall)
                cpus[name].append(cpu)
        if not block:
            start = size_of(pair.path)
    grown = (size_of(pair.path) - start) / (cycles * blocks)
    pair.close()
    ratios = [floor / ours for ours, floor in zip(walls["ours"], walls["floor"], strict=True)]
    return {
        "transactions_per_cycle": round(per_cycle, 2),
        "cycles_per_s_of_the_floor": spread(ratios),
        "cpu_ms_per_cycle": {name: round(statistics.median(values) * 1000, 3) for name, values in cpus.items()},
        "wall_ms_per_cycle": {name: round(statistics.median(values) * 1000, 3) for name, values in walls.items()},
        "bytes_per_action": round(grown),
    }


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 3),
        "low": round(ordered[len(ordered) // 10], 3),
        "high": round(ordered[-1 - len(ordered) // 10], 3),
    }


def compare_writers(
    folder: Path, cycle: Callable[[SqliteStore], Prepare], writers: int, each: int, blocks: int
) -> dict[str, Any]:
    """Many deciders at once: our store, and one bare connection that commits each call under a lock."""
    pair = Pair(folder, cycle, writers * each * blocks, ready=1)
    lock = threading.Lock()
    rates: list[float] = []
    tails: list[float] = []

    def ours(number: int) -> None:
        pair.steps[number][1]()

    in_order = iter(pair.written)  # later rows may refer to earlier ones

    def floor(_: int) -> None:
        with lock:
            replay(pair.floor, next(in_order))

    for block in range(blocks):
        first = block * writers * each
        results: dict[str, tuple[float, float]] = {}
        sides: list[tuple[str, Callable[[int], None]]] = [("ours", ours), ("floor", floor)]
        for name, call in sides if block % 2 else sides[::-1]:
            results[name] = crowd(call, first, writers, each)
        rates.append(results["floor"][0] / results["ours"][0])
        tails.append(results["ours"][1] / results["floor"][1])
    pair.close()
    return {
        "writers": writers,
        "calls_per_s_of_commit_per_call": spread(rates),
        "p99_of_commit_per_call": spread(tails),
    }


def crowd(call: Callable[[int], None], first: int, writers: int, each: int) -> tuple[float, float]:
    """Seconds for all calls, and the 99th percentile of one."""
    together = threading.Barrier(writers + 1)

    def work(writer: int) -> list[float]:
        together.wait()
        taken: list[float] = []
        for number in range(each):
            before = time.perf_counter()
            call(first + writer * each + number)
            taken.append(time.perf_counter() - before)
        return taken

    with ThreadPoolExecutor(writers) as threads:
        working = [threads.submit(work, writer) for writer in range(writers)]
        together.wait()
        before = time.perf_counter()
        taken = sorted(one for each_of in working for one in each_of.result())
        return time.perf_counter() - before, taken[len(taken) * 99 // 100]


def buffered(folder: Path, calls: int) -> dict[str, Any]:
    """What a record that nobody waits for costs: its caller, and the process as a whole."""
    folder.mkdir()
    samples = Samples()
    with closing(SqliteStore(folder / "later.db")) as store:
        run = samples.run(store.read(lambda rows: rows.now))
        store.write(lambda _: Change(None, runs=[run])).result()

        def unit(rows: Rows) -> Change[None]:
            fact = samples.event(EventType.CALL_RECORDED, rows.now, run=run.id, body={"tool": "search", "result": "ok"})
            return Change(None, events=[fact])

        caller: list[float] = []
        before = time.process_time()
        for _ in range(calls // 100):
            start = time.perf_counter()
            for _ in range(100):
                store.write_later(unit)
            caller.append((time.perf_counter() - start) / 100)
        store.flush()
        cpu = (time.process_time() - before) / calls
    return {"caller_us_median": round(statistics.median(caller) * 1e6, 3), "cpu_us_per_record": round(cpu * 1e6, 2)}


def page_of_open(folder: Path, cards: int) -> dict[str, Any]:
    """A page of 50 among many open cards: ours against one raw keyset SELECT, first page and in the midst."""
    folder.mkdir()
    samples = Samples()
    with closing(SqliteStore(folder / "open.db")) as store:
        run = samples.run(store.read(lambda rows: rows.now))
        store.write(lambda _: Change(None, runs=[run])).result()
        store.write(samples.propose(run.id)).result()
        (card,) = store.read(lambda rows: rows.open_interrupts(Page(1)))
        middle = ""
        for first in range(1, cards, 5000):
            batch = [
                replace(
                    card,
                    id=InterruptId(samples.new_id()),
                    opened_at=card.opened_at + timedelta(milliseconds=number),
                )
                for number in range(first, min(cards, first + 5000))
            ]
            middle = middle or (batch[0].id if first > cards // 2 else "")
            store.write(lambda _, batch=batch: Change(None, interrupts=batch)).result()
        raw = bare(folder / "open.db")
        results: dict[str, Any] = {"open": cards}
        for name, after in (("first_page", None), ("midst", middle or None)):
            place = (0, b"")
            if after is not None:
                packed = bytes.fromhex(after.replace("-", ""))
                place = (*raw.execute("SELECT opened_at FROM interrupts WHERE id = ?", (packed,)).fetchone(), packed)
            sql = (
                "SELECT * FROM interrupts WHERE ending IS NULL AND (opened_at, id) > (?, ?)"
                " ORDER BY opened_at, id LIMIT 50"
            )
            ours: list[float] = []
            bares: list[float] = []
            for _ in range(300):
                start = time.perf_counter()
                store.read(lambda rows, after=after: rows.open_interrupts(Page(50, after)))
                ours.append(time.perf_counter() - start)
                start = time.perf_counter()
                raw.execute(sql, place).fetchall()
                bares.append(time.perf_counter() - start)
            results[name] = round(statistics.median(ours) / statistics.median(bares), 2)
        raw.close()
    return results


def count_syncs(arguments: argparse.Namespace) -> dict[str, float] | str:
    """Syncs for each cycle, counted by strace over two lengths, so that opening and closing cancel out."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    counts: dict[str, float] = {}
    for side in ("ours", "floor"):
        totals = []
        for cycles in (100, 300):
            with tempfile.NamedTemporaryFile("r", dir=arguments.folder) as report:
                traced = [
                    "strace",
                    "-f",
                    "-c",
                    "-e",
                    "trace=fsync,fdatasync",
                    "-o",
                    report.name,
                    sys.executable,
                    __file__,
                ]
                asked = ["--child", side, "--cycles", str(cycles), "--cycle", arguments.cycle]
                subprocess.run([*traced, *asked, "--folder", str(arguments.folder)], check=True)
                # Columns: share, seconds, microseconds for each call, calls, perhaps errors, name.
                lines = [line.split() for line in report.read().splitlines() if "sync" in line]
                totals.append(sum(int(fields[3]) for fields in lines))
        counts[side] = round((totals[1] - totals[0]) / 200, 3)
    return counts


def child(side: str, folder: Path, cycle: Callable[[SqliteStore], Prepare], cycles: int) -> None:
    if side == "ours":
        with closing(SqliteStore(folder / "child.db")) as store:
            prepare = cycle(store)
            for number in range(cycles):
                for step in prepare(number):
                    step()
    else:
        pair = Pair(folder / "pair", cycle, 1)
        # What a sync costs does not depend on what is written: the same four transactions' worth of rows, as blobs.
        for _ in range(cycles * len(pair.written)):
            pair.floor.execute("BEGIN IMMEDIATE")
            pair.floor.execute("INSERT INTO blobs VALUES (randomblob(16), zeroblob(1000))")
            pair.floor.execute("COMMIT")
        pair.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycle", default="", help="package.module:factory (default: rows like a gated action's)")
    parser.add_argument("--cycles", type=int, default=50, help="cycles in a block")
    parser.add_argument("--blocks", type=int, default=21, help="blocks of each side")
    parser.add_argument("--writers", type=int, default=32)
    parser.add_argument("--each", type=int, default=20, help="calls of each writer in a block")
    parser.add_argument("--records", type=int, default=20_000, help="records that nobody waits for")
    parser.add_argument("--open", type=int, default=100_000, help="open cards to page through; 0: leave it out")
    parser.add_argument("--folder", type=Path, default=None, help="where the files go (default: a temporary folder)")
    parser.add_argument("--child", choices=("ours", "floor"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    cycle = load(arguments.cycle)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = arguments.folder = Path(name)
        if arguments.child:
            child(arguments.child, folder, cycle, arguments.cycles)
            return
        results = {
            "sqlite": sqlite3.sqlite_version,
            "cycle": compare_cycles(folder / "cycles", cycle, arguments.cycles, arguments.blocks),
            "syncs_per_cycle": count_syncs(arguments),
            "crowd": compare_writers(folder / "crowd", cycle, arguments.writers, arguments.each, 5),
            "later": buffered(folder / "later", arguments.records),
        }
        if arguments.open:
            results["page_of_50"] = page_of_open(folder / "open", arguments.open)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
