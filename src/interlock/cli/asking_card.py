"""What the card of a question, or of a pause that a framework made by itself, says in place of an action's."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import cast

from interlock.cli.headline import NATURE, consequence
from interlock.cli.paper import DANGER, STRONG, VALUE_EDGE, Piece, Sheet
from interlock.display import is_clean, plain
from interlock.domain.decision import Verdict
from interlock.domain.interrupt import InterruptKind
from interlock.domain.lifecycle import verdicts
from interlock.domain.run import Ticket
from interlock.domain.texts import length, plural
from interlock.domain.tool import Reversibility
from interlock.kernel.views import CardView
from interlock.schema import Json

OPTIONS_SHOWN = 20
_TYPED_AS_TEXT = ("str", "date", "datetime", "time", "timedelta", "decimal", "uuid", "path")
_EXAMPLES = {
    "bool": "true",
    "int": "3",
    "float": "2.5",
    "decimal": "12.50",
    "date": "2026-12-24",
    "datetime": "2026-12-24T18:00:00+00:00",
    "time": "18:00:00",
    "str": "'some text'",
}
"""How answers of simple types are typed on the command line."""


def plate(view: CardView) -> list[Piece]:
    """What kind of card this is: filled where the act cannot be undone."""
    tool, ruling = view.about.tool, view.about.action.ruling
    if view.card.kind is InterruptKind.QUESTION:
        return [("[", ""), ("QUESTION", STRONG), ("]", ""), " nothing is executed"]
    if only_shown(view):
        return [("[", ""), ("OBSERVED", STRONG), ("]", ""), " a framework pauses by itself"]
    nature = f" {NATURE[tool.reversibility].upper()} "
    parts: list[Piece] = (
        [(nature, "reverse bold")]
        if tool.worst is Reversibility.IRREVERSIBLE
        else [("[", ""), (nature.strip(), STRONG), ("]", "")]
    )
    words = [*sorted(each.value for each in tool.reach), ruling.policy.value.replace("_", " ")]
    observed = ["observed"] if view.card.kind is InterruptKind.OBSERVED else []
    return [*parts, f" {' · '.join([*words, *observed])}"]


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


def draw_wanted(sheet: Sheet, view: CardView) -> None:
    """What kind of answer is wanted, where the answer is what counts."""
    if Verdict.RESPOND not in verdicts(view.about.action) or not (
        view.card.kind is InterruptKind.QUESTION or view.about.action.traits.answers
    ):
        return
    choices = options(view.about.tool.shape.get("result"))
    if choices:
        shown = [f"“{plain(each, limit=200)}”" for each in choices[:OPTIONS_SHOWN]]
        sheet.row("ANSWER", "one of " + ", ".join(shown), edge=VALUE_EDGE)
    elif view.about.tool.result_type or view.card.kind is InterruptKind.QUESTION:
        sheet.row("ANSWER", plain(view.about.tool.result_type or "any value", limit=120), edge=VALUE_EDGE)


def takes_text(view: CardView) -> bool:
    """Whether an answer to the card is text, so that it can be typed as it is."""
    shape = view.about.tool.shape.get("result")
    return shape in _TYPED_AS_TEXT or bool(options(shape))


def example(view: CardView) -> str:
    """An answer as it is typed on the command line, where one can be named; else `JSON`."""
    shape = view.about.tool.shape.get("result")
    choices = options(shape)
    if choices and is_clean(choices[0]):
        return quote(choices[0])
    return _EXAMPLES.get(shape, "JSON") if isinstance(shape, str) else "JSON"


def expected(view: CardView) -> str:
    """What an answer to the card has to be, with an example where one can be named; "" where anything will do."""
    kind, shown = view.about.tool.result_type, example(view)
    if not kind or kind == "Any":
        return ""
    more = ", as JSON, where text needs quotation marks" if shown == "JSON" else f", for example --result {shown}"
    return f"Expected is {plain(kind, limit=120)}{more}"


def options(shape: object) -> list[str]:
    """The texts that an answer of this shape can be, where they are listed."""
    listed: Mapping[str, Json] = cast("dict[str, Json]", shape) if isinstance(shape, dict) else {}
    literal, enum = listed.get("literal"), listed.get("enum")
    if isinstance(literal, list):
        return [each for each in literal if isinstance(each, str)]
    members = enum[1] if isinstance(enum, list) and len(enum) > 1 else None
    return [str(each[0]) for each in members if isinstance(each, list)] if isinstance(members, list) else []


def draw_checks(sheet: Sheet, view: CardView) -> None:
    """What the team's own checks found, and what is wrong with what is stored."""
    revision = next((each for each in view.about.revisions if each.number == view.card.revision), None)
    if revision is not None and not revision.intact:
        said = "! What is stored here is not what its digest names: somebody changed it. It will not run."
        sheet.line((said, DANGER), hang=2)
    notes = view.about.facts.get("notes")
    lines = [
        f"{plain(str(each.get('by', '')), limit=60)}: {plain(str(each.get('words', '')), limit=300)}"
        for each in (notes if isinstance(notes, list) else [])
        if isinstance(each, dict)
    ]
    if lines:
        sheet.row("CHECKS", *(f"• {line}" for line in lines))


def draw_bounds(sheet: Sheet, view: CardView) -> None:
    """What the run may do at all, and how much of it is used up."""
    if view.run.ticket is not None:
        sheet.row("MAY DO", "; ".join(bounds(view.run.ticket)) or "anything that policy and people let go")


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
