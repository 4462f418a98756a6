"""Everything on record, the newest first: to look through, to read one event exactly, to take away."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.concurrency import iterate_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from interlock.cards.sentences import sentence
from interlock.domain.errors import DecisionError, InterlockError
from interlock.domain.events import Event, EventType

if TYPE_CHECKING:
    from interlock.kernel.desk import ReviewDesk
    from interlock.kernel.views import ActionView
    from interlock.server.inbox.frame.site import Site, Visit

PAGE = 100
LOOKED_AT = 20_000
"""A filter looks through so many events for one page; the next page goes on there."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the address asks for."""

    run: str = ""
    actor: str = ""
    type: str = ""
    q: str = ""

    @classmethod
    def of(cls, visit: Visit) -> Wanted:
        """The filters in the address of a request."""
        kind = visit.query("type")
        known = kind in list(EventType)
        return cls(visit.query("run")[:200], visit.query("actor")[:200], kind if known else "", visit.query("q")[:200])

    def takes(self, event: Event, said: str) -> bool:
        """Whether an event fits; `said` is its sentence."""
        return (
            self.run in ("", event.run)
            and self.actor in ("", event.actor, event.actor.partition(":")[2])
            and self.type in ("", event.type.value)
            and self.q.lower() in said.lower()
        )

    def address(self, **more: str) -> str:
        """The same question as the query of an address."""
        said = {"run": self.run, "actor": self.actor, "type": self.type, "q": self.q, **more}
        return urlencode({name: value for name, value in said.items() if value})


def routes(site: Site) -> list[Route]:
    """The list, one event, and all of it as a file."""
    return [
        Route("/ledger", site.signed_in(_list), methods=["GET"]),
        Route("/ledger/export", site.signed_in(_export), methods=["GET"]),
        Route("/ledger/{position:int}", site.signed_in(_one), methods=["GET"]),
    ]


class Actions:
    """The actions that events are about; the last few hundred remembered."""

    def __init__(self, desk: ReviewDesk) -> None:
        self._desk = desk
        self._known: OrderedDict[str, ActionView | None] = OrderedDict()

    def of(self, event: Event) -> ActionView | None:
        """The action of an event, or None."""
        if event.action is None:
            return None
        if event.action not in self._known:
            try:
                self._known[event.action] = self._desk.action(event.action)
            except InterlockError:
                self._known[event.action] = None
            if len(self._known) > 500:
                self._known.popitem(last=False)
        return self._known[event.action]


async def _list(visit: Visit) -> Response:
    wanted = Wanted.of(visit)
    below = int(visit.query("below")) if visit.query("below").isdecimal() else None
    actions = Actions(visit.desk)
    found: list[tuple[int, Event, str]] = []
    looked, last = 0, 0
    for position, event in islice(_backwards(visit, wanted, below), LOOKED_AT):
        looked, last = looked + 1, position
        said = sentence(event, actions.of(event)) if not wanted.q or found or looked else ""
        if wanted.takes(event, said):
            found.append((position, event, said))
        if len(found) == PAGE:
            break
    return visit.page(
        "ledger/page.html",
        events=found,
        now=visit.site.kernel.now(),
        wanted=wanted,
        types=sorted(each.value for each in EventType),
        more=wanted.address(below=str(last)) if last > 1 else "",
        looked=looked,
    )


def _backwards(visit: Visit, wanted: Wanted, below: int | None) -> Iterator[tuple[int, Event]]:
    if wanted.run:
        events = list(visit.desk.ledger(wanted.run))
        return (each for each in reversed(events) if below is None or each[0] < below)
    return visit.site.kernel.events_backwards(below)


async def _one(visit: Visit) -> Response:
    position = int(visit.request.path_params["position"])
    found = next(iter(visit.desk.events(None, 1, str(position - 1))), None) if position > 0 else None
    if found is None or found[0] != position:
        raise DecisionError("unknown_event", f"there is no event {position}", "The ledger lists them: /ledger")
    event = found[1]
    said = sentence(event, Actions(visit.desk).of(event))
    exact = visit.desk.envelope(event).decode()
    return visit.page("ledger/event.html", position=position, event=event, said=said, exact=exact)


async def _export(visit: Visit) -> Response:
    after = visit.query("after")

    def lines() -> Iterator[bytes]:
        for _, event in visit.desk.ledger(None, after if after.isdecimal() else None):
            yield visit.desk.envelope(event) + b"\n"

    headers = {"content-disposition": 'attachment; filename="interlock-ledger.jsonl"'}
    return StreamingResponse(iterate_in_threadpool(lines()), media_type="application/jsonl", headers=headers)
