"""A real server over a real SQLite store, with agents that pause, and people who sign in to it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any, Literal

import httpx

from interlock import Interlock
from interlock.compose import login_link, web_server
from interlock.kernel import Kernel
from interlock.server.limits import Limits, Rate

LONG = "Dear customer,\n\nyour invoice is overdue. Please pay it.\n" * 12
GENEROUS = Limits(rates=(Rate(10_000, 600_000),) * 3)


class Shop:
    """Workflows with one guarded call each; `sent` is what really happened."""

    def __init__(self, il: Interlock) -> None:
        self.il = il
        self.sent: list[dict[str, Any]] = []
        self.fails: BaseException | None = None

        def done(**what: Any) -> None:
            self.sent.append(what)
            if self.fails is not None:
                raise self.fails

        @il.tool("irreversible", reach=["outward"])
        def send_email(to: str, subject: str, body: str) -> str:
            """Send an e-mail to a customer."""
            done(to=to, subject=subject, body=body)
            return "queued"

        @il.tool(
            "compensable",
            reach=["spends"],
            compensate=lambda order, amount, why=None: None,
            preview=lambda order, amount, why: f"Refund {amount} EUR\nto the card of order {order}",
        )
        def refund(order: str, amount: Decimal, why: str | None = None) -> str:
            """Give money back."""
            done(order=order, amount=amount, why=why)
            return "refunded"

        @il.tool("reversible", interrupt_policy="hard_stop")
        def reopen(ids: list[int], when: datetime, mode: Literal["quiet", "loud"] = "quiet", tell: bool = True) -> int:
            done(ids=ids, when=when, mode=mode, tell=tell)
            return len(ids)

        @il.tool("irreversible", sensitive=["number"])
        def charge(number: str, cents: int) -> bool:
            done(number=number, cents=cents)
            return True

        @il.workflow
        def mail(to: str, subject: str = "Overdue", body: str = "Hello.", why: str = "It is overdue.") -> str:
            with il.rationale(why, confidence=0.8, uncertainty=["the address came from a form"], expected="they pay"):
                return send_email(to, subject, body)

        @il.workflow
        def refunding(order: str, amount: str = "480.00") -> str:
            return refund(order, Decimal(amount))

        @il.workflow
        def reopening(first: int) -> int:
            return reopen([first, 2], datetime.fromisoformat("2026-05-01T09:00:00+00:00"))

        @il.workflow
        def charging(number: str) -> bool:
            return charge(number, 1250)

        @il.workflow
        def asking(what: str) -> int:
            return il.question(what, int)

        @il.workflow
        def choosing(what: str) -> str:
            return il.question(what, Literal["red", "green"])  # type: ignore[arg-type]

        self.mail, self.refunding, self.reopening, self.charging = mail, refunding, reopening, charging
        self.asking, self.choosing = asking, choosing

    def card(self, run: Any) -> str:
        """The id of the card that a run waits for."""
        return str(run.waiting_for[0].id)

    def doubt(self) -> str:
        """The id of a reconcile card: a charge whose outcome nobody knows."""
        run = self.charging.start("4111 1111 1111 1111")
        view = self.il.kernel.card(run.waiting_for[0].id)
        assert view is not None
        from interlock.domain.reviewers import Principal, PrincipalKind
        from interlock.kernel.desk import ReviewDesk

        ReviewDesk(self.il.kernel, Principal(PrincipalKind.REVIEWER, "ana", "test")).approve(
            view.card.id, digest=view.card.digest
        )
        self.fails = TimeoutError("no answer from the bank")
        self.il.worker().run_until_idle()
        self.fails = None
        return next(str(each.card.id) for each in self.il.kernel.inbox() if each.card.run == run.id)


@dataclass
class Served:
    """A server that listens; `url` is its origin."""

    url: str
    kernel: Kernel
    shop: Shop
    clients: list[httpx.Client] = field(default_factory=list)

    def link(self) -> str:
        """A link that signs in, once."""
        return login_link(self.kernel, self.url)

    def client(self) -> httpx.Client:
        """A browser that nobody has signed in with."""
        self.clients.append(httpx.Client(base_url=self.url, follow_redirects=False, timeout=20))
        return self.clients[-1]

    def person(self) -> Person:
        """Somebody who is signed in."""
        person = Person(self.client(), self.url)
        token = self.link().partition("token=")[2]
        answer = person.post("/signin", token=token, csrf=None)
        assert answer.status_code == 303, answer.text
        return person


@dataclass
class Person:
    """A browser without scripts, as far as HTTP goes: a cookie, and forms that carry what their page gave them."""

    http: httpx.Client
    origin: str

    def get(self, path: str, **more: Any) -> httpx.Response:
        """A page."""
        return self.http.get(path, **more)

    def post(
        self, path: str, /, *, csrf: str | None = "", headers: dict[str, str] | None = None, **fields: Any
    ) -> httpx.Response:
        """A form of ours; `csrf` None sends none, "" the session's own."""
        if csrf == "":
            found = re.search(r'name="csrf" value="([^"]+)"', self.get("/freeze").text)
            assert found
            csrf = found[1]
        data = {**fields, **({"csrf": csrf} if csrf is not None else {})}
        return self.http.post(path, data=data, headers={"origin": self.origin, **(headers or {})})

    def fields(self, path: str) -> dict[str, str]:
        """The hidden fields of the form that decides the card on a page."""
        text = self.get(path).text
        start = text.find('class="decide"')
        text = text[start:] if start >= 0 else text
        return {
            name: unescape(value) for name, value in re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', text)
        }

    def decide(self, card: str, verb: str, **more: Any) -> httpx.Response:
        """Press a button of a card."""
        return self.post(f"/i/{card}/decide", **{**self.fields(f"/i/{card}"), "verb": verb, "note": "", **more})


@contextmanager
def serving(folder: Path, *, worker: bool = False, limits: Limits | None = GENEROUS) -> Iterator[Served]:
    """A server on a free port of this machine, and a worker beside it if wanted."""
    import socket

    il = Interlock(f"sqlite:///{folder / 'interlock.db'}", agent="billing")
    shop = Shop(il)
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = web_server(il.kernel, url, limits)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    loop = il.worker()
    working = threading.Thread(target=loop.run_forever)
    if worker:
        working.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield (made := Served(url, il.kernel, shop))
        for client in made.clients:
            client.close()
    finally:
        loop.stop()
        server.should_exit = True
        thread.join()
        if worker:
            working.join()
        listener.close()
        il.close()
