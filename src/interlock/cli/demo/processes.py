"""The processes that the demo starts, and stops again: by handle, never by name."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from interlock.cli.demo.shop import Folder
from interlock.domain.errors import SettingsError

START_S = 20.0
STOP_S = 5.0


class Processes:
    """The mail server and the agent's worker. Both end with the block, however it ends.

    They are told to stop by the end of their standard input, so they also stop if this process is
    killed. They are sessions of their own: Ctrl-C reaches this process only.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._children: list[subprocess.Popen[bytes]] = []
        self.server: subprocess.Popen[bytes] | None = None
        self.worker: subprocess.Popen[bytes] | None = None

    def start_server(self) -> None:
        """Start the mail server."""
        self.server = self._start("witness")

    def server_port(self) -> int:
        """The port of the mail server, as soon as it listens."""
        until = time.monotonic() + START_S
        while not self._folder.port.exists():
            if self.server is None or self.server.poll() is not None or time.monotonic() > until:
                raise SettingsError(
                    "demo_failed", "the mail server did not start", f"See {self._folder.path / 'witness.log'}."
                )
            time.sleep(0.02)
        return int(self._folder.port.read_text(encoding="ascii"))

    def start_worker(self) -> int:
        """Start a worker for the agent; answers its process id."""
        self.worker = self._start("worker")
        return self.worker.pid

    def worker_ended(self) -> int | None:
        """How the worker ended (negative: by that signal), or None while it lives."""
        return self.worker.poll() if self.worker is not None else None

    def _start(self, module: str) -> subprocess.Popen[bytes]:
        with Path(self._folder.path / f"{module}.log").open("ab") as log:
            child = subprocess.Popen(  # noqa: S603 - our own module, our own folder
                [sys.executable, "-m", f"interlock.cli.demo.{module}", str(self._folder.path)],
                stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._children.append(child)
        return child

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            if child.stdin is not None:
                child.stdin.close()
        for child in self._children:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    for stop in (child.terminate, child.kill):
        try:
            child.wait(STOP_S)
            return
        except subprocess.TimeoutExpired:
            stop()
    child.wait()
