"""The face of a card: what stands on it, in the order in which attention is worth spending."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from markupsafe import Markup

from interlock.cards.asking import bounds, follows, grave, only_shown, options
from interlock.cards.headline import NATURE, by_risk, consequence, headline
from interlock.cards.standing import decided, failure, standing
from interlock.cards.values import disguised, texts, value_of
from interlock.cards.whole import PREVIEW, Whole, must_open, replaced
from interlock.cards.words import clock, label, overdue
from interlock.display import look_alike, plain
from interlock.domain.action import ActionState
from interlock.domain.decision import Verdict
from interlock.domain.interrupt import InterruptKind
from interlock.domain.lifecycle import verdicts
from interlock.domain.tool import InterruptPolicy, Reach, Reversibility
from interlock.kernel.shown import hidden_paths, masked_value
from interlock.server.inbox.frame.html import already, shown, twin

if TYPE_CHECKING:
    from interlock.kernel.views import CardView
    from interlock.schema import Json

AGENT_LIMIT = 240
"""Characters of the agent's own reasons on the face."""
WIDE = 44
"""A short value of at most so many characters is drawn large."""

_ICONS = {
    Reversibility.IRREVERSIBLE: "final",
    Reversibility.COMPENSABLE: "mend",
    Reversibility.REVERSIBLE: "back",
    Reversibility.READ_ONLY: "read",
    None: "final",
}
_REACH = {
    Reach.OUTWARD: ("out", "Outward"),
    Reach.SPENDS: ("spend", "Spends"),
    Reach.PRIVILEGE: ("rights", "Changes rights"),
    Reach.DELEGATES: ("agent", "Starts an agent"),
}
_POLICIES = {
    InterruptPolicy.HARD_STOP: ("stop", "Waits for a person"),
    InterruptPolicy.SOFT_CHECKPOINT: ("soft", "Goes ahead unless stopped"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One argument: its name as a label, its real type, its value, and what is to be said about it.

    `value` is None while it is folded and not opened; `peek` then says what is behind the fold. `was` is what a
    person's edit replaced. `flags` are warnings, the gravest first.
    """

    name: str
    label: str
    kind: str
    value: Markup | None
    peek: Markup | None = None
    was: Markup | None = None
    flags: tuple[tuple[str, Markup], ...] = ()
    exact: bool = False
    block: bool = False
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Face:
    """Everything on a card's face, ready for the template."""

    whole: Whole
    headline: Markup
    tone: str
    plate: tuple[tuple[str, str], ...]
    fields: tuple[Field, ...]
    closed: tuple[str, ...]
    opened: tuple[str, ...]
    warnings: tuple[Markup, ...]
    happens: str
    reasons: tuple[Markup, ...]
    verbs: frozenset[str]
    notes: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def view(self) -> CardView:
        """The card in its context."""
        return self.whole.view

    @property
    def reconciles(self) -> bool:
        """Whether it asks what happened, rather than what may happen."""
        return self.view.card.kind is InterruptKind.RECONCILE

    @property
    def decidable(self) -> bool:
        """Whether anything can be said to it now."""
        return self.view.card.open and not overdue(self.view.card, self.view.now)

    @property
    def still_closed(self) -> str:
        """The parts that must be opened before it may run, in words."""
        return ", ".join(label(name).lower() for name in self.closed)

    def rendered(self) -> str:
        """The digest of what stands on the face, whatever the time is: evidence of what was shown."""
        parts = [
            self.headline,
            self.tone,
            *(word for _, word in self.plate),
            self.happens,
            *self.reasons,
            *self.warnings,
        ]
        for each in self.fields:
            parts += [
                each.label,
                each.kind,
                each.value or "",
                each.peek or "",
                each.was or "",
                *(f for _, f in each.flags),
            ]
        parts += [
            str(self.notes.get(name) or "") for name in ("expected", "reasoning", "confidence", "preview", "asked")
        ]
        data = "\x00".join(map(str, parts)).encode()
        return "sha-256:" + urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()


def face(whole: Whole, opened: frozenset[str], revealed: Mapping[str, object] | None = None) -> Face:
    """The face of a card for somebody who has opened these parts of it, and to whom these values were just revealed."""
    view = whole.view
    need = must_open(view, whole.arguments)
    fitting = verdicts(view.about.action) if view.card.open else ()
    return Face(
        whole,
        already(headline(view.about.action.tool, whole.arguments, limit=90)),
        tone(view),
        plate(view),
        fields(whole, opened, revealed or {}),
        tuple(name for name in need if name not in opened),
        tuple(sorted(opened)),
        warnings(whole),
        follows(view) if view.card.kind is not InterruptKind.RECONCILE else consequence(view.about.tool),
        reasons(view),
        frozenset(each.value for each in fitting),
        notes(whole, opened),
    )


def tone(view: CardView) -> str:
    """How a card is edged: by what may follow, never for decoration."""
    if view.card.kind is InterruptKind.RECONCILE:
        return "doubt"
    if grave(view):
        return "final"
    tool = view.about.tool
    costly = tool.worst is Reversibility.COMPENSABLE or bool(tool.reach) or tool.cost is not None
    return "costly" if costly and view.card.kind is not InterruptKind.QUESTION else "plain"


def plate(view: CardView) -> tuple[tuple[str, str], ...]:
    """What kind of act this is: pairs of an icon and a word, what cannot be undone first."""
    if view.card.kind is InterruptKind.QUESTION:
        return (("ask", "Question"), ("note", "Nothing is executed"))
    if only_shown(view):
        return (("eye", "Observed"), ("note", "A framework pauses by itself"))
    tool = view.about.tool
    first = (("doubt", "In doubt"),) if view.card.kind is InterruptKind.RECONCILE else ()
    nature = NATURE[tool.reversibility].capitalize()
    reach = tuple(_REACH[each] for each in sorted(tool.reach))
    policy = _POLICIES.get(view.about.action.ruling.policy)
    asks = (policy,) if policy is not None and not first else ()
    observed = (("eye", "Observed"),) if view.card.kind is InterruptKind.OBSERVED else ()
    return (*first, (_ICONS[tool.reversibility], nature), *reach, *asks, *observed)


def fields(whole: Whole, opened: frozenset[str], revealed: Mapping[str, object]) -> tuple[Field, ...]:
    """The arguments by risk; what a person changed stands first."""
    was = replaced(whole.view)
    names = by_risk(whole.arguments)
    ordered = [name for name in names if name in was] + [name for name in names if name not in was]
    hidden = hidden_paths(whole.arguments, whole.view.about.tool)
    return tuple(_field(whole, name, was, opened, hidden, revealed) for name in ordered)


def _field(
    whole: Whole,
    name: str,
    was: Mapping[str, Json],
    opened: frozenset[str],
    hidden: list[str],
    revealed: Mapping[str, object],
) -> Field:
    tree = whole.arguments[name]
    value = value_of(name, tree)
    shut = value.folded and name not in opened
    old = value_of(name, was[name]) if name in was else None
    paths = tuple(path for path in hidden if path.partition(".")[0] == name)
    flags = [("bad", _posing(found)) for text in dict.fromkeys(texts(tree)) if (found := twin(text)) is not None]
    shown_now = [(path, shown(str(revealed[path]), multiline=True, masked=False)) for path in paths if path in revealed]
    flags += [("seen", Markup("{}: {}").format(path, text)) for path, text in shown_now]
    return Field(
        name,
        label(name),
        value.kind,
        None if shut else already(value.whole),
        already(value.short) if value.short is not None else None,
        already(old.short or old.whole) if old is not None else None,
        tuple(flags),
        exact=value.kind not in ("text", "bool", "nothing") or len(value.whole) <= WIDE,
        block="\n" in value.whole or len(value.whole) > 200,
        hidden=tuple(path for path in paths if path not in revealed),
    )


def _posing(found: Mapping[str, str]) -> Markup:
    return Markup("Not {}: {} ({}). Really {}.").format(
        shown(found["ascii"], 60), found["reason"], shown(found["letters"], 60), shown(found["punycode"], 80)
    )


def warnings(whole: Whole) -> tuple[Markup, ...]:
    """What must be known before the first value is read."""
    view = whole.view
    said: list[Markup] = []
    revision = next((each for each in view.about.revisions if each.number == view.card.revision), None)
    if revision is not None and not revision.intact:
        said.append(Markup("What is stored here is not what its digest names: somebody changed it. It will not run."))
    found = look_alike(view.about.action.tool)
    if found is not None:
        said.append(Markup("The tool\u2019s name is not {}: {}.").format(shown(found.ascii, 60), found.reason))
    odd = sum(disguised(text) for text in texts(cast("Json", dict(whole.arguments))))
    if odd:
        many = "1 part of these values" if odd == 1 else f"{odd:,} parts of these values"
        said.append(Markup("{} would hide or mislead. It stands in a box, as what it is.").format(many))
    masks = [label(name) for name, tree in whole.arguments.items() if masked_value(name, tree) != tree]
    if masks:
        said.append(
            Markup("{} holds what looks like a secret, masked here: you do not see all that would run.").format(
                ", ".join(masks)
            )
        )
    return tuple(said)


def reasons(view: CardView) -> tuple[Markup, ...]:
    """Why people are asked, every reason of the ruling; why they are asked again stands first."""
    ruling = view.about.action.ruling
    again = [shown(view.card.why)] if view.card.previous is not None and view.card.why else []
    said = [shown(reason.words) for reason in ruling.reasons]
    wanted = [Markup("Whoever lets it run has to say why, in the note.")] if ruling.reason_required else []
    return (*again, *said, *wanted)


def notes(whole: Whole, opened: frozenset[str]) -> dict[str, object]:
    """What the tool's code, the team's checks and the agent say, each kept apart from the others."""
    view = whole.view
    facts = view.about.facts
    sure = facts.get("confidence")
    unsure = facts.get("uncertainty")
    checks = facts.get("notes")
    asked = next((each for each in reversed(whole.knew.said) if each.role == "human"), None)
    preview = view.preview
    return {
        "tool_expects": _words(facts.get("tool_expects"), 600),
        "expected": _words(facts.get("expected"), AGENT_LIMIT),
        "reasoning": _words(facts.get("reasoning"), AGENT_LIMIT),
        "reasoning_whole": _words(facts.get("reasoning"), None),
        "confidence": _confidence(sure) if sure is not None else "",
        "uncertainty": [shown(str(each), 160) for each in unsure] if isinstance(unsure, list) else [],
        "considered": [shown(str(each), 400) for each in cast("list[object]", facts.get("considered") or [])],
        "checks": [
            (shown(str(each.get("by", "")), 60), shown(str(each.get("words", "")), 300))
            for each in (checks if isinstance(checks, list) else [])
            if isinstance(each, dict)
        ],
        "asked": shown(asked.text, 200) if asked is not None else "",
        "preview": preview,
        "preview_open": PREVIEW in opened,
        "choices": options(view.about.tool.shape.get("result")),
        "bounds": bounds(view.run.ticket) if view.run.ticket is not None else None,
        "now": already(standing(view.about, view.run, view.now)) if not view.card.open else "",
        "said": [already(decided(each, view.now)) for each in view.about.decisions],
        "error": already(failure(view.about.action.failure)) if view.about.action.failure else "",
        "known": _known(view) if view.card.kind is InterruptKind.RECONCILE else [],
        "revocable": _revocable(view),
    }


def _words(said: object, limit: int | None) -> Markup | str:
    return shown(said, limit, multiline=limit is None) if isinstance(said, str) and said else ""


def _confidence(sure: Json) -> Markup:
    return shown(str(sure["v"]) if isinstance(sure, dict) and "v" in sure else str(sure), 60)


def _known(view: CardView) -> list[tuple[str, Markup]]:
    """What is on record about an action in doubt, in order: times and what happened then."""
    action, now = view.about.action, view.now
    lines = [(clock(action.proposed_at, now, seconds=True), Markup("proposed by {}").format(shown(action.agent, 40)))]
    lines += [("", already(decided(each, now))) for each in view.about.decisions]
    if action.claimed_at is not None:
        again = f", try {action.tries}" if action.tries > 1 else ""
        lines.append((clock(action.claimed_at, now, seconds=True), Markup("a worker started it{}").format(again)))
    why = shown(view.card.why) if view.card.why else Markup("its outcome stayed unknown")
    lines.append((clock(view.card.opened_at, now, seconds=True), why))
    return lines


def _revocable(view: CardView) -> bool:
    """Whether the approval of this card can still be taken back."""
    action = view.about.action
    mine = view.card.decision is not None and action.cleared_by == view.card.decision
    return mine and action.state is ActionState.CLEARED


def said_by(verdict: str) -> Verdict:
    """The verdict of a button; raises `ValueError` for a word that is none."""
    return Verdict(verdict)


def line(view: CardView) -> str:
    """Whose action it is, sanitised: the agent, and on whose behalf."""
    owner = view.run.owner.partition(":")[2]
    return plain(view.run.agent, limit=40) + (f", for {plain(owner, limit=40)}" if owner else "")
