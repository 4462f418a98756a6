"""What paused runs cost in memory and on disk: start many, let each pause, look at this process.

Run with `./dev run python bench/paused_runs.py [N]`; prints JSON. The slope is fitted over ten marks, the first two
left out (caches fill), so that it tells what one more paused run keeps in memory.
"""

import gc
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from interlock import Interlock


def resident_kib() -> int:
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def main(runs: int) -> None:
    folder = Path(tempfile.mkdtemp())
    marks: list[tuple[int, int]] = []
    with Interlock(f"sqlite:///{folder}/bench.db") as il:

        @il.tool("irreversible")
        def send(to: str, body: str) -> str:
            return to + body

        @il.workflow
        def write(to: str) -> str:
            return send(to, "Dear all, " * 30)

        for number in range(runs):
            write.start(f"ap{number}@newco.example")
            if number % (runs // 10) == 0:
                marks.append((number, resident_kib()))
        waiting = len(il.kernel.inbox(limit=50))
        il.kernel.store.flush()
        kept = marks[2:]
        slope = statistics.linear_regression([at for at, _ in kept], [kib for _, kib in kept]).slope
        size = sum(file.stat().st_size for file in folder.iterdir())
    shutil.rmtree(folder)
    print(json.dumps({
        "paused_runs": runs,
        "first_page_of_open_cards": waiting,
        "resident_kib": marks,
        "bytes_of_memory_per_paused_run": round(slope * 1024, 1),
        "bytes_on_disk_per_paused_run": round(size / runs),
    }, indent=2))  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
