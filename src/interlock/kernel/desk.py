"""The desk: where people decide. Another object than the agent's, opened with a credential of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from interlock.canonical import Json, parse_fingerprint
from interlock.domain.decision import Receipt, Shown, Verdict
from interlock.domain.errors import DecisionError, RunError
from interlock.domain.events import Event
from interlock.domain.ids import ActionId, Digest, InterruptId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.reviewers import Principal
from interlock.domain.run import Freeze, Process, Run, RunState, Work
from interlock.kernel.explaining import explain_recorded
from interlock.kernel.health import Health
from interlock.kernel.kernel import Kernel
from interlock.kernel.knew import Knew
from interlock.kernel.shown import keep_hidden
from interlock.kernel.views import ActionView, CardView, RunView
from interlock.policy import Explanation, PolicySet
from interlock.ports.store import EVERYTHING, Queue
from interlock.schema import SchemaError, fill, plain_to_tree, revise, tree_to_plain
from interlock.schema.errors import short_repr

FOUND = {"done": Verdict.FOUND_DONE, "failed": Verdict.FOUND_FAILED, "run_again": Verdict.RUN_AGAIN}


class ReviewDesk:
    """Decisions by one authenticated person. Every decision names a card and the digest it showed.

    All methods block until the decision is durable. They raise `DecisionError` where a decision does
    not count; nothing has changed then, and the error says who was first, and when. `guard` is called
    before anything is changed and raises where nobody may decide (inside a run, say).
    """

    def __init__(
        self, kernel: Kernel, principal: Principal, channel: str = "api", guard: Callable[[], None] = lambda: None
    ) -> None:
        self._kernel = kernel
        self._principal = principal
        self._channel = channel
        self._guard = guard

    @property
    def principal(self) -> Principal:
        """Who decides here."""
        return self._principal

    # -- looking --------------------------------------------------------------------------------

    def open(self, limit: int = 50, after: str | None = None, queue: Queue = EVERYTHING) -> tuple[CardView, ...]:
        """A page of open cards for a list: the riskiest band first, in each the oldest.

        `after` is the id of the last card of the page before. What a card went through before, and the other cards of
        its run, `card` tells.
        """
        return self._kernel.inbox(limit, after, queue)

    def count_open(self, queue: Queue = EVERYTHING, most: int = 1_000) -> int:
        """How many cards wait; counts no further than `most`."""
        return self._kernel.count_open(queue, most)

    def knew(self, interrupt: str, most: int = 20) -> Knew:
        """What the agent knew: the last messages of the conversation in which it made the call."""
        well_formed(id=interrupt)
        return self._kernel.knew(InterruptId(interrupt), most)

    def card(self, interrupt: str) -> CardView:
        """A card with its context, open or not."""
        well_formed(id=interrupt)
        view = self._kernel.card(InterruptId(interrupt))
        if view is None:
            raise DecisionError(
                "unknown_interrupt", f"there is no card {interrupt}", "List the open ones: interlock inbox"
            )
        return view

    def find(self, wanted: str) -> CardView:
        """A card by its id or fingerprint: an open one first, else the latest of the newest runs.

        Raises where there is none, or more than one is open.
        """
        well_formed(id=wanted)
        short = parse_fingerprint(wanted)
        if short is None:
            return self.card(wanted)
        found = self._kernel.by_fingerprint(short)
        if len(found) > 1:
            raise DecisionError(
                "ambiguous", f"{len(found)} open cards have the fingerprint {short}", "Name one of them by its id."
            )
        card = found[0] if found else self._kernel.closed_by_fingerprint(short)
        if card is None:
            raise DecisionError(
                "unknown_interrupt", f"no card has the fingerprint {short}", "List the open ones: interlock inbox"
            )
        return self.card(card.id)

    def action(self, action: str) -> ActionView:
        """An action with its revisions, cards and decisions."""
        view = self._kernel.action(ActionId(action))
        if view is None:
            raise DecisionError(
                "unknown_action", f"there is no action {action}", "A run's story names them: interlock show RUN"
            )
        return view

    def explain(self, action: str, policy: PolicySet | None = None) -> Explanation:
        """How a policy rules on a recorded action; by default the one that it was ruled under."""
        return explain_recorded(self._kernel, self.action(action), policy)

    def blob(self, digest: str) -> bytes:
        """A value that is kept apart from its document because of its size; raises `CallError` where it is missing."""
        return self._kernel.blob(digest)

    def reveal(self, interrupt: str, *, digest: str, path: str | Sequence[str]) -> dict[str, object]:
        """What the card hides at a path such as `args.card_number`, or at several; by path, as plain JSON values.

        Who looked, when and at what is on record before this answers. Works on open and closed cards.
        """
        paths = (path,) if isinstance(path, str) else tuple(path)
        self._check(id=interrupt, digest=digest, **{f"path {number}": each for number, each in enumerate(paths, 1)})
        if not paths or not all(paths):
            raise DecisionError("bad_decision", "a reveal names at least one field", "For example args.card_number.")
        fields = tuple(dict.fromkeys(each.removeprefix("args.") for each in paths))
        asked = self._kernel.reveal(InterruptId(interrupt), Digest(digest), fields, self._principal, self._channel)
        return {name: tree_to_plain(fill(tree, self.blob)) for name, tree in asked.result().items()}

    def runs(self, states: Sequence[RunState] = (), limit: int = 50, after: str | None = None) -> tuple[Run, ...]:
        """Runs, newest first."""
        return self._kernel.runs(states, limit, after)

    def run(self, run: str) -> Run:
        """A run as it stands, without its story."""
        well_formed(run=run)
        row = self._kernel.run(RunId(run))
        if row is None:
            raise RunError("unknown_run", f"there is no run {run}", "List them: interlock runs")
        return row

    def story(self, run: str) -> RunView:
        """A run with everything that happened in it."""
        view = self._kernel.story(RunId(run))
        if view is None:
            raise RunError("unknown_run", f"there is no run {run}", "List them: interlock runs")
        return view

    def events(
        self, run: str | None = None, limit: int = 100, after: str | None = None
    ) -> tuple[tuple[int, Event], ...]:
        """Events in commit order, with their positions."""
        return self._kernel.events(RunId(run) if run is not None else None, limit, after)

    def ledger(self, run: str | None = None, after: str | None = None) -> Iterator[tuple[int, Event]]:
        """Every event (of a run) behind the position `after`, the oldest first; pages are read as they are needed."""
        return self._kernel.events_forwards(RunId(run) if run is not None else None, after)

    def ledger_backwards(self) -> Iterator[tuple[int, Event]]:
        """Every event, the newest first; pages are read as they are needed."""
        return self._kernel.events_backwards()

    def envelope(self, event: Event) -> bytes:
        """An event exactly as it is recorded: one line of canonical JSON, without its end."""
        return self._kernel.leaf(event)

    def processes(self) -> tuple[Process, ...]:
        """Executor processes that live, as far as can be told from here. Agents and workers alike."""
        return self._kernel.processes()

    def left_behind(self) -> tuple[int, int, int]:
        """How many processes are gone that still hold something; the actions and runs that they hold.

        It is taken from them when a worker or an agent looks; what they were executing is in doubt then.
        """
        return self._kernel.left_behind()

    def health(self) -> Health:
        """The state of the store as a whole. Proves by an empty unit that it can be written, too."""
        return self._kernel.health()

    # -- deciding -------------------------------------------------------------------------------

    def approve(self, interrupt: str, *, digest: str, note: str = "", shown: Shown | None = None) -> Receipt:
        """Let exactly this revision run, once."""
        return self._decide(interrupt, digest, Verdict.APPROVE, note, shown)

    def reject(self, interrupt: str, *, digest: str, note: str = "", shown: Shown | None = None) -> Receipt:
        """Do not run it. The note reaches the agent, and the same effect is refused for the rest of the run."""
        return self._decide(interrupt, digest, Verdict.REJECT, note, shown)

    def redirect(self, interrupt: str, *, digest: str, note: str, shown: Shown | None = None) -> Receipt:
        """Not this; plan again, knowing this."""
        self._check(id=interrupt, digest=digest, note=note)
        if not note.strip():
            raise DecisionError("note_missing", "a redirection needs words for the agent", "Say what it should know.")
        return self._decide(interrupt, digest, Verdict.REDIRECT, note, shown)

    def modify(
        self,
        interrupt: str,
        *,
        digest: str,
        arguments: Mapping[str, object],
        note: str = "",
        shown: Shown | None = None,
    ) -> Receipt:
        """Run it with these arguments instead: plain JSON values by name, the others stay as they are."""
        self._check(id=interrupt, digest=digest, note=note)
        tree = self._edited(interrupt, arguments)
        return self._decide(interrupt, digest, Verdict.MODIFY, note, shown, self._kernel.put_blobs(tree))

    def respond(
        self, interrupt: str, *, digest: str, result: object, note: str = "", shown: Shown | None = None
    ) -> Receipt:
        """Give the result yourself; the tool does not run. `result` is a plain JSON value of the declared type."""
        return self._decide(interrupt, digest, Verdict.RESPOND, note, shown, self._result(interrupt, result))

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
        """Say what happened to an action in doubt: `done` (with its result, if known), `failed` or `run_again`."""
        self._check(id=interrupt, digest=digest, note=note, found=found)
        verdict = FOUND.get(found.replace("-", "_"))
        if verdict is None:
            raise DecisionError("bad_verdict", f"{found!r} is no finding", f"Use {', '.join(FOUND)}.")
        if verdict is not Verdict.FOUND_DONE:
            words: Json = {"type": "reconciled", "message": note or "a reviewer found that it did not happen"}
            return self._decide(
                interrupt, digest, verdict, note, shown, words if verdict is Verdict.FOUND_FAILED else ...
            )
        if result is not ...:
            return self._decide(interrupt, digest, verdict, note, shown, self._result(interrupt, result))
        unknown: Json = {"$t": "opaque", "v": ["reconciled", "it happened, says a reviewer, without its result", ""]}
        return self._decide(interrupt, digest, verdict, note, shown, unknown, stored=False)

    def check_edit(self, interrupt: str, arguments: Mapping[str, object]) -> None:
        """Raise what `modify` would raise for these arguments; decides nothing."""
        self._check(id=interrupt)
        self._edited(interrupt, arguments)

    def check_result(self, interrupt: str, result: object) -> None:
        """Raise what `respond` would raise for this result; decides nothing."""
        self._check(id=interrupt)
        self._given(interrupt, result)

    def revoke(self, interrupt: str, *, digest: str, note: str = "") -> Interrupt:
        """Take an approval back, until it is claimed; answers the new card."""
        self._check(id=interrupt, digest=digest, note=note)
        return self._kernel.revoke(InterruptId(interrupt), Digest(digest), self._principal, note).result()

    def _check(self, **given: object) -> None:
        self._guard()
        well_formed(**given)

    def _edited(self, interrupt: str, arguments: Mapping[str, object]) -> Json:
        if not isinstance(cast("object", arguments), Mapping) or not all(
            type(cast("object", name)) is str for name in arguments
        ):
            raise DecisionError("bad_edit", "arguments must be an object of names and values")
        view = self.card(interrupt)
        try:
            current = view.about.current
            changes = keep_hidden(arguments, current.arguments, current.exact)
            return revise(view.about.tool.schema, view.about.tool.shape, current.exact, changes)
        except SchemaError as error:
            raise DecisionError(
                "bad_edit", f"{error.path}: {error.reason}", "Nothing was decided; correct it and send it again."
            ) from error

    def _result(self, interrupt: str, result: object) -> Json:
        return self._kernel.put_blobs(self._given(interrupt, result))

    def _given(self, interrupt: str, result: object) -> Json:
        shape = self.card(interrupt).about.tool.shape.get("result", "any")
        try:
            return plain_to_tree(cast("Json", shape), result, "result")
        except SchemaError as error:
            raise DecisionError(
                "bad_result",
                f"{error.path}: {error.reason}; given was {short_repr(result, 80)}",
                "Nothing was decided; give a value of the declared type.",
            ) from error

    def _decide(
        self,
        interrupt: str,
        digest: str,
        verdict: Verdict,
        note: str,
        shown: Shown | None,
        value: object = ...,
        stored: bool = True,
    ) -> Receipt:
        self._check(id=interrupt, digest=digest, note=note)
        if shown is not None and not isinstance(cast("object", shown), Shown):
            raise DecisionError("bad_decision", f"shown must be a Shown, not {type(shown).__name__}")
        return self._kernel.decide(
            InterruptId(interrupt),
            Digest(digest),
            verdict,
            self._principal,
            note=note,
            value=None if value is ... else cast("Json", value),
            has_value=value is not ...,
            stored=stored,
            shown=shown or Shown(channel=self._channel),
        ).result()

    # -- runs, stops, undoing -------------------------------------------------------------------

    def retry(self, run: str, *, accept_divergence: bool = False) -> Run:
        """Make a stopped run due again, from what is recorded."""
        self._check(run=run)
        if not isinstance(cast("object", accept_divergence), bool):
            raise DecisionError("bad_decision", "accept_divergence must be True or False")
        return self._kernel.retry(RunId(run), str(self._principal), accept_divergence=accept_divergence).result()

    def cancel(self, run: str, reason: str = "") -> None:
        """Withdraw everything of the run that is not claimed yet, and end it."""
        self._check(run=run, reason=reason)
        self._kernel.cancel(RunId(run), str(self._principal), reason).result()

    def freeze(self, scope: str = "all", name: str = "", reason: str = "") -> Freeze:
        """Stop everything, or one `agent`, `tool` or `run`, before its next claim."""
        self._check(scope=scope, name=name, reason=reason)
        return self._kernel.freeze(scope, name, self._principal, reason).result()

    def release(self, scope: str = "all", name: str = "") -> None:
        """Lift a freeze."""
        self._check(scope=scope, name=name)
        self._kernel.release(scope, name, self._principal).result()

    def freezes(self) -> tuple[Freeze, ...]:
        """The freezes in force."""
        return self._kernel.freezes()

    def rollback(self, action: str) -> Work:
        """Ask the workers to undo an action that is done."""
        self._check(action=action)
        return self._kernel.ask_rollback(ActionId(action), self._principal).result()

    def wait_for_change(self, timeout: float) -> bool:
        """Block until something may have changed, at most `timeout` seconds."""
        return self._kernel.wait_for_change(timeout)


def well_formed(**given: object) -> None:
    """Refuse what is no well-formed text, naming the field: only an explicit decision counts."""
    for name, value in given.items():
        if not isinstance(value, str):
            raise DecisionError(
                "bad_decision",
                f"{name} must be text, not {type(value).__name__}",
                "Only an explicit, well-formed decision counts.",
            )
        if not value.isascii() and value != value.encode("utf-8", "replace").decode():
            raise DecisionError(
                "bad_decision",
                f"{name} holds characters that no text can keep (lone surrogates)",
                "Send it again as plain text.",
            )
