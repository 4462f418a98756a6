"""The nearest known word to one that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def mend_of(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to do about a word that is not known: the nearest one, else all of them."""
    words = sorted(known)
    near = get_close_matches(word, words, 1) or get_close_matches(word.lower(), words, 1)
    if near:
        return f"Did you mean {near[0]}?"
    return otherwise or (f"Known: {', '.join(words)}." if words else "There is nothing to name here.")
