"""`interlock policy`: check a policy file, and explain a ruling."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from interlock.cli.frame import Global, StoreCommand, desk_of, emit, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock.cli.paper import Sheet
    from interlock.domain.tool import ToolSpec

MARKS = {"matched": "applies", "not_matched": "does not", "failed": "failed"}

app_option = click.option("--app", metavar="MODULE:NAME", help="The Interlock object whose tools it is for.")


@click.group("policy", invoke_without_command=True)
@click.pass_context
def policy(ctx: click.Context) -> None:
    """Check a policy file, and explain a ruling."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@policy.command("check", cls=StoreCommand)
@click.argument("file", type=click.Path(path_type=Path))
@app_option
@click.option("--strict", is_flag=True, help="End with 1 where there is anything to note.")
def check(state: Global, file: Path, app: str | None, strict: bool) -> int:
    """Check a policy file; with --app also against the tools that it is for.

    Its syntax, its keys and its conditions. The first error is one line, with line, column and what to do. A rule
    that would loosen what applies to a tool, and never can, is noted.
    With --json: {"policy", "rules", "notes"}.
    """
    from interlock.compose import check_policy, read_policy

    found = read_policy(file)
    tools: Mapping[str, ToolSpec] = _tools_of(app) if app else {}
    check_policy(file, found, tools.values())
    notes = [*_notes(found, tools if app else None)]
    about = {"file": str(file), "profile": found.profile.value, "digest": found.digest}
    if state.json:
        rules = [
            {"name": rule.name, "line": rule.line, "asks": _asks(rule), "tools": [*rule.tools]} for rule in found.rules
        ]
        emit({"policy": about, "rules": rules, "notes": notes})
        return 1 if strict and notes else 0
    from interlock.cards.words import count
    from interlock.cli import paper
    from interlock.display import plain

    sheet = paper.Sheet(paper.console())
    against = f", checked against {count(len(tools), 'tool')} of {plain(app, limit=60)}" if app else ""
    rules_said = f"{count(len(found.rules), 'rule')}, profile {found.profile.value}"
    sheet.line((f"{plain(file.name)} is sound: {rules_said}{against}.", paper.STRONG))
    sheet.line((found.digest, paper.QUIET))
    for rule in sorted(found.rules, key=lambda rule: rule.line):
        sheet.entry([(_asks(rule), 20, "")], paper.pieces(plain(rule.name)))
    for note in notes:
        sheet.line((f"Note: {plain(note)}", paper.QUIET))
    if not app and any(rule.when is not None for rule in found.rules):
        sheet.line(("Add --app MODULE:NAME to check the conditions against the arguments of the tools.", paper.QUIET))
    sheet.show()
    return 1 if strict and notes else 0


@policy.command("explain", cls=StoreCommand)
@click.argument("ref", required=False)
@click.option(
    "--policy",
    "file",
    type=click.Path(path_type=Path),
    help="A policy file; else the policy it was ruled under.",
)
@click.option("--tool", help="Explain a call of this tool that nobody has made.")
@click.option("--args", "arguments", default="{}", metavar="JSON", help="Its arguments, a JSON object.")
@click.option("--agent", default="agent", help="The agent that would call it.")
@click.option("--env", "environment", default="", help="The environment of the agent.")
@click.option("--confidence", type=click.FloatRange(0, 1), help="How sure the agent says it is, 0 to 1.")
@app_option
def explain(
    state: Global,
    ref: str | None,
    file: Path | None,
    tool: str | None,
    arguments: str,
    agent: str,
    environment: str,
    confidence: float | None,
    app: str | None,
) -> int:
    """Say how a ruling comes about: what applies without rules, what each rule adds, and what wins.

    REF is a recorded action: its id, or the fingerprint or id of its card. Or name a call with --tool and --args;
    with --app its tool is known as declared there, and the checks that would look at the call are named.
    With --json: {"ruling", "without_rules", "rules", "won"}, with --app {"checks"} as well.
    """
    if (ref is None) is (tool is None):
        raise click.UsageError("name a recorded action, or a call with --tool")
    if ref is not None:
        found = _recorded(state, ref, file)
    else:
        if confidence is not None and math.isnan(confidence):
            raise click.UsageError("--confidence takes a number from 0 to 1")
        found = _given(str(tool), arguments, agent, environment, confidence, file, app)
    checks = _checks_of(app, str(tool)) if app and tool else []
    if state.json:
        emit({**_shape(found), **({"checks": checks} if app and tool else {})})
        return 0
    from interlock.cli import paper
    from interlock.display import plain

    sheet = paper.Sheet(paper.console())
    _draw(sheet, found)
    if checks:
        names = ", ".join(plain(name, limit=60) for name in checks)
        sheet.line((f"Checks look at such a call as well and may hold or deny it; they were not asked: {names}.", ""))
    sheet.show()
    return 0


