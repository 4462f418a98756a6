"""What the agent knew when it made a call, on a card: what it was asked to do, and behind that the conversation."""

from __future__ import annotations

from interlock.cards.words import count
from interlock.cli.paper import AGENT, AGENT_EDGE, QUIET, Piece, Sheet
from interlock.display import plain
from interlock.kernel.knew import Knew, Said

FACE = 200
"""Characters of what the agent was asked to do on the face of a card."""
LINE = 400
"""Characters of one message where the conversation is opened."""

_ROLES = {"human": "person", "ai": "agent"}


def draw_knew(sheet: Sheet, knew: Knew, *, full: bool) -> None:
    """Draw the last words of a person before the call; all messages where the card is opened."""
    if not knew.said:
        return
    asked = next((each for each in reversed(knew.said) if each.role == "human"), None)
    if full:
        before: list[Piece] = [] if knew.whole else [("what was said before is not shown here", QUIET)]
        sheet.row("IT KNEW", *before, *(_line(each) for each in knew.said), edge=AGENT_EDGE)
        return
    others = len(knew.said) - (asked is not None)
    more = f"  {count(others, 'message')} more: --full" if others else ""
    if asked is not None:
        words = f"“{plain(asked.text, limit=FACE)}”"
        sheet.row("ASKED TO", [(words, AGENT), ("  a person's words", QUIET), (more, QUIET)], edge=AGENT_EDGE)
    else:
        sheet.row("IT KNEW", (more.strip(), QUIET))


def _line(said: Said) -> list[Piece]:
    made = ", ".join(f"{plain(name, limit=60)} {plain(given, limit=LINE)}" for name, given in said.calls)
    words = plain(said.text, limit=LINE)
    told = " ".join(part for part in (words, f"→ {made}" if made else "") if part)
    who = _ROLES.get(said.role, said.role) + (f" {plain(said.name, limit=60)}" if said.name else "")
    return [(f"{who}{' (error)' if said.failed else ''}: ", QUIET), (told or "nothing", AGENT)]
