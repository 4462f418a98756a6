"""Futures of futures: what follows when one resolves, without a thread that waits for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def at_once(make: Callable[[], A]) -> Future[A]:
    """A future of what can be said at once: it has resolved when this returns."""
    future: Future[A] = Future()
    try:
        future.set_result(make())
    except Exception as error:  # noqa: BLE001 - it belongs to whoever waits
        future.set_exception(error)
    return future


def then(future: Future[A], make: Callable[[A], B]) -> Future[B]:
    """A future of what `make` makes of the first one's result."""
    after: Future[B] = Future()

    def pass_on(done: Future[A]) -> None:
        try:
            made = make(done.result())
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            after.set_exception(error)
        else:
            after.set_result(made)

    future.add_done_callback(pass_on)
    return after


def tried(attempt: Callable[[], Future[A]], again: Callable[[BaseException], bool]) -> Future[A]:
    """What the attempt comes to; it is made again for as long as `again` says so of its error."""
    after: Future[A] = Future()

    def look(done: Future[A]) -> None:
        error = done.exception()
        if error is None:
            after.set_result(done.result())
            return
        try:
            if again(error):
                attempt().add_done_callback(look)
                return
        except Exception as failed:  # noqa: BLE001 - it belongs to whoever waits
            error = failed
        after.set_exception(error)

    attempt().add_done_callback(look)
    return after
