"""A card on the terminal, in the order in which attention is worth spending: what it is, what it does, deciding.

What and to whom are made from validated arguments by a template. What the agent wrote comes after the facts, behind
its own edge. What is folded says how long it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from interlock.cards.asking import follows, grave
from interlock.cards.headline import by_risk, headline, needs_whole, what_card
from interlock.cards.standing import decided, standing
from interlock.cards.values import Value, disguised, impostor, texts, value_of
from interlock.cards.whole import PREVIEW, PREVIEW_CHARACTERS, PREVIEW_LINES, long_preview, replaced
from interlock.cards.words import ENDINGS, clock, count, deadline, label, overdue, span, verb, who
from interlock.cli import paper
from interlock.cli.asking_card import draw_bounds, draw_checks, draw_wanted, example, plate
from interlock.cli.knew_part import draw_knew
from interlock.cli.outlook import typed
from interlock.cli.paper import AGENT, AGENT_EDGE, DANGER, FOLDED, QUIET, STRONG, VALUE_EDGE, Piece, Sheet
from interlock.display import look_alike, plain
from interlock.domain.decision import Verdict
from interlock.domain.interrupt import InterruptKind
from interlock.domain.lifecycle import verdicts
from interlock.kernel.knew import NOTHING_KNOWN, Knew
from interlock.kernel.shown import hidden_paths, masked_value
from interlock.kernel.views import CardView
from interlock.schema import Json

AGENT_LIMIT = 240
"""Characters of the agent's reasons on the face of a card."""


@dataclass(slots=True)
class Page:
    """What a card is drawn from. `arguments` are those that it shows, large ones put back where `full`;
    `verbs` adds the commands that decide it, `knew` is the conversation that the call was made in.

    `folded` and `opened` are filled in by drawing: long arguments that stayed closed, and that were shown whole.
    """

    view: CardView
    arguments: Mapping[str, Json]
    prefix: str = "interlock"
    full: bool = False
    others: tuple[CardView, ...] = ()
    knew: Knew = NOTHING_KNOWN
    verbs: bool = True
    folded: list[str] = field(default_factory=list[str])
    opened: list[str] = field(default_factory=list[str])

    @property
    def must_open(self) -> bool:
        """Whether it cannot be approved as shown, because something that matters stayed folded."""
        return bool(self.folded) and needs_whole(self.view.about.tool)


def draw_card(sheet: Sheet, page: Page) -> None:
    """Draw an action's card."""
    view = page.view
    final = grave(view)
    sheet.rule("━" if final else "─", DANGER if final else STRONG)
    sheet.ends(plate(view), clocks(view))
    sheet.line((headline(view.about.action.tool, page.arguments, limit=100), STRONG), hang=2)
    draw_context(sheet, view)
    sheet.rule()
    draw_fields(sheet, page)
    sheet.rule()
    draw_preview(sheet, page)
    draw_wanted(sheet, view)
    sheet.row("WHAT HAPPENS", (follows(view), STRONG))
    draw_checks(sheet, view)
    draw_knew(sheet, page.knew, full=page.full)
    draw_agent(sheet, page)
    draw_reasons(sheet, view)
    draw_bounds(sheet, view)
    draw_history(sheet, page)
    if overdue(view.card, view.now):
        sheet.row("NOW", ("it expired, and nothing was run; the agent learns of it when it looks again", STRONG))
    elif view.card.open and page.verbs:
        draw_verbs(sheet, page)


def clocks(view: CardView) -> list[Piece]:
    """How long it has waited and until when it can be decided, or how it ended."""
    card = view.card
    if card.ending is None:
        return [("waits ", QUIET), (span(view.now - card.opened_at), STRONG), (f" · {deadline(card, view.now)}", "")]
    at = f" {clock(card.ended_at, view.now)}" if card.ended_at else ""
    return [(ENDINGS[card.ending], STRONG), (at, QUIET)]


