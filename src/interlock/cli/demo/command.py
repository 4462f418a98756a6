"""`interlock demo`."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import click

from interlock.domain.errors import SettingsError


@click.command()
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path, file_okay=False), help="Keep everything in this (empty) folder."
)
@click.option("--auto", is_flag=True, help="A script decides; nothing is asked.")
@click.option("--kill", is_flag=True, help="Kill the worker when a letter is out and not yet recorded.")
def demo(folder: Path | None, auto: bool, kill: bool) -> None:
    """See an agent pause before it sends mail or gives money back, and decide.

    A scripted agent answers five letters, with a real mail server and a real order database on this
    machine. What it may not undo waits for you, here or in another terminal. Takes two minutes; with
    --auto a few seconds. Exit status 0: every approved action happened once, and nothing else did.
    """
    if find_spec("aiosmtpd") is None:
        raise SettingsError(
            "demo_extra_missing",
            "the demo needs aiosmtpd for its mail server",
            "Install it: pip install 'interlock[demo]'",
        )
    from interlock.cli.demo.conduct import Options, play
    from interlock.cli.demo.screen import Screen
    from interlock.cli.demo.shop import Folder

    place = Folder(_place(folder))
    screen = Screen()
    try:
        code = play(place, Options(auto=auto, kill=kill, prompt=not auto and os.isatty(0) and os.isatty(1)), screen)
    except KeyboardInterrupt:
        screen.say()
        screen.say(f"Stopped. The agent and the mail server are stopped too. The folder stays: {place.path}")
        code = 130
    sys.exit(code)


def _place(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="interlock-demo-")).resolve()
    folder = folder.resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        empty = not any(folder.iterdir())
    except OSError as error:
        raise SettingsError(
            "demo_folder", f"{folder} cannot be used: {error.strerror}", "Name another with --dir."
        ) from error
    if not empty:
        raise SettingsError("demo_folder", f"{folder} is not empty", "Name a new one with --dir, or leave --dir out.")
    return folder
