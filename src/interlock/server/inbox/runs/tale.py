"""The story of a run as a stranger reads it: one line of time, with the waiting shown as waiting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from markupsafe import Markup

from interlock.cards.headline import what
from interlock.cards.sentences import sentence
from interlock.cards.story import Moment, Part, Teller
from interlock.cards.values import value_of
from interlock.cards.words import span, who
from interlock.domain.events import Event, EventType
from interlock.kernel.views import ActionView, RunView
from interlock.server.inbox.frame.html import already, shown

LONGEST = 2_000
"""So many moments are told; a run that has more says so."""
PAUSE = timedelta(seconds=5)
"""A gap that is longer is shown as waiting, or as silence."""
_KINDS = {
    Part.PROPOSED: ("Proposed", "edit"),
    Part.TOLD: ("Was told", "person"),
    Part.DID: ("Did", "run"),
    Part.RUN: ("The run", "mark"),
}
_TONES = {"good": "good", "danger": "final", "": ""}


@dataclass(frozen=True, slots=True)
class Entry:
    """One moment: what kind it is, what happened, and what is to be said about it. `card` is where it links to."""

    at: datetime
    kind: str
    icon: str
    text: Markup
    notes: Sequence[Markup] = ()
    tone: str = ""
    card: str = ""
    voice: Markup | str = ""


def tale(view: RunView) -> list[Entry]:
    """All moments in order."""
    actions: dict[str, ActionView] = {about.action.id: about for about in view.actions}
    entries = [*_recorded(view.events), *_moments(view, actions)]
    entries.sort(key=lambda entry: entry.at)
    return list(_with_waiting(entries, view))[:LONGEST]


def _recorded(events: Sequence[Event]) -> Iterator[Entry]:
    for event in events:
        match event.type:
            case EventType.RUN_STARTED:
                yield Entry(event.at, "Asked", "person", _sentence(event))
            case EventType.CALL_RECORDED:
                step = str(event.body.get("tool", "")).startswith("step:")
                kind, icon = ("Worked out", "agent") if step else ("Read", "read")
                failed = "failure" in event.body
                yield Entry(event.at, kind, icon, _sentence(event), _came_to(event), "final" if failed else "")
            case EventType.AGENT_DECIDED:
                yield Entry(event.at, "Decided alone", "agent", _sentence(event))
            case _:
                pass


def _sentence(event: Event) -> Markup:
    said = sentence(event, None)
    return already(said[:1].upper() + said[1:])


def _came_to(event: Event) -> list[Markup]:
    if "failure" in event.body or not event.body.get("stored", True) or "result" not in event.body:
        return []
    value = value_of("", event.body["result"])
    return [Markup("→ {}").format(already((value.short or value.whole)[:400]))]


def _moments(view: RunView, actions: dict[str, ActionView]) -> Iterator[Entry]:
    for moment in Teller(view).tell():
        about = actions.get(moment.action)
        kind, icon = _KINDS[moment.part]
        if about is not None and moment.part is Part.PROPOSED:
            yield _proposed(moment, about)
            continue
        name = already(moment.who)
        text = Markup("<b>{}</b>").format(name) if name else Markup("")
        said = already(moment.text)
        text += Markup(": {}").format(said) if name and said else said
        if about is not None and len(actions) > 1:
            text += Markup(' <span class="quiet">({})</span>').format(already(what(about)))
        card = _card(about)
        yield Entry(moment.at, kind, icon, text, [already(note) for note in moment.notes], _TONES[moment.tone], card)


def _proposed(moment: Moment, about: ActionView) -> Entry:
    reasoning = about.facts.get("reasoning")
    voice = shown(reasoning, 400) if isinstance(reasoning, str) and reasoning else ""
    attempt = f", attempt {about.action.attempt}" if about.action.attempt > 1 else ""
    text = Markup("<b>{}</b>{}").format(already(what(about)), attempt)
    notes = [already(note) for note in moment.notes]
    if moment.who:
        notes.insert(0, already(f"{moment.who}: {moment.text}"))
    return Entry(moment.at, "Proposed", "edit", text, notes, _TONES[moment.tone], _card(about), voice)


def _card(about: ActionView | None) -> str:
    return about.cards[-1].id if about is not None and about.cards else ""


def _with_waiting(entries: Sequence[Entry], view: RunView) -> Iterator[Entry]:
    waits = sorted((card.opened_at, card.ended_at or view.now) for about in view.actions for card in about.cards)
    before: Entry | None = None
    for entry in entries:
        if before is not None and entry.at - before.at >= PAUSE:
            asked = any(start < entry.at and end > before.at for start, end in waits)
            words = "waited for a person" if asked else "nothing was recorded"
            yield Entry(before.at, "", "clock", Markup("{} {}").format(span(entry.at - before.at), words), tone="wait")
        before = entry
        yield entry


def asker(view: RunView) -> str:
    """Who asked for the run, sanitised."""
    actor = next((event.actor for event in view.events if event.type is EventType.RUN_STARTED), view.run.owner)
    return who(actor) or "Somebody"
