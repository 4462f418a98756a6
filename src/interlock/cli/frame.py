"""What every command has: the store it speaks to, the form of its output, and whether a person is there."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from interlock.compose import Desk

url_option = click.option("--url", metavar="URL", help="The store, for example sqlite:///interlock.db.")
json_option = click.option("--json", "json_output", is_flag=True, help="Plain JSON on stdout, for programs.")


@dataclass(frozen=True, slots=True)
class Global:
    """What was said about all commands: `url` names the store (None: settings), `json` the form of the output."""

    url: str | None = None
    json: bool = False

    @property
    def prefix(self) -> str:
        """How a command that we suggest must begin, so that it finds the same store."""
        from shlex import quote

        return f"interlock --url {quote(self.url)}" if self.url else "interlock"


class StoreCommand(click.Command):
    """A command that takes --url and --json, before or after its name, and gets both as `state`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

        def options() -> None: ...

        url_option(json_option(options))
        self.params.extend(reversed(getattr(options, "__click_params__", [])))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command with what was said before and after its name."""
        outer = ctx.find_object(Global) or Global()
        url, as_json = ctx.params.pop("url", None), ctx.params.pop("json_output", False)
        ctx.params["state"] = Global(url or outer.url, as_json or outer.json)
        return super().invoke(ctx)


@contextmanager
def desk_of(state: Global) -> Generator[Desk]:
    """The desk over the store; raises `StoreError` `no_store` rather than make one by looking at it."""
    from interlock import settings
    from interlock.compose import Desk
    from interlock.domain.errors import StoreError

    path = settings.load(state.url).path
    if path is not None and not path.exists():
        raise StoreError(
            "no_store",
            f"there is no store at {path} yet",
            "An agent makes it when it first runs; or name another with --url or INTERLOCK_URL.",
        )
    with Desk(state.url, channel="terminal") as desk:
        yield desk


def emit(value: object, *, compact: bool = False) -> None:
    """Write JSON: ASCII only, so that nothing in it can act on a terminal."""
    click.echo(json.dumps(value, indent=None if compact else 2))


def at_terminal() -> bool:
    """Whether a person can be asked: both what we read and what we write is a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str) -> bool:
    """Ask yes or no; no is the default. Keys that were pressed before the question do not answer it."""
    try:
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    except (ImportError, OSError, ValueError):
        pass
    while True:
        typed = read_line(f"{question} [y/N]: ").strip().lower()
        if typed in ("y", "yes"):
            return True
        if typed in ("", "n", "no"):
            return False
        click.echo("Type y or n.")


def read_line(prompt: str) -> str:
    """A line that a person types behind the prompt; `click.Abort` where they break off."""
    click.echo(prompt, nl=False)
    try:
        _wait_for_line()
    except KeyboardInterrupt:
        raise click.Abort from None
    return str(click.prompt("", default="", prompt_suffix="", show_default=False))


def _wait_for_line() -> None:
    """Wait until there is a line to read, or a signal.

    A Ctrl-C just before a read that blocks would be noticed only behind that read: it would seem to do nothing.
    """
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    try:
        typed = sys.stdin.fileno()
    except (OSError, ValueError):  # something else than a file stands in for it
        return
    heard, hear = os.pipe()
    os.set_blocking(hear, False)
    before = signal.set_wakeup_fd(hear, warn_on_full_buffer=False)
    try:
        while typed not in select.select([typed, heard], [], [])[0]:
            os.read(heard, 512)
    finally:
        signal.set_wakeup_fd(before)
        os.close(heard)
        os.close(hear)


def read_json(given: str, what: str, *, text: bool = False, mend: str = "") -> object:
    """Parse JSON that a person typed; a usage error where it is none, has a key twice, or holds NaN.

    Where `text` is wanted, what is no JSON is the text itself. `mend` says what would be right.
    """

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in pairs]
        if len(keys) != len(set(keys)):
            raise ValueError(f"a key stands twice: {', '.join(sorted({key for key in keys if keys.count(key) > 1}))}")
        return dict(pairs)

    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is no JSON")

    try:
        return json.loads(given, object_pairs_hook=once, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        if text:
            return given
        mend = mend or "Text needs quotation marks: '\"like this\"'"
        raise click.UsageError(f"{what} is not valid JSON: {error}. {mend}") from None
