"""The mail server of the demo: accepts every letter, keeps it durably, and answers only then.

It stands outside the agent, so what it holds is what really happened. If the folder's `strike` file
names a process, the server kills that process after it has kept the next letter and before it
answers: the effect is there, and nobody has recorded it. That is the moment which decides whether a
system sends twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import mailbox
import os
import signal
import sys
from pathlib import Path
from typing import Any

from interlock.cli.demo.shop import Folder, write_whole
from interlock.cli.demo.worker import when_input_ends


class Keeper:
    """What aiosmtpd calls for each letter."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        """Keep the letter, then strike if told to, then say yes."""
        self._keep(
            b"Delivered-To: "
            + ", ".join(envelope.rcpt_tos).encode()
            + b"\n"
            + bytes(envelope.content).replace(b"\r\n", b"\n")
        )
        self._strike()
        return "250 kept"

    def _keep(self, letter: bytes) -> None:
        box = mailbox.mbox(self._folder.sent, create=False)
        try:
            box.add(letter)
            box.flush()  # to the disk: it synchronises the file
        finally:
            box.close()

    def _strike(self) -> None:
        try:
            pid = int(self._folder.strike.read_text(encoding="ascii"))
            self._folder.strike.unlink()
        except FileNotFoundError:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def serve(folder: Folder) -> None:
    """Serve on a free port of this machine until standard input ends."""
    from aiosmtpd.smtp import SMTP

    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    keeper = Keeper(folder)
    server = await loop.create_server(
        lambda: SMTP(keeper, hostname="localhost", enable_SMTPUTF8=True, loop=loop), host="127.0.0.1", port=0
    )

    def end() -> None:
        loop.call_soon_threadsafe(stop.set)

    when_input_ends(end)
    write_whole(folder.port, str(server.sockets[0].getsockname()[1]))
    await stop.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(Folder(Path(sys.argv[1]))))
