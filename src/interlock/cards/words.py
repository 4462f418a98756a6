"""Times, names and states in words."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from interlock.display import plain
from interlock.domain.interrupt import Ending, Interrupt

ENDINGS = {
    Ending.APPROVED: "approved",
    Ending.MODIFIED: "approved with changes",
    Ending.REJECTED: "rejected",
    Ending.RESPONDED: "answered by a person",
    Ending.REDIRECTED: "redirected",
    Ending.RECONCILED: "reconciled",
    Ending.EXPIRED: "expired, nobody decided in time",
    Ending.PROCEEDED: "went ahead, nobody stopped it",
    Ending.WITHDRAWN: "withdrawn",
    Ending.SUPERSEDED: "superseded",
    Ending.SETTLED: "settled by a late outcome",
}


def span(length: timedelta) -> str:
    """A length of time as people say it: `12 s`, `3 min`, `2 h 5 min`, `4 days`."""
    seconds = max(0, int(length.total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 60:
        return f"{minutes} min"
    if hours < 24:
        rest = minutes % 60
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    rest = hours % 24
    shown = "1 day" if days == 1 else f"{days} days"
    return f"{shown} {rest} h" if rest and days < 4 else shown


def clock(at: datetime, now: datetime, *, seconds: bool = False) -> str:
    """An instant in the local time zone; the date is left out today."""
    here, today = at.astimezone(), now.astimezone()
    hour = here.strftime("%H:%M:%S" if seconds else "%H:%M")
    if here.date() == today.date():
        return hour
    if here.date() - today.date() == timedelta(days=1):
        return f"tomorrow {hour}"
    day = f"{here.day} {here.strftime('%b')}"
    return f"{day} {hour}" if here.year == today.year else f"{day} {here.year} {hour}"


def overdue(card: Interrupt, now: datetime) -> bool:
    """Whether a card that stands as open has expired: nothing comes of it any more."""
    return card.open and card.expires_at is not None and card.expires_at <= now


def deadline(card: Interrupt, now: datetime) -> str:
    """Until when a card can be decided."""
    if card.expires_at is None:
        return "does not expire"
    if card.expires_at <= now:
        return f"expired {clock(card.expires_at, now)}"
    return f"expires {clock(card.expires_at, now)} (in {span(card.expires_at - now)})"


def until(card: Interrupt, now: datetime) -> str:
    """Until when a card can be decided, short."""
    return deadline(card, now).partition(" (")[0]


def who(actor: str) -> str:
    """A principal as people name it: without its kind, and machines by what they are."""
    kind, _, name = actor.partition(":")
    if kind == "executor":
        return "a worker"
    return plain(name or kind, limit=40)


def label(name: str) -> str:
    """The name of a parameter as a label: `invoice_id` becomes `Invoice id`."""
    text = plain(name, limit=40).replace("_", " ").strip()
    return text[:1].upper() + text[1:] if text else "(empty)"


def verb(tool: str) -> str:
    """The name of a tool as a verb: `send_email` and `mail.sendEmail` become `Send email`."""
    last = re.split(r"[./:]", tool)[-1] or tool
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", last).replace("_", " ").replace("-", " ")
    lowered = [word.lower() if word[1:].islower() else word for word in spaced.split()]
    shown = plain(" ".join(lowered) or tool, limit=60)
    return shown[:1].upper() + shown[1:]


def count(number: int, one: str, many: str = "") -> str:
    """A number and its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