def _recorded(state: Global, ref: str, file: Path | None) -> Any:
    from interlock.cli.look import find_card
    from interlock.compose import read_policy
    from interlock.domain.errors import DecisionError

    given = read_policy(file) if file else None
    with desk_of(state) as desk:
        view = find_card(desk, ref)
        try:
            return desk.explain(view.card.action if view is not None else ref, given)
        except DecisionError as error:
            if error.code != "unknown_action":
                raise
            raise DecisionError(
                "unknown_ref", f"there is no card and no action {ref}", "A run's story names them: interlock show RUN"
            ) from None


def _given(
    tool: str,
    arguments: str,
    agent: str,
    environment: str,
    confidence: float | None,
    file: Path | None,
    app: str | None,
) -> Any:
    from interlock import settings
    from interlock.compose import check_policy, policy_of, read_policy
    from interlock.domain.errors import CallError, SettingsError
    from interlock.domain.tool import ToolSpec
    from interlock.kernel.explaining import explain_given
    from interlock.schema import SchemaError, plain_to_tree

    given: Any = read_json(arguments, "--args")
    if not isinstance(given, dict):
        raise click.UsageError("--args takes a JSON object")
    values = cast("dict[str, object]", given)
    loaded = settings.load()
    found = read_policy(file, policy_of(loaded)) if file else policy_of(loaded)
    tools: Mapping[str, Any] = _app_tools(app) if app else {}
    if app and tool not in tools:
        known = ", ".join(sorted(tools)) or "none"
        raise SettingsError("unknown_tool", f"{app} has no tool {tool}", f"It has: {known}.")
    spec = tools[tool].spec if app else ToolSpec(tool)
    source = file or loaded.policy
    if source is not None:
        check_policy(source, found, [spec])
    try:
        if app:
            parameters = tools[tool].parameters
            trees = parameters.encode(parameters.bind((), values))
        else:
            trees = {name: plain_to_tree("any", value, f"args.{name}") for name, value in values.items()}
    except SchemaError as error:
        raise CallError(error.code, f"{error.path}: {error.reason}", "Write it as the tool declares it.") from None
    return explain_given(found, spec, trees, agent=agent, environment=environment, confidence=confidence)


def _app_tools(app: str) -> Mapping[str, Any]:
    """The tools of an Interlock object, by name."""
    from interlock.cli.work import load_app

    return load_app(app).guards.tools


def _checks_of(app: str, tool: str) -> list[str]:
    """The names of the checks of an Interlock object that look at calls of a tool."""
    from interlock.cli.work import load_app

    return [check.name for check in load_app(app).guards.interceptor.checks.before if check.covers(tool)]


def _tools_of(app: str) -> Mapping[str, ToolSpec]:
    """The declarations of an Interlock object's tools, by name."""
    return {name: tool.spec for name, tool in _app_tools(app).items()}


def _asks(rule: Any) -> str:
    """What a rule asks for, in a word."""
    if rule.confidence is not None:
        return f"{rule.confidence.above.value}/{rule.confidence.below.value}"
    return rule.interrupt_policy.value if rule.interrupt_policy is not None else "adds conditions"


