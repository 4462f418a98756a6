"""What no tracked file may say: paths of somebody's machine, addresses of package registries, unfinished notes."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Written so that this file does not say them itself.
MACHINE_PATHS = re.compile(r"(?<![\w.<])/(?:work|farm|root|home/\w+|Users/\w+)\b")
REGISTRY_HOSTS = re.compile(
    "|".join(
        re.escape(f"{host}.{domain}")
        for host, domain in (
            ("pypi", "org"),
            ("pythonhosted", "org"),
            ("pypi", "python.org"),
            ("npmjs", "org"),
            ("npmjs", "com"),
            ("yarnpkg", "com"),
            ("debian", "org"),
            ("crates", "io"),
        )
    )
)
UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
INDEX_OPTIONS = re.compile(r"^\s*--(?:extra-)?(?:index-url|find-links|trusted-host)", re.MULTILINE)


@cache
def tracked() -> dict[str, str]:
    """Every text file that git tracks or would take up, by its path."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("not a git clone")
    texts: dict[str, str] = {}
    for name in filter(None, done.stdout.split("\0")):
        path = ROOT / name
        if path.is_file():  # a deleted file is still in the index until the deletion is
            data = path.read_bytes()
            if b"\0" not in data:
                texts[name] = data.decode("utf-8")
    assert "pyproject.toml" in texts
    return texts


def places(pattern: re.Pattern[str], names: list[str] | None = None) -> list[str]:
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for name, text in tracked().items()
        if names is None or name in names
        for match in pattern.finditer(text)
    ]


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert not places(MACHINE_PATHS)


def test_no_file_names_a_package_registry() -> None:
    assert not places(REGISTRY_HOSTS)


def test_the_pins_name_no_index_and_every_pin_has_a_hash() -> None:
    pins = [name for name in tracked() if name.startswith("requirements/")]
    assert sorted(pins) == ["requirements/dev.txt", "requirements/runtime.txt"]
    assert not places(INDEX_OPTIONS, pins)
    for name in pins:
        entries = re.split(r"^(?=[A-Za-z0-9])", tracked()[name], flags=re.MULTILINE)[1:]
        assert entries
        assert not [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry]


def test_the_tests_run_on_what_the_demo_runs_on() -> None:
    runtime, dev = (
        dict(re.findall(r"^([\w.-]+)==(\S+)", tracked()[f"requirements/{name}.txt"], re.MULTILINE))
        for name in ("runtime", "dev")
    )
    assert runtime.items() <= dev.items()


def test_no_lock_file_that_records_addresses_is_tracked() -> None:
    assert not [name for name in tracked() if Path(name).name in {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock"}]


def test_nothing_is_left_unfinished() -> None:
    names = [name for name in tracked() if name.startswith(("src/", "tests/", "docs/", "bench/", "examples/"))]
    assert not places(UNFINISHED, names)
