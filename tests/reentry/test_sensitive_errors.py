"""Errors of tools with sensitive arguments: what is recorded of them does not tell the values."""

from contextlib import suppress

from interlock import NoEffect
from interlock.testing import Rehearsal

CARD = "4111111111111111"


def test_a_recorded_error_of_a_tool_does_not_tell_its_sensitive_arguments(both: Rehearsal) -> None:
    @both.il.tool("irreversible", sensitive=["card", "pin"])
    def charge(card: str, pin: int, amount: int) -> str:
        raise NoEffect(f"card {card!r} with {pin} was declined for {amount}")

    @both.il.workflow
    def paying() -> str:
        return charge(CARD, 87310, 120)

    paying.start(key="job")
    both.reviewer.decide("approve")
    both.go_on()
    (action,) = both.actions("paying:job") or both.actions("job")
    run = both.il.kernel.run(action.run)
    assert run is not None
    for record in (action.failure, run.failure):
        assert record is not None
        assert b"declined for 120" in record
        assert b"[hidden]" in record
        assert CARD.encode() not in record
        assert b"87310" not in record


def test_a_read_only_call_that_fails_does_not_tell_them_either(both: Rehearsal) -> None:
    @both.il.tool("read_only", sensitive="token")
    def look(token: str) -> str:
        raise LookupError(token)

    with both.il.run("job"), suppress(LookupError):
        look("s3cret-token")
    (failure,) = [event.body["failure"] for event in both.events("job") if "failure" in event.body]
    assert "s3cret" not in str(failure)
    assert "[hidden]" in str(failure)
