"""The server process: uvicorn, told to let open pages go before it waits for them."""

from __future__ import annotations

import socket

import uvicorn

from interlock.server.app import Inbox


class InboxServer(uvicorn.Server):
    """Serves the inbox on sockets that listen already; `run(sockets=…)` blocks until `should_exit` or a signal."""

    def __init__(self, inbox: Inbox) -> None:
        super().__init__(
            uvicorn.Config(
                inbox, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3
            )
        )
        self._inbox = inbox

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of hints first: uvicorn would wait for them to end by themselves."""
        self._inbox.let_go()
        await super().shutdown(sockets)
