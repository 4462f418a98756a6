"""Runs the blocks of one documentation page, in order, in this process. Started by test_docs.py, one process a page.

Reads the blocks as JSON from the file named by its argument. A Python block runs in one namespace for the whole page,
compiled under the page's own name and line numbers, so that tracebacks and `inspect` point at the page. A console
block's commands run in bash; what follows a command on the page is compared with what it printed, where `...` stands
for anything.
"""

import difflib
import json
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import TypedDict


class Block(TypedDict):
    """A fenced block: `line` is the page's line on which its text begins; a block with a file name is written."""

    language: str
    file: str
    line: int
    text: str


class Failed(Exception):
    """What the page says is not what happens."""


def matches(expected: str, printed: str) -> bool:
    """Whether the output is the expected one; `...` stands for anything, several lines included."""
    pattern = ".*?".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()).rstrip("\n")


def commands(text: str) -> list[tuple[int, str, str]]:
    """Splits a console block into (line offset, command, expected output); `> ` continues a command."""
    found: list[tuple[int, str, str]] = []
    for offset, line in enumerate(text.splitlines()):
        if line.startswith("$ "):
            found.append((offset, line[2:], ""))
            continue
        if not found:
            raise Failed("a console block begins with a command (`$ ...`)")
        start, command, output = found[-1]
        if line.startswith("> ") and not output:
            found[-1] = (start, f"{command}\n{line[2:]}", output)
        else:
            found[-1] = (start, command, f"{output}{line}\n")
    return found


def run_console(page: str, block: Block) -> None:
    for offset, command, expected in commands(block["text"]):
        place = f"{page}:{block['line'] + offset}"
        # A file, not a pipe: a command may leave a server running that keeps its output open.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
            output.seek(0)
            printed = output.read().decode("utf-8", "replace")
        if done.returncode != 0:
            raise Failed(f"{place}: `{command}` ended with {done.returncode}:\n{printed}")
        wanted, got = stripped(expected), stripped(printed)
        if wanted and not matches(wanted, got):
            lines = difflib.unified_diff(wanted.splitlines(), got.splitlines(), "the page", "printed", lineterm="")
            raise Failed(f"{place}: `{command}` printed something else:\n" + "\n".join(lines))


def run_python(page: str, block: Block, namespace: dict[str, object]) -> None:
    padding = "\n" * (block["line"] - 1)
    exec(compile(padding + block["text"], page, "exec", dont_inherit=True), namespace)


def run_page(page: str, blocks: list[Block]) -> None:
    main = types.ModuleType("__main__")
    main.__file__ = page
    sys.modules["__main__"] = main
    sys.path[0] = str(Path.cwd())
    for block in blocks:
        if block["file"]:
            Path(block["file"]).write_text(block["text"], encoding="utf-8")
        elif block["language"] == "python":
            run_python(page, block, main.__dict__)
        else:
            run_console(page, block)
        sys.stdout.flush()


if __name__ == "__main__":
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    del sys.argv[1:]
    try:
        run_page(job["page"], job["blocks"])
    except Failed as failure:
        sys.exit(str(failure))
