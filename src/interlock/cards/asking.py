"""What a card asks for, and what follows from an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from interlock.cards.headline import consequence
from interlock.display import plain
from interlock.domain.interrupt import InterruptKind
from interlock.domain.run import Ticket
from interlock.domain.texts import length, plural
from interlock.domain.tool import Reversibility
from interlock.kernel.views import CardView
from interlock.schema import Json

_TYPED_AS_TEXT = ("str", "date", "datetime", "time", "timedelta", "decimal", "uuid", "path")


def only_shown(view: CardView) -> bool:
    """Whether nothing of ours stands behind the card: the answer is passed on, and that is all."""
    return view.card.kind is InterruptKind.OBSERVED and not view.about.tool.target


def grave(view: CardView) -> bool:
    """Whether what may follow cannot be undone, as far as is known."""
    asks = view.card.kind is InterruptKind.QUESTION or only_shown(view)
    return not asks and view.about.tool.worst is Reversibility.IRREVERSIBLE


def follows(view: CardView) -> str:
    """What happens when a person says yes, or answers."""
    if view.card.kind is InterruptKind.QUESTION:
        return "Your answer goes to the agent, and it goes on with it. Nothing is executed by answering."
    if only_shown(view):
        return (
            "Your answer is passed on to the framework that paused. What that does with it, and how often, Interlock "
            "neither sees nor prevents."
        )
    if view.card.kind is InterruptKind.OBSERVED:
        return f"{consequence(view.about.tool)} A framework paused here, and the guarded call that follows is this one."
    return consequence(view.about.tool)


def takes_text(view: CardView) -> bool:
    """Whether an answer to the card is text, so that it can be typed as it is."""
    shape = view.about.tool.shape.get("result")
    return shape in _TYPED_AS_TEXT or bool(options(shape))


def options(shape: object) -> list[str]:
    """The texts that an answer of this shape can be, where they are listed."""
    listed: Mapping[str, Json] = cast("dict[str, Json]", shape) if isinstance(shape, dict) else {}
    literal, enum = listed.get("literal"), listed.get("enum")
    if isinstance(literal, list):
        return [each for each in literal if isinstance(each, str)]
    members = enum[1] if isinstance(enum, list) and len(enum) > 1 else None
    return [str(each[0]) for each in members if isinstance(each, list)] if isinstance(members, list) else []


def bounds(ticket: Ticket) -> list[str]:
    """A ticket in words."""
    said: list[str] = []
    if ticket.tools is not None:
        said.append("only " + (", ".join(plain(each, limit=40) for each in ticket.tools) or "nothing"))
    if ticket.actions is not None:
        said.append(f"{plural(ticket.actions, 'action')}, {ticket.used} used")
    if ticket.cost is not None:
        said.append(f"{ticket.cost:f} of cost, {ticket.spent:f} used")
    if ticket.life is not None:
        said.append(f"for {length(ticket.life)} from its start")
    return said
