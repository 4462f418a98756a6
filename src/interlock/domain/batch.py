"""Which cards may be decided together: alike, harmless enough, and none that stands out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from interlock.canonical import Json
from interlock.domain.interrupt import Band, InterruptKind

MOST = 25
"""Rows that a person can still look at one by one."""
FEWEST_TO_COMPARE = 4
"""With fewer numbers none of them stands out."""
FAR = 3
"""A number this many times the median, or its part, stands out."""

BANDS = (Band.COSTLY, Band.PROCEEDS, Band.OTHER)
"""Nothing irreversible, nothing in doubt and no question is decided by the dozen."""

NOVEL = frozenset({"suspected_duplicate", "check_holds", "check_failed", "check_late", "tool_changed"})
"""Reasons that make a card one of its own kind."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A card as far as a batch is concerned. `again` says that it was asked before, `closed` that part is folded."""

    id: str
    kind: InterruptKind
    band: Band
    tool: str
    policy: str
    reasons: frozenset[str]
    arguments: Mapping[str, Json]
    again: bool = False
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Cards sorted: those that may be decided together, and why each other one may not."""

    together: tuple[Candidate, ...]
    apart: tuple[tuple[Candidate, str], ...]

    @property
    def varying(self) -> tuple[str, ...]:
        """Names of the arguments in which they differ, in the order of the first card."""
        return tuple(
            name for name in self._names() if len({repr(one.arguments.get(name)) for one in self.together}) > 1
        )

    @property
    def constant(self) -> tuple[str, ...]:
        """Names of the arguments that are the same in all of them."""
        return tuple(name for name in self._names() if name not in self.varying)

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for one in self.together for name in one.arguments))


def batch(candidates: Sequence[Candidate]) -> Batch:
    """Sort cards by whether they may be decided with the first one that may be decided with others at all."""
    first = next((one for one in candidates if not _alone(one)), None)
    fit: list[Candidate] = []
    apart: list[tuple[Candidate, str]] = []
    for one in candidates:
        why = _alone(one) or (_unlike(one, first) if first is not None else "")
        if not why and len(fit) == MOST:
            why = f"a batch has at most {MOST} cards"
        if why:
            apart.append((one, why))
        else:
            fit.append(one)
    odd = _outliers(fit)
    apart += [(one, odd[one.id]) for one in fit if one.id in odd]
    return Batch(tuple(one for one in fit if one.id not in odd), tuple(apart))


def _alone(one: Candidate) -> str:
    """Why a card is decided by itself whatever stands beside it, or ""."""
    if one.kind is not InterruptKind.ACTION or one.band not in BANDS:
        return "what cannot be undone, what is in doubt and questions are decided one by one"
    if one.again:
        return "it was asked before"
    if one.reasons & NOVEL:
        return "something about it is new"
    if one.closed:
        return "part of it is folded; open it on its card"
    return ""


def _unlike(one: Candidate, first: Candidate) -> str:
    if one.tool != first.tool:
        return "it is another tool"
    if one.policy != first.policy:
        return "it was ruled by another version of the policy"
    return ""


def _outliers(candidates: Sequence[Candidate]) -> dict[str, str]:
    """Cards with a number far from the others', by id, and which argument it is."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(name for one in candidates for name in one.arguments):
        numbers = {one.id: number for one in candidates if (number := _number(one.arguments.get(name))) is not None}
        if len(numbers) < FEWEST_TO_COMPARE:
            continue
        middle = median(abs(number) for number in numbers.values())
        for id_, number in numbers.items():
            if middle and not middle / FAR <= abs(number) <= middle * FAR:
                found.setdefault(id_, f"its {name.replace('_', ' ')} is far from the others'")
    return found


def _number(tree: Json) -> Decimal | None:
    if isinstance(tree, bool):
        return None
    if isinstance(tree, dict):
        tree = tree.get("v") if tree.get("$t") in ("decimal", "float", "int") else None
    if not isinstance(tree, (int, str)):
        return None
    if isinstance(tree, str) and not tree.lstrip("-").replace(".", "", 1).isdecimal():
        return None
    return Decimal(tree)
