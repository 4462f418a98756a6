"""What holds for a decision on every surface of the server, pages and API alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from interlock.cards.whole import must_open
from interlock.domain.batch import Batch, Candidate, batch
from interlock.domain.decision import Shown, Verdict
from interlock.domain.errors import DecisionError, InterlockError
from interlock.wire.reviewers import Came, Item

if TYPE_CHECKING:
    from interlock.kernel import Kernel
    from interlock.kernel.desk import ReviewDesk
    from interlock.kernel.views import CardView


def candidate(kernel: Kernel, desk: ReviewDesk, view: CardView) -> Candidate:
    """A card as far as deciding several together is concerned."""
    arguments = view.about.current.arguments
    opened = kernel.opened(view.card.id, desk.principal)
    action = view.about.action
    return Candidate(
        view.card.id,
        view.card.kind,
        view.card.band,
        action.tool,
        action.ruling.policy_digest,
        frozenset(reason.code for reason in action.ruling.reasons),
        arguments,
        again=view.card.previous is not None or action.attempt > 1 or bool(view.freezes),
        closed=any(part not in opened for part in must_open(view, arguments)),
    )


def seen_whole(kernel: Kernel, desk: ReviewDesk, view: CardView, digest: str) -> None:
    """Raise `DecisionError` `not_shown` while a part that must be opened is closed, whoever asks and by what way."""
    if view.card.digest != digest or not view.card.open:
        return  # it cannot count; the desk says why
    opened = kernel.opened(view.card.id, desk.principal)
    closed = [part for part in must_open(view, view.about.current.arguments) if part not in opened]
    if closed:
        raise DecisionError(
            "not_shown",
            f"this cannot be let run unseen, and part of it is closed: {', '.join(closed)}",
            "Open it first; nothing was decided.",
        )


def sorted_for(kernel: Kernel, desk: ReviewDesk, views: Sequence[CardView]) -> Batch:
    """Which of these cards may be decided together, as things stand now."""
    return batch([candidate(kernel, desk, view) for view in views])


def decide_together(
    kernel: Kernel, desk: ReviewDesk, verdict: Verdict, items: list[Item], note: str, shown: Shown
) -> tuple[Came, ...]:
    """Decide several cards of a kind, each by itself; one that no longer fits is refused with the reason."""
    views = {item.interrupt: desk.card(item.interrupt) for item in items}
    made = sorted_for(kernel, desk, list(views.values()))
    why = {one.id: reason for one, reason in made.apart}
    return tuple(_one(desk, verdict, item, views[item.interrupt], why, note, shown) for item in items)


def _one(
    desk: ReviewDesk, verdict: Verdict, item: Item, view: CardView, why: dict[str, str], note: str, shown: Shown
) -> Came:
    decide = desk.approve if verdict is Verdict.APPROVE else desk.reject
    try:
        if view.card.open and view.card.id in why:
            raise DecisionError("not_alike", why[view.card.id], "Decide it on its own card.")
        return Came(item.interrupt, decide(item.interrupt, digest=item.digest, note=note, shown=shown))
    except InterlockError as error:
        return Came(item.interrupt, None, error.code, error.message)
