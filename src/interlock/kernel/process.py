"""This process: how others can tell whether it still lives, and the beat that says so."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

from interlock.domain.errors import InterlockError


def host() -> str:
    """Name machine, boot and process namespace: only within one of these can a pid be looked up."""
    parts = [socket.gethostname()]
    for probe in (_boot_id, _pid_namespace):
        try:
            parts.append(probe())
        except OSError:
            return ""  # a pid means nothing here; leases alone decide
    return "/".join(parts)


def born(pid: int) -> str:
    """The start time of a process as the system counts it, "" where it is gone or cannot be told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    # The command name may hold spaces and brackets; what follows the last bracket does not.
    fields = stat.rpartition(")")[2].split()
    state, start = fields[0], fields[19]
    return "" if state in ("Z", "X") else start


def seen_dead(on_host: str, pid: int, was_born: str) -> bool:
    """Whether that process is certainly gone: same host as ours, and no such process any more."""
    if not on_host or not was_born or on_host != host():
        return False
    return born(pid) != was_born


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").stat().st_ino)


class Heartbeat:
    """Calls `beat` every `every_s` seconds from a daemon thread until stopped or told that it is too late."""

    def __init__(self, beat: Callable[[], None], every_s: float) -> None:
        self._beat = beat
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="interlock-heartbeat", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            try:
                self._beat()
            except InterlockError as error:
                # Lost for good: every later claim of this process is refused, so beating on is pointless.
                # A store that cannot be written now may be back for the next beat.
                if error.code in ("process_lost", "store_closed", "forked"):
                    return

    def stop(self) -> None:
        """Stop beating; returns at once."""
        self._stop.set()
