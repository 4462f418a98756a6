"""Everything that a test of an agent needs, in one object: the store, the clock, the reviewer, other processes."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from interlock.compose import Interlock
from interlock.domain.action import Action
from interlock.domain.events import Event
from interlock.domain.ids import RunId
from interlock.ports.store import Page, Store
from interlock.stores.memory import MemoryStore
from interlock.testing.clock import ManualClock
from interlock.testing.reviewer import Script, ScriptedReviewer

NEVER_LOST = timedelta(days=36_500)
"""A lease that no test outlives, however far it moves the clock."""


class Rehearsal:
    """An `Interlock` (`il`) over a store of its own, with a `clock` that obeys and a `reviewer` with a script.

    The store is in memory, or an SQLite file in the folder `path`. `another()` is one more process over
    the same store, as a restart or another machine would be. Use it as a context manager, or `close` it.

        with Rehearsal(script={"send_email": reject("not today")}) as stage:
            send = stage.il.tool("irreversible")(send_email)
            with stage.il.run("monday") as run:
                send("bob@example.com")
            assert run.status == "waiting"
            stage.reviewer.decide_all()
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        script: Script | None = None,
        lease: timedelta = NEVER_LOST,
        **interlock: Any,
    ) -> None:
        self.clock = ManualClock()
        self._path = None if path is None else Path(path) / "interlock.db"
        self._lease = lease
        self._given = interlock
        self._opened: list[Interlock] = []
        self._memory = MemoryStore(clock=self.clock)
        self.il = self.another()
        self.reviewer = ScriptedReviewer(self.il, script)

    def another(self, **interlock: Any) -> Interlock:
        """One more process: an `Interlock` over the same rows that shares nothing else with the first."""
        given: dict[str, Any] = {"lease": self._lease, "store": self._store(), **self._given, **interlock}
        opened = Interlock("memory://", **given)
        self._opened.append(opened)
        return opened

    def _store(self) -> Store:
        if self._path is None:
            return self._memory
        from interlock.stores.sqlite import SqliteStore

        return SqliteStore(self._path, clock=self.clock)

    # -- looking --------------------------------------------------------------------------------

    def actions(self, run: str) -> tuple[Action, ...]:
        """The actions of a run in the order of their proposal."""
        return self.il.kernel.store.read(lambda rows: tuple(rows.actions_of_run(RunId(run))))

    def states(self, run: str) -> list[str]:
        """The states of a run's actions in the order of their proposal."""
        return [action.state.value for action in self.actions(run)]

    def events(self, run: str | None = None) -> tuple[Event, ...]:
        """Every event so far (of one run), in the order of the commits."""
        self.il.kernel.store.flush()
        wanted = None if run is None else RunId(run)
        return self.il.kernel.store.read(lambda rows: tuple(each for _, each in rows.events(wanted, Page(10_000))))

    # -- ending ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Close every process."""
        for opened in self._opened:
            opened.close()

    def __enter__(self) -> Rehearsal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
