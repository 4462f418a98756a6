"""All that a card is shown from, gathered once; and which parts of it are too long to be shown unasked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.cards.headline import needs_whole
from interlock.cards.values import holds_blob, value_of
from interlock.display import plain
from interlock.domain.interrupt import InterruptKind
from interlock.kernel.knew import NOTHING_KNOWN, Knew
from interlock.kernel.views import CardView
from interlock.schema import Json, fill

if TYPE_CHECKING:
    from interlock.kernel.desk import ReviewDesk

PREVIEW = "preview"
"""The name of the part that a preview is, beside the names of arguments."""
PREVIEW_CHARACTERS = 1_200
PREVIEW_LINES = 16
"""A preview that is longer is folded."""
SIBLINGS = 10
MESSAGES = 50
"""So many messages of the conversation are shown at most."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A card with the arguments of its revision (typed encoding, shown form), the other open cards of its run, and
    the conversation that the call was made in.
    """

    view: CardView
    arguments: Mapping[str, Json]
    others: tuple[CardView, ...] = ()
    knew: Knew = NOTHING_KNOWN


def gather(desk: ReviewDesk, view: CardView, *, full: bool) -> Whole:
    """Read what belongs to a card; large values are put back where it is shown in `full`."""
    revision = next(each for each in view.about.revisions if each.number == view.card.revision)
    arguments = revision.arguments
    if full:
        arguments = {name: fill(tree, desk.blob) if holds_blob(tree) else tree for name, tree in arguments.items()}
    others = tuple(desk.card(other.id) for other in view.siblings[:SIBLINGS])
    return Whole(view, arguments, others, desk.knew(view.card.id, MESSAGES))


def folded(view: CardView, arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """The parts of a card that are too long for its face: names of arguments, and `preview`."""
    long = [name for name, tree in arguments.items() if value_of(name, tree).folded]
    preview = view.preview
    if preview is not None and preview.text is not None and long_preview(plain(preview.text, multiline=True)):
        long.append(PREVIEW)
    return tuple(long)


def long_preview(text: str) -> bool:
    """Whether a preview is too long for the face of a card."""
    return len(text) > PREVIEW_CHARACTERS or text.count("\n") >= PREVIEW_LINES


def must_open(view: CardView, arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """The folded parts that nobody may let run unseen; none where nothing is outward, costly or irreversible."""
    asked_back = view.card.kind in (InterruptKind.ACTION, InterruptKind.OBSERVED, InterruptKind.RECONCILE)
    return folded(view, arguments) if asked_back and needs_whole(view.about.tool) else ()


def replaced(view: CardView) -> dict[str, Json]:
    """What a person's edit replaced: the shown values of the revision before the one that the card is about."""
    revisions, number = view.about.revisions, view.card.revision
    if number < 2 or len(revisions) < number:
        return {}
    before, now = revisions[number - 2], revisions[number - 1]
    return {
        name: before.arguments[name]
        for name in now.arguments
        if name in before.exact and before.exact[name] != now.exact[name]
    }
