"""`ReviewDesk` over HTTP: decisions by the person whose key it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from interlock.canonical import Json
from interlock.client.transport import Transport
from interlock.domain.decision import Receipt, Shown, Verdict
from interlock.domain.errors import DecisionError
from interlock.domain.events import Event
from interlock.domain.interrupt import Interrupt
from interlock.domain.run import Freeze, Process, Run, RunState, Work
from interlock.kernel.desk import FOUND, well_formed
from interlock.kernel.health import Health
from interlock.kernel.knew import Knew
from interlock.kernel.views import ActionView, CardView, RunView
from interlock.ports.store import EVERYTHING, Queue
from interlock.wire.operations import REVIEWERS
from interlock.wire.reviewers import Came, Item, Recorded, Saying

_OPERATIONS = {each.name: each for each in REVIEWERS}
PAGE = 500


class RemoteDesk:
    """The desk of a server: the methods of `ReviewDesk`, with the same errors.

    What has to be opened before it may run has to be opened here, too (`open_parts`), before an approval counts.
    """

    def __init__(self, transport: Transport, channel: str = "api", guard: Callable[[], None] = lambda: None) -> None:
        self._transport = transport
        self._channel = channel
        self._guard = guard

    def _ask(self, operation: str, **given: Any) -> Any:
        return self._transport.call(_OPERATIONS[operation], **given)

    # -- looking --------------------------------------------------------------------------------------

    def open(self, limit: int = 50, after: str | None = None, queue: Queue = EVERYTHING) -> tuple[CardView, ...]:
        """A page of open cards for a list: the riskiest band first, in each the oldest."""
        given = {"band": queue.band, "agent": queue.agent, "tool": queue.tool}
        return cast("tuple[CardView, ...]", self._ask("inbox", limit=limit, after=after, **given))

    def count_open(self, queue: Queue = EVERYTHING, most: int = 1_000) -> int:
        """How many cards wait; counts no further than `most`."""
        return cast("int", self._ask("count", most=most, band=queue.band, agent=queue.agent, tool=queue.tool))

    def card(self, interrupt: str) -> CardView:
        """A card with its context, open or not."""
        well_formed(id=interrupt)
        return cast("CardView", self._ask("card", interrupt=interrupt))

    def find(self, wanted: str) -> CardView:
        """A card by its id or fingerprint."""
        return self.card(wanted)

    def knew(self, interrupt: str, most: int = 20) -> Knew:
        """What the agent knew: the last messages of the conversation in which it made the call."""
        return cast("Knew", self._ask("knew", interrupt=interrupt, most=most))

    def action(self, action: str) -> ActionView:
        """An action with its revisions, cards and decisions."""
        return cast("ActionView", self._ask("action", action=action))

    def blob(self, digest: str) -> bytes:
        """A value that is kept apart from its document because of its size."""
        return cast("bytes", self._ask("blob", digest=digest))

    def reveal(self, interrupt: str, *, digest: str, path: str | Sequence[str]) -> dict[str, object]:
        """What the card hides at a path, or at several; who looked is on record first."""
        paths = [path] if isinstance(path, str) else list(path)
        return cast("dict[str, object]", self._ask("reveal", interrupt=interrupt, digest=digest, paths=paths))

    def open_parts(self, interrupt: str, *, digest: str, parts: Sequence[str]) -> frozenset[str]:
        """Note that folded parts of a card were opened; answers all that this person has opened of it."""
        return frozenset(self._ask("open_parts", interrupt=interrupt, digest=digest, parts=list(parts)))

    def runs(self, states: Sequence[RunState] = (), limit: int = 50, after: str | None = None) -> tuple[Run, ...]:
        """Runs, newest first."""
        return cast("tuple[Run, ...]", self._ask("runs", states=tuple(states), limit=limit, after=after))

    def run(self, run: str) -> Run:
        """A run as it stands, without its story."""
        return cast("Run", self._ask("run", run=run))

    def story(self, run: str) -> RunView:
        """A run with everything that happened in it."""
        return cast("RunView", self._ask("story", run=run))

    def events(
        self, run: str | None = None, limit: int = 100, after: str | None = None
    ) -> tuple[tuple[int, Event], ...]:
        """Events in commit order, with their positions."""
        found = cast("tuple[Recorded, ...]", self._ask("events", run=run, limit=limit, after=after))
        return tuple((each.position, each.event) for each in found)

    def ledger(self, run: str | None = None, after: str | None = None) -> Iterator[tuple[int, Event]]:
        """Every event (of a run) behind the position `after`, the oldest first; read page by page."""
        while page := self.events(run, PAGE, after):
            yield from page
            after = str(page[-1][0])

    def processes(self) -> tuple[Process, ...]:
        """Executor processes that live."""
        return cast("tuple[Process, ...]", self._ask("processes"))

    def health(self) -> Health:
        """The state of the store as a whole."""
        return cast("Health", self._ask("health"))

    # -- deciding -------------------------------------------------------------------------------------

    def approve(self, interrupt: str, *, digest: str, note: str = "", shown: Shown | None = None) -> Receipt:
        """Let exactly this revision run, once."""
        return self._decide(interrupt, Verdict.APPROVE, digest, note, shown)

    def reject(self, interrupt: str, *, digest: str, note: str = "", shown: Shown | None = None) -> Receipt:
        """Do not run it. The note reaches the agent."""
        return self._decide(interrupt, Verdict.REJECT, digest, note, shown)

    def redirect(self, interrupt: str, *, digest: str, note: str, shown: Shown | None = None) -> Receipt:
        """Not this; plan again, knowing this."""
        return self._decide(interrupt, Verdict.REDIRECT, digest, note, shown)

    def modify(
        self,
        interrupt: str,
        *,
        digest: str,
        arguments: Mapping[str, object],
        note: str = "",
        shown: Shown | None = None,
    ) -> Receipt:
        """Run it with these arguments instead: plain JSON values by name."""
        return self._decide(interrupt, Verdict.MODIFY, digest, note, shown, arguments=_plain(arguments))

    def respond(
        self, interrupt: str, *, digest: str, result: object, note: str = "", shown: Shown | None = None
    ) -> Receipt:
        """Give the result yourself; the tool does not run."""
        return self._decide(interrupt, Verdict.RESPOND, digest, note, shown, result=result)

    def reconcile(
        self,
        interrupt: str,
        *,
        digest: str,
        found: str,
        result: object = ...,
        note: str = "",
        shown: Shown | None = None,
    ) -> Receipt:
        """Say what happened to an action in doubt: `done`, `failed` or `run_again`."""
        well_formed(found=found)
        verdict = FOUND.get(found.replace("-", "_"))
        if verdict is None:
            raise DecisionError("bad_verdict", f"{found!r} is no finding", f"Use {', '.join(FOUND)}.")
        return self._decide(interrupt, verdict, digest, note, shown, result=result)

    def decide_together(
        self, verdict: str, items: Sequence[tuple[str, str]], *, note: str = "", batch: str = ""
    ) -> tuple[Came, ...]:
        """Decide several cards of a kind (id and digest of each); every one has its own result."""
        named = [Item(card, digest) for card, digest in items]
        return cast(
            "tuple[Came, ...]",
            self._act("decide_together", verdict=Verdict(verdict), items=named, note=note, batch=batch),
        )

    def check_edit(self, interrupt: str, arguments: Mapping[str, object]) -> None:
        """Raise what `modify` would raise for these arguments; decides nothing."""
        self._act("check", interrupt=interrupt, arguments=_plain(arguments))

    def check_result(self, interrupt: str, result: object) -> None:
        """Raise what `respond` would raise for this result; decides nothing."""
        self._act("check", interrupt=interrupt, result=cast("Json", result), has_result=True)

    def revoke(self, interrupt: str, *, digest: str, note: str = "") -> Interrupt:
        """Take an approval back, until it is claimed; answers the new card."""
        well_formed(id=interrupt, digest=digest, note=note)
        return cast("Interrupt", self._act("revoke", interrupt=interrupt, digest=digest, note=note))

    def _decide(
        self,
        interrupt: str,
        verdict: Verdict,
        digest: str,
        note: str,
        shown: Shown | None,
        *,
        arguments: dict[str, Json] | None = None,
        result: object = ...,
    ) -> Receipt:
        well_formed(id=interrupt, digest=digest, note=note)
        if shown is not None and not isinstance(cast("object", shown), Shown):
            raise DecisionError("bad_decision", f"shown must be a Shown, not {type(shown).__name__}")
        has, value = result is not ..., None if result is ... else cast("Json", result)
        said = Saying(verdict, digest, note, arguments, value, has, shown or Shown(channel=self._channel))
        return cast("Receipt", self._act("decide", interrupt=interrupt, saying=said))

    def _act(self, operation: str, **given: Any) -> Any:
        self._guard()
        return self._ask(operation, **given)

    # -- runs, stops, undoing -------------------------------------------------------------------------

    def retry(self, run: str, *, accept_divergence: bool = False) -> Run:
        """Make a stopped run due again, from what is recorded."""
        return cast("Run", self._act("retry", run=run, accept_divergence=accept_divergence))

    def cancel(self, run: str, reason: str = "") -> None:
        """Withdraw everything of the run that is not claimed yet, and end it."""
        self._act("cancel", run=run, reason=reason)

    def freeze(self, scope: str = "all", name: str = "", reason: str = "") -> Freeze:
        """Stop everything, or one `agent`, `tool` or `run`, before its next claim."""
        return cast("Freeze", self._act("freeze", scope=scope, name=name, reason=reason))

    def release(self, scope: str = "all", name: str = "") -> None:
        """Lift a freeze."""
        self._act("release", scope=scope, name=name)

    def freezes(self) -> tuple[Freeze, ...]:
        """The freezes in force."""
        return cast("tuple[Freeze, ...]", self._ask("freezes"))

    def rollback(self, action: str) -> Work:
        """Ask the workers to undo an action that is done."""
        return cast("Work", self._act("rollback", action=action))

    def wait_for_change(self, timeout: float) -> bool:
        """Block until something may have changed, at most `timeout` seconds."""
        return bool(self._ask("changes", wait=timeout))

    def close(self) -> None:
        """End the connection."""
        self._transport.close()

    def __enter__(self) -> RemoteDesk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _plain(arguments: Mapping[str, object]) -> dict[str, Json]:
    if not isinstance(cast("object", arguments), Mapping) or not all(
        type(cast("object", name)) is str for name in arguments
    ):
        raise DecisionError("bad_edit", "arguments must be an object of names and values")
    return cast("dict[str, Json]", dict(arguments))
