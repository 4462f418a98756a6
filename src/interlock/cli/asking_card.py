"""What the card of a question, or of a pause that a framework made by itself, says in place of an action's."""

from __future__ import annotations

from shlex import quote

from interlock.cards.asking import bounds, only_shown, options
from interlock.cards.headline import NATURE
from interlock.cli.paper import DANGER, STRONG, VALUE_EDGE, Piece, Sheet
from interlock.display import is_clean, plain
from interlock.domain.decision import Verdict
from interlock.domain.interrupt import InterruptKind
from interlock.domain.lifecycle import verdicts
from interlock.domain.tool import Reversibility
from interlock.kernel.views import CardView

OPTIONS_SHOWN = 20
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
