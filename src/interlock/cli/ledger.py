"""`interlock ledger`: everything that happened, in the order in which it was committed; and its export."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from interlock.cli.frame import Global, StoreCommand, desk_of, emit

if TYPE_CHECKING:
    from interlock.domain.events import Event
    from interlock.kernel.desk import ReviewDesk
    from interlock.kernel.views import ActionView

REMEMBERED = 1000
BATCH = 500
Recorded = tuple[int, "Event"]


@click.command("ledger", cls=StoreCommand)
@click.option("--run", help="Only of this run.")
@click.option("--action", metavar="ID", help="Only about this action.")
@click.option("--card", metavar="REF", help="Only about this card: its fingerprint or id.")
@click.option("--type", "types", multiple=True, help="Only events of this type; can be repeated.")
@click.option("--actor", help="Only what this person, agent or machine did: ana, or reviewer:ana.")
@click.option("--tool", help="Only about this tool.")
@click.option("--agent", help="Only of this agent's runs.")
@click.option(
    "--since", metavar="WHEN", help="Only from then on: 2h, 3d (ago), or an instant such as 2026-05-01T09:00."
)
@click.option("--until", metavar="WHEN", help="Only until then.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="At most so many events.")
@click.option("--after", type=click.IntRange(0), metavar="POSITION", help="Go on behind this one; else the latest.")
@click.option("--follow", is_flag=True, help="Stay, and show what comes.")
@click.option(
    "--export", "target", metavar="FILE", help="Write all events as they are recorded, a line each; - is stdout."
)
def ledger(state: Global, limit: int, after: int | None, follow: bool, target: str | None, **asked: Any) -> int:
    """Everything that happened, in the order in which it was committed, the newest last.

    Without --after these are the latest; a position is the number at the left. With --json: {"events", "next"}, with
    --follow as well one event a line. --export writes one envelope of canonical JSON a line and says up to which
    position; go on from there with --after. It takes no filter: it is the whole record.
    """
    if target == "":
        raise click.UsageError("--export takes the name of a file, or - for stdout")
    with desk_of(state) as desk:
        if target is not None:
            if follow or any(asked.values()):
                raise click.UsageError("--export writes the whole record: it goes with --after, and no filter")
            return _export(desk, state, target, after or 0)
        wanted = _wanted(desk, **asked)
        found, more = _page(desk, wanted, limit, after)
        if state.json and not follow:
            emit({"events": [_shape(each) for each in found], "next": found[-1][0] if found and more else None})
            return 0
        _print(desk, state, found)
        if follow:
            return _follow(desk, state, wanted, found[-1][0] if found else after)
        if more:
            click.echo(f"There may be more: --after {found[-1][0]}")
        elif not found:
            click.echo("Nothing is recorded." if not any(asked.values()) else "Nothing of that is recorded.")
    return 0


class Actions:
    """The actions that events are about, the last thousand remembered."""

    def __init__(self, desk: ReviewDesk) -> None:
        self._desk = desk
        self._known: OrderedDict[str, ActionView | None] = OrderedDict()

    def of(self, event: Event) -> ActionView | None:
        """The action of an event, or None."""
        from interlock.domain.errors import DecisionError

        if event.action is None:
            return None
        if event.action not in self._known:
            try:
                self._known[event.action] = self._desk.action(event.action)
            except DecisionError:
                self._known[event.action] = None
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return self._known[event.action]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for: `run` is what the store looks up by an index, `holds` the rest, event by event."""

    run: str | None
    since: datetime | None
    holds: tuple[Callable[[Event], bool], ...] = field(default=())

    def __call__(self, event: Event) -> bool:
        """Whether an event is wanted."""
        return all(each(event) for each in self.holds)


