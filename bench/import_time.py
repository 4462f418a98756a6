"""What `import interlock` costs: medians over fresh interpreters, as JSON.

Run with `./dev run python bench/import_time.py`. Absolute times vary from machine to machine; the number of modules
and the ratio to a known import vary less.
"""

import json
import statistics
import subprocess
import sys

ROUNDS = 15

MEASURE = """
import sys, time
before = set(sys.modules)
start = time.perf_counter()
{statement}
print(time.perf_counter() - start, len(set(sys.modules) - before))
"""


def measure(statement: str) -> tuple[float, int]:
    """Milliseconds and modules that `statement` costs in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(statement=statement)], capture_output=True, text=True, check=True
    )
    seconds, modules = done.stdout.split()
    return float(seconds) * 1000, int(modules)


def main() -> None:
    results: dict[str, dict[str, float]] = {}
    for name, statement in {
        "face": "import interlock",
        "Interlock": "from interlock import Interlock",
        "asyncio, for comparison": "import asyncio",
    }.items():
        rounds = [measure(statement) for _ in range(ROUNDS)]
        results[name] = {
            "ms_median": round(statistics.median(ms for ms, _ in rounds), 2),
            "ms_max": round(max(ms for ms, _ in rounds), 2),
            "modules": rounds[0][1],
        }
    print(json.dumps({"python": sys.version.split()[0], "rounds": ROUNDS, "imports": results}, indent=2))


if __name__ == "__main__":
    main()
