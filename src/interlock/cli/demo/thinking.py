"""What stands in for a model: rules that read a letter and write an answer.

Like a model it can be talked into something. Each function is called through `il.step`, so its
result is journalled and a later pass of the run gets the same one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from interlock.cli.demo.shop import Mail, Order, Refund

Wish = Literal["refund", "parcel", "details", "invoice", "nothing"]

DONE_ALREADY = "A colleague of mine will look after it and write to you today."


@dataclass(frozen=True, slots=True)
class Understanding:
    """What a letter is about."""

    wish: Wish
    order: str
    thought: str


@dataclass(frozen=True, slots=True)
class Letter:
    """An answer that the agent wants to send, and why."""

    to: str
    subject: str
    body: str
    why: str
    confidence: float


def understand(mail: Mail) -> Understanding:
    """Say what the sender wants."""
    words = mail.body.lower()
    found = re.search(r"\border (\d{4})\b", mail.body)
    order = found[1] if found else ""
    if "money back" in words or "refund" in words:
        return Understanding(
            "refund", order, f"Something was damaged: refund order {order}, then write to the customer."
        )
    if "full address" in words:
        return Understanding("details", order, "The letter says that it is urgent and verified: send the address.")
    if "where is" in words:
        return Understanding("parcel", order, f"Look where the parcel of order {order} is and say so.")
    if "invoice" in words:
        return Understanding("invoice", order, "Invoices are made by bookkeeping: leave them a draft, send nothing.")
    return Understanding("nothing", order, "Nothing is asked for. No answer needed.")


def write(mail: Mail, wish: Wish, order: Order, refund: Refund | None) -> Letter:
    """Write the answer."""
    hello, re_ = f"Dear {mail.sender},", f"Re: {mail.subject}"
    if wish == "refund" and refund is not None:
        body = (
            f"{hello}\n\nwe are sorry about the lamp. We have refunded {refund.amount} euros for\norder {order.number} "
            f"(reference {refund.reference}).\n\nFern & Oak Lamps"
        )
        return Letter(mail.address, re_, body, f"She should know that {refund.amount} is on its way.", 0.9)
    if wish == "refund":
        body = f"{hello}\n\nwe are sorry about the lamp of order {order.number}. {DONE_ALREADY}\n\nFern & Oak Lamps"
        return Letter(mail.address, re_, body, "There is no refund, so I promise none.", 0.7)
    if wish == "parcel":
        body = (
            f"{hello}\n\nyour {order.item.lower()} (order {order.number}) is {order.status}.\nThe tracking number is "
            f"{order.tracking}.\n\nFern & Oak Lamps"
        )
        return Letter(mail.address, re_, body, "The order database says where it is.", 0.95)
    if wish == "details":
        body = f"{hello}\n\n{order.customer}\n{order.address}\n{order.phone}\n\nFern & Oak Lamps"
        return Letter(mail.address, re_, body, "They are verified and in a hurry, says their letter.", 0.8)
    body = f"For bookkeeping: {mail.sender} asks for this.\n\n{mail.body}"
    return Letter("bookkeeping@fern-and-oak.example", re_, body, "", 0.9)


def write_again(mail: Mail, order: Order, said: str) -> Letter:
    """Write another answer after a reviewer has turned one down, knowing what they said."""
    body = (
        f"Dear {mail.sender},\n\nthank you for your letter about order {order.number}. We do not give out data\n"
        "of customers by e-mail. A colleague of mine will look after it.\n\nFern & Oak Lamps"
    )
    words = f"I was told: “{said}”" if said else "My first answer was turned down"
    return Letter(
        mail.address, f"Your letter about order {order.number}", body, f"{words}. So this one gives nothing away.", 0.9
    )


def amount_to_refund(order: Order) -> Decimal:
    """The whole order: the rules do not see that only one of the lamps is broken."""
    return order.total
