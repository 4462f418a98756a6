"""The size and shape of the source, as tests. A budget that must be broken gets a line in its table, with a reason."""

import ast
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "interlock"

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 80
MAX_ROOT_NAMES = 15

# "room/file.py": "why it may be longer"
LONG_FILES: dict[str, str] = {}
# "room/file.py:Class.function": "why it may be longer"
LONG_FUNCTIONS: dict[str, str] = {}

HIDING_PLACES = {"base", "common", "core", "helper", "helpers", "manager", "misc", "service", "util", "utils"}

PURE_FLOORS = ("canonical", "schema", "display", "domain", "policy", "ledger", "authority")
IO_MODULES = {
    "asyncio",
    "concurrent",
    "ftplib",
    "http",
    "httpx",
    "logging",
    "multiprocessing",
    "os",
    "psycopg",
    "requests",
    "select",
    "selectors",
    "shutil",
    "signal",
    "smtplib",
    "socket",
    "sqlalchemy",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib.request",
}
IO_CALLS = {"open", "print", "input", "breakpoint"}
CLOCK_METHODS = {"now", "utcnow", "today"}
CLOCKS = {"datetime", "date"}

# What the first `import interlock` must leave alone: it costs every user of any part.
HEAVY_MODULES = (
    "asyncio",
    "click",
    "concurrent.futures",
    "http",
    "orjson",
    "platformdirs",
    "pydantic",
    "rfc8785",
    "rich",
    "sqlalchemy",
    "sqlite3",
    "urllib.request",
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def sources() -> dict[str, ast.Module]:
    """Every source file by its path below the package, parsed."""
    found = {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    assert found, "no source files found"
    return found


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function below `tree`, nested ones too, with its dotted name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield prefix + node.name, node
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)


def line_counts() -> dict[str, int]:
    return {name: len((PACKAGE / name).read_text(encoding="utf-8").splitlines()) for name in sources()}


def function_lengths() -> dict[str, int]:
    return {
        f"{name}:{function}": (node.end_lineno or node.lineno) - node.lineno + 1
        for name, tree in sources().items()
        for function, node in functions(tree)
    }


def over_budget(lengths: dict[str, int], limit: int, exceptions: dict[str, str]) -> list[str]:
    return [f"{name}: {length} lines" for name, length in lengths.items() if length > limit and name not in exceptions]


def imported_modules(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def is_io_module(name: str) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:length]) in IO_MODULES for length in range(1, len(parts) + 1))


def impure_call(node: ast.Call) -> str | None:
    """The name of the call if it reads or writes something, or reads a clock."""
    match node.func:
        case ast.Name(id=name) if name in IO_CALLS:
            return name
        case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=method):
            return f"{owner}.{method}" if owner in CLOCKS and method in CLOCK_METHODS else None
    return None


def test_no_file_is_longer_than_its_budget() -> None:
    assert not over_budget(line_counts(), MAX_FILE_LINES, LONG_FILES)


def test_no_function_is_longer_than_its_budget() -> None:
    assert not over_budget(function_lengths(), MAX_FUNCTION_LINES, LONG_FUNCTIONS)


def test_every_exception_is_still_needed_and_says_why() -> None:
    lines, lengths = line_counts(), function_lengths()
    stale = [name for name in LONG_FILES if lines.get(name, 0) <= MAX_FILE_LINES]
    stale += [name for name in LONG_FUNCTIONS if lengths.get(name, 0) <= MAX_FUNCTION_LINES]
    assert not stale
    assert all(reason.strip() for reason in (*LONG_FILES.values(), *LONG_FUNCTIONS.values()))


def test_every_function_says_what_it_returns() -> None:
    silent = [
        f"{name}:{node.lineno} {function}"
        for name, tree in sources().items()
        for function, node in functions(tree)
        if node.returns is None
    ]
    assert not silent


def test_no_room_is_a_place_to_hide() -> None:
    hiding = [
        name
        for name in sources()
        if HIDING_PLACES & {part.removesuffix(".py").lstrip("_") for part in Path(name).parts}
    ]
    assert not hiding


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert not [folder.relative_to(PACKAGE).as_posix() for folder in folders if not (folder / "__init__.py").exists()]


@pytest.mark.parametrize("room", PURE_FLOORS)
def test_a_pure_floor_does_no_io_and_reads_no_clock(room: str) -> None:
    impure = []
    for name, tree in sources().items():
        if Path(name).parts[0].removesuffix(".py") != room:
            continue
        impure += [f"{name}:{line} imports {module}" for module, line in imported_modules(tree) if is_io_module(module)]
        impure += [
            f"{name}:{node.lineno} calls {call}()"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and (call := impure_call(node))
        ]
    assert not impure


def fresh_interpreter(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_face_is_small() -> None:
    names = json.loads(fresh_interpreter("import interlock, json; print(json.dumps(list(interlock.__all__)))"))
    assert len(names) == len(set(names)) <= MAX_ROOT_NAMES


def test_every_name_of_the_face_loads() -> None:
    fresh_interpreter("import interlock\nfor name in interlock.__all__: getattr(interlock, name)")


def test_importing_the_face_is_light() -> None:
    # Compared with an empty interpreter: a .pth file of the environment may import things of its own.
    code = "import sys; before = set(sys.modules); import interlock; print(*(set(sys.modules) - before))"
    loaded = set(fresh_interpreter(code).split())
    assert "interlock" in loaded
    assert not loaded.intersection(HEAVY_MODULES)


def test_sizes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    files, lengths = line_counts(), function_lengths()
    longest_file, longest_function = (
        max(files, key=lambda name: files[name]),
        max(lengths, key=lambda name: lengths[name], default=None),
    )
    with capsys.disabled():
        print(
            f"\nsource: {sum(files.values())} lines in {len(files)} files, median {statistics.median(files.values()):g}"
            f" (longest {files[longest_file]}, {longest_file})"
        )
        if longest_function:
            print(
                f"functions: {len(lengths)}, median {statistics.median(lengths.values()):g} lines"
                f" (longest {lengths[longest_function]}, {longest_function})"
            )
