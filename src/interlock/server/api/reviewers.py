"""What a person's program asks of the server: the desk, as far as it may leave the house."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from interlock.domain.decision import Receipt, Shown, Verdict
from interlock.domain.errors import DecisionError
from interlock.domain.interrupt import Band, Interrupt
from interlock.domain.run import Freeze, Process, Run, RunState, Work
from interlock.kernel.desk import ReviewDesk
from interlock.kernel.health import Health
from interlock.kernel.knew import Knew
from interlock.kernel.views import ActionView, CardView, RunView, card_to_send, to_send
from interlock.ports.store import Queue
from interlock.server.rules import decide_together, seen_whole
from interlock.wire.reviewers import Came, Item, Recorded, Saying

if TYPE_CHECKING:
    from interlock.kernel import Kernel
    from interlock.schema import Json

MOST = 500
"""Rows of one answer."""
RUNS = (Verdict.APPROVE, Verdict.MODIFY, Verdict.RUN_AGAIN)
_FOUND = {Verdict.FOUND_DONE: "done", Verdict.FOUND_FAILED: "failed", Verdict.RUN_AGAIN: "run_again"}


@dataclass(frozen=True, slots=True)
class ReviewerDoor:
    """`ReviewerApi` for the holder of a reviewer's credential; `end` ends that credential."""

    kernel: Kernel
    desk: ReviewDesk
    wait: Callable[[float], bool]
    end: Callable[[], bool]

    # -- looking --------------------------------------------------------------------------------------

    def inbox(
        self,
        limit: int = 50,
        after: str | None = None,
        band: Band | None = None,
        agent: str | None = None,
        tool: str | None = None,
    ) -> tuple[CardView, ...]:
        views = self.desk.open(_few(limit), after, Queue(band, agent, tool))
        return tuple(card_to_send(view) for view in views)

    def count(
        self, most: int = 1_000, band: Band | None = None, agent: str | None = None, tool: str | None = None
    ) -> int:
        return self.desk.count_open(Queue(band, agent, tool), max(1, min(most, 100_000)))

    def card(self, interrupt: str) -> CardView:
        return card_to_send(self.desk.find(interrupt))

    def knew(self, interrupt: str, most: int = 20) -> Knew:
        return self.desk.knew(interrupt, _few(most))

    def action(self, action: str) -> ActionView:
        return to_send(self.desk.action(action))

    def runs(self, states: tuple[RunState, ...] = (), limit: int = 50, after: str | None = None) -> tuple[Run, ...]:
        return self.desk.runs(states, _few(limit), after)

    def run(self, run: str) -> Run:
        return self.desk.run(run)

    def story(self, run: str) -> RunView:
        view = self.desk.story(run)
        return replace(view, actions=tuple(map(to_send, view.actions)))

    def freezes(self) -> tuple[Freeze, ...]:
        return self.desk.freezes()

    def events(self, run: str | None = None, limit: int = 100, after: str | None = None) -> tuple[Recorded, ...]:
        if after is not None and not (after.isascii() and after.isdecimal() and len(after) < 19):
            raise DecisionError("bad_decision", "after is a position, a whole number", "The answer before names it.")
        return tuple(Recorded(at, event) for at, event in self.desk.events(run, _few(limit), after))

    def processes(self) -> tuple[Process, ...]:
        return self.desk.processes()

    def health(self) -> Health:
        return self.desk.health()

    def blob(self, digest: str) -> bytes:
        return self.desk.blob(digest)

    def changes(self, wait: float = 0.0) -> bool:
        return self.wait(wait)

    # -- deciding -------------------------------------------------------------------------------------

    def decide(self, interrupt: str, saying: Saying) -> Receipt:
        view = self.desk.card(interrupt)
        desk, digest, note = self.desk, saying.digest, saying.note
        if saying.verdict in RUNS:
            seen_whole(self.kernel, desk, view, digest)
        opened = tuple(sorted(self.kernel.opened(view.card.id, desk.principal)))
        shown = replace(saying.shown, channel=f"http {saying.shown.channel}".rstrip()[:60], opened=opened)
        match saying.verdict:
            case Verdict.APPROVE:
                return desk.approve(interrupt, digest=digest, note=note, shown=shown)
            case Verdict.REJECT:
                return desk.reject(interrupt, digest=digest, note=note, shown=shown)
            case Verdict.REDIRECT:
                return desk.redirect(interrupt, digest=digest, note=note, shown=shown)
            case Verdict.MODIFY:
                if saying.arguments is None:
                    raise DecisionError("bad_edit", "modify needs arguments", "Name those that change.")
                return desk.modify(interrupt, digest=digest, arguments=saying.arguments, note=note, shown=shown)
            case Verdict.RESPOND:
                if not saying.has_result:
                    raise DecisionError("bad_result", "respond needs a result", "Send it with has_result.")
                return desk.respond(interrupt, digest=digest, result=saying.result, note=note, shown=shown)
            case found:
                given = {"result": saying.result} if saying.has_result and found is Verdict.FOUND_DONE else {}
                return desk.reconcile(interrupt, digest=digest, found=_FOUND[found], note=note, shown=shown, **given)

    def decide_together(self, verdict: Verdict, items: list[Item], note: str = "", batch: str = "") -> tuple[Came, ...]:
        if verdict not in (Verdict.APPROVE, Verdict.REJECT):
            raise DecisionError("bad_verdict", f"{verdict.value} is said to one card", "Use approve or reject.")
        if not 0 < len(items) <= 100 or len({item.interrupt for item in items}) < len(items):
            raise DecisionError("bad_decision", "items are 1 to 100 different cards", "Each with the digest it showed.")
        return decide_together(self.kernel, self.desk, verdict, items, note, Shown("http", batch=batch[:64]))

    def check(
        self, interrupt: str, arguments: dict[str, Json] | None = None, result: Json = None, has_result: bool = False
    ) -> bool:
        if arguments is not None:
            self.desk.check_edit(interrupt, cast("dict[str, object]", arguments))
        if has_result:
            self.desk.check_result(interrupt, result)
        return True

    def revoke(self, interrupt: str, digest: str, note: str = "") -> Interrupt:
        return self.desk.revoke(interrupt, digest=digest, note=note)

    def open_parts(self, interrupt: str, digest: str, parts: list[str]) -> tuple[str, ...]:
        card = self.desk.card(interrupt).card.id
        return tuple(sorted(self.kernel.open_parts(card, digest, parts, self.desk.principal)))

    def reveal(self, interrupt: str, digest: str, paths: list[str]) -> dict[str, Json]:
        return cast("dict[str, Json]", self.desk.reveal(interrupt, digest=digest, path=paths))

    def rollback(self, action: str) -> Work:
        return self.desk.rollback(action)

    def retry(self, run: str, accept_divergence: bool = False) -> Run:
        return self.desk.retry(run, accept_divergence=accept_divergence)

    def cancel(self, run: str, reason: str = "") -> bool:
        self.desk.cancel(run, reason)
        return True

    def freeze(self, scope: str = "all", name: str = "", reason: str = "") -> Freeze:
        return self.desk.freeze(scope, name, reason)

    def release(self, scope: str = "all", name: str = "") -> bool:
        self.desk.release(scope, name)
        return True

    def sign_out(self) -> bool:
        return self.end()


def _few(limit: int) -> int:
    if not 0 < limit <= MOST:
        raise DecisionError("bad_decision", f"limit is 1 to {MOST}, not {limit}", "Ask for a page at a time.")
    return limit
