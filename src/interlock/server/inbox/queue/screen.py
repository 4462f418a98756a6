"""What waits for people: in bands by risk, filtered and searched, page by page; it never moves by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from interlock.cards.bands import BANDS, KEYS
from interlock.cards.facts import the_fact
from interlock.cards.headline import what_card
from interlock.cards.words import ENDINGS, overdue, span, until
from interlock.domain.batch import BANDS as BATCHED
from interlock.domain.ids import InterruptId
from interlock.domain.interrupt import Band
from interlock.domain.tool import Reach
from interlock.ports.store import Queue
from interlock.server.inbox.frame.html import shown
from interlock.server.inbox.queue.search import find

if TYPE_CHECKING:
    from interlock.kernel.views import CardView
    from interlock.server.inbox.frame.site import Site, Visit

PAGE = 50
COUNTED = 1_000
"""The head counts no further: what lies behind it is as far away for a person as a million."""

_TONES = {Band.IN_DOUBT: "doubt", Band.IRREVERSIBLE: "final", Band.COSTLY: "costly"}
_ICONS = {
    Band.IN_DOUBT: "doubt",
    Band.IRREVERSIBLE: "final",
    Band.COSTLY: "mend",
    Band.QUESTION: "ask",
    Band.OBSERVED: "eye",
    Band.PROCEEDS: "soft",
    Band.OTHER: "back",
}
_REACH = {
    Reach.SPENDS: ("spend", "Spends money"),
    Reach.PRIVILEGE: ("rights", "Changes rights"),
    Reach.DELEGATES: ("agent", "Starts an agent"),
    Reach.OUTWARD: ("out", "Reaches outside"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A card in the list; texts are sanitised."""

    id: str
    digest: str
    what: str
    who: Markup
    icon: str
    kind: str
    fact: str
    warns: bool
    waits: str
    deadline: str
    batch: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A band with its rows."""

    title: str
    meaning: str
    tone: str
    icon: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for."""

    q: str = ""
    kind: str = ""
    agent: str = ""
    tool: str = ""
    after: str = ""

    @classmethod
    def of(cls, visit: Visit) -> Asked:
        """What the address of a request asks for; what is not known counts as not said."""
        kind = visit.query("kind")
        names = (visit.query(name)[:200] for name in ("agent", "tool", "after"))
        return cls(visit.query("q").strip()[:200], kind if kind in KEYS else "", *names)

    @property
    def queue(self) -> Queue:
        """The queue it is about."""
        return Queue(KEYS.get(self.kind), self.agent or None, self.tool or None)

    def address(self, **more: str) -> str:
        """The same question as the query of an address."""
        said = {"q": self.q, "kind": self.kind, "agent": self.agent, "tool": self.tool, **more}
        return urlencode({name: value for name, value in said.items() if value})


def routes(site: Site) -> list[Route]:
    """The list, and what is new of it."""
    return [
        Route("/", site.signed_in(_list), methods=["GET"]),
        Route("/news", site.signed_in(_news), methods=["GET"]),
    ]


async def _list(visit: Visit) -> Response:
    asked = Asked.of(visit)
    found = find(visit.desk, asked.q, asked.queue, PAGE) if asked.q else None
    if found is not None and found.where:
        return RedirectResponse(found.where, 303)
    views = found.views if found is not None else visit.desk.open(PAGE, asked.after or None, asked.queue)
    waiting = [view for view in views if not overdue(view.card, view.now)]
    count = len(waiting) if found is not None else visit.desk.count_open(asked.queue, COUNTED)
    now = views[0].now if views else visit.site.kernel.now()
    full = found is None and len(views) == PAGE
    return visit.page(
        "queue/page.html",
        bands=bands(waiting),
        total=f"{count:,}" + ("+" if count == COUNTED else ""),
        due=sum(1 for view in waiting if soon(view)),
        asked=asked,
        kinds=[(words.key, words.title) for words in BANDS.values()],
        filtered=bool(asked.address()),
        partial=found.looked if found is not None and not found.whole else 0,
        onward=f"/?{asked.address(after=views[-1].card.id)}" if full else "",
        further=bool(asked.after),
        base=f"?{asked.address()}" if asked.address() else "",
        page=PAGE,
        news_query=_news_query(asked, now, [view.card.id for view in waiting]),
    )


def _news_query(asked: Asked, now: datetime, seen: Sequence[str]) -> str:
    return urlencode({"since": now.isoformat(), **_asked(asked), "seen": ",".join(seen[:PAGE])})


async def _news(visit: Visit) -> Response:
    """The part of the page that tells of what is new and of what somebody decided meanwhile."""
    try:
        since = datetime.fromisoformat(visit.query("since"))
    except ValueError:
        return Response(status_code=204)
    if since.tzinfo is None:
        return Response(status_code=204)
    asked = Asked.of(visit)
    queue = Queue(asked.queue.band, asked.queue.agent, asked.queue.tool, since)
    fresh = visit.desk.count_open(queue, COUNTED)
    ids = [InterruptId(each) for each in visit.query("seen").split(",") if each][:PAGE]
    ended = visit.site.kernel.endings(ids)
    part = visit.site.part(
        "queue/news.html",
        fresh=f"{fresh:,}" + ("+" if fresh == COUNTED else "") if fresh else "",
        gone=[(id_, ENDINGS[card.ending]) for id_, card in ended.items() if card.ending],
        base=f"?{asked.address()}" if asked.address() else "",
        news_query=urlencode(
            {"since": since.isoformat(), **_asked(asked), "seen": ",".join(each for each in ids if each not in ended)}
        ),
    )
    return HTMLResponse(part)


def _asked(asked: Asked) -> dict[str, str]:
    return {name: value for name in ("kind", "agent", "tool") if (value := getattr(asked, name))}


def soon(view: CardView) -> bool:
    """Whether it has to be decided within the hour."""
    return view.card.expires_at is not None and view.card.expires_at - view.now < timedelta(hours=1)


def bands(views: Sequence[CardView]) -> list[Shown]:
    """Cards in their order as bands with rows."""
    return [
        Shown(
            BANDS[band].title,
            BANDS[band].meaning,
            _TONES.get(band, "plain"),
            _ICONS[band],
            [row_of(view) for view in group],
        )
        for band, group in groupby(views, key=lambda view: view.card.band)
    ]


def row_of(view: CardView) -> Row:
    """A card as a row."""
    about, card, run = view.about, view.card, view.run
    icon, kind = next(
        (_REACH[reach] for reach in _REACH if reach in about.tool.reach),
        (_ICONS[card.band], BANDS[card.band].title),
    )
    job = run.workflow or run.id
    who = Markup("{}, {}{}").format(
        shown(about.action.agent, 30),
        Markup("“{}”").format(shown(job, 40)) if run.workflow else Markup("run {}").format(shown(job[-12:], 40)),
        Markup(", thread {}").format(shown(run.thread, 24)) if run.thread else "",
    )
    fact, warns = the_fact(view)
    return Row(
        card.id,
        card.digest,
        what_card(view),
        who,
        icon,
        kind,
        fact,
        warns,
        span(view.now - card.opened_at),
        until(card, view.now),
        batch=card.band in BATCHED,
    )
