"""What an application passes back on resume, as decisions: made by a desk, under the name of whoever sits there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, cast

from langchain_core.runnables import RunnableConfig

from interlock.adapters.guard.frames import outside
from interlock.adapters.guard.guards import Guards
from interlock.adapters.langgraph.places import answers_by_id, has_bare_answer, not_taken, take_bare_answer
from interlock.adapters.langgraph.wire import Asked, Said
from interlock.domain.decision import Receipt, Shown
from interlock.domain.errors import DecisionError
from interlock.domain.interrupt import Interrupt as Card

CHANNEL = "langgraph"
"""The channel that is recorded of these decisions."""


class Decides(Protocol):
    """A `Desk`, as far as answers need it."""

    def approve(self, interrupt: str, *, digest: str, note: str = "", shown: Shown | None = None) -> Receipt:
        """Let exactly this revision run."""
        ...

    def reject(self, interrupt: str, *, digest: str, note: str = "", shown: Shown | None = None) -> Receipt:
        """Do not run it."""
        ...

    def modify(
        self,
        interrupt: str,
        *,
        digest: str,
        arguments: Mapping[str, object],
        note: str = "",
        shown: Shown | None = None,
    ) -> Receipt:
        """Run it with these arguments instead."""
        ...

    def respond(
        self, interrupt: str, *, digest: str, result: object, note: str = "", shown: Shown | None = None
    ) -> Receipt:
        """Give the result instead."""
        ...

    def check_edit(self, interrupt: str, arguments: Mapping[str, object]) -> None:
        """Raise what `modify` would raise."""
        ...

    def check_result(self, interrupt: str, result: object) -> None:
        """Raise what `respond` would raise."""
        ...


DeskFor = Decides | Callable[[RunnableConfig], Decides]
"""A desk, or a function that gives one for the configuration of a call: for whoever is logged in."""


class Answers:
    """Reads what was passed back, and has it decided. Without a desk it decides nothing, whatever was passed."""

    def __init__(self, guards: Guards, desk: DeskFor | None, *, bare: bool) -> None:
        self._guards = guards
        self._desk = desk
        self._bare = bare

    def any(self, config: RunnableConfig) -> bool:
        """Whether something was passed back to somebody."""
        return bool(answers_by_id(config)) or has_bare_answer(config)

    def take(
        self,
        config: RunnableConfig,
        id: str,
        older: Callable[[str], bool],
        asked: Sequence[Asked],
        read: Callable[[Any], list[Said]],
    ) -> None:
        """Decide what was answered to the pause `id`, which asks about these calls; nothing where nothing was.

        `older` knows the ids of earlier pauses at the same place. All of an answer is read and tried before any of it
        is decided. Raises `DecisionError`; LangGraph then keeps nothing of the answer.
        """
        try:
            answer = self._answer(config, id, older, asked)
            if answer is not None and self._desk is not None:
                said = read(answer)
                with outside():  # whoever called the graph decides, and not the agent
                    _decide(self._desk_for(config), id, list(zip(asked, said, strict=True)))
        except Exception as error:
            not_taken(error)
            raise

    def _answer(self, config: RunnableConfig, id: str, older: Callable[[str], bool], asked: Sequence[Asked]) -> Any:
        by_id = answers_by_id(config)
        if id in by_id:
            return by_id[id]
        stale = next((each for each in by_id if older(each)), None)
        if stale is not None and self._desk is not None:
            raise DecisionError(
                "stale_answer",
                f"the answer is to {stale}, and what waits now is {id}",
                "Nothing was decided; look at what the agent waits for now, and answer that.",
            )
        if by_id or not has_bare_answer(config):
            return None
        answer, left = take_bare_answer(config)
        if left is not None:
            with suppress(NotImplementedError):  # a checkpointer that is asynchronous only keeps it for one more call
                left.empty()
        if self._desk is None:
            return None
        if not self._bare:
            raise DecisionError(
                "bare_answer",
                "the answer does not say to which pause it is: sent twice, it would answer the next one unseen",
                f'Nothing was decided; send Command(resume={{"{id}": ...}}).',
            )
        return answer if self._alone(asked) else self._ambiguous()

    def _alone(self, asked: Sequence[Asked]) -> bool:
        mine = {each.card.id for each in asked if each.card.open}
        return bool(mine) and {card.id for card in self._guards.runtime.open_cards(asked[0].card.run)} == mine

    def _ambiguous(self) -> Any:
        raise DecisionError(
            "bare_answer",
            "the answer does not say to which pause it is, and not exactly one is open",
            "Nothing was decided; name the interrupt: Command(resume={id: ...}).",
        )

    def _desk_for(self, config: RunnableConfig) -> Decides:
        given: Any = self._desk
        found = given(config) if callable(given) and not hasattr(given, "approve") else given
        if found is None:
            raise DecisionError("not_allowed", "there is no desk for whoever sent this answer", "Log in, and send it.")
        return cast("Decides", found)


def _decide(desk: Decides, id: str, said: Sequence[tuple[Asked, Said]]) -> None:
    for asked, each in said:
        if each.args is not None:
            desk.check_edit(asked.card.id, each.args)
        if each.kind == "respond":
            desk.check_result(asked.card.id, each.message)
    shown = Shown(CHANNEL, batch=id if len(said) > 1 else "")
    lost: list[tuple[Asked, DecisionError]] = []
    for asked, each in said:
        try:
            _say(desk, asked.card, each, shown)
        except DecisionError as error:
            lost.append((asked, error))
    if not lost:
        return
    asked, error = lost[0]
    if len(said) == 1:
        raise error
    others = len(said) - len(lost)
    raise DecisionError(
        error.code,
        f"{asked.tool} ({asked.card.id}): {error.message}; {others} of the {len(said)} decisions counted",
        "Look at what the agent waits for now.",
        by=error.by,
        at=error.at,
    ) from error


def _say(desk: Decides, card: Card, said: Said, shown: Shown) -> Receipt:
    if said.kind == "approve":
        return desk.approve(card.id, digest=card.digest, note=said.message, shown=shown)
    if said.kind == "reject":
        return desk.reject(card.id, digest=card.digest, note=said.message, shown=shown)
    if said.kind == "respond":
        return desk.respond(card.id, digest=card.digest, result=said.message, shown=shown)
    return desk.modify(card.id, digest=card.digest, arguments=said.args or {}, note=said.message, shown=shown)
