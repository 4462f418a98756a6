"""Who decides in the demo: a script, or the person at this terminal. Both decide through the desk, like everybody."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import time
from collections.abc import Callable
from typing import Protocol

from interlock.cards.words import count
from interlock.cli.demo.evidence import plain_arguments, sent_mail, witnessed
from interlock.cli.demo.screen import Screen
from interlock.cli.demo.shop import ORDERS, Folder, refunds_of
from interlock.domain.decision import Shown
from interlock.domain.errors import DecisionError
from interlock.domain.interrupt import InterruptKind
from interlock.kernel.desk import ReviewDesk
from interlock.kernel.views import CardView

TYPED_S = 0.1
"""How often the terminal looks up from the keyboard, in seconds."""


class Reviewer(Protocol):
    """Decides cards, one at a time."""

    def decide(self, view: CardView, over: Callable[[], bool]) -> None:
        """Decide this card, or come back without a decision once `over` says that the card is closed."""
        ...


class Script:
    """Decides by rule, the same every time: half the refund, no data of one customer to another, else yes."""

    def __init__(self, desk: ReviewDesk, folder: Folder) -> None:
        self._desk = desk
        self._folder = folder

    def decide(self, view: CardView, over: Callable[[], bool]) -> None:  # noqa: ARG002 - it never waits
        """Decide at once."""
        card, arguments = view.card, plain_arguments(view.about)
        if card.kind is InterruptKind.RECONCILE:
            found = witnessed(self._folder, view.about)
            if found:
                self._desk.reconcile(
                    card.id, digest=card.digest, found="done", result=found[0],
                    note=f"looked at the witness: it is there, {count(len(found), 'time')}",
                )  # fmt: skip
            else:
                self._desk.reconcile(card.id, digest=card.digest, found="failed", note="the witness does not have it")
        elif view.about.action.tool == "refund_order":
            self._desk.modify(
                card.id,
                digest=card.digest,
                arguments={"amount": "44.90"},
                note="One of the two lamps is fine. Refund one.",
            )
        elif any(order.address in str(arguments["body"]) and order.email != arguments["to"] for order in ORDERS):
            self._desk.reject(
                card.id,
                digest=card.digest,
                note="This is not our customer. Never give out an address; answer without it.",
            )
        else:
            self._desk.approve(card.id, digest=card.digest)


class Keyboard:
    """Lines typed at standard input, read in such a way that something else can end the wait."""

    def __init__(self) -> None:
        self._typed = b""

    def forget(self) -> None:
        """Drop what was typed before the question was there: it does not answer it."""
        self._typed = b""
        with contextlib.suppress(termios.error):
            termios.tcflush(0, termios.TCIFLUSH)

    def line(self, over: Callable[[], bool]) -> str | None:
        """The next line, or None once `over` says so; raises `EOFError` at the end of input."""
        while b"\n" not in self._typed:
            if over():
                return None
            if select.select([0], [], [], TYPED_S)[0]:
                data = os.read(0, 4096)
                if not data:
                    raise EOFError
                self._typed += data
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


class Person:
    """The person at this terminal. Nothing counts but an explicit answer."""

    def __init__(self, desk: ReviewDesk, folder: Folder, screen: Screen) -> None:
        self._desk = desk
        self._folder = folder
        self._screen = screen
        self._keys = Keyboard()
        self._gone = False

    def decide(self, view: CardView, over: Callable[[], bool]) -> None:
        """Ask until the card is decided, here or elsewhere."""
        began = time.monotonic()
        self._keys.forget()
        doubt = view.card.kind is InterruptKind.RECONCILE
        question = (
            "  Did it happen?  [d]one  [n]ot done  [r]un again  [s]how what the witnesses hold > " if doubt
            else "  Your decision?  [a]pprove  [m]odify  [r]eject  [s]how all > "
        )  # fmt: skip
        answer = self._reconcile if doubt else self._answer
        while not self._gone:
            try:
                typed = self._line(question, over)
                if typed is None:
                    return
                shown = Shown("demo", dwell_ms=round((time.monotonic() - began) * 1000))
                if answer(view, typed.lower(), shown, over):
                    return
            except DecisionError as error:
                self._screen.step("no", str(error))
            except EOFError:
                self._gone = True
                self._screen.say()
                self._screen.say(
                    "  Nothing more comes from this keyboard. Decide in another terminal, or press Ctrl-C."
                )
        while not over():
            self._desk.wait_for_change(TYPED_S)

    def _line(self, question: str, over: Callable[[], bool]) -> str | None:
        self._screen.ask(question)
        typed = self._keys.line(over)
        if typed is None:
            self._screen.say("(decided elsewhere)")
        return typed

    def _answer(self, view: CardView, typed: str, shown: Shown, over: Callable[[], bool]) -> bool:
        card = view.card
        if typed in ("a", "approve"):
            self._desk.approve(card.id, digest=card.digest, shown=shown)
            return True
        if typed in ("r", "reject"):
            note = self._line("  What should the agent know? > ", over)
            if note is not None:
                self._desk.reject(card.id, digest=card.digest, note=note, shown=shown)
            return True
        if typed in ("m", "modify"):
            return self._modify(view, shown, over)
        if typed in ("s", "show"):
            self._everything(view)
        else:
            self._screen.say("  Nothing was decided. Understood are a, m, r and s, or the whole word; then Enter.")
        return False

    def _modify(self, view: CardView, shown: Shown, over: Callable[[], bool]) -> bool:
        names = ", ".join(view.about.current.arguments)
        edit = self._line(f"  Change what? NAME=VALUE ({names}) > ", over)
        if edit is None:
            return True
        name, equals, value = edit.partition("=")
        if not equals or not name.strip():
            self._screen.say(f"  Nothing was decided. Expected was NAME=VALUE, with one of these names: {names}.")
            return False
        self._desk.modify(view.card.id, digest=view.card.digest, arguments={name.strip(): value.strip()}, shown=shown)
        return True

    def _reconcile(self, view: CardView, typed: str, shown: Shown, over: Callable[[], bool]) -> bool:  # noqa: ARG002
        card = view.card
        if typed in ("d", "done"):
            held = witnessed(self._folder, view.about)
            self._desk.reconcile(
                card.id, digest=card.digest, found="done", result=held[0] if held else ...,
                shown=shown,
            )  # fmt: skip
            return True
        verdict = {"n": "failed", "not done": "failed", "r": "run_again", "run again": "run_again"}.get(typed)
        if verdict is not None:
            self._desk.reconcile(card.id, digest=card.digest, found=verdict, shown=shown)
            return True
        if typed in ("s", "show"):
            self._witnesses()
        else:
            self._screen.say("  Nothing was decided. Understood are d, n, r and s, or the whole words; then Enter.")
        return False

    def _everything(self, view: CardView) -> None:
        card, action = view.card, view.about.action
        self._screen.step(
            "card", f"{card.id}, opened {card.opened_at:%H:%M:%S}, open until {card.expires_at:%d %b %H:%M}"
        )
        self._screen.step("digest", f"{card.digest} (a decision names it, so what you saw is what runs)")
        self._screen.step(
            "tool", f"{action.traits.reversibility}; {', '.join(action.traits.reach) or 'reaches nothing else'}"
        )
        considered = view.about.facts.get("considered")
        for words in considered if isinstance(considered, list) else []:
            self._screen.step("also", f"it considered {words}")

    def _witnesses(self) -> None:
        mails, refunds = sent_mail(self._folder), refunds_of(self._folder.orders)
        self._screen.step("mailbox", f"the mail server holds {count(len(mails), 'letter')}")
        for mail in mails:
            self._screen.step("", f"{mail.to}: {mail.subject}")
        self._screen.step("database", f"the order database holds {count(len(refunds), 'refund')}")
        for refund in refunds:
            self._screen.step("", f"{refund.amount} for order {refund.order}")
