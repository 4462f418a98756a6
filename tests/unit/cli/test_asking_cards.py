"""Cards of questions and of pauses that a framework makes by itself, what a run may do, and what checks found."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest


def start(shop: Any, key: str, body: Callable[[], object], **workflow: Any) -> str:
    """Run it until it pauses; answers the fingerprint of its card."""
    shop.il.workflow(name=key, **workflow)(body).start(key=key)
    return shop.waiting(key)


def flat(shop: Any, *args: str) -> str:
    return " ".join(shop.cli(*args).output.split())


def test_a_question_says_what_answer_it_wants_and_offers_no_approval(shop: Any) -> None:
    ref = start(shop, "ask", lambda: shop.il.question("How many?", int, context={"order": 7}))
    card = flat(shop, "show", ref)
    for words in ("[QUESTION] nothing is executed", 'Question: "How many?"', "ANSWER │ int", "goes to the agent"):
        assert words in card, words
    assert f"interlock --url {shop.url} respond {ref} --result 3" in card
    assert "approve" not in card
    assert "modify" not in card
    assert shop.cli("approve", ref, "--yes").exit_code == 1
    wrong = shop.cli("respond", ref, "--result", '"three"')
    assert "expected int, found a string; given was 'three' [bad_result]" in wrong.stderr
    long = shop.cli("respond", ref, "--result", f'"{"three" * 100}"').stderr
    assert "given was 'three" in long
    assert "…" in long
    assert len(long) < 300
    unread = shop.cli("respond", ref, "--result", "two")
    assert (unread.exit_code, "Expected is int, for example --result 3" in unread.stderr) == (2, True)
    assert "quotation marks" not in unread.stderr
    answered = shop.cli("respond", ref, "--result", "3")
    assert "Your answer goes to the agent." in answered.output
    story = flat(shop, "show", "ask")
    assert 'Question: "How many?" answered' in story
    assert "root answered" in story.lower()


def test_an_answer_without_an_example_is_still_told_its_type(shop: Any) -> None:
    ref = start(shop, "names", lambda: shop.il.question("Who?", list[str]))
    said = shop.cli("respond", ref, "--result", "ana").stderr
    assert "Expected is list[str], as JSON, where text needs quotation marks" in said


def test_a_question_with_signs_that_hide_is_cleaned_once_wherever_it_is_shown(shop: Any) -> None:
    start(shop, "odd", lambda: shop.il.question("Which\x1b[2J one?", context={"a\x1b": "b\x1b"}))
    for command in (("ledger",), ("show", "odd"), ("inbox",), ("show", shop.waiting("odd"))):
        said = shop.cli(*command).output
        assert "\x1b" not in said
        assert "U+001B" in said, command
        assert "U+27E8" not in said, command


def test_an_answer_that_is_text_needs_no_quotation_marks(shop: Any) -> None:
    ref = start(shop, "pick", lambda: shop.il.question("Which?", options=["matt", "glossy paper"]))
    card = flat(shop, "show", ref)
    assert "ANSWER │ one of “matt”, “glossy paper”" in card
    assert f"respond {ref} --result matt" in card
    assert "[bad_result]" in shop.cli("respond", ref, "--result", "mat").stderr
    assert shop.cli("respond", ref, "--result", "glossy paper").exit_code == 0


def test_a_pause_with_nothing_of_ours_behind_it_says_so_and_takes_what_it_offers(shop: Any) -> None:
    ref = start(
        shop, "graph", lambda: shop.il.observed_pause("approval_node", {"plan": "x"}, options=["approve", "reject"])
    )
    card = flat(shop, "show", ref)
    for words in ("[OBSERVED] a framework pauses by itself", "Interlock neither sees nor prevents", "Approval node"):
        assert words in card, words
    assert "nobody declared" not in card
    assert f"approve {ref}" in card
    assert "modify" not in card
    assert "OBSERVED a framework pauses by itself" in flat(shop, "inbox")
    shop.cli("approve", ref, "--yes")
    shop.work()
    assert "The framework was told" in flat(shop, "show", "graph")
    assert "was handed the approval of" in flat(shop, "ledger")


def test_a_pause_before_a_guarded_call_shows_the_call_as_what_it_is(shop: Any) -> None:
    payload = {"to": "a@x.example", "subject": "s", "body": "b"}
    ref = start(shop, "joined", lambda: shop.il.observed_pause("middleware", payload, tool=shop.send_email))
    card = flat(shop, "show", ref)
    assert "IRREVERSIBLE outward · hard stop · observed" in card
    assert "the guarded call that follows is this one" in card


def test_a_card_shows_the_ticket_of_its_run_and_what_the_checks_found(shop: Any) -> None:
    @shop.il.before(tools=["refund"])
    def order_is_known(call: Any) -> None:
        call.note(f"order {call.arguments['order']} is from last year")

    ref = start(
        shop, "bounded", lambda: shop.refund("88-1", Decimal(5)),
        ticket={"tools": ["refund"], "actions": 3, "life": "2h"},
    )  # fmt: skip
    may = "only refund; 3 actions, 0 used; for 2 hours from its start"
    card = flat(shop, "show", ref)
    assert f"MAY DO {may}" in card
    assert "CHECKS • order_is_known: order 88-1 is from last year" in card
    assert f"MAY DO {may}" in flat(shop, "show", "bounded")
    assert shop.json("show", ref)["run"]["ticket"] == {
        "tools": ["refund"], "actions": 3, "life": "2 hours", "used": 0, "spent": "0",
    }  # fmt: skip
    assert shop.json("show", ref)["checks"] == [{"by": "order_is_known", "words": "order 88-1 is from last year"}]


@pytest.mark.parametrize("ticket", [{}, {"tools": []}])
def test_a_ticket_without_bounds_or_without_tools_is_said_in_words(shop: Any, ticket: Any) -> None:
    ref = start(shop, "odd", lambda: shop.il.question("What now?"), ticket=ticket)
    said = "only nothing" if "tools" in ticket else "anything that policy and people let go"
    assert f"MAY DO {said}" in flat(shop, "show", ref)


def test_a_run_tells_what_the_agent_decided_by_itself(shop: Any) -> None:
    def body() -> object:
        shop.il.record_decision(
            "supplier", inputs={"n": 3}, considered=["ACME", "Beta"], chosen="ACME", because="it is cheaper"
        )
        return shop.il.question("Go on?", bool)

    start(shop, "choosing", body)
    story = flat(shop, "show", "choosing")
    assert "supplier: “ACME”, rather than “Beta”" in story
    assert "“it is cheaper”" in story
    assert 'from {"n": 3}' in story
    assert 'decided by itself on supplier: "ACME": “it is cheaper”' in flat(shop, "ledger")


def test_a_card_whose_stored_content_was_changed_says_that_it_will_not_run(shop: Any) -> None:
    import json
    import sqlite3

    from interlock.stores.sql.documents import pack_document, unpack_document

    ref = start(shop, "damaged", lambda: shop.send_email("a@x.example", "s", "b"))
    with sqlite3.connect(shop.url.removeprefix("sqlite:///")) as connection:
        ((kept,),) = connection.execute("SELECT document FROM revisions").fetchall()
        document = json.loads(unpack_document(kept)) | {"tool": "other"}
        connection.execute("UPDATE revisions SET document = ?", (pack_document(json.dumps(document).encode()),))
    connection.close()
    assert "What is stored here is not what its digest names" in flat(shop, "show", ref)
    refused = shop.cli("approve", ref, "--yes")
    assert (refused.exit_code, "[store_inconsistent]" in refused.stderr) == (2, True)
    assert shop.cli("reject", ref).exit_code == 0
