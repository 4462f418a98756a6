"""Note that a person has opened folded parts of a card: whoever lets it run must have had all of it shown."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.domain.credential import Opening
from interlock.domain.errors import DecisionError
from interlock.domain.ids import InterruptId
from interlock.domain.reviewers import Principal
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids

MOST_PARTS = 200


def open_parts(
    interrupt: InterruptId, digest: str, parts: Sequence[str], by: Principal, ids: Ids
) -> Unit[frozenset[str]]:
    """The unit that notes it; answers all that this person has opened of the card. Opening twice is fine."""

    def unit(rows: Rows) -> Change[frozenset[str]]:
        draft = Draft(rows, ids)
        card = rows.interrupt(interrupt)
        if card is None:
            raise DecisionError(
                "unknown_interrupt", f"there is no card {interrupt}", "List the open ones: interlock inbox"
            )
        if not by.may_decide:
            raise DecisionError("not_allowed", f"{by} opens nothing", "Only people who may decide do.")
        if digest != card.digest:
            raise DecisionError(
                "digest_mismatch", "the digest is not that of this card", "Look at the card again: it names its own."
            )
        before = {each.part for each in rows.openings(interrupt, str(by))}
        new = [part for part in dict.fromkeys(parts) if part not in before]
        if len(before) + len(new) > MOST_PARTS:
            raise DecisionError("bad_decision", f"a card has at most {MOST_PARTS} parts", "Open those that it has.")
        draft.openings += [Opening(interrupt, str(by), part, rows.now) for part in new]
        return draft.change(frozenset(before | set(new)))

    return unit