def draw_context(sheet: Sheet, view: CardView) -> None:
    """Whose action it is: agent, on whose behalf, run, tool, and the fingerprint to compare."""
    run, action = view.run, view.about.action
    owner = f" for {who(run.owner)}" if run.owner else ""
    thread = f" · thread {plain(run.thread, limit=40)}" if run.thread else ""
    workflow = f" ({plain(run.workflow, limit=30)})" if run.workflow else ""
    said = f"{plain(run.agent, limit=40)}{owner} · run {plain(run.id, limit=48)}{workflow}{thread}"
    sheet.line((said, QUIET), hang=2)
    attempt = f" · attempt {action.attempt}" if action.attempt > 1 else ""
    revision = f" · revision {view.card.revision}" if view.card.revision > 1 else ""
    described = plain(view.about.tool.description, limit=100) if view.card.kind is InterruptKind.ACTION else ""
    if described:
        sheet.line((described, QUIET), hang=2)
    tool: list[Piece] = [("tool ", QUIET), plain(action.tool, limit=60), (f"{revision}{attempt}", STRONG)]
    sheet.ends(tool, [("fingerprint ", QUIET), (view.card.fingerprint, STRONG)])


def draw_fields(sheet: Sheet, page: Page) -> None:
    """The arguments by risk, what a person changed first, each with its real type."""
    was = replaced(page.view)
    names = [name for name in by_risk(page.arguments) if name in was]
    names += [name for name in by_risk(page.arguments) if name not in was]
    _draw_disguise(sheet, page)
    if not names:
        sheet.line(("It takes no arguments.", QUIET))
        return
    values = {name: value_of(name, page.arguments[name]) for name in names}
    widths = paper.columns(
        [(label(name), values[name].kind) for name in names], (20, 14) if sheet.width > 70 else (13, 10)
    )
    for name in names:
        if name in was:
            old = value_of(name, was[name])
            sheet.cells(
                [("  was", widths[0] + 2), (old.kind, widths[1])],
                paper.pieces((old.short or old.whole, "strike")),
                VALUE_EDGE,
            )
        _draw_value(sheet, page, name, values[name], widths, changed=name in was)
    hidden = hidden_paths(page.arguments, page.view.about.tool)
    if hidden:
        sheet.line(("Hidden, and on record when somebody looks:", QUIET))
        sheet.raw(f"  {page.prefix} reveal {page.view.card.fingerprint} {' '.join(map(typed, hidden))}")


def _draw_value(sheet: Sheet, page: Page, name: str, value: Value, widths: list[int], *, changed: bool) -> None:
    open_it = page.full or not value.folded
    shown = value.whole if open_it else value.short or ""
    style = STRONG if changed or "\n" not in shown else ""
    head = f"{'→ ' if changed else '  '}{label(name)}"
    sheet.cells([(head, widths[0] + 2), (value.kind, widths[1])], paper.pieces((shown, style)), VALUE_EDGE)
    gap = sum(widths) + 2
    if value.folded:
        (page.opened if open_it else page.folded).append(name)
        if not open_it:
            sheet.line((f"{FOLDED} closed; --full opens it", QUIET), indent=gap)
    for text in dict.fromkeys(texts(page.arguments[name])):
        twin = impostor(text)
        if twin is not None:
            letters = ", ".join(twin.letters[:2])
            said = f"! Not {plain(twin.ascii, limit=60)}: {twin.reason} ({letters})."
            sheet.line((f"{said} Really {plain(twin.punycode, limit=80)}.", DANGER), indent=gap, hang=gap + 2)


def _draw_disguise(sheet: Sheet, page: Page) -> None:
    hidden = sum(disguised(text) for text in texts(cast("Json", dict(page.arguments))))
    twin = look_alike(page.view.about.action.tool)
    if twin is not None:
        sheet.line(
            (f"! The tool's name is not {plain(twin.ascii)}: {twin.reason} ({', '.join(twin.letters[:2])}).", DANGER)
        )
    masks = [name for name, tree in page.arguments.items() if masked_value(name, tree) != tree]
    if masks:
        names = label(masks[0]) + (f" and {count(len(masks) - 1, 'other')}" if len(masks) > 1 else "")
        said = (
            f"! {names} {'holds' if len(masks) == 1 else 'hold'} what looks like a secret, masked here: you do not "
            "see all that would run. Whoever wrote it may only want it hidden; a reveal shows it."
        )
        sheet.line((said, DANGER), hang=2)
    if hidden:
        said = f"! {count(hidden, 'part')} of these values would hide or mislead. Shown as what they are, in ⟨ ⟩."
        sheet.line((said, DANGER), hang=2)


