"""An answer as people give it on a page, as the plain value that a card wants."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from interlock.cards.asking import options, takes_text
from interlock.domain.errors import DecisionError

if TYPE_CHECKING:
    from interlock.kernel.views import CardView
    from interlock.server.forms import Form


def answer_of(view: CardView, form: Form, option: str) -> object:
    """The answer in the field `result`, or the option of the button that was pressed.

    Text where text is wanted, yes or no where that is; everything else as JSON. Whether it fits, the desk says.
    """
    choices = options(view.about.tool.shape.get("result"))
    if option:
        if not option.isdecimal() or int(option) >= len(choices):
            raise DecisionError("bad_result", "there is no such option", "Press one of the buttons.")
        return choices[int(option)]
    if "result" not in form.values:
        raise DecisionError("bad_result", "no answer was given", "Write it, or press one of the buttons.")
    given = form.one("result")
    if takes_text(view):
        return given
    try:
        return json.loads(given, parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        kind = view.about.tool.result_type or "any value"
        raise DecisionError(
            "bad_result",
            f"this is not valid JSON, and {kind} is wanted",
            'Text needs quotation marks: "like this". Nothing was decided.',
        ) from None


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)
