"""The import contracts hold, and each of them bites."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "interlock"

# Rooms whose contracts name them by `room.**`, which leaves out the room's own __init__: that file imports nothing.
BARE_ROOMS = ("adapters", "identities", "stores", "stores/sql", "usecases")

# The same for rooms that must have something in their __init__ (an entry point): it imports only from its own room.
OWN_ROOMS = ("cli", "server", "worker")

# Rooms that are one file; every other room is a folder (a contract on `room.**` would not see a file).
ONE_FILE_ROOMS = {"langgraph", "__init__", "__main__", "compose", "previews", "settings"}

# For each contract: imports that break it, as (importing module, imported module).
FORBIDDEN = {
    "layers": [
        ("domain.action", "ports.store"),
        ("kernel.gate", "compose"),
        ("kernel.gate", "cards.words"),
        ("cards.words", "server.app"),
        ("server.app", "worker.loop"),
        ("stores.memory", "usecases.propose"),
        ("policy.decide", "settings"),
        ("canonical.encode", "domain.action"),
        ("testing.kit", "cli.main"),
        ("domain.action", ""),
    ],
    "circles": [("policy.decide", "policy.parse"), ("policy.parse", "policy.decide")],
    "floors": [
        ("canonical.encode", "!os"),
        ("schema.codec", "!sqlalchemy"),
        ("display.text", "!socket"),
        ("domain.action", "!asyncio"),
        ("policy.decide", "!sqlite3"),
    ],
    "adapters": [
        ("adapters.guard.intercept", "ports.store"),
        ("adapters.guard.intercept", "policy.decide"),
        ("adapters.guard.intercept", "canonical.encode"),
        ("adapters.guard.intercept", "settings"),
        ("adapters.plain.resume", "adapters.other.resume"),
        ("adapters.guard.intercept", "adapters.plain.resume"),
    ],
    "concrete": [
        ("kernel.gate", "stores.memory"),
        ("worker.loop", "stores.sqlite"),
        ("cli.main", "adapters.plain.resume"),
        ("kernel.gate", "identities.local"),
        ("usecases.propose", "stores.memory"),
    ],
    "sql": [
        ("stores.memory", "stores.sql.rows"),
        ("compose", "stores.sql.tables"),
        ("cli.main", "stores.sql.rows"),
        ("testing.kit", "stores.sql.rows"),
    ],
    "usecases": [
        ("worker.loop", "usecases.propose"),
        ("server.app", "usecases.propose"),
        ("cli.main", "usecases.propose"),
        ("compose", "usecases.propose"),
    ],
    "doors": [
        ("worker.loop", "policy.decide"),
        ("server.app", "policy.decide"),
        ("server.app", "canonical.encode"),
        ("worker.loop", "stores.memory"),
        ("cli.main", "policy.decide"),
        ("cli.main", "canonical.encode"),
    ],
}

# Imports that every contract allows.
ALLOWED = [
    ("", "compose"),
    ("cli.main", "compose"),
    ("cli.main", "kernel.gate"),
    ("testing.kit", "stores.memory"),
    ("testing.kit", "compose"),
    ("compose", "stores.memory"),
    ("compose", "stores.sqlite"),
    ("compose", "adapters.guard.intercept"),
    ("compose", "identities.local"),
    ("compose", "kernel.gate"),
    ("compose", "settings"),
    ("compose", "worker.loop"),
    ("worker.loop", "kernel.gate"),
    ("worker.loop", "ports.runtime"),
    ("kernel.gate", "usecases.propose"),
    ("kernel.gate", "ports.gate"),
    ("usecases.propose", "policy.decide"),
    ("usecases.propose", "canonical.encode"),
    ("stores.sqlite", "stores.sql.rows"),
    ("stores.sql.rows", "stores.sql.tables"),
    ("stores.sql.rows", "domain.action"),
    ("stores.sql.tables", "!sqlalchemy"),
    ("stores.memory", "ports.store"),
    ("adapters.guard.intercept", "ports.gate"),
    ("adapters.guard.intercept", "domain.action"),
    ("adapters.guard.intercept", "schema.codec"),
    ("adapters.plain.resume", "adapters.guard.intercept"),
    ("adapters.guard.checks", "adapters.guard.intercept"),
    ("ports.gate", "domain.action"),
    ("policy.decide", "domain.action"),
    ("domain.action", "canonical.encode"),
    ("schema.codec", "!pydantic"),
]


def contracts() -> dict[str, str]:
    """Name of each contract by its id."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract["name"] for contract in config["tool"]["importlinter"]["contracts"]}


