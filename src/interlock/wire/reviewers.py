"""What people may ask of a server, through programs of theirs. Views hold what may be seen; a reveal gives more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from interlock.canonical import Json
from interlock.domain.decision import Receipt, Shown, Verdict
from interlock.domain.events import Event
from interlock.domain.interrupt import Band, Interrupt
from interlock.domain.run import Freeze, Process, Run, RunState, Work
from interlock.kernel.health import Health
from interlock.kernel.knew import Knew
from interlock.kernel.views import ActionView, CardView, RunView


@dataclass(frozen=True, slots=True)
class Saying:
    """A decision: `arguments` (plain JSON by name) belong to `modify`, `result` to `respond` and `found_done`."""

    verdict: Verdict
    digest: str
    note: str = ""
    arguments: dict[str, Json] | None = None
    result: Json = None
    has_result: bool = False
    shown: Shown = field(default_factory=Shown)


@dataclass(frozen=True, slots=True)
class Item:
    """A card in a batch, with the digest that was seen."""

    interrupt: str
    digest: str


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one card of a batch: a receipt, or the code and words of why not."""

    interrupt: str
    receipt: Receipt | None = None
    code: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event with its position in the order of the commits."""

    position: int
    event: Event


class ReviewerApi(Protocol):
    """`ReviewDesk` as a server offers it."""

    def inbox(
        self,
        limit: int = 50,
        after: str | None = None,
        band: Band | None = None,
        agent: str | None = None,
        tool: str | None = None,
    ) -> tuple[CardView, ...]: ...
    def count(
        self, most: int = 1_000, band: Band | None = None, agent: str | None = None, tool: str | None = None
    ) -> int: ...
    def card(self, interrupt: str) -> CardView: ...
    def knew(self, interrupt: str, most: int = 20) -> Knew: ...
    def decide(self, interrupt: str, saying: Saying) -> Receipt: ...
    def decide_together(
        self, verdict: Verdict, items: list[Item], note: str = "", batch: str = ""
    ) -> tuple[Came, ...]: ...
    def check(
        self, interrupt: str, arguments: dict[str, Json] | None = None, result: Json = None, has_result: bool = False
    ) -> bool: ...
    def revoke(self, interrupt: str, digest: str, note: str = "") -> Interrupt: ...
    def open_parts(self, interrupt: str, digest: str, parts: list[str]) -> tuple[str, ...]: ...
    def reveal(self, interrupt: str, digest: str, paths: list[str]) -> dict[str, Json]: ...
    def action(self, action: str) -> ActionView: ...
    def rollback(self, action: str) -> Work: ...
    def runs(self, states: tuple[RunState, ...] = (), limit: int = 50, after: str | None = None) -> tuple[Run, ...]: ...
    def run(self, run: str) -> Run: ...
    def story(self, run: str) -> RunView: ...
    def retry(self, run: str, accept_divergence: bool = False) -> Run: ...
    def cancel(self, run: str, reason: str = "") -> bool: ...
    def freezes(self) -> tuple[Freeze, ...]: ...
    def freeze(self, scope: str = "all", name: str = "", reason: str = "") -> Freeze: ...
    def release(self, scope: str = "all", name: str = "") -> bool: ...
    def events(self, run: str | None = None, limit: int = 100, after: str | None = None) -> tuple[Recorded, ...]: ...
    def processes(self) -> tuple[Process, ...]: ...
    def health(self) -> Health: ...
    def blob(self, digest: str) -> bytes: ...
    def changes(self, wait: float = 0.0) -> bool: ...
    def sign_out(self) -> bool: ...
