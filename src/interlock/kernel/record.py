"""What people were asked lately, and what they said: counted from the record, so that a rule's cost can be seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from interlock.domain.action import Action
from interlock.domain.events import Event, EventType
from interlock.kernel.ledger import PAGE
from interlock.ports.store import Page, Rows

SAID = {
    "approve": "approved",
    "modify": "modified",
    "reject": "rejected",
    "redirect": "redirected",
    "respond": "answered",
    "found_done": "reconciled",
    "found_failed": "reconciled",
    "run_again": "reconciled",
}
_ENDED = {EventType.INTERRUPT_EXPIRED: "expired", EventType.SILENCE_PROCEEDED: "proceeded"}
_DECIDED = (EventType.DECISION_RECORDED, EventType.ACTION_RECONCILED)


@dataclass(slots=True)
class Tally:
    """How questions of one kind ended: `counts` by how (approved, modified, …), `reasons` by their words."""

    counts: Counter[str] = field(default_factory=Counter[str])
    reasons: Counter[str] = field(default_factory=Counter[str])
    agents: Counter[str] = field(default_factory=Counter[str])

    @property
    def asked(self) -> int:
        """How many questions there were."""
        return self.counts.total()

    @property
    def changed(self) -> int:
        """How many of them came to something else because a person looked."""
        return sum(self.counts[each] for each in ("modified", "rejected", "redirected"))


@dataclass(frozen=True, slots=True)
class Lately:
    """What the newest events of the record say. `events` were looked at, back to `since`; `whole` that there are no
    more. `tools` by name, `rules` by their names in the policy; questions that no rule asked for are under "".
    """

    tools: dict[str, Tally]
    rules: dict[str, Tally]
    events: int
    since: datetime | None
    whole: bool


def lately(rows: Rows, most: int) -> Lately:
    """Count how the questions among the newest `most` events ended."""
    newest = rows.last_event()
    start = max(0, newest - most)
    events: list[Event] = []
    page = Page(PAGE, str(start))
    while batch := rows.events(None, page):
        events.extend(event for _, event in batch)
        page = Page(PAGE, str(batch[-1][0]))
    endings = ((event, how, rows.action(event.action)) for event, how in _endings(events) if event.action)
    return counted(endings, events, whole=start == 0)


def _endings(events: Iterable[Event]) -> Iterable[tuple[Event, str]]:
    for event in events:
        if event.type in _DECIDED:
            yield event, SAID.get(str(event.body.get("verdict")), "answered")
        elif event.type in _ENDED:
            yield event, _ENDED[event.type]


def counted(endings: Iterable[tuple[Event, str, Action | None]], events: list[Event], *, whole: bool) -> Lately:
    """Endings of questions, counted by tool and by rule."""
    tools: dict[str, Tally] = {}
    rules: dict[str, Tally] = {}
    for _, how, action in endings:
        if action is None:
            continue
        tallies = [tools.setdefault(action.tool, Tally())]
        tallies += [rules.setdefault(rule, Tally()) for rule in action.ruling.rules or ("",)]
        for tally in tallies:
            tally.counts[how] += 1
            tally.agents[action.agent] += 1
            tally.reasons.update(reason.words for reason in action.ruling.reasons)
    return Lately(tools, rules, len(events), events[0].at if events else None, whole)
