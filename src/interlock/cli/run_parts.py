"""The parts of a run's page: what it knew, and each action from what was considered to what it came to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import cast

from interlock.cards.asking import bounds
from interlock.cards.headline import by_risk, what
from interlock.cards.standing import REFUSALS, tree_of
from interlock.cards.story import Moment, Part
from interlock.cards.values import value_of
from interlock.cards.words import clock, count, label, span, verb, who
from interlock.cli import paper
from interlock.cli.paper import AGENT, AGENT_EDGE, DANGER, DOUBT, GOOD, QUIET, STRONG, VALUE_EDGE, Sheet
from interlock.display import plain
from interlock.domain.action import ActionKind, ActionState
from interlock.domain.events import Event, EventType
from interlock.domain.run import Run
from interlock.kernel.views import ActionView, RunView
from interlock.schema import Json

CALLS = 5
"""How many different reads, and how many steps, are told before the rest is counted."""

TONES = {"good": GOOD, "danger": DANGER, "": STRONG}

_STATES = {
    ActionState.HELD: ("waits for a person", STRONG),
    ActionState.CLEARED: ("may run, not started", STRONG),
    ActionState.EXECUTING: ("running", STRONG),
    ActionState.DONE: ("done", GOOD),
    ActionState.FAILED: ("failed, without effect", DANGER),
    ActionState.IN_DOUBT: ("in doubt", DOUBT),
    ActionState.ROLLING_BACK: ("being undone", STRONG),
    ActionState.ROLLED_BACK: ("undone", STRONG),
    ActionState.ROLLBACK_FAILED: ("done; undoing it failed", DANGER),
    ActionState.ROLLBACK_CONFLICT: ("done; not undone", DANGER),
}


class Values:
    """Values in a few words, and whether any of them had to be cut; with `full` none is."""

    def __init__(self, *, full: bool) -> None:
        self.full = full
        self.cut = False

    def __call__(self, name: str, tree: Json, limit: int = 72) -> str:
        """A value on one line, texts in quotation marks; whole, on as many lines as it has, with `full`."""
        value = value_of(name, tree)
        said, size = value.whole, ""
        if not self.full:
            said = " ".join(value.whole.split())
            if value.short is not None or len(said) > limit:
                size = f" ({count(len(value.whole), 'character')})"
                said, self.cut = f"{said[: limit - 1]}…", True
        return (f"“{said}”" if value.kind == "text" else said) + size


def draw_knew(sheet: Sheet, view: RunView, values: Values) -> None:
    """Who asked, with what; which versions; what it read and worked out."""
    run = view.run
    asker = next((event.actor for event in view.events if event.type is EventType.RUN_STARTED), run.owner)
    job = plain(run.workflow, limit=60) if run.workflow else "a program's own run"
    sheet.row("ASKED", f"{who(asker) or 'Somebody'} asked {plain(run.agent, limit=40)} to do {job}")
    tree = tree_of(run.input)
    given = tree if isinstance(tree, dict) else {}
    if given:
        _block(sheet, "INPUT", [f"{plain(name, limit=40)} = {values(name, each)}" for name, each in given.items()])
    versions = _versions(run)
    if versions:
        sheet.row("VERSIONS", versions)
    if run.ticket is not None:
        sheet.row("MAY DO", "; ".join(bounds(run.ticket)) or "anything that policy and people let go")
    read, steps = _recorded(view)
    _draw_calls(sheet, "READ", read, view.now, values)
    _draw_calls(sheet, "WORKED OUT", steps, view.now, values)
    _draw_decisions(sheet, view, values)


def _versions(run: Run) -> str:
    known = run.versions
    named = [
        ("agent", known.agent),
        ("model", known.model),
        ("prompt", known.prompt),
        ("environment", known.environment),
    ]
    return " · ".join(f"{name} {plain(each, limit=40)}" for name, each in named if each)


def _recorded(view: RunView) -> tuple[list[Event], list[Event]]:
    found = [event for event in view.events if event.type is EventType.CALL_RECORDED]
    steps = [event for event in found if str(event.body.get("tool", "")).startswith("step:")]
    return [event for event in found if event not in steps], steps


def _draw_calls(sheet: Sheet, title: str, events: Sequence[Event], now: datetime, values: Values) -> None:
    """Each different call once, with its first time, how often, and what it came to the last time."""
    calls: dict[str, list[Event]] = {}
    for event in events:
        calls.setdefault(_call(event, values), []).append(event)
    shown = list(calls.items()) if values.full else list(calls.items())[:CALLS]
    lines = [
        f"{clock(times[0].at, now, seconds=True)}  {call}{f' ({len(times)} times)' if len(times) > 1 else ''}"
        f" → {_came_to(times[-1], values)}"
        for call, times in shown
    ]
    _block(sheet, title, lines)
    if len(calls) > len(shown):
        values.cut = True
        sheet.row("", (f"and {count(len(calls) - len(shown), 'other call')}", QUIET))
    if events and title == "READ":
        sheet.row("", ("Reading changes nothing, so nobody was asked.", QUIET))


def _draw_decisions(sheet: Sheet, view: RunView, values: Values) -> None:
    """What the agent decided by itself: what it chose, what else it considered, why, and from what."""
    for number, event in enumerate(each for each in view.events if each.type is EventType.AGENT_DECIDED):
        said = event.body.get("considered")
        others = (
            [values("", each, 40) for each in said if each != event.body.get("chosen")]
            if isinstance(said, list)
            else []
        )
        chosen = f": {values('', event.body['chosen'])}" if "chosen" in event.body else ""
        rather = f", rather than {', '.join(others)}" if others else ""
        kind = plain(str(event.body.get("kind", "")), limit=60)
        at = (f"{clock(event.at, view.now, seconds=True)}  ", QUIET)
        sheet.row("DECIDED" if number == 0 else "", [at, (f"{kind}{chosen}{rather}", AGENT)], edge=AGENT_EDGE)
        if event.body.get("because"):
            sheet.row("", (f"“{plain(str(event.body['because']), limit=300)}”", AGENT), edge=AGENT_EDGE)
        if "inputs" in event.body:
            sheet.row("", (f"from {values('', event.body['inputs'], 200)}", QUIET), edge=AGENT_EDGE)


def _call(event: Event, values: Values) -> str:
    tool = str(event.body.get("tool", ""))
    step = tool.removeprefix("step:").rpartition(".")[2]
    name = "A value" if "lambda" in step else verb(step if tool.startswith("step:") else tool)
    tree = event.body.get("arguments")
    given = cast("dict[str, Json]", tree) if isinstance(tree, dict) and "$t" not in tree else {}
    said = ", ".join(f"{label(each).lower()} {values(each, given[each], 40)}" for each in by_risk(given))
    return f"{name}: {said}" if said else name


def _came_to(event: Event, values: Values) -> str:
    if "failure" in event.body:
        tree = event.body["failure"]
        said = tree.get("message") if isinstance(tree, dict) else ""
        return f"failed: {plain(str(said), limit=100)}"
    if not event.body.get("stored", True):
        return "a value that could not be stored"
    return values("", event.body.get("result"))


def _block(sheet: Sheet, title: str, lines: Iterable[str]) -> None:
    """Lines of values behind their edge, under one label."""
    for number, line in enumerate(lines):
        sheet.row(title if number == 0 else "", line, edge=VALUE_EDGE)


# -- an action ------------------------------------------------------------------------------------------


def draw_action(
    sheet: Sheet, number: int, about: ActionView, moments: Sequence[Moment], now: datetime, values: Values
) -> None:
    """One action: considered, proposed, was told, did."""
    said, style = _state(about)
    sheet.ends([(f"{number}  ", QUIET), (what(about), STRONG)], [(said, style)])
    thoughts: list[paper.Piece] = [(line, AGENT) for line in _thoughts(about.facts)]
    if thoughts:
        sheet.row("CONSIDERED", *thoughts, edge=AGENT_EDGE)
        sheet.row("", ("the agent's own words; nobody checked them", QUIET))
    proposed = [moment for moment in moments if moment.part is Part.PROPOSED]
    at = proposed[0].at if proposed else about.action.proposed_at
    again = f", attempt {about.action.attempt}" if about.action.attempt > 1 else ""
    sheet.row("PROPOSED", f"{clock(at, now, seconds=True)}, {span(now - at)} ago{again}")
    first = about.revisions[0].arguments
    _block(sheet, "", [f"{label(name)} = {values(name, first[name])}" for name in by_risk(first)])
    for moment in proposed:
        if moment.who:
            sheet.row("", [(moment.who, DANGER), f": {moment.text}"])
        for note in moment.notes:
            sheet.row("", (note, QUIET))
    after = [moment for moment in moments if moment.part is not Part.PROPOSED]
    for part, together in groupby(after, key=lambda moment: moment.part):
        draw_moments(sheet, part.value, list(together), now)


def draw_moments(sheet: Sheet, title: str, moments: Sequence[Moment], now: datetime) -> None:
    """Moments under one label, each with its time."""
    for number, moment in enumerate(moments):
        text = f": {moment.text}" if moment.text else ""
        line: list[paper.Piece] = [(clock(moment.at, now, seconds=True), QUIET), "  ", (moment.who, TONES[moment.tone])]
        sheet.row(title if number == 0 else "", [*line, text])
        for note in moment.notes:
            sheet.row("", (note, QUIET))


def _state(about: ActionView) -> tuple[str, str]:
    action = about.action
    if action.state is ActionState.REFUSED:
        said = REFUSALS[action.refusal] if action.refusal else "refused"
        return f"did not run: {said.partition(':')[0]}", DANGER
    if action.state is ActionState.DONE and action.traits.kind is not ActionKind.CALL and action.claimed_at is None:
        return "answered", GOOD
    if action.answered_by and action.claimed_at is None:
        return "did not run: answered by a person", STRONG
    return _STATES[action.state]


def _thoughts(facts: Mapping[str, Json]) -> Iterator[str]:
    """What the agent says about its own proposal."""
    reasoning, expected = facts.get("reasoning"), facts.get("expected")
    if isinstance(reasoning, str) and reasoning:
        yield f"“{plain(reasoning, limit=600)}”"
    sure = facts.get("confidence")
    claimed = sure.get("v") if isinstance(sure, dict) else sure
    if claimed is not None:
        number = _number(claimed)
        yield (
            f"says it is {number:.0%} sure"
            if number is not None
            else f"says how sure it is: {plain(str(claimed), limit=60)}"
        )
    for words, key in (("not sure because: ", "uncertainty"), ("considered instead: ", "considered")):
        listed = facts.get(key)
        if isinstance(listed, list) and listed:
            yield words + plain("; ".join(map(str, listed)), limit=300)
    if isinstance(expected, str) and expected:
        yield f"expects: {plain(expected, limit=200)}"


def _number(claimed: Json) -> float | None:
    try:
        return float(claimed) if isinstance(claimed, (str, int, float)) else None
    except ValueError:
        return None