def _wanted(
    desk: ReviewDesk,
    run: str | None,
    action: str | None,
    card: str | None,
    types: tuple[str, ...],
    actor: str | None,
    tool: str | None,
    agent: str | None,
    since: str | None,
    until: str | None,
) -> Wanted:
    from interlock.cards.sentences import tool_of

    holds: list[Callable[[Event], bool]] = []
    known, runs = Actions(desk), Runs(desk)
    if run is not None:
        desk.run(run)
    if action is not None:
        run = _same_run(run, desk.action(action).action.run)
        holds.append(lambda event: event.action == action)
    if card is not None:
        view = desk.find(card).card
        run = _same_run(run, view.run)
        holds.append(lambda event: event.interrupt == view.id)
    if types:
        chosen = {_type(each) for each in types}
        holds.append(lambda event: event.type.value in chosen)
    if actor is not None:
        holds.append(lambda event: actor in (event.actor, event.actor.partition(":")[2]))
    if tool is not None:
        holds.append(lambda event: tool_of(event, known.of(event)) == tool)
    if agent is not None:
        holds.append(lambda event: runs.agent_of(event) == agent)
    start, end = _instant("--since", since), _instant("--until", until)
    if start is not None:
        holds.append(lambda event: event.at >= start)
    if end is not None:
        holds.append(lambda event: event.at <= end)
    return Wanted(run, start, tuple(holds))


class Runs:
    """Whose runs events belong to."""

    def __init__(self, desk: ReviewDesk) -> None:
        self._desk = desk
        self._agents: OrderedDict[str, str] = OrderedDict()

    def agent_of(self, event: Event) -> str:
        """The agent of an event's run, "" where it belongs to none."""
        if event.run is None:
            return ""
        if event.run not in self._agents:
            self._agents[event.run] = self._desk.run(event.run).agent
            if len(self._agents) > REMEMBERED:
                self._agents.popitem(last=False)
        return self._agents[event.run]


def _same_run(one: str | None, other: str) -> str:
    if one is not None and one != other:
        raise click.UsageError(f"that belongs to the run {other}, not to {one}")
    return other


def _type(given: str) -> str:
    from difflib import get_close_matches

    from interlock.domain.events import EventType

    names = {each.value.lower(): each.value for each in EventType}
    wanted = given.lower().replace("_", "").replace("-", "")
    if wanted in names:
        return names[wanted]
    near = get_close_matches(wanted, names, 1, 0.5)
    mend = f"did you mean {names[near[0]]}?" if near else "the reference of events lists them"
    raise click.UsageError(f"there is no type of event {given}; {mend}")


def _instant(option: str, given: str | None) -> datetime | None:
    """An instant: so long ago, or a date and time (local, where it names no zone)."""
    from datetime import UTC, timedelta

    if given is None:
        return None
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    try:
        if given[-1:] in units and given[:-1].isdecimal():
            return datetime.now(UTC) - timedelta(seconds=int(given[:-1]) * units[given[-1]])
        return datetime.fromisoformat(given).astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.UsageError(
            f"{option} {given} is no time; say 90s, 30m, 2h, 3d, 1w (ago), or 2026-05-01, 2026-05-01T09:00, "
            "2026-05-01T09:00+02:00"
        ) from None


def _page(desk: ReviewDesk, wanted: Wanted, limit: int, after: int | None) -> tuple[list[Recorded], bool]:
    """The events to show, the oldest first, and whether there are more behind them."""
    if after is not None:
        matching = (each for each in desk.ledger(wanted.run, str(after)) if wanted(each[1]))
        found = [each for each, _ in zip(matching, range(limit + 1), strict=False)]
        return found[:limit], len(found) > limit
    if wanted.run is not None:
        return list(deque((each for each in desk.ledger(wanted.run) if wanted(each[1])), maxlen=limit)), False
    latest: list[Recorded] = []
    for each in _down_to(desk.ledger_backwards(), wanted.since):
        if wanted(each[1]):
            latest.append(each)
        if len(latest) == limit:
            break
    return latest[::-1], False


def _down_to(events: Iterator[Recorded], since: datetime | None) -> Iterator[Recorded]:
    """Events backwards until a whole batch of them is older: those that nobody waits for come a little late."""
    older = 0
    for each in events:
        older = older + 1 if since is not None and each[1].at < since else 0
        if older > BATCH:
            return
        yield each


def _shape(each: Recorded) -> dict[str, object]:
    from interlock.cards import shapes

    position, event = each
    return {"position": position, "run": event.run, **shapes.event(event)}


