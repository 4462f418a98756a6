"""The one thing to know of a card before it is opened."""

from __future__ import annotations

from collections.abc import Callable

from interlock.cards.headline import one_fact
from interlock.cards.values import disguised, impostor, texts
from interlock.display import plain
from interlock.domain.interrupt import InterruptKind
from interlock.kernel.views import CardView


def the_fact(view: CardView) -> tuple[str, bool]:
    """The fact in words, sanitised, and whether it is a warning; ("", False) where the headline says it all."""
    about = view.about
    strings = [text for tree in about.current.arguments.values() for text in texts(tree)]
    reasons = {reason.code: reason.words for reason in about.action.ruling.reasons}
    checks: tuple[tuple[Callable[[], bool], str], ...] = (
        (lambda: view.card.kind is InterruptKind.RECONCILE, plain(view.card.why, limit=60)),
        (lambda: any(map(impostor, strings)), "a name that looks like another"),
        (lambda: any(map(disguised, strings)), "text that would hide or mislead"),
        (lambda: bool(view.freezes), "frozen"),
        (lambda: "suspected_duplicate" in reasons, plain(reasons.get("suspected_duplicate", ""), limit=50)),
        (lambda: view.card.previous is not None, f"asked again: {plain(view.card.why, limit=50)}"),
        (lambda: about.action.attempt > 1, f"attempt {about.action.attempt}"),
    )
    found = next((words for holds, words in checks if holds()), "")
    return (found, True) if found else (one_fact(about), False)
