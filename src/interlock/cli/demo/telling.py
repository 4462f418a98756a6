"""Turns events of the run into plain words, in the order in which they were committed."""

from __future__ import annotations

from typing import Any, cast

from interlock.cli.demo.evidence import plain_arguments, said
from interlock.cli.demo.screen import Screen
from interlock.cli.demo.shop import LETTERS, Mail, Order
from interlock.cli.demo.thinking import Understanding
from interlock.display import is_clean
from interlock.domain.decision import Verdict
from interlock.domain.events import Event, EventType
from interlock.kernel.desk import ReviewDesk
from interlock.kernel.views import ActionView
from interlock.schema import codec_for

QUOTED = 150
"""Characters of a letter that are quoted."""

SCROLLED = "\n" * 10
"""So many empty lines hide what comes after them."""


class Teller:
    """Follows one run and says what happened since it was last asked."""

    def __init__(self, desk: ReviewDesk, run: str, screen: Screen) -> None:
        self._desk = desk
        self._run = run
        self._screen = screen
        self._after: str | None = None
        self._drafted = False

    def tell(self) -> None:
        """Say what is new."""
        while batch := self._desk.events(self._run, 100, self._after):
            for position, event in batch:
                self._after = str(position)
                self._one(event)

    def _one(self, event: Event) -> None:
        if event.type is EventType.CALL_RECORDED:
            self._call(cast("dict[str, Any]", event.body))
        elif event.type is EventType.DECISION_RECORDED or event.type is EventType.ACTION_RECONCILED:
            self._decision(event)
        elif event.type is EventType.ACTION_DONE:
            self._done(self._action(event))
        elif event.type is EventType.ACTION_FAILED:
            self._screen.step("failed", f"{self._action(event).action.tool}: it is known to have had no effect")
        elif event.type is EventType.ACTION_IN_DOUBT:
            self._doubt(self._action(event))
        elif event.type is EventType.INTERRUPT_EXPIRED:
            self._screen.step("expired", "nobody decided in time, so it was not run")

    def _action(self, event: Event) -> ActionView:
        return next(view for view in self._desk.story(self._run).actions if view.action.id == event.action)

    def _call(self, body: dict[str, Any]) -> None:
        tool, result = str(body["tool"]), body.get("result")
        if tool == "read_mail":
            self._letter(cast("Mail", codec_for(Mail).decode(result)))
        elif tool == "find_order" and result is not None:
            order = cast("Order", codec_for(Order).decode(result))
            self._screen.step(
                "looks up", f"order {order.number}: {order.quantity} x {order.item}, {order.total}, {order.status}"
            )
        elif tool == "step:understand":
            self._screen.step("thinks", cast("Understanding", codec_for(Understanding).decode(result)).thought)
        elif tool == "step:write_again":
            self._screen.step("thinks", "A reviewer said no, and why. I write another letter.")

    def _letter(self, mail: Mail) -> None:
        self._screen.title(f"Letter {mail.number} of {len(LETTERS)}", f"{mail.sender}")
        words = " ".join(mail.body.split())
        self._screen.step("reads", f"{mail.subject} — “{words[:QUOTED]}{'…' if len(words) > QUOTED else ''}”")
        if not (is_clean(mail.subject) and is_clean(words)):
            self._screen.step("careful", "this letter holds characters that nobody sees", "yellow")
        _, gap, below = mail.body.partition(SCROLLED)
        if gap:
            self._screen.step("careful", f"and far down, where nobody looks: “{' '.join(below.split())}”", "yellow")

    def _decision(self, event: Event) -> None:
        view = self._action(event)
        decision = next((each for each in view.decisions if each.id == event.body["decision"]), None)
        if decision is None:
            return  # a probe said it, no person
        words = said(decision)
        if decision.verdict is Verdict.MODIFY:
            first, last = plain_arguments(view, 0), plain_arguments(view)
            words += ": " + ", ".join(
                f"{name} {first[name]} → {last[name]}" for name in first if first[name] != last[name]
            )
        if decision.note:
            words += f" — “{decision.note}”"
        self._screen.step("decision", words, "bold")

    def _doubt(self, view: ActionView) -> None:
        tool = view.action.tool
        if view.action.traits.reruns:
            self._screen.step("in doubt", f"{tool} was started and its end is unknown; it is harmless to run it again")
        else:
            self._screen.step("in doubt", f"{tool} was started and its end is unknown. It is NOT run again.", "yellow")

    def _done(self, view: ActionView) -> None:
        arguments = plain_arguments(view)
        if view.action.tool == "save_draft":
            why = "" if self._drafted else ". Nobody is asked: it can be undone"
            self._screen.step("drafts", f"drafts/{arguments['name']}.eml{why}")
            self._drafted = True
        elif view.action.tool == "refund_order" and view.action.stored and not view.action.answered_by:
            self._screen.step("done", f"refunded {arguments['amount']} for order {arguments['order']}", "green")
        elif view.action.tool == "send_email" and not view.action.answered_by:
            self._screen.step("done", f"sent to {arguments['to']}: {arguments['subject']}", "green")