def _print(desk: ReviewDesk, state: Global, found: list[Recorded]) -> None:
    if state.json:
        for each in found:
            emit(_shape(each), compact=True)
        sys.stdout.flush()
        return
    from datetime import UTC

    from interlock.cards.sentences import sentence
    from interlock.cards.words import clock
    from interlock.cli import paper
    from interlock.display import plain

    sheet, known = paper.Sheet(paper.console()), Actions(desk)
    now = datetime.now(UTC)
    rows = [(str(position), clock(event.at, now, seconds=True)) for position, event in found]
    widths = paper.columns(rows, (14, 24))
    for (_, event), (position, at) in zip(found, rows, strict=True):
        text = sentence(event, known.of(event))
        run = plain(event.run or "", limit=60)
        said = paper.pieces(text[:1].upper() + text[1:], ("" if run in text else f"  ({run})", paper.QUIET))
        sheet.entry([(position, widths[0], paper.QUIET), (at, widths[1], paper.QUIET)], said)
    sheet.show()


def _follow(desk: ReviewDesk, state: Global, wanted: Wanted, after: int | None) -> int:
    """Show what comes, until Ctrl-C."""
    if after is None:
        after = next((position for position, _ in desk.ledger_backwards()), 0)
    while True:
        new = list(desk.ledger(wanted.run, str(after)))
        if new:
            after = new[-1][0]
            _print(desk, state, [each for each in new if wanted(each[1])])
            sys.stdout.flush()
        desk.wait_for_change(1.0)


def _torn(path: Path) -> bool:
    """Whether the last line has no end: an export was broken off in it."""
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return False
        file.seek(-1, 2)
        return file.read(1) != b"\n"


@contextmanager
def _opened(target: str, after: int) -> Generator[IO[bytes]]:
    """Where the export goes: stdout, a new file, or the end of the file that was begun; nothing is written over."""
    from interlock.domain.errors import SettingsError

    if target == "-":
        yield sys.stdout.buffer
        return
    path = Path(target)
    try:
        with path.open("ab" if after else "xb") as sink:
            if after and _torn(path):
                raise SettingsError(
                    "export_torn", f"{target} ends in the middle of a line", "Cut that line off, or export anew."
                )
            yield sink
    except FileExistsError:
        mend = "Name another file, or go on with it: --after POSITION."
        raise SettingsError("export_exists", f"{target} is there already", mend) from None
    except OSError as error:
        mend = "Name a file in a folder that can be written, or - for stdout."
        raise SettingsError("export_failed", f"cannot write {target}: {error.strerror}", mend) from error


def _tail(path: Path) -> bytes:
    """The end of a file: enough of it for its last line."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4_000_000))
        return file.read()


def _goes_on(desk: ReviewDesk, path: Path, after: int) -> None:
    """Refuse to go on in a file that does not end with the event at that position."""
    from interlock.domain.errors import SettingsError

    last = next((desk.envelope(event) for at, event in desk.ledger(after=str(after - 1)) if at == after), None)
    kept = _tail(path) if path.is_file() else b""
    if kept.endswith(b"\n") and kept.rstrip(b"\n").rpartition(b"\n")[2] != last:
        raise SettingsError(
            "export_elsewhere",
            f"{path} does not end with the event at position {after}",
            "Give the position that the last export told, or export anew to another file.",
        )


def _export(desk: ReviewDesk, state: Global, target: str, after: int) -> int:
    """Write everything behind a position, batch by batch, each wholly or not at all as far as we can see to it."""
    import os

    from interlock.cards.words import count

    written, position = 0, after
    if after and target != "-":
        _goes_on(desk, Path(target), after)
    with _opened(target, after) as sink:
        batch: list[bytes] = []
        for position, event in desk.ledger(after=str(after)):  # noqa: B007  the last position is told
            batch.append(desk.envelope(event))
            if len(batch) == BATCH:
                sink.write(b"\n".join([*batch, b""]))
                written, batch = written + len(batch), []
        sink.write(b"\n".join([*batch, b""]))
        written += len(batch)
        sink.flush()
        if target != "-":
            os.fsync(sink.fileno())
    if state.json and target != "-":
        emit({"file": target, "exported": written, "position": position})
    else:
        said = f"{count(written, 'event')} exported, up to position {position}; go on with --after {position}"
        click.echo(said, err=target == "-")
    return 0