def draw_preview(sheet: Sheet, page: Page) -> None:
    """What the tool's own code shows that it would do; a long one is closed like a long argument."""
    preview = page.view.preview
    if preview is None:
        return
    if preview.text is None:
        sheet.row("PREVIEW", (f"no preview: {plain(preview.failed, limit=300)}", DANGER))
        return
    whole = plain(preview.text, multiline=True)
    lines = whole.split("\n")
    long = long_preview(whole)
    before = page.view.preview_before
    gone = (
        [line for line in plain(before.text or "", multiline=True).split("\n") if line not in lines] if before else []
    )
    if gone:
        said = "\n".join(gone)
        sheet.row(
            "SHOWN BEFORE",
            (said if len(said) <= PREVIEW_CHARACTERS else f"{said[:PREVIEW_CHARACTERS]}…", "strike"),
            edge=VALUE_EDGE,
        )
    by: Piece = ("by the tool's own code, not the agent", QUIET)
    if not long or page.full:
        sheet.row("PREVIEW", by)
        sheet.row("", whole, edge=VALUE_EDGE)
        if long:
            page.opened.append(PREVIEW)
        return
    page.folded.append(PREVIEW)
    start = "\n".join(lines[:PREVIEW_LINES])
    sheet.row("PREVIEW", by)
    sheet.row("", start[:PREVIEW_CHARACTERS] + "…", edge=VALUE_EDGE)
    size = f"{count(len(preview.text), 'character')}, {count(len(lines), 'line')}"
    sheet.row("", (f"{FOLDED} {size}; --full opens it", QUIET))


def draw_agent(sheet: Sheet, page: Page) -> None:
    """What the tool expects, then what the agent says for itself, in its own words and marked as such."""
    facts = page.view.about.facts
    told = facts.get("tool_expects")
    if isinstance(told, str) and told:
        words = plain(told, limit=None if page.full else PREVIEW_CHARACTERS)
        sheet.row("EXPECTED", [words, ("  by the tool", QUIET)], edge=VALUE_EDGE)
    limit = None if page.full else AGENT_LIMIT
    said = [("EXPECTED", facts.get("expected")), ("AGENT SAYS", facts.get("reasoning"))]
    for name, words in said:
        if isinstance(words, str) and words:
            sheet.row(name, [(f"“{plain(words, limit=limit)}”", AGENT), ("  agent's words", QUIET)], edge=AGENT_EDGE)
    sure, unsure = facts.get("confidence"), facts.get("uncertainty")
    if sure is not None or unsure:
        claimed = (
            plain(str(sure["v"]) if isinstance(sure, dict) else str(sure), limit=60)
            if sure is not None
            else "not given"
        )
        because = (
            [f"unsure because “{plain(str(each), limit=120)}”" for each in unsure] if isinstance(unsure, list) else []
        )
        sheet.row(
            "CONFIDENCE", [("; ".join([claimed, *because]), AGENT), ("  claimed, not measured", QUIET)], edge=AGENT_EDGE
        )
    considered = facts.get("considered")
    if isinstance(considered, list) and considered and page.full:
        sheet.row("CONSIDERED", *((f"“{plain(str(each), limit=240)}”", AGENT) for each in considered), edge=AGENT_EDGE)


def draw_reasons(sheet: Sheet, view: CardView) -> None:
    """Why people are asked: every reason of the ruling, and why it is asked again."""
    ruling = view.about.action.ruling
    reasons = [plain(reason.words) for reason in ruling.reasons]
    if ruling.reason_required:
        reasons.append("whoever lets it run has to say why: --note")
    again = [plain(view.card.why)] if view.card.previous is not None and view.card.why else []
    sheet.row("WHY ASKED", *(f"• {words}" for words in [*again, *reasons]))


