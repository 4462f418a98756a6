"""The program as a whole: help, errors, exit codes, terminals."""

import importlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from interlock.cli import main
from interlock.cli.program import COMMANDS

RUN = [sys.executable, "-c", "from interlock.cli import main; main()"]


def test_help_names_every_command_without_importing_one() -> None:
    code = (
        "import sys\nfrom interlock.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'rich', 'sqlalchemy', 'pydantic', 'orjson', 'interlock.compose'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"demo"}))
def test_every_command_has_help_takes_url_and_json_and_keeps_its_line(name: str) -> None:
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(importlib.import_module(f"interlock.cli.{module}"), attribute)
    assert command.name == name
    for words in [[name, each] for each in command.commands] if isinstance(command, click.Group) else [[name]]:
        done = CliRunner().invoke(main, [*words, "--help"])
        assert done.exit_code == 0
        assert "--url" in done.output
        assert "--json" in done.output


def test_without_a_command_the_help_is_shown() -> None:
    done = CliRunner().invoke(main, [])
    assert done.exit_code == 0
    assert "approve" in done.output


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["frobnicate"], 2),
        (["approve"], 2),
        (["inbox", "--nonsense"], 2),
        (["--url", "foo://x", "inbox"], 2),
        (["--url", "memory://", "inbox"], 2),
        (["--version"], 0),
    ],
)
def test_usage_and_settings_errors_are_one_line_and_exit_2(args: list[str], code: int) -> None:
    done = CliRunner().invoke(main, args)
    assert done.exit_code == code
    if code:
        assert done.stdout == ""
        assert re.fullmatch(r"interlock: .* \[\w+\].*\n", done.stderr)


def test_an_error_in_json_is_one_object_on_stderr() -> None:
    done = CliRunner().invoke(main, ["approve", "--json"])
    assert json.loads(done.stderr)["error"]["code"] == "usage"


def test_a_reader_that_goes_away_leaves_no_traceback(shop: Any) -> None:
    shop.held_mail()
    process = subprocess.Popen(
        [*RUN, "--url", shop.url, "show", "mail-1", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 141
    assert said == b""


def test_colour_is_neither_forced_into_a_pipe_nor_lost_words_without_it(shop: Any) -> None:
    shop.held_mail()
    env = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "40"}
    done = subprocess.run([*RUN, "--url", shop.url, "inbox"], capture_output=True, text=True, check=True, env=env)
    assert "\x1b" not in done.stdout
    assert "━" * 100 in done.stdout.splitlines()
    assert "IRREVERSIBLE" in done.stdout


@contextmanager
def at_a_terminal(args: list[str], columns: int, **env: str) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """The program on a pseudo-terminal of so many columns."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [*RUN, *args], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**environment, "TERM": "xterm-256color", **env},
    )  # fmt: skip
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal: int, wanted: str, seconds: float = 30) -> str:
    import select

    text, end = b"", time.monotonic() + seconds
    while wanted.encode() not in text and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                text += os.read(terminal, 65536)
            except OSError:  # the other side is closed
                break
    return text.decode()


def without_style(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 100])
def test_a_card_fits_a_narrow_terminal(shop: Any, columns: int, long_text: str) -> None:
    fingerprint = shop.held_mail(to="billing@ex\u0430mple.com", body="Hello\u202e" + " " * 99)
    with at_a_terminal(["show", fingerprint], columns, INTERLOCK_URL=shop.url) as (_, terminal):
        text = without_style(read_until(terminal, "approve  "))
    assert all(len(line) <= columns for line in text.splitlines())
    assert "Send email to" in text


def test_no_color_leaves_the_words(shop: Any) -> None:
    shop.held_mail()
    with at_a_terminal(["inbox"], 100, INTERLOCK_URL=shop.url, NO_COLOR="1") as (_, terminal):
        text = read_until(terminal, "FINGERPRINT")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", text)
    assert "IRREVERSIBLE" in text


def test_keys_pressed_before_the_question_do_not_answer_it(shop: Any) -> None:
    fingerprint = shop.held_mail()
    with at_a_terminal(["approve", fingerprint], 100, INTERLOCK_URL=shop.url) as (process, terminal):
        os.write(terminal, b"y\n")
        shown = without_style(read_until(terminal, "Approve this? [y/N]:"))
        assert "WHAT HAPPENS" in shown
        os.write(terminal, b"\n")
        assert "Nothing was decided." in read_until(terminal, "decided")
        assert process.wait(20) == 1


def test_ctrl_c_at_the_question_decides_nothing(shop: Any) -> None:
    import signal

    fingerprint = shop.held_mail()
    with at_a_terminal(["approve", fingerprint], 100, INTERLOCK_URL=shop.url) as (process, terminal):
        read_until(terminal, "[y/N]:")
        process.send_signal(signal.SIGINT)
        said = read_until(terminal, "[stopped]")
        assert "[stopped]" in said
        assert "Traceback" not in said
        assert process.wait(20) == 130
    assert shop.json("show", fingerprint)["open"] is True


def test_an_unexpected_command_type_is_never_listed() -> None:
    assert all(
        isinstance(main.get_command(click.Context(main), name), click.Command) for name in set(COMMANDS) - {"demo"}
    )
    assert main.get_command(click.Context(main), "nothing") is None


def test_no_module_of_the_command_line_reads_the_environment() -> None:
    folder = Path(str(importlib.import_module("interlock.cli").__file__)).parent
    readers = [
        path.name
        for path in folder.glob("*.py")
        if re.search(r"environ\.get|getenv|environ\[[^]]+\](?! =)", path.read_text())
    ]
    assert readers == []
