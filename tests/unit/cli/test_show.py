"""Cards and stories: the order of the face, whole values, the truth after a decision."""

import json
from typing import Any


def order(text: str, *words: str) -> bool:
    places = [text.index(word) for word in words]
    return places == sorted(places)


def test_a_card_shows_facts_first_and_the_agents_words_after_them(shop: Any) -> None:
    text = shop.cli("show", shop.held_mail()).output
    assert order(
        text,
        "IRREVERSIBLE",
        "outward · hard stop",
        'Send email to "ap@newco.example"',
        "fingerprint",
        "│ ap@newco.example",
        "WHAT HAPPENS",
        "cannot be undone",
        "EXPECTED",
        "AGENT SAYS",
        "CONFIDENCE",
        "WHY ASKED",
        "SOLO MODE",
        "DECIDE",
        "reject",
        "approve",
    )
    assert "┊ “It is overdue.”  agent's words" in text
    assert "claimed, not measured" in text


def test_fields_stand_by_risk_with_their_real_types(shop: Any) -> None:
    text = shop.cli("show", shop.held_refund()).output
    assert "  Amount  Decimal  │ 480.00" in text
    assert order(text, "Amount", "Order", "Note")
    assert "nothing  │ null" in text


def test_a_card_is_found_by_fingerprint_as_people_type_it_and_by_id(shop: Any) -> None:
    fingerprint = shop.held_mail()
    card = shop.json("show", fingerprint)
    for ref in (fingerprint.lower(), fingerprint.replace("-", ""), card["id"]):
        assert shop.json("show", ref)["id"] == card["id"]


def test_long_values_are_folded_with_their_length_and_opened_by_full(shop: Any, long_text: str) -> None:
    fingerprint = shop.held_mail(body=long_text)
    folded = shop.cli("show", fingerprint).output
    assert "1,200 characters" in folded
    assert "▸ closed; --full opens it" in folded
    assert f"approve  {fingerprint} --full" in folded
    opened = shop.cli("show", fingerprint, "--full").output
    assert "closed" not in opened
    assert opened.count("your invoice is overdue") == 30


def test_values_kept_apart_for_their_size_are_opened_by_full(shop: Any) -> None:
    text = "".join(f"line {number}\n" for number in range(9000))
    fingerprint = shop.held_mail(body=text)
    folded = shop.cli("show", fingerprint).output
    assert "bytes, kept apart" in folded
    assert "▸ closed" in folded
    assert "line 8999" in shop.cli("show", fingerprint, "--full").output
    assert shop.json("show", fingerprint)["arguments"]["body"] == text


def test_the_agents_reason_is_cut_at_240_characters_and_says_so(shop: Any) -> None:
    text = shop.cli("show", shop.held_mail(why="because " * 60)).output
    assert "(480 characters)" in text
    assert text.partition("CONFIDENCE")[0].count("because") == 30


def test_exact_shows_the_bytes_that_the_digest_is_of(shop: Any) -> None:
    from interlock.canonical import document_digest

    fingerprint = shop.held_mail()
    card = shop.json("show", fingerprint, "--exact")
    assert document_digest(card["document"].encode()) == card["digest"]
    text = shop.cli("show", fingerprint, "--exact").output
    assert card["digest"] in text
    assert '"subject":"Overdue"' in text.replace("\n", "")


def test_the_json_of_show_has_plain_and_typed_values(shop: Any) -> None:
    card = shop.json("show", shop.held_refund())
    assert card["typed"]["amount"] == {"$t": "decimal", "v": "480.00"}
    assert card["arguments"]["amount"] == "480.00"
    assert card["needs_whole"] is True
    assert card["mode"] == "solo"
    assert {"revisions", "decisions", "cards", "others", "frozen", "folded"} <= card.keys()


def test_a_decided_card_stays_and_tells_the_truth(shop: Any) -> None:
    fingerprint = shop.held_mail()
    shop.cli("approve", fingerprint, "--yes", "--note", "once only")
    before = shop.cli("show", fingerprint).output
    assert "approved, not started yet; the approval holds until" in before
    assert "“once only”" in before
    assert "DECIDE" not in before
    shop.work()
    assert "NOW           done" in shop.cli("show", fingerprint).output


def test_a_card_of_an_edited_revision_shows_old_and_new_and_the_cards_before(shop: Any) -> None:
    fingerprint = shop.held_refund()
    shop.cli("modify", fingerprint, "--set", "amount=400.00", "--yes")
    revoked = shop.cli("revoke", fingerprint)
    assert revoked.exit_code == 0, revoked.output
    again = shop.waiting("refund-1")
    assert again != fingerprint
    text = shop.cli("show", again).output
    assert "revision 2" in text
    assert order(text.partition("fingerprint")[2], "was", "480.00", "→ Amount", "400.00", "Order")
    assert f"OTHER CARDS   {fingerprint}  approved with changes" in text
    assert "approval taken back" in text


