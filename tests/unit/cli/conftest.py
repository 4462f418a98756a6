"""A small shop over a real SQLite store, and the command line that looks at it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from interlock import Desk, Interlock
from interlock.cli import main

LONG = "Dear customer, your invoice is overdue. " * 30


class Shop:
    """Workflows with one guarded call each, and `cli` to see and decide them from outside."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path / 'store' / 'il.db'}"
        self.il = Interlock(self.url, agent="billing")
        self.sent: list[dict[str, Any]] = []
        self.fails: BaseException | None = None
        il = self.il

        @il.tool("irreversible", reach=["outward"])
        def send_email(to: str, subject: str, body: str) -> str:
            if self.fails is not None:
                raise self.fails
            self.sent.append({"to": to, "subject": subject, "body": body})
            return "queued"

        @il.tool("read_only")
        def find_invoices(status: str) -> list[str]:
            return ["INV-7", status]

        @il.tool("compensable", reach=["spends"], compensate=lambda order, amount, note=None: None)
        def refund(order: str, amount: Decimal, note: str | None = None) -> str:
            if self.fails is not None:
                raise self.fails
            self.sent.append({"order": order, "amount": amount, "note": note})
            return "refunded"

        @il.tool("reversible", interrupt_policy="hard_stop")
        def reopen(ids: list[int], when: datetime) -> int:
            return len(ids)

        @il.workflow
        def mail(to: str, body: str = "Hello.", subject: str = "Overdue", why: str = "It is overdue.") -> str:
            find_invoices("overdue")
            with il.rationale(why, confidence=0.8, uncertainty=["a web form"], expected="they pay"):
                return send_email(to, subject, body)

        @il.workflow
        def refunding(order: str) -> str:
            return refund(order, Decimal("480.00"))

        @il.workflow
        def reopening(number: int) -> int:
            return reopen(list(range(number)), datetime(2026, 6, 9, tzinfo=UTC))

        self.send_email, self.refund = send_email, refund
        self.mail, self.refunding, self.reopening = mail, refunding, reopening

    def cli(self, *args: str, **kwargs: Any) -> Result:
        """Run the program with this store; never at a terminal."""
        return CliRunner().invoke(main, ["--url", self.url, *args], **kwargs)

    def json(self, *args: str, code: int = 0) -> Any:
        """What a command answers with --json."""
        done = self.cli(*args, "--json")
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    def waiting(self, run: str) -> str:
        """The fingerprint of the one open card of a run."""
        with self.desk() as desk:
            (card,) = [view.card for view in desk.open() if view.run.id == run]
            return card.fingerprint

    def desk(self) -> Desk:
        return Desk(self.url)

    def held_mail(self, **given: Any) -> str:
        """A mail that waits, under the run `mail-1`; answers its fingerprint."""
        self.mail.start(**{"to": "ap@newco.example", **given}, key="mail-1")
        return self.waiting("mail-1")

    def held_refund(self) -> str:
        """A refund that waits, under the run `refund-1`; answers its fingerprint."""
        self.refunding.start("88-1204", key="refund-1")
        return self.waiting("refund-1")

    def doubtful(self) -> str:
        """A refund of which nobody knows whether it happened; answers the fingerprint of its reconcile card."""
        fingerprint = self.held_refund()
        assert self.cli("approve", fingerprint, "--yes").exit_code == 0
        self.fails = TimeoutError("no answer from the bank")
        self.work()
        self.fails = None
        return self.waiting("refund-1")

    def work(self) -> None:
        """Let a worker do what is due."""
        self.il.worker().run_until_idle()

    def state(self, run: str) -> str:
        with self.desk() as desk:
            return desk.story(run).run.state.value


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    shop.il.close()


@pytest.fixture
def long_text() -> str:
    return LONG


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A person at a terminal who answers what stands in the list (first to last); questions are kept in it too."""
    from interlock.cli import deciding, stops

    answers: list[str] = []

    def ask(question: str) -> bool:
        print(question)
        return answers.pop(0) == "y"

    for module in (deciding, stops):
        monkeypatch.setattr(module, "at_terminal", lambda: True)
        monkeypatch.setattr(module, "ask", ask)
    return answers
