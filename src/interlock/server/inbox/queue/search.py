"""Finding a card by what a person typed: what names one thing leads there, words are looked for in what waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from interlock.cards.headline import what_card
from interlock.domain.errors import InterlockError

if TYPE_CHECKING:
    from interlock.kernel.desk import ReviewDesk
    from interlock.kernel.views import CardView
    from interlock.ports.store import Queue

LOOKED_AT = 2_000
"""Words are looked for in so many cards at most, the riskiest first."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found: `where` is the address of the one thing that was named, else the cards that match.

    `looked` is in how many cards words were looked for, `whole` whether these were all.
    """

    where: str = ""
    views: Sequence[CardView] = ()
    looked: int = 0
    whole: bool = True


def find(desk: ReviewDesk, said: str, queue: Queue, most: int) -> Found:
    """Look for what was typed: a fingerprint or an id, a run, an agent, a tool, then words."""
    try:
        return Found(f"/i/{desk.find(said).card.id}")
    except InterlockError:
        pass
    try:
        return Found(f"/runs/{desk.run(said).id}")
    except InterlockError:
        pass
    for named in (replace(queue, agent=said), replace(queue, tool=said)):
        views = desk.open(most, None, named)
        if views:
            return Found(views=views, looked=len(views))
    return _words(desk, said.lower().split(), queue, most)


def _words(desk: ReviewDesk, words: Sequence[str], queue: Queue, most: int) -> Found:
    found: list[CardView] = []
    looked, after = 0, None
    while looked < LOOKED_AT and len(found) < most:
        batch = desk.open(200, after, queue)
        for view in batch:
            text = f"{what_card(view, 200)} {view.about.action.tool} {view.run.thread} {view.run.workflow}".lower()
            if all(word in text for word in words):
                found.append(view)
        looked += len(batch)
        if len(batch) < 200:
            return Found(views=found[:most], looked=looked)
        after = batch[-1].card.id
    return Found(views=found[:most], looked=looked, whole=False)