def lint_imports(project: Path) -> subprocess.CompletedProcess[str]:
    """Runs import-linter on the package in `project/src` with the configuration in `project`."""
    environment = {**os.environ, "PYTHONPATH": str(project / "src"), "COLUMNS": "200", "NO_COLOR": "1"}
    code = "import sys; from importlinter.cli import lint_imports_command as run; run(['--no-cache', *sys.argv[1:]])"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def plant(project: Path, imports: list[tuple[str, str]]) -> None:
    """Writes a package in the shape of ours that has exactly these imports."""
    shutil.copy(ROOT / "pyproject.toml", project)
    package = project / "src" / "interlock"
    lines: dict[Path, list[str]] = {}
    for importer, imported in imports:
        for name in (importer, imported):
            if not name.startswith("!"):
                lines.setdefault(module_file(package, name), [])
        target = imported.removeprefix("!") if imported.startswith("!") else f"interlock.{imported}".rstrip(".")
        lines[module_file(package, importer)].append(f"import {target}\n")
    for path, statements in lines.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(statements), encoding="utf-8")
        for folder in path.relative_to(package).parents:
            (package / folder / "__init__.py").touch()


def module_file(package: Path, name: str) -> Path:
    return package.joinpath(*name.split(".")).with_suffix(".py") if name else package / "__init__.py"


def test_our_imports_keep_every_contract() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_house_allows_breaks_nothing(tmp_path: Path) -> None:
    plant(tmp_path, ALLOWED)
    done = lint_imports(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_contract_has_forbidden_imports_to_prove_it() -> None:
    assert set(FORBIDDEN) == set(contracts())


@pytest.mark.parametrize(
    ("contract", "importer", "imported"),
    [(contract, *pair) for contract, pairs in FORBIDDEN.items() if contract != "circles" for pair in pairs],
)
def test_a_forbidden_import_is_found(tmp_path: Path, contract: str, importer: str, imported: str) -> None:
    plant(tmp_path, [*ALLOWED, (importer, imported)])
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{contracts()[contract]} BROKEN" in done.stdout


def test_a_circle_is_found(tmp_path: Path) -> None:
    plant(tmp_path, [*ALLOWED, *FORBIDDEN["circles"]])
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{contracts()['circles']} BROKEN" in done.stdout


def test_a_room_that_nobody_planned_is_found(tmp_path: Path) -> None:
    plant(tmp_path, [*ALLOWED, ("attic.box", "domain.action")])
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{contracts()['layers']} BROKEN" in done.stdout


@pytest.mark.parametrize("room", BARE_ROOMS)
def test_the_head_of_a_guarded_room_imports_nothing(room: str) -> None:
    head = PACKAGE / room / "__init__.py"
    if head.exists():
        tree = ast.parse(head.read_text(encoding="utf-8"))
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


@pytest.mark.parametrize("room", OWN_ROOMS)
def test_the_head_of_an_entry_room_imports_only_from_its_room(room: str) -> None:
    head = PACKAGE / room / "__init__.py"
    if head.exists():
        names = set[str]()
        for node in ast.walk(ast.parse(head.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.add("." * node.level + (node.module or ""))
        ours = f"interlock.{room}"
        assert not [name for name in names if name.startswith("interlock") and not f"{name}.".startswith(f"{ours}.")]


def test_rooms_are_folders() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} <= ONE_FILE_ROOMS
