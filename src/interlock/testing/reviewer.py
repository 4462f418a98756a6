"""A reviewer that decides by script, in the process of the tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from interlock.adapters.guard.frames import current
from interlock.domain.decision import Receipt
from interlock.domain.errors import DecisionError, SettingsError
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.kernel import CardView
from interlock.kernel.desk import ReviewDesk
from interlock.schema import codec_for, encode_result, tree_to_plain
from interlock.testing.matching import call, matches, recorded_call

if TYPE_CHECKING:
    from interlock.compose import Interlock


@dataclass(frozen=True, slots=True)
class Answer:
    """What the reviewer says to one card: a verdict, and what goes with it."""

    verdict: str
    note: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    result: object = None
    has_result: bool = False


Said = Answer | str | None
Script = Mapping[str, Said | Callable[[CardView], Said]]


def approve(note: str = "") -> Answer:
    """Let it run."""
    return Answer("approve", note)


def reject(note: str = "") -> Answer:
    """Do not let it run."""
    return Answer("reject", note)


def redirect(note: str) -> Answer:
    """Do not let it run, and say what to do instead."""
    return Answer("redirect", note)


def modify(note: str = "", **arguments: object) -> Answer:
    """Let it run with these arguments instead; the others stay."""
    return Answer("modify", note, arguments)


def respond(result: object, note: str = "") -> Answer:
    """Give the result; the tool does not run."""
    return Answer("respond", note, result=result, has_result=True)


def found_done(*result: object, note: str = "") -> Answer:
    """Say of an action in doubt that it happened, with its result if that is known."""
    return Answer("done", note, result=result[0] if result else None, has_result=bool(result))


def found_failed(note: str = "") -> Answer:
    """Say of an action in doubt that it did not happen."""
    return Answer("failed", note)


def run_again(note: str = "") -> Answer:
    """Say of an action in doubt that it may run again."""
    return Answer("run_again", note)


class ScriptedReviewer:
    """Decides the open cards of an `Interlock` in this process, with a principal of its own.

    `script` maps a tool's name (or `"*"` for all others) to what is said of its cards: `"approve"`,
    `"reject"`, an `Answer` (`reject("why")`, `modify(to="bob")`, …), None to leave the card open, or
    a function of the `CardView` that answers one of these. A card that the script does not name
    stays open. `seen` holds every card that was looked at, `receipts` what the decisions came to.
    """

    def __init__(self, il: Interlock, script: Script | None = None, *, name: str = "ana") -> None:
        self.principal = Principal(PrincipalKind.REVIEWER, name, authn="test")
        self.desk = ReviewDesk(il.kernel, self.principal, channel="test", guard=_not_in_a_run)
        self.script: dict[str, Said | Callable[[CardView], Said]] = dict(script or {})
        self.seen: list[CardView] = []
        self.receipts: list[Receipt] = []

    def open(self) -> tuple[CardView, ...]:
        """Every open card, oldest first."""
        found: list[CardView] = []
        while page := self.desk.open(100, found[-1].card.id if found else None):
            found.extend(page)
        return tuple(found)

    def decide_all(self) -> list[Receipt]:
        """Go once through the open cards and decide what the script decides; answers the receipts."""
        decided: list[Receipt] = []
        for view in self.open():
            said = self.script.get(view.about.action.tool, self.script.get("*"))
            receipt = self._see(view, said(view) if callable(said) else said)
            if receipt is not None:
                decided.append(receipt)
        return decided

    def decide(self, said: Said, tool: str | None = None, **arguments: object) -> Receipt:
        """Decide the one open card (of `tool`, with these arguments).

        Raises `DecisionError` where there is none, or more than one; it lists the open ones.
        """
        __tracebackhide__ = True
        there = self.open()
        found = [
            view
            for view in there
            if tool in (None, view.about.action.tool) and matches(view.about.current.arguments, arguments)
        ]
        if len(found) != 1:
            wanted = f" of {call(tool or 'any tool', arguments) if arguments else tool}" if tool or arguments else ""
            cards = ", ".join(recorded_call(each.about.action.tool, each.about.current.arguments) for each in there)
            raise DecisionError(
                "unknown_interrupt",
                f"{'no card' if not found else f'{len(found)} cards'}{wanted} {'is' if not found else 'are'} open, "
                "and one was to be decided",
                f"Open: {cards}." if cards else "Nothing is open.",
            )
        receipt = self._see(found[0], said)
        if receipt is None:
            raise DecisionError("bad_verdict", "None decides nothing")
        return receipt

    @contextmanager
    def attending(self) -> Generator[ScriptedReviewer]:
        """Decide whatever opens during the block, in a thread of its own: a person at the terminal."""
        stop, failed = threading.Event(), list[BaseException]()

        def attend() -> None:
            try:
                while not stop.is_set():
                    self.decide_all()
                    self.desk.wait_for_change(0.02)
            except Exception as error:  # noqa: BLE001 - raised again in the thread of the test
                failed.append(error)

        thread = threading.Thread(target=attend, name="interlock-scripted-reviewer", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()
        if failed:
            raise failed[0]

    def _see(self, view: CardView, said: Said) -> Receipt | None:
        self.seen.append(view)
        if said is None:
            return None
        try:
            receipt = self._say(view.card.id, view.card.digest, Answer(said) if type(said) is str else said)
        except DecisionError as error:
            about = recorded_call(view.about.action.tool, view.about.current.arguments)
            message = f"{error.message}; the card is about {about}"
            raise DecisionError(error.code, message, error.mend, by=error.by, at=error.at) from error
        self.receipts.append(receipt)
        return receipt

    def _say(self, card: str, digest: str, said: object) -> Receipt:
        if type(said) is not Answer or type(cast("object", said.verdict)) is not str:
            raise SettingsError(
                "bad_script",
                f"the script says {said!r}"[:200],
                'Say "approve", "reject", an Answer, or None to leave it open.',
            )
        note = said.note
        match cast("object", said.verdict):
            case "approve":
                return self.desk.approve(card, digest=digest, note=note)
            case "reject":
                return self.desk.reject(card, digest=digest, note=note)
            case "redirect":
                return self.desk.redirect(card, digest=digest, note=note)
            case "modify" | "edit":  # LangChain says `edit`
                given = {name: _plain(value) for name, value in said.arguments.items()}
                return self.desk.modify(card, digest=digest, arguments=given, note=note)
            case "respond" if said.has_result:
                return self.desk.respond(card, digest=digest, result=_plain(said.result), note=note)
            case "done" | "failed" | "run_again":
                return self.desk.reconcile(
                    card, digest=digest, found=said.verdict, result=said.result if said.has_result else ..., note=note
                )
            case other:
                raise SettingsError(
                    "bad_script", f"the script says {other!r}"[:200], "See `Answer` for what a reviewer can say."
                )


def scripted_reviewer(il: Interlock, script: Script | None = None, *, name: str = "ana") -> ScriptedReviewer:
    """A reviewer for `il` that decides by `script`; see `ScriptedReviewer`."""
    return ScriptedReviewer(il, script, name=name)


def _plain(value: object) -> object:
    """A value as a person would write it: `Decimal("1.50")` as "1.50"; what is no value of ours goes as it is."""
    tree, stored = encode_result(codec_for(Any), value)
    return tree_to_plain(tree) if stored else value


def _not_in_a_run() -> None:
    if current() is not None:
        raise DecisionError(
            "not_allowed", "code inside a run may not decide", "Decide between passes, or in another thread."
        )
