"""Compares what the ledger says with what the witnesses hold: the mailbox of the server, and the order database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from interlock.cli.demo.shop import Folder, parsed, refunds_of, text_of
from interlock.domain.action import ActionState
from interlock.domain.decision import Decision, Verdict
from interlock.kernel.views import ActionView, RunView
from interlock.schema import tree_to_plain

WITNESSED = ("refund_order", "send_email")

_SAID = {
    Verdict.APPROVE: "approved",
    Verdict.MODIFY: "changed it",
    Verdict.REJECT: "rejected it",
    Verdict.RESPOND: "gave the result",
    Verdict.REDIRECT: "sent it back",
    Verdict.FOUND_DONE: "looked: it had happened",
    Verdict.FOUND_FAILED: "looked: it had not happened",
    Verdict.RUN_AGAIN: "let it run again",
}


@dataclass(frozen=True, slots=True)
class Sent:
    """A letter that the mail server holds."""

    to: str
    subject: str
    body: str
    message_id: str

    @property
    def letter(self) -> tuple[str, str, str]:
        """What makes two of them copies of one letter."""
        return self.to, self.subject, self.body


@dataclass(frozen=True, slots=True)
class Finding:
    """One action: what was proposed, what people said, how often it must have happened, and how often it did."""

    proposed: str
    said: str
    must: int
    count: int
    what: str

    @property
    def agrees(self) -> bool:
        """Whether ledger and witness say the same."""
        return self.must == self.count


def sent_mail(folder: Folder) -> list[Sent]:
    """What the mail server holds, in the order of arrival."""
    return [
        Sent(
            str(letter["Delivered-To"]),
            _flat(str(letter["Subject"])),
            text_of(letter).strip(),
            str(letter["Message-ID"]),
        )
        for letter in parsed(folder.sent)
    ]


def witnessed(folder: Folder, view: ActionView) -> list[object]:
    """What the witness holds of this action, as results of its tool in plain JSON: empty, one, or (a fault) more."""
    arguments = plain_arguments(view)
    if view.action.tool == "refund_order":
        booked = (each for each in refunds_of(folder.orders) if each.order == arguments["order"])
        amount = Decimal(str(arguments["amount"]))
        return [
            {"reference": each.reference, "order": each.order, "amount": str(each.amount)}
            for each in booked
            if each.amount == amount
        ]
    letter = (str(arguments["to"]), _flat(str(arguments["subject"])), str(arguments["body"]).strip())
    return [mail.message_id for mail in sent_mail(folder) if mail.letter == letter]


def findings(folder: Folder, story: RunView) -> list[Finding]:
    """One finding for each action that leaves a trace outside, in the order of proposal."""
    return [_finding(folder, view) for view in story.actions if view.action.tool in WITNESSED]


def plain_arguments(view: ActionView, revision: int = -1) -> dict[str, object]:
    """The arguments of a revision as plain values."""
    return {name: tree_to_plain(value) for name, value in view.revisions[revision].arguments.items()}


def said(decision: Decision) -> str:
    """A decision in words, without its note."""
    return f"{decision.by.name} {_SAID[decision.verdict]}"


def _finding(folder: Folder, view: ActionView) -> Finding:
    first, last = plain_arguments(view, 0), plain_arguments(view)
    by_hand = any(decision.verdict is Verdict.RESPOND for decision in view.decisions)
    must = int(view.action.state is ActionState.DONE and not by_hand)
    count = len(witnessed(folder, view))
    if view.action.tool == "refund_order":
        proposed = f"Refund {first['amount']} for order {first['order']}"
        what = f"refund{'s' if count != 1 else ''} of {last['amount']}"
    else:
        proposed = f"Letter to {first['to']}: {first['subject']}"
        what = f"letter{'s' if count != 1 else ''} sent"
    return Finding(proposed, _people(view, first, last), must, count, what)


def _people(view: ActionView, first: Mapping[str, object], last: Mapping[str, object]) -> str:
    changed = [f"{name} {last[name]}" for name in first if first[name] != last[name]]
    lines: list[str] = []
    for decision in view.decisions:
        words = said(decision)
        if decision.verdict is Verdict.MODIFY and changed:
            words += ": " + ", ".join(changed)
        lines.append(
            words + (f": “{decision.note}”" if decision.note and decision.verdict is not Verdict.FOUND_DONE else "")
        )
    if view.action.state is ActionState.FAILED and not view.action.answered_by:
        lines.append("(it failed without effect)")
    return "\n".join(lines) or "(nobody decided)"


def _flat(words: str) -> str:
    return " ".join(words.split())
