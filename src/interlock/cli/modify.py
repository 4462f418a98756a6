"""`interlock modify`: run it with other arguments, after showing old and new beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from interlock.cli.deciding import deciding, named, report, running, show_and_ask
from interlock.cli.frame import Global, StoreCommand, desk_of, read_json
from interlock.domain.errors import DecisionError

if TYPE_CHECKING:
    from interlock.cli.deciding import Named
    from interlock.cli.paper import Sheet
    from interlock.kernel.desk import ReviewDesk
    from interlock.schema import Json


class ModifyCommand(StoreCommand):
    """Takes `--json '{…}'` for new arguments, beside the plain `--json` that all commands have."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Tell the two apart by what follows: an object, or anything else."""
        told: list[str] = []
        for word in args:
            if told and told[-1] == "--json" and word.lstrip().startswith("{"):
                told[-1] = "--arguments"
            told.append(f"--arguments={word[7:]}" if word.startswith("--json=") else word)
        return super().parse_args(ctx, told)


@click.command("modify", cls=ModifyCommand)
@deciding
@running
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="One new argument; can be repeated.")
@click.option("--arguments", metavar="JSON", help="New arguments as an object. Also: --json '{…}'.")
@click.option("--edit", is_flag=True, help="Open the arguments as JSON in $EDITOR.")
def modify(
    state: Global,
    ref: str,
    digest: str | None,
    note: str,
    full: bool,
    yes: bool,
    pairs: tuple[str, ...],
    arguments: str | None,
    edit: bool,
) -> int:
    """Run it with other arguments; those that are not named stay.

    With --set a value is text where the parameter takes text, and JSON otherwise. The tool cannot be changed. What is
    wrong is refused, and nothing is decided then. With --json: a receipt.
    """
    if sum((bool(pairs), arguments is not None, edit)) != 1:
        raise click.UsageError("say what to change, in one way: --set NAME=VALUE, --json '{…}' or --edit")
    with desk_of(state) as desk:
        card = named(desk, ref, digest)
        if arguments is not None:
            given = read_json(arguments, "the new arguments")
            if not isinstance(given, dict):
                raise click.UsageError("the new arguments are to be an object of names and values")
            changes = cast("dict[str, object]", given)
        else:
            changes = _edited(desk, card) if edit else dict(_pair(card, pair) for pair in pairs)
        new = _revised(card, changes)
        seen = show_and_ask(
            desk,
            state,
            card,
            "Run it with these arguments?",
            full=full,
            yes=yes,
            add=lambda sheet: _draw(sheet, card, new),
        )
        if seen is None:
            return 1
        receipt = desk.modify(card.id, digest=card.digest, arguments=changes, note=note, shown=seen.shown)
        return report(desk, state, receipt, "Changed and approved, as the next revision of the same action.", seen=seen)


def _revised(card: Named, changes: Mapping[str, object]) -> dict[str, Json]:
    """The new arguments that differ, as the store would keep them; refuses what does not fit."""
    from interlock.kernel.shown import keep_hidden
    from interlock.schema import SchemaError, revise

    about = card.view.about
    current, kept = about.current.exact, keep_hidden(changes, about.current.arguments, about.current.exact)
    try:
        new = revise(about.tool.schema, about.tool.shape, current, kept)
    except SchemaError as error:
        raise DecisionError(
            "bad_edit", f"{error.path}: {error.reason}", "Nothing was decided; correct it and send it again."
        ) from None
    return {name: value for name, value in new.items() if name not in current or current[name] != value}


def _draw(sheet: Sheet, card: Named, new: Mapping[str, Json]) -> None:
    from interlock.cards.values import value_of
    from interlock.cards.words import label
    from interlock.cli import paper

    about = card.view.about
    old = about.current.arguments
    new = {name: tree for name, tree in about.shown({**about.current.exact, **new}).items() if name in new}
    sheet.rule("━", paper.STRONG)
    sheet.line(("YOUR CHANGES", paper.STRONG))
    for name, tree in new.items():
        now = value_of(name, tree)
        if name in old:
            was = value_of(name, old[name])
            sheet.cells(
                [(f"  {label(name)}", 24), ("was", 6), (was.kind, 12)],
                paper.pieces((was.short or was.whole, "strike")),
                paper.VALUE_EDGE,
            )
        sheet.cells(
            [("" if name in old else f"  {label(name)}", 24), ("now", 6), (now.kind, 12)],
            paper.pieces((now.whole, paper.STRONG)),
            paper.VALUE_EDGE,
        )


def _pair(card: Named, pair: str) -> tuple[str, object]:
    name, sign, text = pair.partition("=")
    if not sign or not name:
        raise click.UsageError(f"--set takes NAME=VALUE, not {pair}")
    schema = card.view.about.tool.schema
    if _takes_text(schema, _property(schema, name)):
        return name, text
    try:
        return name, read_json(text, f"--set {name}")
    except click.UsageError:
        return name, text  # whether it fits is for the schema to say


def _property(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = schema.get("properties", {}).get(name, {})
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _takes_text(schema: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    reference = part.get("$ref")
    if isinstance(reference, str):
        part = schema.get("$defs", {}).get(reference.rpartition("/")[2], {})
    kind = part.get("type")
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return True
    choices = cast("list[Mapping[str, Any]]", part.get("anyOf", []))
    return any(_takes_text(schema, each) for each in choices)


def _edited(desk: ReviewDesk, card: Named) -> dict[str, object]:
    """Open the arguments in an editor; answers what differs."""
    from interlock.cards.values import arguments_json
    from interlock.schema import fill

    # What is hidden stands there as its stand-in, which means: leave it as it is.
    before = arguments_json({name: fill(tree, desk.blob) for name, tree in card.view.about.current.arguments.items()})
    after = click.edit(before, extension=".json")
    old = cast("dict[str, object]", read_json(before, "the arguments"))
    new = read_json(after if after is not None else before, "what you wrote")
    if not isinstance(new, dict):
        raise DecisionError("bad_edit", "the arguments are an object of names and values", "Nothing was decided.")
    gone = [name for name in old if name not in new]
    if gone:
        raise DecisionError(
            "bad_edit", f"these are missing: {', '.join(gone)}", "Nothing was decided; every argument keeps its place."
        )
    said = cast("dict[str, object]", new)
    return {name: value for name, value in said.items() if name not in old or old[name] != value}
