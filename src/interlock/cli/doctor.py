"""`interlock doctor`: whether the store is sound, who works on it, and what is stuck."""

from __future__ import annotations

import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interlock.cli.frame import Global, StoreCommand, emit

if TYPE_CHECKING:
    from interlock.kernel.health import Health
    from interlock.settings import Settings

LITTLE_SPACE = 1 << 30
NO_SPACE = 100 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `level` is `ok`, `warn` or `fail`; `mend` says what to do."""

    level: str
    name: str
    words: str
    mend: str = ""


@click.command("doctor", cls=StoreCommand)
def doctor(state: Global) -> int:
    """Whether the store is sound, and what is stuck.

    Each line is ok, warn or fail. Exit code 1 if anything fails. With --json: {"ok", "findings": [{"level", "name",
    "words", "mend"}]}.
    """
    findings = list(_examine(state))
    failed = any(each.level == "fail" for each in findings)
    if state.json:
        shape = [
            {"level": each.level, "name": each.name, "words": each.words, "mend": each.mend or None}
            for each in findings
        ]
        emit({"ok": not failed, "findings": shape})
        return int(failed)
    from interlock.cli import paper
    from interlock.display import plain

    sheet = paper.Sheet(paper.console())
    styles = {"ok": paper.GOOD, "warn": paper.STRONG, "fail": paper.DANGER}
    for each in findings:
        head = [(each.level, 6, styles[each.level]), (each.name, 14, "")]
        sheet.entry(head, paper.pieces(plain(each.words)))
        if each.mend:
            sheet.line(("→ " + plain(each.mend), paper.STRONG), indent=20, hang=22)
    sheet.show()
    return int(failed)


def _examine(state: Global) -> Iterator[Finding]:
    from interlock import settings

    loaded = settings.load(state.url)
    yield _versions()
    path = loaded.path
    if path is None:
        yield Finding(
            "warn",
            "store",
            "memory://: it ends with its process, and nobody else can see it",
            "Set INTERLOCK_URL to sqlite:///…",
        )
        return
    yield from _surroundings(path)
    if not path.exists():
        yield Finding("warn", "store", f"there is none at {path} yet", "An agent makes it when it first runs")
        return
    yield from _store(state, loaded)


def _versions() -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    try:
        ours = version("interlock")
    except PackageNotFoundError:
        ours = "not installed as a package"
    python = ".".join(map(str, sys.version_info[:3]))
    return Finding("ok", "versions", f"Interlock {ours}, Python {python} on {sys.platform}")


def _surroundings(path: Path) -> Iterator[Finding]:
    """Disk and permissions: whoever can write here can decide."""
    from interlock.compose import SECRET_NAME

    folder = path.parent
    there = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(there).free
    said = f"{free / (1 << 30):,.1f} GiB free"
    if free < NO_SPACE:
        yield Finding(
            "fail", "disk", said, "Free some space: without it nothing can be recorded, and then nothing runs."
        )
    elif free < LITTLE_SPACE:
        yield Finding("warn", "disk", said, "Free some space soon.")
    else:
        yield Finding("ok", "disk", said)
    if folder.exists():
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & 0o022:
            yield Finding(
                "fail", "folder", f"{folder} (mode {mode:o}): others can replace what lies in it", f"chmod 700 {folder}"
            )
        else:
            yield Finding("ok", "folder", f"{folder} (mode {mode:o})")
    for name, file, means in (
        ("store file", path, "others can read or change what is recorded"),
        ("secret", folder / SECRET_NAME, "others can decide as you"),
    ):
        if file.exists():
            mode = stat.S_IMODE(file.stat().st_mode)
            open_to_others = bool(mode & 0o077)
            words = f"{file.name} (mode {mode:o})" + (f": {means}" if open_to_others else "")
            yield Finding(
                "fail" if open_to_others else "ok", name, words, f"chmod 600 {file}" if open_to_others else ""
            )
        elif name == "secret":
            yield Finding("ok", name, "none yet; it is made when the first decision is opened")


def _store(state: Global, loaded: Settings) -> Iterator[Finding]:
    from interlock.compose import Desk
    from interlock.domain.errors import InterlockError

    try:
        with Desk(state.url, channel="terminal") as desk:
            health = desk.health()
            about = desk.about_store()
            who = str(desk.principal)
    except InterlockError as error:
        yield Finding("fail", "store", f"{error.message} [{error.code}]", error.mend)
        return
    yield Finding(
        "ok", "store", f"{loaded.url}: read and written" + "".join(f", {name} {value}" for name, value in about.items())
    )
    yield Finding("ok", "you", f"{who} (solo mode: one person decides here)")
    yield _clock(health)
    yield from _processes(health)
    yield from _stuck(health)


def _clock(health: Health) -> Finding:
    from datetime import UTC, datetime

    from interlock.cards.words import span

    ahead = health.now - datetime.now(UTC)
    if ahead.total_seconds() > 2:
        words = f"this machine's clock is {span(ahead)} behind the newest record"
        return Finding("warn", "clock", words, "Set the clock (NTP); until then the store's time stands still.")
    return Finding("ok", "clock", f"{health.now.astimezone():%Y-%m-%d %H:%M:%S %Z}")


def _processes(health: Health) -> Iterator[Finding]:
    from interlock.cards.words import count

    if health.gone:
        pids = ", ".join(str(each.pid) for each in health.gone[:5])
        gone = count(len(health.gone), "process", "processes")
        words = f"{gone} died without a word (pid {pids}); what they held is not in doubt yet"
        yield Finding("warn", "lost", words, "Start a worker, or let an agent run: either notices them.")
    if health.alive:
        pids = ", ".join(str(each.pid) for each in health.alive[:5])
        yield Finding("ok", "processes", f"{len(health.alive)} alive, agents and workers (pid {pids})")
    else:
        yield Finding(
            "warn", "processes", "none is alive: nothing goes on by itself", "Start one: interlock worker MODULE:NAME"
        )


def _stuck(health: Health) -> Iterator[Finding]:
    from interlock.cards.words import count, who

    yield Finding(
        "ok",
        "inbox",
        f"{count(health.open_cards, 'open card')}"
        + (f", {health.overdue} past their deadline" if health.overdue else ""),
    )
    if health.in_doubt:
        fingerprints = ", ".join(card.fingerprint for card in health.in_doubt[:5])
        words = f"{count(len(health.in_doubt), 'action')} of which nobody knows whether it happened"
        yield Finding("warn", "in doubt", words, f"Find out and say so: interlock show {fingerprints}")
    else:
        yield Finding("ok", "in doubt", "nothing")
    for run in health.stuck[:5]:
        yield Finding("warn", "stuck run", f"{run.id}: {run.attention or run.state.value}", f"interlock show {run.id}")
    for work in health.poison[:5]:
        yield Finding(
            "fail",
            "given up",
            f"{work.kind.value} of {work.subject} after {work.attempts} attempts: {work.error}",
            f"Mend the cause, then: interlock retry {work.run}",
        )
    for stop in health.freezes:
        what = "everything" if stop.scope == "all" else f"{stop.scope} {stop.name}"
        mend = f"When it is settled: interlock release {stop.scope} {stop.name}".rstrip()
        yield Finding(
            "warn", "frozen", f"{what}, by {who(stop.by)}" + (f": {stop.reason}" if stop.reason else ""), mend
        )
