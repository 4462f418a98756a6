"""Reveal hidden values of a card: who saw which of them is on record before they are answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from interlock.canonical import Json
from interlock.domain.errors import DecisionError
from interlock.domain.events import EventType
from interlock.domain.ids import InterruptId
from interlock.domain.reviewers import Principal
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids


def reveal(
    interrupt: InterruptId,
    digest: str,
    paths: Sequence[str],
    by: Principal,
    channel: str,
    look: Callable[[Rows], dict[str, Json]],
    ids: Ids,
) -> Unit[dict[str, Json]]:
    """The unit that records a reveal of a card, open or closed, and answers what `look` reads.

    The values themselves are in no event.
    """

    def unit(rows: Rows) -> Change[dict[str, Json]]:
        draft = Draft(rows, ids)
        card = rows.interrupt(interrupt)
        if card is None:
            raise DecisionError(
                "unknown_interrupt", f"there is no card {interrupt}", "List the open ones: interlock inbox"
            )
        if not by.may_decide:
            raise DecisionError(
                "not_allowed",
                f"{by} may not see hidden values",
                "A reveal needs an authenticated reviewer; an agent can never ask for one.",
            )
        if digest != card.digest:
            raise DecisionError(
                "digest_mismatch", "the digest is not that of this card", "Look at the card again: it names its own."
            )
        values = look(rows)
        draft.tell(
            EventType.VALUE_REVEALED,
            actor=str(by),
            action=rows.action(card.action),
            interrupt=card.id,
            body={"paths": list(paths), "digest": card.digest, "channel": channel},
        )
        return draft.change(values)

    return unit
