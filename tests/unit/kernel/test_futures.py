"""What follows on a future: its error, and that of what follows, belong to whoever waits."""

from concurrent.futures import Future

import pytest

from interlock.kernel.futures import then, tried


def done(result: int) -> Future[int]:
    future: Future[int] = Future()
    future.set_result(result)
    return future


def failed() -> Future[int]:
    future: Future[int] = Future()
    future.set_exception(LookupError("the first"))
    return future


def test_what_follows_is_made_of_the_result() -> None:
    assert then(done(1), lambda n: n + 1).result(0) == 2


def test_an_error_is_handed_on_without_what_follows() -> None:
    with pytest.raises(LookupError, match="the first"):
        then(failed(), lambda n: n + 1).result(0)


def test_an_error_of_what_follows_reaches_whoever_waits_instead_of_leaving_them_waiting() -> None:
    with pytest.raises(ZeroDivisionError):
        then(done(0), lambda n: 1 // n).result(0)
    with pytest.raises(ZeroDivisionError):
        tried(failed, lambda _: bool(1 // 0)).result(0)
