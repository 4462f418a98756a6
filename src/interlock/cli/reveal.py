"""`interlock reveal`: see what a card hides; that somebody looked is on record before it is shown."""

from __future__ import annotations

import json

import click

from interlock.cli.frame import Global, StoreCommand, desk_of, emit


@click.command("reveal", cls=StoreCommand)
@click.argument("ref")
@click.argument("field", nargs=-1, required=True)
@click.option("--digest", metavar="DIGEST", help="The digest that you saw; needed where REF is a card's id.")
def reveal(state: Global, ref: str, field: tuple[str, ...], digest: str | None) -> int:
    """Show what a card hides at FIELD (card_number, customer.card), open or closed.

    Who looked, when and at which field is recorded first; the value is not. With --json: {"card", "revealed": {...}}.
    """
    from interlock.cli.deciding import named

    with desk_of(state) as desk:
        card = named(desk, ref, digest)
        values = desk.reveal(card.id, digest=card.digest, path=field)
        if state.json:
            emit({"card": card.view.card.fingerprint, "revealed": values})
            return 0
        from interlock.cli import paper
        from interlock.display import plain, spans

        sheet = paper.Sheet(paper.console())
        for name, value in values.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
            shown = "".join(span.text for span in spans(text, multiline=True, masked=False))
            sheet.row(plain(name, limit=40), (shown, paper.STRONG), edge=paper.VALUE_EDGE)
        sheet.line(("On record: who looked, when, and at which field.", paper.QUIET))
        sheet.show()
    return 0
