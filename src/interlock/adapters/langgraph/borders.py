"""Where a pause of ours becomes LangGraph's own.

Inside a border a pause is a `BaseException`, which no `except Exception` of a tool, a middleware or a node catches.
At the border it becomes a `GraphInterrupt` that names every pause met inside, whatever swallowed it on its way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn, cast

from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from interlock.adapters.langgraph.tools import Bubbled
from interlock.domain.errors import Interrupted

KIND = "interlock_pause"
"""The `type` of the value that an application sees in an interrupt of ours."""

GATE = "gate"
"""The key that holds `KIND` in a value whose `type` is that of another gate."""

NOTHING_ELSE: Mapping[str, Interrupt] = MappingProxyType({})


@dataclass(slots=True)
class Border:
    """The border around one task of a graph, and the pauses met inside.

    `shown` is what an application sees of a card, by the card's id, where it is not our own value.
    """

    task: str
    pauses: list[Interrupted] = field(default_factory=list[Interrupted])
    shown: dict[str, Interrupt] = field(default_factory=dict[str, Interrupt])

    def note(self, pause: Interrupted) -> None:
        """Remember a pause, so that it counts even if something swallows it."""
        if all(each is not pause for each in self.pauses):
            self.pauses.append(pause)


_border: ContextVar[Border | None] = ContextVar("interlock_border", default=None)


def border_of(task: str) -> Border | None:
    """The border around this task, if there is one."""
    border = _border.get()
    return border if border is not None and border.task == task else None


def _new(task: str) -> Border:
    around = _border.get()
    return Border(task) if around is None else Border(task, shown=around.shown)


@contextmanager
def border(task: str) -> Generator[Border]:
    """Be inside a border; one inside another of the same task leaves the crossing to that one."""
    outer = border_of(task)
    mine = outer or _new(task)
    token = _border.set(mine)
    try:
        yield mine
    except Interrupted as pause:
        mine.note(pause)
        if outer is not None:
            raise
        raise graph_interrupt(mine.pauses, mine.shown) from pause
    except Bubbled as bubbled:
        raise bubbled.bubble from None
    finally:
        _border.reset(token)
    if mine.pauses and outer is None:
        raise graph_interrupt(mine.pauses, mine.shown)


@contextmanager
def executing(task: str) -> Generator[None]:
    """Be inside a guarded tool: a pause in its body reaches the gate as it is, whatever the body catches."""
    token = _border.set(border_of(task) or _new(task))
    try:
        yield
    finally:
        _border.reset(token)


def cross(task: str, pause: Interrupted) -> NoReturn:
    """Raise a pause as far as the border of its task, or as LangGraph's own where there is none."""
    around = _border.get()
    if around is not None:
        around.note(pause)  # also that of a task around this one: what is caught in between counts there
    if border_of(task) is None:
        raise graph_interrupt([pause]) from pause
    raise pause


def graph_interrupt(pauses: Iterable[Interrupted], shown: Mapping[str, Interrupt] = NOTHING_ELSE) -> GraphInterrupt:
    """The pauses in LangGraph's own form; each keeps an id that stays the same while it is open."""
    found: dict[str, Interrupt] = {}
    for pause in pauses:
        for each in pause.interrupts or ("",):
            made = shown.get(each) or Interrupt(value=_shown(pause, each), id=interrupt_id(pause, each))
            found.setdefault(made.id, made)
    return GraphInterrupt(tuple(found.values()))


def is_ours(value: object) -> bool:
    """Whether the value of an interrupt was made by us."""
    if not isinstance(value, dict):
        return False
    known = cast("dict[str, Any]", value)
    return known.get("type") == KIND or known.get(GATE) == KIND


def interrupt_id(pause: Interrupted, card: str) -> str:
    """32 hexadecimal digits, as LangGraph's ids are: the card's own id, or made of what is waited for."""
    digits = card.replace("-", "").lower()
    if len(digits) == 32 and all(each in "0123456789abcdef" for each in digits):
        return digits
    return hashlib.sha256(f"{pause.run}|{card}|{pause}".encode()).hexdigest()[:32]


def _shown(pause: Interrupted, card: str) -> dict[str, Any]:
    return {
        "type": KIND,
        "message": str(pause),
        "run": pause.run,
        "interrupt": card or None,
        "digest": pause.digest,
        "url": pause.url,
        "how": "Decide it in Interlock; what is passed to Command(resume=...) decides nothing.",
    }
