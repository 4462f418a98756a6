"""Everything that a test of an agent needs, in one object: the store, the clock, the reviewer, other processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from interlock.adapters.guard.tool import Tool
from interlock.compose import Interlock
from interlock.domain.action import Action
from interlock.domain.decision import Receipt
from interlock.domain.events import Event
from interlock.domain.ids import RunId
from interlock.ports.store import Page, Store
from interlock.stores.memory import MemoryStore
from interlock.testing.assertions import Assertions
from interlock.testing.clock import ManualClock
from interlock.testing.reviewer import Said, Script, ScriptedReviewer

NEVER_LOST = timedelta(days=36_500)
"""A lease that no test outlives, however far it moves the clock."""


class Rehearsal(Assertions):
    """An `Interlock` (`il`) over a store of its own, with a `clock` that obeys and a `reviewer` with a script.

    The store is in memory, or an SQLite file in the folder `path`. `another()` is one more process over
    the same store, as a restart or another machine would be. What `Assertions` ask, they ask of this store.
    Use it as a context manager, or `close` it; with the pytest plug-in the fixture `interlock` is one.

        with Rehearsal() as stage:
            run = build_agent(stage.il).start("INV-7")
            stage.assert_pauses(run, tool="send_email", to="ap@x.example")
            stage.decide(reject("not today"))
            stage.assert_never_ran("send_email")
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
        super().__init__(self.another())
        self.reviewer = ScriptedReviewer(self.il, script)

    def another(self, **interlock: Any) -> Interlock:
        """One more process: an `Interlock` over the same rows that shares nothing else with the first."""
        given: dict[str, Any] = {"lease": self._lease, "store": self.open_store(), **self._given, **interlock}
        opened = Interlock("memory://", **given)
        self._opened.append(opened)
        return opened

    def open_store(self) -> Store:
        """The store once more, over the same rows; wrap it and give it to `another(store=…)`."""
        if self._path is None:
            return self._memory
        from interlock.stores.sqlite import SqliteStore

        return SqliteStore(self._path, clock=self.clock)

    # -- going on -------------------------------------------------------------------------------

    def decide(self, said: Said, tool: str | None = None, **arguments: object) -> Receipt:
        """Decide the one open card (of `tool`, with these arguments), then let the run go on as `go_on` does.

        Raises `DecisionError` where no card, or more than one, is meant; it lists those that are open.
        """
        __tracebackhide__ = True
        receipt = self.reviewer.decide(said, tool, **arguments)
        self.go_on()
        return receipt

    def play(self, script: Script | None = None) -> None:
        """Decide by the script (that of the reviewer, unless one is given) and go on, until nothing more is decided."""
        if script is not None:
            self.reviewer.script = dict(script)
        self.go_on()
        while self.reviewer.decide_all():
            self.go_on()

    def go_on(self) -> int:
        """Let a worker do what is due (runs that were decided, cards that expire, rollbacks); says how much it was.

        A run of `with il.run(...)` goes on only when its block is entered again, as in operation.
        """
        return self.il.worker().run_until_idle()

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

    def _flush(self) -> None:
        for opened in self._opened:
            opened.kernel.store.flush()

    def _tools(self) -> Mapping[str, Tool]:
        return {name: tool for opened in self._opened for name, tool in opened.guards.tools.items()}

    # -- ending ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Close every process."""
        for opened in self._opened:
            opened.close()

    def __enter__(self) -> Rehearsal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
