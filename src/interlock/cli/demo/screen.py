"""How the demo looks: calm lines, one box for each card. Everything that others wrote is sanitised here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from interlock.display import plain
from interlock.domain.interrupt import InterruptKind
from interlock.kernel.views import CardView
from interlock.schema import tree_to_plain

WIDEST = 100
"""Lines longer than this are hard to read, however wide the terminal is."""

BODY_LIMIT = 2_000


class Screen:
    """Writes to a terminal (or to a file, without colour)."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._console.width = min(self._console.width, WIDEST)

    def say(self, words: str = "", style: str = "") -> None:
        """A paragraph of our own words."""
        self._console.print(Text(words, style))

    def copyable(self, line: str) -> None:
        """A line to copy: never broken, whatever the width."""
        self._console.print(Text("    " + line, "bold"), soft_wrap=True)

    def title(self, words: str, more: str = "") -> None:
        """The head of a part."""
        self._console.print()
        self._console.print(Text.assemble((words, "bold"), ("  " + more if more else "", "dim")))

    def step(self, verb: str, words: str, style: str = "") -> None:
        """One thing that happened: what, and its words, wrapped under themselves. `words` may come from outside."""
        self._console.print(Padding(_row(verb, Text(plain(words), style)), (0, 0, 0, 2), expand=False))

    def card(self, view: CardView) -> None:
        """The box of a card: what would run, why the agent wants it, why a person is asked."""
        doubt = view.card.kind is InterruptKind.RECONCILE
        tool = view.about.tool
        parts: list[RenderableType] = [Text.assemble((tool.name, "bold"), f"  {_first_line(tool.description)}"), Text()]
        arguments = Table.grid(padding=(0, 2))
        arguments.add_column(no_wrap=True, style="dim")
        arguments.add_column(overflow="fold")
        values = {name: shown(tree_to_plain(value)) for name, value in view.about.current.arguments.items()}
        for name in sorted(values, key=lambda name: "\n" in values[name]):  # the long ones last
            arguments.add_row(plain(name), Text(values[name]))
        parts.append(arguments)
        parts.append(Text())
        parts += [_row(name, Text(words)) for name, words in _reasons(view, doubt)]
        head = "DID THIS HAPPEN?" if doubt else "WAITS FOR A PERSON"
        self._console.print()
        self._console.print(
            Panel(
                Group(*parts),
                title=Text(f"{head} · {view.fingerprint}"),
                title_align="left",
                box=ROUNDED,
                border_style="yellow",
            )
        )

    def ask(self, words: str) -> None:
        """A prompt; the answer is typed behind it."""
        self._console.print(Text(words), end="")

    def table(self, heads: Mapping[str, int], rows: Sequence[Sequence[str]]) -> None:
        """What was proposed, said and found, with the shares of the columns. The cells may hold words from outside."""
        made = Table(box=SIMPLE_HEAD, expand=True, padding=(0, 1), pad_edge=False)
        for head, share in heads.items():
            made.add_column(head, overflow="fold", ratio=share)
        for row in rows:
            made.add_row(*(Text(plain(cell, multiline=True)) for cell in row))
        self._console.print(made)


def shown(value: object) -> str:
    """A value as people read it; text keeps its line breaks."""
    return plain(value if isinstance(value, str) else str(value), multiline=True, limit=BODY_LIMIT)


def _row(name: str, words: Text) -> Table:
    row = Table.grid(padding=(0, 2))
    row.add_column(width=9, no_wrap=True, style="dim")
    row.add_column(overflow="fold")
    row.add_row(name, words)
    return row


def _reasons(view: CardView, doubt: bool) -> list[tuple[str, str]]:
    facts = view.about.facts
    found: list[tuple[str, str]] = []
    if doubt:
        found.append(("what", "It was started, and the worker died before it could say how it ended."))
        found.append(("so", "It is not run again. Look whether it happened, and say so."))
        return found
    if reasoning := facts.get("reasoning"):
        found.append(("it says", plain(str(reasoning))))
    sure = facts.get("confidence")
    if isinstance(sure, dict):
        unsure = facts.get("uncertainty")
        words = f"{float(str(sure['v'])):.0%} sure, it says"
        if isinstance(unsure, list) and unsure:
            words += "; not sure about " + ", ".join(plain(str(each)) for each in unsure)
        found.append(("sure", words))
    found.append(("asked", f"Because {plain(view.card.why)}."))
    return found


def _first_line(words: str) -> str:
    return plain(words.partition("\n")[0], limit=80)
