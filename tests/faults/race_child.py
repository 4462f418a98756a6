"""Processes that race: deciders, workers, and one that dies each time. Also the small world they share.

python race_child.py ROLE FOLDER [ARGUMENT ...]
"""

from __future__ import annotations

import contextvars
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interlock.compose import Interlock
from interlock.domain.errors import DecisionError
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.kernel.desk import ReviewDesk
from interlock.ports.store import Store
from interlock.stores.sqlite import SqliteStore


class World:
    """An `Interlock` over a store, a desk, and tools that leave a trace in a file.

    `inside` is called in the body of every tool, before (`"entry"`) and after (`"exit"`) the effect.
    """

    def __init__(
        self,
        folder: Path,
        *,
        lease: float = 30.0,
        store: Store | None = None,
        inside: Callable[[str], None] = lambda _: None,
        reviewer: str = "ana",
    ) -> None:
        self.folder = folder
        self.trace = folder / "trace"
        self.inside = inside
        self.store = store or SqliteStore(folder / "store.db")
        self.il = Interlock(store=self.store, lease=lease)
        self.kernel = self.il.kernel
        self.desk = ReviewDesk(self.kernel, Principal(PrincipalKind.REVIEWER, reviewer, authn="local"))
        self.send_bare = self._tool("send")
        self.send = self.il.tool("irreversible")(self._tool("send"))
        self.rename = self.il.tool("reversible")(self._tool("rename"))

        @self.il.workflow(name="job")
        def job(to: str) -> str:
            return self.send(to)

        @self.il.workflow(name="deadly")
        def deadly(to: str) -> str:
            self.rename(to)
            os.kill(os.getpid(), signal.SIGKILL)
            return to

        @self.il.workflow(name="branches")
        def branches(to: str) -> str:
            """One branch works while the other waits for a person."""
            return ", ".join(self.together((self.send, to), (self.rename, to)))

        self.job, self.deadly, self.branches = job, deadly, branches

    def _tool(self, name: str) -> Callable[[str], str]:
        def act(to: str) -> str:
            self.inside("entry")
            handle = os.open(self.trace, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            os.write(handle, f"{name} {to}\n".encode())
            os.fsync(handle)
            os.close(handle)
            self.inside("exit")
            return f"{name} {to}"

        act.__name__ = act.__qualname__ = name
        return act

    def together(self, *calls: tuple[Callable[[str], str], str]) -> list[str]:
        """Make calls at once, each in a thread and a branch of its own; raises what one raised once all have ended."""
        came: dict[str, Any] = {}

        def call(name: str, fn: Callable[[str], str], to: str) -> None:
            try:
                came[name] = fn(to)
            except BaseException as error:  # noqa: BLE001  raised below
                came[name] = error

        threads: list[threading.Thread] = []
        for fn, to in calls:
            with self.il.scope(f"{fn.__name__} {to}"):
                run = contextvars.copy_context().run
            threads.append(threading.Thread(target=run, args=(call, f"{fn.__name__} {to}", fn, to)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in came.values():
            if isinstance(answer, BaseException):
                raise answer
        return sorted(came.values())

    def effects(self, what: str) -> int:
        return self.trace.read_text().splitlines().count(what) if self.trace.exists() else 0

    def card(self) -> Any:
        (view,) = self.desk.open()
        return view.card

    def approve(self) -> Any:
        card = self.card()
        return self.desk.approve(card.id, digest=card.digest)

    def close(self) -> None:
        self.il.close()


def decide(folder: Path, name: str, threads: str) -> None:
    """Decide the one open card from many threads once `go` is there, with all verdicts; prints what each was told."""
    world = World(folder, reviewer=name)
    card = world.card()
    told: list[dict[str, Any]] = []
    together = threading.Barrier(int(threads) + 1)

    def one(number: int) -> None:
        verdicts = {
            0: lambda: world.desk.approve(card.id, digest=card.digest),
            1: lambda: world.desk.reject(card.id, digest=card.digest, note=f"{number}"),
            2: lambda: world.desk.redirect(card.id, digest=card.digest, note=f"{number}"),
            3: lambda: world.desk.modify(card.id, digest=card.digest, arguments={"to": f"{name}-{number}"}),
        }
        together.wait()
        try:
            receipt = verdicts[number % 4]()
            told.append({"decision": receipt.decision.id, "by": receipt.decision.by.name, "replayed": receipt.replayed})
        except DecisionError as error:
            told.append({"code": error.code, "by": error.by, "at": str(error.at)})

    crowd = [threading.Thread(target=one, args=(number,)) for number in range(int(threads))]
    for thread in crowd:
        thread.start()
    print("ready", flush=True)
    while not (folder / "go").exists():
        time.sleep(0.001)
    together.wait()
    for thread in crowd:
        thread.join()
    world.close()
    print(json.dumps(told))


def work(folder: Path, lease: str = "30", slowly: str = "") -> None:
    """Work until SIGTERM. With `slowly`, a tool says that it has begun, and waits until it may go on."""

    def inside(point: str) -> None:
        if slowly == point:
            (folder / "begun").touch()
            until = time.monotonic() + 30
            while not (folder / "go").exists() and time.monotonic() < until:
                time.sleep(0.01)

    world = World(folder, lease=float(lease), inside=inside)
    worker = world.il.worker()
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    print("ready", flush=True)
    worker.run_forever()
    world.close()
    print("stopped", flush=True)


if __name__ == "__main__":
    {"decide": decide, "work": work}[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
