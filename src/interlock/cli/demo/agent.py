"""The agent of the demo, written as a user of Interlock writes one.

It works in its current folder: `inbox.mbox`, `orders.db`, `drafts/`, `smtp-port` and its store
`interlock.db` lie there. Import it in the worker's process only.
"""

from __future__ import annotations

import smtplib
from decimal import Decimal
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import make_msgid
from pathlib import Path

from interlock import ActionFailed, Interlock, NoEffect, Refused, ResultNotStored
from interlock.cli.demo.shop import SHOP, Folder, Mail, Order, Refund, database, letters_of, order_of, write_whole
from interlock.cli.demo.thinking import Letter, amount_to_refund, understand, write, write_again
from interlock.domain.action import Versions

MOST_AT_ONCE = Decimal(250)
"""No refund is larger; what the tool can cost is declared with it."""

here = Folder(Path.cwd())
il = Interlock(
    here.url, agent="mailbox", profile="cautious", versions=Versions(agent="1", model="a script, no model"), lease=10
)

# -- tools: what the agent can do, and how far it can be taken back -------------------------------


@il.tool("read_only")
def list_mail() -> list[int]:
    """The numbers of the letters in the mailbox."""
    return [letter.number for letter in letters_of(here.inbox)]


@il.tool("read_only")
def read_mail(number: int) -> Mail:
    """A letter of the mailbox."""
    return letters_of(here.inbox)[number - 1]


@il.tool("read_only")
def find_order(number: str) -> Order | None:
    """An order by its number."""
    return order_of(here.orders, number)


@il.tool("reversible")
def save_draft(name: str, to: str, subject: str, body: str) -> str:
    """Leave a letter in the folder of drafts. Nobody outside sees it."""
    draft = here.drafts / f"{name}.eml"
    write_whole(draft, f"To: {to}\nSubject: {subject}\n\n{body}\n")
    return f"drafts/{draft.name}"


def cancel_refund(order: str, amount: Decimal, reason: str) -> None:  # noqa: ARG001 - gets the arguments as the tool did
    """Take a refund back before the bank has it."""
    with database(here.orders) as orders:
        orders.execute("UPDATE refunds SET taken_back = 1 WHERE number = ? AND amount = ?", (order, str(amount)))


@il.tool("compensable", reach="spends", cost=MOST_AT_ONCE, compensate=cancel_refund)
def refund_order(order: str, amount: Decimal, reason: str) -> Refund:
    """Give money back for an order."""
    if not 0 < amount <= MOST_AT_ONCE:
        raise NoEffect(f"refunds are between 0.01 and {MOST_AT_ONCE}")
    with database(here.orders) as orders:
        booked = orders.execute(
            "INSERT INTO refunds (number, amount, reason) VALUES (?, ?, ?)", (order, str(amount), reason)
        )
        return Refund(f"R{booked.lastrowid}", order, amount)


@il.tool("irreversible", reach="outward", no_effect_on=(ConnectionRefusedError, smtplib.SMTPRecipientsRefused))
def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail. Returns its Message-ID."""
    letter = EmailMessage(policy=SMTP)
    letter["From"], letter["To"], letter["Subject"] = SHOP, to, subject
    letter["Message-ID"] = make_msgid(domain="fern-and-oak.example")
    letter.set_content(body)
    with smtplib.SMTP("127.0.0.1", int(here.port.read_text(encoding="ascii")), timeout=20) as server:
        server.send_message(letter)
    return str(letter["Message-ID"])


# -- the job: any worker can go on with it where it stopped ---------------------------------------


@il.workflow
def answer_mailbox() -> list[str]:
    """Answer every letter of the mailbox; tells what became of each."""
    return [answer(read_mail(number)) for number in list_mail()]


def answer(mail: Mail) -> str:
    """Do what one letter asks for."""
    about = il.step(understand, mail)
    order = find_order(about.order)
    if about.wish == "nothing" or order is None:
        return "no answer needed"
    refund = give_back(mail, order) if about.wish == "refund" else None
    letter = il.step(write, mail, about.wish, order, refund)
    if about.wish == "invoice":
        return save_draft(f"{mail.number}-for-bookkeeping", letter.to, letter.subject, letter.body)
    try:
        return send(f"{mail.number}-answer", letter)
    except Refused as no:
        again = il.step(write_again, mail, order, no.words)
    try:
        return send(f"{mail.number}-other-answer", again)
    except Refused:
        return f"left as a draft: drafts/{mail.number}-other-answer.eml"


def give_back(mail: Mail, order: Order) -> Refund | None:
    """Refund an order, if people let it happen; answers what was really refunded."""
    with il.rationale(
        f"{mail.sender} says that order {order.number} arrived damaged.", confidence=0.6,
        uncertainty=["how much of the order is damaged"], considered=["a replacement"],
    ):  # fmt: skip
        try:
            return refund_order(order.number, amount_to_refund(order), mail.subject)
        except (Refused, ActionFailed, ResultNotStored, NoEffect):
            return None


def send(draft: str, letter: Letter) -> str:
    """Keep a draft, then send it; raises `Refused` where a reviewer says no."""
    save_draft(draft, letter.to, letter.subject, letter.body)
    with il.rationale(letter.why, confidence=letter.confidence):
        try:
            return f"sent as {send_email(letter.to, letter.subject, letter.body)}"
        except ResultNotStored:
            return "sent, says a reviewer"
        except (ActionFailed, NoEffect):
            return f"not sent, left as drafts/{draft}.eml"
