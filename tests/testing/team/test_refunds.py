"""The tests of a team that has an agent for refunds, written from the how-to alone.

They run as part of this suite, and once more in a pytest of their own, as the team would run them.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from interlock import Interlock, Refused
from interlock.testing import Rehearsal, approve, found_done, modify, reject, respond

# -- the team's code: `shop/refunds.py` ---------------------------------------------------------------


class Bank:
    """What the tools call; the tests put this one in place of the real one."""

    def __init__(self) -> None:
        self.paid: list[tuple[str, Decimal]] = []
        self.mails: list[str] = []
        self.hangs = False

    def pay(self, order: str, amount: Decimal) -> str:
        self.paid.append((order, amount))
        if self.hangs:
            raise TimeoutError("no answer from the bank")
        return f"receipt {len(self.paid)}"


def build(il: Interlock, bank: Bank) -> Any:
    @il.tool("read_only")
    def find_order(order: str) -> Decimal:
        return Decimal("480.00") if order == "88-1204" else Decimal("20.00")

    @il.tool("irreversible", reach="spends", expires_in="24h")
    def refund(order: str, amount: Decimal) -> str:
        return bank.pay(order, amount)

    @il.tool("reversible")
    def note(text: str) -> None: ...

    @il.tool("irreversible", reach="outward")
    def send_email(to: str, text: str) -> str:
        bank.mails.append(to)
        return "queued"

    @il.workflow
    def complaint(order: str, mail: bool = False) -> str:
        amount = find_order(order)
        note(f"{order} complains")
        try:
            receipt = refund(order, amount)
        except Refused as no:
            return f"no refund: {no.kind} {no.words}".rstrip()
        if mail:
            send_email("ap@x.example", receipt)
        return receipt

    return complaint


# -- the team's tests -------------------------------------------------------------------------------


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def complaint(interlock: Rehearsal, bank: Bank) -> Callable[..., Any]:
    return build(interlock.il, bank).start


def test_a_refund_waits_for_a_person(interlock: Rehearsal, complaint: Any, bank: Bank) -> None:
    run = complaint("88-1204")
    interlock.assert_pauses(run, tool="refund", order="88-1204", amount=Decimal("480.00"))
    assert bank.paid == []


def test_a_rejected_refund_never_reaches_the_bank(interlock: Rehearsal, complaint: Any) -> None:
    run = complaint("88-1204")
    interlock.assert_pauses(run, tool="refund")
    interlock.decide(reject("talk to them first"))
    interlock.assert_never_ran("refund")
    interlock.assert_refused(run, "rejected", "talk to them first")


def test_the_agent_tells_why_there_is_no_refund(interlock: Rehearsal, complaint: Any) -> None:
    run = complaint("88-1204")
    interlock.decide(reject("talk to them first"))
    interlock.assert_finished(run, "no refund: rejected talk to them first")


def test_an_approved_refund_is_paid_once(interlock: Rehearsal, complaint: Any, bank: Bank) -> None:
    run = complaint("88-1204")
    interlock.decide(approve())
    interlock.assert_ran_once("refund", order="88-1204", amount=Decimal("480.00"))
    interlock.assert_finished(run, "receipt 1")
    assert len(bank.paid) == 1


def test_a_lower_amount_is_paid_if_a_person_says_so(interlock: Rehearsal, complaint: Any, bank: Bank) -> None:
    complaint("88-1204")
    interlock.decide(modify(amount="240.00"))
    interlock.assert_ran_once("refund", amount=Decimal("240.00"))
    interlock.assert_never_ran("refund", amount=Decimal("480.00"))
    assert bank.paid == [("88-1204", Decimal("240.00"))]


def test_a_refund_that_nobody_decides_expires(interlock: Rehearsal, complaint: Any) -> None:
    run = complaint("88-1204")
    interlock.clock.advance("25h")
    interlock.go_on()
    interlock.assert_refused(run, "expired", tool="refund")
    interlock.assert_never_ran("refund")


def test_looking_up_and_noting_ask_nobody(interlock: Rehearsal, complaint: Any) -> None:
    run = complaint("88-1204")
    interlock.assert_ran_once("find_order", order="88-1204")
    interlock.assert_ran_once("note")
    assert [view.about.action.tool for view in interlock.reviewer.open()] == ["refund"]
    interlock.assert_pauses(run, "refund")


def test_two_things_that_matter_are_two_questions(interlock: Rehearsal, complaint: Any, bank: Bank) -> None:
    run = complaint("88-1204", mail=True)
    interlock.decide(approve(), tool="refund")
    interlock.assert_pauses(run, tool="send_email", to="ap@x.example")
    interlock.decide(respond("I called them"), tool="send_email")
    interlock.assert_never_ran("send_email")
    interlock.assert_finished(run, "receipt 1")
    assert bank.mails == []


def test_a_bank_that_does_not_answer_is_not_asked_twice(interlock: Rehearsal, complaint: Any, bank: Bank) -> None:
    bank.hangs = True
    run = complaint("88-1204")
    interlock.decide(approve())
    assert interlock.states(run.id)[-1] == "in_doubt"
    interlock.decide(found_done("receipt by phone"))
    interlock.assert_finished(run, "receipt by phone")
    assert len(bank.paid) == 1


def test_a_restart_pays_nothing_twice(interlock: Rehearsal, complaint: Any, bank: Bank) -> None:
    complaint("88-1204", key="complaint-7")
    interlock.reviewer.decide(approve())
    later = interlock.another()
    build(later, bank)
    later.worker().run_until_idle()
    interlock.assert_finished("complaint-7", "receipt 1")
    interlock.assert_ran_once("refund")