def draw_history(sheet: Sheet, page: Page) -> None:
    """What went before and what stands beside: earlier cards, decisions, notes, other cards, freezes, the mode."""
    view = page.view
    if view.about.action.attempt > 1:
        before = count(view.about.action.attempt - 1, "earlier attempt")
        sheet.row("ATTEMPT", f"{view.about.action.attempt}: {before} of this very call in this run failed")
    earlier = [card for card in view.about.cards if card.id != view.card.id]
    if earlier:
        ended = (f"{card.fingerprint}  {ENDINGS[card.ending] if card.ending else 'open'}" for card in earlier)
        sheet.row(
            "OTHER CARDS",
            *(
                f"{words} {clock(card.ended_at or card.opened_at, view.now)}"
                for words, card in zip(ended, earlier, strict=True)
            ),
        )
    if view.about.decisions:
        sheet.row("SAID SO FAR", *(decided(each, view.now) for each in view.about.decisions))
    for stop in view.freezes:
        scope = "everything" if stop.scope == "all" else f"{stop.scope} {plain(stop.name, limit=40)}"
        reason = f": “{plain(stop.reason, limit=120)}”" if stop.reason else ""
        said = f"{scope}, by {who(stop.by)} {clock(stop.at, view.now)}{reason}."
        sheet.row("FROZEN", (f"{said} Nothing of it starts until it is released.", STRONG))
    if page.others:
        sheet.row("SAME RUN", *(f"{other.card.fingerprint}  {what_card(other)}" for other in page.others))
    if not view.card.open:
        sheet.row("NOW", (standing(view.about, view.run, view.now), STRONG))
    mode = "one person decides here, the user who owns the store; nobody else has looked at this"
    sheet.row("SOLO MODE", (mode, QUIET))
    slices = view.about.facts.get("slices")
    if page.full and isinstance(slices, dict) and slices:
        said = " · ".join(f"{plain(name, limit=64)}: {plain(str(each), limit=64)}" for name, each in slices.items())
        sheet.row("SLICES", (said, QUIET))
    if page.full:
        ruling = view.about.action.ruling
        rules = f" · rules: {', '.join(plain(each, limit=60) for each in ruling.rules)}" if ruling.rules else ""
        sheet.row("POLICY", (f"{ruling.profile}{rules} · {ruling.policy_digest}", QUIET))
        sheet.row("DIGEST", (view.card.digest, QUIET))


def draw_verbs(sheet: Sheet, page: Page) -> None:
    """The exact commands that decide it, none before the others."""
    ref, prefix = page.view.card.fingerprint, page.prefix
    sheet.rule()
    if page.must_open:
        names = ", ".join(label(name).lower() for name in page.folded)
        sheet.row("DECIDE", f"Approve needs the whole content. Still closed: {names}. --full opens it.")
    else:
        sheet.row("DECIDE", 'Each takes --note "…": words that reach the agent.')
    full = " --full" if page.must_open else ""
    why = ' --note "why"' if page.view.about.action.ruling.reason_required else ""
    fitting = verdicts(page.view.about.action)
    for verdict, more in (
        (Verdict.REJECT, ""),
        (Verdict.REDIRECT, ' --note "what it should know"'),
        (Verdict.MODIFY, f" --set name=value{full}{why}"),
        (Verdict.RESPOND, f" --result {example(page.view)}"),
        (Verdict.APPROVE, f"{full}{why}"),
    ):
        if verdict in fitting:
            sheet.raw(f"  {prefix} {verdict.value:8} {ref}{more}")


def is_reconcile(view: CardView) -> bool:
    """Whether the card asks what happened, rather than what may happen."""
    return view.card.kind is InterruptKind.RECONCILE


__all__ = ["Page", "draw_card", "draw_context", "draw_fields", "is_reconcile", "verb"]