def _notes(found: Any, tools: Mapping[str, ToolSpec] | None) -> list[str]:
    from interlock.compose import notes_on_rules

    notes = [
        f"the rule {rule.name!r} needs reviewers, and a store with one reviewer refuses it: reviewers_not_configured"
        for rule in found.rules
        if rule.reviewers
    ]
    if tools is not None:
        named = {name for rule in found.rules for name in rule.tools} | {each.tool for each in found.slices}
        notes += [_unknown(name, tools) for name in sorted(named - tools.keys() - {"question", "handoff"})]
        notes += [
            f"the rule {rule.name!r} is for no tool of the app: nothing has that category, reach or reversibility"
            for rule in found.rules
            if not rule.tools and not any(rule.selects(spec) for spec in tools.values())
        ]
        notes += notes_on_rules(found, tools.values())
    return notes


def _unknown(name: str, tools: Mapping[str, ToolSpec]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, tools, 1)
    said = f"; did you mean {near[0]}?" if near else ""
    return f"no tool is called {name}, so nothing was checked for it{said}"


def _shape(found: Any) -> dict[str, object]:
    ruling, before = found.ruling, found.without_rules
    return {
        "ruling": {
            "policy": ruling.policy.value,
            "wanted": ruling.wanted.value,
            "profile": ruling.profile,
            "digest": ruling.policy_digest,
            "reasons": [{"code": each.code, "words": each.words} for each in ruling.reasons],
            "rules": [*ruling.rules],
            "requires": [{"group": each.group, "quorum": each.quorum} for each in ruling.requires],
            "reason_required": ruling.reason_required,
            "expires_in": ruling.expires_in.total_seconds(),
            "approval_valid_for": ruling.approval_valid_for.total_seconds(),
            "window": ruling.window.total_seconds() if ruling.window else None,
        },
        "without_rules": {
            "profile": before.table.value,
            "declared": before.declared.value if before.declared else None,
            "applies": before.applies.value,
            "confidence": before.confidence.words if before.confidence else None,
        },
        "rules": [
            {
                "name": each.rule.name,
                "line": each.rule.line or None,
                "came_to": each.came_to,
                "why": each.why,
                "asks": each.asks.value if each.asks else None,
                "loosens": each.rule.loosens,
            }
            for each in found.looks
        ],
        "won": found.won,
    }


def _draw(sheet: Sheet, found: Any) -> None:
    from interlock.cards.words import span
    from interlock.cli import paper
    from interlock.display import plain

    ruling, before = found.ruling, found.without_rules
    sheet.line((ruling.policy.value.replace("_", " "), paper.STRONG), f", because of {plain(found.won)}")
    sheet.rule()
    sheet.row("Profile", f"{ruling.profile} asks for {before.table.value}")
    sheet.row("Declaration", before.declared.value if before.declared else "leaves it to the profile")
    if before.confidence is not None:
        sheet.row("Confidence", plain(before.confidence.words))
    sheet.row("Before rules", before.applies.value)
    sheet.row("Reasons", *(plain(each.words) for each in ruling.reasons))
    if ruling.policy.holds:
        good = span(ruling.approval_valid_for)
        sheet.row("Card", f"open for {span(ruling.expires_in)}, an approval is good for {good}")
    if ruling.reason_required:
        sheet.row("Approval", "has to say why")
    if not found.looks:
        sheet.line(("There are no rules.", paper.QUIET))
        return
    sheet.rule()
    for each in found.looks:
        style = {"matched": paper.STRONG, "failed": paper.DANGER}.get(each.came_to, paper.QUIET)
        asks = f" ({each.asks.value})" if each.asks else ""
        text = paper.pieces(plain(each.rule.name), asks, (f": {plain(each.why)}", paper.QUIET))
        sheet.entry([(MARKS[each.came_to], 10, style)], text)