def test_a_call_without_arguments_says_so(shop: Any) -> None:
    @shop.il.tool("irreversible")
    def restart() -> None: ...

    with shop.il.run("restart"):
        restart()
    assert "It takes no arguments." in shop.cli("show", shop.waiting("restart")).output


def test_other_open_cards_of_the_run_are_named(shop: Any) -> None:
    import asyncio

    async def both() -> None:
        async with shop.il.run("both"):
            await asyncio.gather(
                asyncio.to_thread(shop.send_email, "a@x.example", "s", "b"),
                asyncio.to_thread(shop.send_email, "b@x.example", "s", "b"),
                return_exceptions=True,
            )

    asyncio.run(both())
    cards = shop.json("inbox")["cards"]
    first, second = cards
    assert f"SAME RUN      {second['fingerprint']}" in shop.cli("show", first["fingerprint"]).output


def test_a_reconcile_card_offers_four_answers_and_recommends_none(shop: Any) -> None:
    text = shop.cli("show", shop.doubtful()).output
    assert "Did it happen?" in text
    assert "TimeoutError: no answer from the bank" in text
    assert "None of these is recommended." in text
    assert order(text, "--found done --result", "--found done\n", "--found failed", "--found run-again")


def test_the_story_of_a_run_tells_who_asked_read_proposed_decided_and_did(shop: Any) -> None:
    shop.cli("approve", shop.held_mail(), "--yes", "--note", "go")
    shop.work()
    text = shop.cli("show", "mail-1").output
    assert order(
        text,
        "finished",
        "asked billing to do mail",
        "READ",
        "Find invoices: status “overdue”",
        "Reading changes nothing, so nobody was asked.",
        "PROPOSED",
        "Held for a person:",
        "approved",
        "“go”",
        "DID",
        "queued",
        "RESULT",
    )


def test_a_story_shows_an_edit_as_old_and_new(shop: Any) -> None:
    shop.cli("modify", shop.held_refund(), "--set", "amount=400.00", "--yes")
    shop.work()
    text = shop.cli("show", "refund-1").output
    assert "Amount 480.00 → 400.00" in text
    assert "rollback" in text


def test_a_waiting_run_says_for_whom_it_waits_and_how_to_look(shop: Any) -> None:
    fingerprint = shop.held_mail()
    text = shop.cli("show", "mail-1").output
    assert "waits for a person" in text
    assert f"show {fingerprint}" in text


def test_a_failed_run_names_its_failure_and_the_way_on(shop: Any) -> None:
    shop.cli("reject", shop.held_mail(), "--note", "not this one")
    shop.work()
    text = shop.cli("show", "mail-1").output
    assert "FAILURE" in text
    assert "retry mail-1" in text
    assert "“not this one”" in text


def test_the_json_of_a_run_has_actions_and_events(shop: Any) -> None:
    shop.held_mail()
    answer = shop.json("show", "mail-1")
    assert set(answer) == {"run", "now", "input", "actions", "events"}
    assert answer["run"]["state"] == "waiting"
    assert answer["events"][0]["type"] == "RunStarted"


def test_what_names_nothing_is_refused_with_one_line(shop: Any) -> None:
    shop.held_mail()
    done = shop.cli("show", "nothing-of-that-name")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "[unknown_ref]" in done.stderr
    assert done.stderr.count("\n") == 1
    said = json.loads(shop.cli("show", "nothing-of-that-name", "--json").stderr)
    assert set(said["error"]) == {"code", "message", "mend"}


def test_runs_are_listed_newest_first_and_by_state(shop: Any) -> None:
    shop.held_mail()
    shop.held_refund()
    assert [run["id"] for run in shop.json("runs")["runs"]] == ["refund-1", "mail-1"]
    assert shop.json("runs", "--state", "finished")["runs"] == []
    assert "No runs in this state." in shop.cli("runs", "--state", "finished").output
    text = shop.cli("runs").output
    assert "mail-1" in text
    assert "waiting" in text


def test_the_exact_document_is_one_line_that_can_be_copied(shop: Any, long_text: str) -> None:
    fingerprint = shop.held_mail(body=long_text)
    document = shop.json("show", fingerprint, "--exact")["document"]
    assert document in shop.cli("show", fingerprint, "--exact").output.splitlines()
