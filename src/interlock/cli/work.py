"""`interlock worker`: goes on with waiting runs as soon as they are decided."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from interlock.cli.frame import Global, StoreCommand, emit

if TYPE_CHECKING:
    from interlock.compose import Interlock
    from interlock.domain.run import Run, Work


@click.command("worker", cls=StoreCommand)
@click.argument("app", metavar="MODULE:NAME")
@click.option("--once", is_flag=True, help="Do what is due, then end.")
def worker(state: Global, app: str, once: bool) -> int:
    """Go on with waiting runs as soon as they are decided.

    MODULE:NAME is an Interlock object, for example app:il; it is imported with the current folder on the path.
    The first SIGTERM or Ctrl-C finishes what is under way, a second one breaks it off (what was executing is then
    in doubt). A line when a run goes on, and one when it has ended or waits again; with --json one object a line,
    {"at", "run"}, for the latter. Exit codes: 0, 130, 143.
    """
    from interlock.cards.words import count
    from interlock.display import plain

    il = load_at(app, state.url)

    def on_start(run: Run) -> None:
        if not state.json:
            _say(run, "goes on")

    def on_pass(run: Run) -> None:
        _tell(il, run, state)

    def on_rollback(work: Work) -> None:
        if not state.json:
            _undone(il, work)

    loop = il.worker(on_start=on_start, on_pass=on_pass, on_rollback=on_rollback)
    stopped = _stop_on_signals(loop.stop)
    if not state.json:
        known = (
            ", ".join(plain(name, limit=40) for name in il.guards.resumable)
            or "none, so it looks after deadlines and rollbacks only"
        )
        click.echo(f"Worker for {plain(app, limit=80)}, store {plain(il.settings.url)}")
        click.echo(f"{count(len(il.guards.resumable), 'workflow')}: {known}")
        sys.stdout.flush()
    try:
        if once:
            done = loop.run_until_idle()
            if not state.json:
                click.echo(f"Idle; {count(done, 'piece')} of work done." if done else "Idle; nothing was due.")
        else:
            loop.run_forever()
            if not state.json:
                click.echo("Stopped.")
    except KeyboardInterrupt:
        click.echo("interlock: broken off; what was executing is in doubt now [stopped]", err=True)
        return 128 + (stopped[-1] if stopped else signal.SIGINT)
    finally:
        il.close()
    return 0


def load_at(app: str, url: str | None) -> Interlock:
    """Import the object; with a url it has to use that store."""
    if url:
        os.environ["INTERLOCK_URL"] = url  # before the import, which may read it
    il = load_app(app)
    _same_store(il, app, url)
    return il


def load_app(app: str) -> Interlock:
    """Import the object; every way in which that can fail is one line."""
    from importlib import import_module

    from interlock.compose import Interlock
    from interlock.domain.errors import InterlockError, SettingsError

    module_name, sign, name = app.partition(":")
    if not (sign and module_name and name):
        raise click.UsageError(f"{app} names nothing: say MODULE:NAME, for example app:il")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module_name)
    except InterlockError:
        raise
    except ModuleNotFoundError as error:
        raise SettingsError(
            "no_module", f"cannot import {module_name}: {error}", "Run it from the folder that holds the module."
        ) from error
    except (Exception, SystemExit) as error:
        said = f"importing {module_name} failed: {type(error).__name__}: {error}"
        raise SettingsError("import_failed", said, f"See where: python -c 'import {module_name}'") from error
    module = cast("dict[str, object]", vars(found))
    for part in name.split("."):
        if not hasattr(found, part):
            raise SettingsError(
                "no_object", f"{module_name} has no {name}", "Name the Interlock object, for example app:il."
            )
        found = getattr(found, part)
    if not isinstance(found, Interlock):
        raise SettingsError(
            "not_interlock",
            f"{app} is {type(found).__name__}, not an Interlock",
            "Name the object that guards your tools: il = Interlock().",
        )
    found.register_graphs_of(module)
    return found


def _same_store(il: Interlock, app: str, url: str | None) -> None:
    """A --url that the module does not follow would leave people waiting at another store."""
    from interlock import settings
    from interlock.domain.errors import SettingsError

    if url and settings.load(url).url != il.settings.url:
        raise SettingsError(
            "other_store",
            f"{app} uses the store {il.settings.url}, whatever --url says",
            "Leave --url out, or let the module read INTERLOCK_URL.",
        )


def _stop_on_signals(stop: Any) -> list[int]:
    """First signal: `stop`. Second: break off. Third: the system's own way. Answers the signals that came."""
    came: list[int] = []

    def handle(number: int, _: object) -> None:
        came.append(number)
        if len(came) == 1:
            os.write(2, b"interlock: finishing what is under way; once more breaks it off\n")
            stop()
            return
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)
        raise KeyboardInterrupt

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, handle)
    return came


def _say(run: Run, said: str) -> None:
    from interlock.display import plain

    click.echo(f"{time.strftime('%H:%M:%S')}  {plain(run.workflow, limit=40)}  {plain(run.id, limit=60)}  {said}")
    sys.stdout.flush()


def _tell(il: Interlock, run: Run, state: Global) -> None:
    """How a pass ended: the run's state, and what comes next where that is somebody's turn."""
    if state.json:
        from interlock.cards import shapes

        emit({"at": datetime.now().astimezone().isoformat(), "run": shapes.run(run)}, compact=True)
        sys.stdout.flush()
        return
    from interlock.cards.standing import failure, result
    from interlock.cards.words import count
    from interlock.display import plain
    from interlock.domain.run import RunState

    match run.state:
        case RunState.FINISHED:
            _say(run, f"finished: {result(run.result)}")
        case RunState.FAILED:
            _say(run, f"failed: {failure(run.failure)}")
        case RunState.WAITING:
            cards = [card.fingerprint for card in il.kernel.open_cards(run.id)]
            asked = f"waits for a person: {count(len(cards), 'card')}, {', '.join(cards[:3])}" if cards else "waits"
            _say(run, asked)
        case state_:
            why = f": {plain(run.attention, limit=160)}" if run.attention else ""
            _say(run, state_.value.replace("_", " ") + why)


def _undone(il: Interlock, work: Work) -> None:
    from interlock.cards.headline import what
    from interlock.domain.ids import ActionId

    about = il.kernel.action(ActionId(work.subject))
    run = il.kernel.run(work.run)
    if about is not None and run is not None:
        ended = about.action.state.value.replace("_", " ")
        _say(run, f"{ended}: {what(about)}")
