"""Waiting for a sign that another process writes, without looking all the time.

A commit writes to the log beside the database before anybody can see it. Where the system tells of that (Linux), a
thread sleeps until then and looks often for a moment; where it does not, it looks every 5 ms. Either way a sign is a
hint, and what it hints at is asked of SQLite.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

LOOK_EVERY_S = 0.005
"""How often there is a look where the system tells nothing."""
NET_S = 0.02
"""How long a sleep lasts at most although the system tells: some file systems forget to."""
SOON_S = 0.001
ALERT_S = 0.05
"""For so long after a sign there is a look every millisecond: a commit is seen only once it is on the disk."""

_IN_MODIFY = 0x2
_FLAGS = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)


class Signs(Protocol):
    """How one thread sleeps until it is worth while to look. The others may rouse it."""

    def sleep(self, seconds: float) -> None:
        """Sleep until there is a sign, somebody rouses, or at most for so long."""
        ...

    def rouse(self) -> None:
        """End the sleep, or the next one if nobody sleeps."""
        ...

    def close(self) -> None:
        """Release what is held; nobody sleeps any more."""
        ...


def signs_of(log: Path) -> Signs:
    """The signs of writes to a log file."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            return _Told(log)
    return _Regular()


class _Regular:
    """No signs: every 5 ms."""

    def __init__(self) -> None:
        self._roused = threading.Event()

    def sleep(self, seconds: float) -> None:
        if self._roused.wait(min(seconds, LOOK_EVERY_S)):
            self._roused.clear()

    def rouse(self) -> None:
        self._roused.set()

    def close(self) -> None:
        self._roused.set()


class _Told:
    """Signs from Linux, by inotify (see its manual page, section 7). Raises `OSError` where it is not to be had."""

    def __init__(self, log: Path) -> None:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        self._told: int = libc.inotify_init1(_FLAGS)
        if self._told < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        if libc.inotify_add_watch(self._told, os.fsencode(log), _IN_MODIFY) < 0:
            os.close(self._told)
            raise OSError(ctypes.get_errno(), "inotify_add_watch")
        self._roused = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll = select.poll()
        for each in (self._told, self._roused):
            self._poll.register(each, select.POLLIN)
        self._alert_until = 0.0
        self._lock = threading.Lock()
        self._closed = False

    def sleep(self, seconds: float) -> None:
        alert = time.monotonic() < self._alert_until
        for each, _ in self._poll.poll(min(seconds, SOON_S if alert else NET_S) * 1000):
            with suppress(BlockingIOError):
                os.read(each, 4096)
            if each == self._told:
                self._alert_until = time.monotonic() + ALERT_S

    def rouse(self) -> None:
        with self._lock:
            if not self._closed:
                os.eventfd_write(self._roused, 1)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._told)
                os.close(self._roused)
