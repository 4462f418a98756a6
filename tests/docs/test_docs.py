"""The documentation is true: every block of code runs, every relative link leads somewhere.

Fences and what is done with them:

    python               runs; the blocks of a page share one namespace and one process
    python title="a.py"  is written to a.py beside the other blocks, which must use it
    console              `$ ` commands run in bash; where output follows, it is compared (`...` stands for anything)
    sh                   only `./dev ...` commands: they make the environment that these tests run in
    json, toml ...       shown; JSON and TOML are parsed

Anything else after the fence is an error: there is no way to show Python or a command without running it.
"""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
RUNNER = Path(__file__).with_name("page_runner.py")

PAGE_TIMEOUT = 240  # seconds, for all blocks of a page: it ends what hangs, and measures nothing

RUN = {"python", "console"}
SHOWN = {"sh", "text", "json", "toml", "yaml", "html", "sql", "http", "mermaid"}
TITLE = re.compile(r'title="([\w.-]+)"')

# Folders that hold other people's pages, or none of ours.
SKIPPED_FOLDERS = {
    "vectors",
    ".git",
    ".venv",
    "node_modules",
    "build",
    "dist",
    ".hypothesis",
    ".pytest_cache",
    ".ruff_cache",
}


def markdown_files() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.md") if not SKIPPED_FOLDERS.intersection(path.relative_to(ROOT).parts))


def code_pages() -> list[Path]:
    """README.md and everything in docs: the pages whose code runs."""
    return [path for path in markdown_files() if path.parent == ROOT or ROOT / "docs" in path.parents]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tokens(path: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))


def fences(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line of the first line of text, info string and text of each fenced block."""
    for token in tokens(path):
        if token.type == "fence" and token.map:
            yield token.map[0] + 2, token.info.strip(), token.content


def language_and_file(info: str) -> tuple[str, str] | None:
    """What an info string asks for; None if it is not one of ours."""
    language, _, rest = info.partition(" ")
    if not rest:
        return (language, "") if language in RUN | SHOWN else None
    title = TITLE.fullmatch(rest.strip())
    return (language, title[1]) if title and (language in SHOWN or language == "python") else None


def blocks(path: Path) -> list[dict[str, str | int]]:
    """The blocks of a page that do something: those that run and those that are written to a file."""
    found: list[dict[str, str | int]] = []
    for line, info, text in fences(path):
        wanted = language_and_file(info)
        if wanted and (wanted[0] in RUN or wanted[1]):
            found.append({"language": wanted[0], "file": wanted[1], "line": line, "text": text})
    return found


def page_environment(home: Path) -> dict[str, str]:
    """What a reader has: the installed package, an empty home, no switches of this test run."""
    kept = {name: os.environ[name] for name in ("LANG", "TZ", "SYSTEMROOT") if name in os.environ}
    measured = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_PROCESS_")}
    return {
        **kept,
        **measured,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "HOME": str(home),
        "INTERLOCK_URL": f"sqlite:///{home / 'interlock.db'}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",
        "TERM": "dumb",
    }


def run_page(page: Path, job: list[dict[str, str | int]], home: Path) -> None:
    """Runs the blocks in a process group of their own, and ends whatever they left running."""
    steps = home / ".steps.json"
    steps.write_text(json.dumps({"page": str(page), "blocks": job}), encoding="utf-8")
    output = home / ".output"
    with output.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", str(RUNNER), str(steps)],
            cwd=home,
            env=page_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(timeout=PAGE_TIMEOUT)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError):  # nothing was left running
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    said = output.read_text(encoding="utf-8", errors="replace")
    assert code is not None, f"not finished after {PAGE_TIMEOUT} s:\n{said}"
    assert code == 0, said


@pytest.mark.timeout(PAGE_TIMEOUT + 30)
@pytest.mark.parametrize("page", code_pages(), ids=name_of)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    job = blocks(page)
    if job:
        run_page(page, job, tmp_path)


@pytest.mark.parametrize("page", markdown_files(), ids=name_of)
def test_every_fence_says_what_it_is(page: Path) -> None:
    unknown = [f"line {line - 1}: {info!r}" for line, info, _ in fences(page) if language_and_file(info) is None]
    assert not unknown


@pytest.mark.parametrize("page", code_pages(), ids=name_of)
def test_a_file_that_a_page_writes_is_used_by_it(page: Path) -> None:
    job = blocks(page)
    unused = [
        f"line {block['line']}: {block['file']}"
        for index, block in enumerate(job)
        if block["file"]
        and not any(
            re.search(rf"\b{re.escape(Path(str(block['file'])).stem)}\b", str(b["text"])) for b in job[index + 1 :]
        )
    ]
    assert not unused


@pytest.mark.parametrize("page", markdown_files(), ids=name_of)
def test_shown_data_is_well_formed(page: Path) -> None:
    for line, info, text in fences(page):
        language = info.partition(" ")[0]
        try:
            if language == "json":
                json.loads(text)
            elif language == "toml":
                tomllib.loads(text)
        except ValueError as error:
            pytest.fail(f"{name_of(page)}:{line}: {error}")


@pytest.mark.parametrize("page", markdown_files(), ids=name_of)
def test_a_shell_block_has_only_commands_of_dev(page: Path) -> None:
    known = set(re.findall(r"^\./dev (\w+)", (ROOT / "dev").read_text(encoding="utf-8"), re.MULTILINE))
    for line, info, text in fences(page):
        if info.partition(" ")[0] == "sh":
            for command in text.splitlines():
                program, name = (*command.split(), "", "")[:2]
                assert program == "./dev", f"{name_of(page)}:{line}: {command}"
                assert name in known, f"{name_of(page)}:{line}: {command}"


def test_the_readme_starts_with_the_two_commands_and_ci_runs_the_second() -> None:
    shell = [text for _, info, text in fences(ROOT / "README.md") if info == "sh"]
    first = [command.partition("#")[0].strip() for text in shell for command in text.splitlines()]
    assert first[:2] == ["./dev demo", "./dev test"]
    assert re.search(r"\./dev test(?= 2>|$)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The names that a page's headings get where it is shown, and those it sets itself."""
    found: set[str] = set()
    parsed = tokens(path)
    for heading, inline in itertools.pairwise(parsed):
        if heading.type == "heading_open":
            words = "".join(child.content for child in inline.children or [] if child.type in {"text", "code_inline"})
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            count = 0
            while (name := slug if count == 0 else f"{slug}-{count}") in found:
                count += 1
            found.add(name)
    found.update(re.findall(r'<a\s+(?:id|name)="([^"]+)"', path.read_text(encoding="utf-8")))
    return found


def links(path: Path) -> Iterator[str]:
    for token in tokens(path):
        for child in (token, *(token.children or [])):
            if child.type in {"link_open", "image"}:
                yield str(child.attrs.get("href") or child.attrs.get("src") or "")
            elif child.type in {"html_inline", "html_block"}:
                yield from re.findall(r'(?:href|src)="([^"]*)"', child.content)


def broken(page: Path, link: str) -> str | None:
    """Why a relative link leads nowhere, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    if parts.path.startswith("/"):
        return "starts at the root of a site, which the repository does not know"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_relative_to(ROOT):
        return "leaves the repository"
    if not target.exists():
        return "does not exist"
    if parts.fragment and target.suffix == ".md" and unquote(parts.fragment) not in anchors(target):
        return f"has no heading #{parts.fragment}"
    return None


@pytest.mark.parametrize("page", markdown_files(), ids=name_of)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert not [f"{link} {reason}" for link in links(page) if (reason := broken(page, link))]
