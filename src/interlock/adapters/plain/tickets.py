"""Run tickets as people write them: a dict beside the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, TypedDict, cast

from interlock.adapters.guard.tool import Duration, amount, duration
from interlock.domain.errors import SettingsError
from interlock.domain.run import Ticket


class TicketTerms(TypedDict, total=False):
    """What a run may do at all: `tools` by name, a number of `actions`, their `cost` together, and its `life`."""

    tools: Iterable[str]
    actions: int
    cost: int | float | str
    life: Duration


def ticket_of(given: TicketTerms | Mapping[str, object] | None) -> Ticket | None:
    """The ticket, checked; raises `SettingsError` with the mend for what is none."""
    if given is None:
        return None
    terms = cast("dict[str, Any]", given)
    known = TicketTerms.__annotations__.keys()
    if not isinstance(cast("object", given), Mapping):
        raise _bad(f"ticket={given!r:.200} is no dict")
    unknown = [str(each) for each in terms if each not in known]
    if unknown:
        raise _bad(f"a ticket has no {unknown[0]!r:.60}; it has {', '.join(known)}")
    tools, actions = terms.get("tools"), terms.get("actions")
    listed = isinstance(tools, Iterable) and not isinstance(tools, str)
    names = list(cast("Iterable[object]", tools)) if listed else []
    if tools is not None and not (listed and all(isinstance(each, str) and each.isprintable() for each in names)):
        raise _bad(f"tools={tools!r:.200} is no list of names")
    if actions is not None and (isinstance(actions, bool) or not isinstance(actions, int) or not 0 <= actions < 10**9):
        raise _bad(f"actions={actions!r} is no number of actions")
    life = duration("ticket", "life", terms)
    if life is not None and life <= timedelta(0):
        raise _bad(f"life={terms['life']!r} is no length of time")
    covered = None if tools is None else tuple(dict.fromkeys(cast("list[str]", names)))
    return Ticket(covered, actions, amount("ticket", terms.get("cost")), life)


def _bad(message: str) -> SettingsError:
    return SettingsError(
        "bad_ticket", message, 'For example ticket={"tools": ["search"], "actions": 20, "cost": 100, "life": "2h"}.'
    )
