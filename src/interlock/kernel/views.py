"""What people are shown: a card, an action and a run with everything that belongs to them, read in one snapshot."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from interlock.canonical import Json, document_digest, fingerprint, parse
from interlock.domain.action import Action, Preview, Revision
from interlock.domain.decision import Decision
from interlock.domain.events import Event
from interlock.domain.hiding import secrets_of, veiled_tree
from interlock.domain.ids import ActionId, InterruptId, RunId
from interlock.domain.interrupt import Interrupt, InterruptKind
from interlock.domain.run import Freeze, Run, Work
from interlock.domain.tool import ToolSpec
from interlock.kernel.documents import tool_spec
from interlock.kernel.shown import shown_arguments, shown_event
from interlock.ports.store import EVERYTHING, Page, Queue, Rows
from interlock.usecases.draft import resume_id


@dataclass(frozen=True, slots=True)
class RevisionView:
    """One revision as it was proposed: its arguments (typed encoding), digest, maker and time.

    `arguments` are for looking at: what the tool declares as sensitive is hidden in them. `exact` and `document` are
    what runs and what the digest is of; nobody is shown them without a reveal. `intact` False: what is stored is not
    what the digest names, and will not run.
    """

    number: int
    digest: str
    arguments: Mapping[str, Json]
    document: bytes
    at: datetime
    by: str
    exact: Mapping[str, Json]
    intact: bool = True


@dataclass(frozen=True, slots=True)
class ActionView:
    """An action with its revisions, cards, decisions, its tool as declared and the agent's facts."""

    action: Action
    tool: ToolSpec
    facts: Mapping[str, Json]
    revisions: tuple[RevisionView, ...]
    cards: tuple[Interrupt, ...]
    decisions: tuple[Decision, ...]

    @property
    def current(self) -> RevisionView:
        """The revision that counts now."""
        return self.revisions[-1]

    def shown(self, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        """Arguments of this action, as an edit would have them, with the sensitive ones hidden."""
        document = cast("dict[str, Json]", parse(self.revisions[0].document))
        return shown_arguments(arguments, self.tool, str(document.get("salt", "")))


@dataclass(frozen=True, slots=True)
class CardView:
    """A card in its context, at `now` of the store."""

    card: Interrupt
    about: ActionView
    run: Run
    siblings: tuple[Interrupt, ...]
    freezes: tuple[Freeze, ...]
    now: datetime

    @property
    def preview(self) -> Preview | None:
        """What this card shows that it would do, by the tool's own code; None where nothing is shown."""
        return self._preview_of(self.card)

    @property
    def preview_before(self) -> Preview | None:
        """What the card before this one showed, if it showed something else of the same revision."""
        before = next((card for card in self.about.cards if card.id == self.card.previous), None)
        if before is None or before.revision != self.card.revision:
            return None
        shown, now = self._preview_of(before), self.preview
        return None if shown is None or now is None or shown.same(now) else shown

    def _preview_of(self, card: Interrupt) -> Preview | None:
        if card.kind is InterruptKind.ACTION and card.document is not None:
            return Preview.kept(cast("dict[str, Json]", parse(card.document)))
        return Preview.kept(self.about.facts) if card.revision == 1 else None

    @property
    def fingerprint(self) -> str:
        """The short form of the card's digest, as people type it: `K7M2-Q9TD`."""
        return fingerprint(self.card.digest)


def to_send(about: ActionView) -> ActionView:
    """An action as it may leave this process: where something in it is hidden, what would give that away is not there.

    Its `exact` arguments are the shown ones then, and its documents are empty.
    """
    revisions = tuple(
        each if each.arguments == each.exact else replace(each, exact=each.arguments, document=b"")
        for each in about.revisions
    )
    return replace(about, revisions=revisions)


def card_to_send(view: CardView) -> CardView:
    """A card as it may leave this process."""
    return replace(view, about=to_send(view.about))


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with all its actions and events, in order, and its resume work if one is due or given up."""

    run: Run
    actions: tuple[ActionView, ...]
    events: tuple[Event, ...]
    work: Work | None
    now: datetime


def action_view(rows: Rows, action: Action) -> ActionView:
    """Read what belongs to an action."""
    decisions = tuple(rows.decisions_of_action(action.id))
    makers = {decision.id: str(decision.by) for decision in decisions}
    kept = rows.revisions(action.id)
    facts = cast("dict[str, Json]", parse(kept[0].facts))
    tool = _declared(rows, str(facts["tool"]), action.tool)
    documents = [cast("dict[str, Json]", parse(each.document)) for each in kept]
    salt = str(documents[0].get("salt", ""))  # one for all revisions, so that what an edit left looks the same
    revisions = tuple(
        RevisionView(
            each.number,
            each.digest,
            shown_arguments(exact, tool, salt),
            each.document,
            each.at,
            makers.get(each.by, "") if each.by else f"agent:{action.agent}",
            exact,
            intact=document_digest(each.document) == each.digest,
        )
        for each, document in zip(kept, documents, strict=True)
        for exact in (_arguments(document),)
    )
    # What the agent says for itself may repeat what its arguments hide.
    secrets = frozenset(secret for each in revisions for secret in secrets_of(each.exact, tool.sensitive))
    return ActionView(
        action, tool, _said(facts, secrets), revisions, tuple(rows.interrupts_of_action(action.id)), decisions
    )


def _said(facts: Mapping[str, Json], secrets: Iterable[str]) -> Mapping[str, Json]:
    known = frozenset(secrets)
    return {name: each if name in _DIGESTS else veiled_tree(each, known) for name, each in facts.items()}


_DIGESTS = ("tool", "messages")
"""Facts that name other rows."""


def _arguments(document: Mapping[str, Json]) -> Mapping[str, Json]:
    """The arguments of a document; of one that is damaged whatever is there."""
    kept = document.get("arguments")
    return kept if isinstance(kept, dict) else {}


def card_view(rows: Rows, interrupt: InterruptId) -> CardView | None:
    """Read a card with its context, or None where there is no such card."""
    card = rows.interrupt(interrupt)
    if card is None:
        return None
    action, run = rows.action(card.action), rows.run(card.run)
    assert action is not None, "a card is written with its action"
    assert run is not None, "a card is written with its run"
    siblings = tuple(
        other
        for each in rows.actions_of_run(run.id)
        if each.id != action.id
        and each.interrupt is not None
        and (other := rows.interrupt(each.interrupt)) is not None
        and other.open
    )
    freezes = tuple(stop for stop in rows.freezes() if stop.covers(run.agent, action.tool, run.id))
    return CardView(card, action_view(rows, action), run, siblings, freezes, rows.now)


def run_view(rows: Rows, run: RunId) -> RunView | None:
    """Read a run with everything that happened in it, or None where there is no such run."""
    row = rows.run(run)
    if row is None:
        return None
    events: list[Event] = []
    page = Page(limit=500)
    while batch := rows.events(run, page):
        events.extend(shown_event(event) for _, event in batch)
        page = Page(limit=500, after=str(batch[-1][0]))
    actions = tuple(action_view(rows, action) for action in rows.actions_of_run(run))
    return RunView(row, actions, tuple(events), rows.work(resume_id(row)), rows.now)


def open_cards(rows: Rows, page: Page, queue: Queue = EVERYTHING) -> tuple[CardView, ...]:
    """A page of open cards for a list: each with the revision that it is about, and without its past and its siblings.

    One statement reads the page; what it costs does not grow with what waits.
    """
    found = rows.open_cards(page, queue)
    stops = rows.freezes() if found else ()
    views: list[CardView] = []
    for card, action, run, revision in found:
        about = _head(rows, action, revision) if card.previous is None else None
        if about is None:
            whole = card_view(rows, card.id)
            assert whole is not None, "the card was just read"
            views.append(whole)
            continue
        freezes = tuple(stop for stop in stops if stop.covers(run.agent, action.tool, run.id))
        views.append(CardView(card, about, run, (), freezes, rows.now))
    return tuple(views)


def _head(rows: Rows, action: Action, revision: Revision) -> ActionView | None:
    """An action by its first revision alone; None where there is a later one: its facts stand with the first.

    A card that follows another one is read whole, too: what the one before showed belongs to it.
    """
    if revision.number != 1:
        return None
    facts = cast("dict[str, Json]", parse(revision.facts))
    tool = _declared(rows, str(facts["tool"]), action.tool)
    document = cast("dict[str, Json]", parse(revision.document))
    exact = _arguments(document)
    arguments = shown_arguments(exact, tool, str(document.get("salt", "")))
    view = RevisionView(1, revision.digest, arguments, revision.document, revision.at, f"agent:{action.agent}", exact)
    return ActionView(action, tool, _said(facts, secrets_of(exact, tool.sensitive)), (view,), (), ())


_TOOLS: OrderedDict[str, ToolSpec] = OrderedDict()
_MOST_TOOLS = 1_000


def _declared(rows: Rows, digest: str, name: str) -> ToolSpec:
    """A tool as it was declared. What a digest names never changes, so each is read once."""
    known = _TOOLS.get(digest)
    if known is not None:
        return known
    declared = rows.blob(digest)
    if declared is None:
        return ToolSpec(name)
    _TOOLS[digest] = tool = tool_spec(cast("dict[str, Json]", parse(declared)))
    while len(_TOOLS) > _MOST_TOOLS:
        _TOOLS.popitem(last=False)
    return tool


def by_fingerprint(rows: Rows, wanted: str) -> tuple[Interrupt, ...]:
    """Open cards whose digest has this fingerprint."""
    found: list[Interrupt] = []
    page = Page(limit=500)
    while batch := rows.open_interrupts(page):
        found.extend(card for card in batch if fingerprint(card.digest) == wanted)
        page = Page(limit=500, after=batch[-1].id)
    return tuple(found)


def action_of(rows: Rows, action: ActionId) -> ActionView | None:
    """Read one action with what belongs to it."""
    row = rows.action(action)
    return action_view(rows, row) if row is not None else None
