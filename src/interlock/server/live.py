"""Hints that something changed, sent to open pages: never what changed, and never an answer.

One subscription to the kernel serves every page; a page costs a future and a connection, no thread.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Self

from starlette.responses import Response, StreamingResponse

from interlock.server.sessions import session_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import TracebackType

    from starlette.requests import Request

    from interlock.kernel import Kernel
    from interlock.server.inbox.frame.site import Site

QUIET_S = 20.0
"""A page is told at least so often that the line still stands; its session is looked at again then."""
SPARE_S = 0.1
"""Changes within so long are one hint."""


class Live:
    """Wakes every waiting page when the store may have changed."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._closed = False
        self._unsubscribe: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._unsubscribe = self._kernel.on_change(self._hint)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every stream, and be told of no more changes. Called in the thread of the loop."""
        self._closed = True
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._wake()

    def _hint(self) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        waiting, self._changed = self._changed, asyncio.Event()
        waiting.set()

    async def changed(self, seconds: float) -> bool:
        """Whether something may have changed within so many seconds."""
        waiting = self._changed
        try:
            await asyncio.wait_for(waiting.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def hints(self, still: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Lines of an event stream, until `still` says no."""
        yield b"retry: 2000\n\nevent: change\ndata:\n\n"  # a page that comes back has missed something
        checked = time.monotonic()
        while not self._closed:
            waiting = self._changed
            try:
                await asyncio.wait_for(waiting.wait(), QUIET_S)
            except TimeoutError:
                line = b": still here\n\n"
            else:
                if self._closed:
                    return
                await asyncio.sleep(SPARE_S)
                line = b"event: change\ndata:\n\n"
            if time.monotonic() - checked >= QUIET_S:  # a hint says nothing: no need to look each time
                checked = time.monotonic()
                if not still():
                    return
            yield line

    def endpoint(self, site: Site) -> Callable[[Request], Awaitable[Response]]:
        """The stream for pages of people who are signed in."""

        async def answer(request: Request) -> Response:
            if session_of(request, site.kernel, site.border) is None:
                return Response(status_code=403)

            def still() -> bool:
                return session_of(request, site.kernel, site.border) is not None

            return StreamingResponse(self.hints(still), media_type="text/event-stream")

        return answer
