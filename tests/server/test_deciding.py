"""Deciding on the pages, without a script: what the forms do, and what they refuse."""

import re
from decimal import Decimal

import pytest
from inbox_server import LONG, Person, Served

from interlock.domain.action import ActionState
from interlock.domain.interrupt import Ending


def ending(served: Served, card: str) -> Ending | None:
    view = served.kernel.card(card)
    assert view is not None
    return view.card.ending


def test_an_approval_runs_what_the_card_showed_once(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    answer = person.decide(card, "approve", note="Fine, and tell Kim.")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/i/{card}")
    served.shop.il.worker().run_until_idle()
    assert served.shop.sent == [{"order": "88-1204", "amount": Decimal("480.00"), "why": None}]
    page = person.get(f"/i/{card}").text
    assert "Done" in page
    assert "Fine, and tell Kim." in page


def test_the_record_of_a_decision_holds_how_it_came_about(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    person.decide(card, "approve", dwell="5200")
    view = served.kernel.card(card)
    assert view is not None
    (decision,) = view.about.decisions
    assert (decision.shown.channel, decision.shown.dwell_ms) == ("web", 5200)
    assert decision.shown.render_digest.startswith("sha-256:")
    assert (decision.by.authn, bool(decision.by.session)) == ("link", True)


def test_what_a_page_did_not_show_is_not_taken_for_shown(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    person.decide(card, "approve", shown="sha-256:" + "A" * 43 + "." + "0" * 64)
    view = served.kernel.card(card)
    assert view is not None
    assert view.about.decisions[0].shown.render_digest == ""


def test_a_rejection_reaches_the_agent_with_its_words(served: Served, person: Person) -> None:
    run = served.shop.refunding.start("88-1204")
    person.decide(served.shop.card(run), "reject", note="Wrong customer.")
    served.shop.il.worker().run_until_idle()
    assert served.shop.sent == []
    assert "Wrong customer." in person.get(f"/runs/{run.id}").text


def test_a_redirection_without_words_is_refused_and_the_card_stays(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    answer = person.decide(card, "redirect")
    assert answer.status_code == 422
    assert "needs words for the agent" in answer.text
    assert ending(served, card) is None
    assert person.decide(card, "redirect", note="Ask Sam first.").status_code == 303
    assert ending(served, card) is Ending.REDIRECTED


def test_a_long_body_must_be_opened_before_it_can_be_approved(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.mail.start("ap@newco.example", body=LONG))
    page = person.get(f"/i/{card}").text
    assert re.search(r'value="approve"[^>]* disabled', page)
    assert "Please pay it" not in page.partition('class="face"')[2].partition("Open body")[0]
    refused = person.decide(card, "approve")
    assert refused.status_code == 422
    assert "cannot be let run unseen" in refused.text
    assert ending(served, card) is None
    opened = person.post(f"/i/{card}/open", digest=person.fields(f"/i/{card}")["digest"], part="body")
    assert opened.status_code == 303
    page = person.get(f"/i/{card}").text
    assert page.count("Please pay it") >= 12
    assert person.decide(card, "approve").status_code == 303
    view = served.kernel.card(card)
    assert view is not None
    assert view.about.decisions[0].shown.opened == ("body",)


def test_what_one_person_opened_another_has_not(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.mail.start("ap@newco.example", body=LONG))
    from interlock.domain.reviewers import Principal, PrincipalKind

    view = served.kernel.card(card)
    assert view is not None
    served.kernel.open_parts(card, view.card.digest, ["body"], Principal(PrincipalKind.REVIEWER, "bo", "test"))
    assert person.decide(card, "approve").status_code == 422


def test_a_modification_is_typed_exact_and_counts_as_approval(served: Served, person: Person) -> None:
    run = served.shop.reopening.start(9007199254740993)
    card = served.shop.card(run)
    fields = person.fields(f"/i/{card}/modify")
    page = person.get(f"/i/{card}/modify").text
    assert "9007199254740993" in page
    changes = {
        "arg.ids": "[9007199254740993, 5]",
        "arg.when": "2026-05-02T10:30:00+02:00",
        "arg.mode": "loud",
        "arg.tell": "",
    }
    answer = person.post(f"/i/{card}/modify", **{**fields, **changes, "note": "later"})
    assert answer.status_code == 303, answer.text
    served.shop.il.worker().run_until_idle()
    (done,) = served.shop.sent
    assert (done["ids"], done["mode"], done["tell"]) == ([9007199254740993, 5], "loud", False)
    assert done["when"].isoformat() == "2026-05-02T10:30:00+02:00"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("arg.amount", "a lot", "not a decimal"),
        ("arg.amount", "", "not a decimal"),
        ("arg.nothing_like_it", "1", "there is no such argument"),
    ],
)
def test_an_edit_that_does_not_fit_decides_nothing_and_is_told_at_its_field(
    served: Served, person: Person, name: str, value: str, words: str
) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    answer = person.post(
        f"/i/{card}/modify", **{**person.fields(f"/i/{card}/modify"), name: value, "arg.order": "88-1"}
    )
    assert answer.status_code == 422
    assert words in answer.text
    assert ending(served, card) is None


def test_an_edit_that_changes_nothing_is_no_modification(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    same = {"arg.order": "88-1204", "arg.amount": "480.00", "arg.why.nothing": "yes", "arg.why": ""}
    answer = person.post(f"/i/{card}/modify", **{**person.fields(f"/i/{card}/modify"), **same})
    assert answer.status_code == 422
    assert "nothing is changed" in answer.text


def test_a_hidden_value_that_is_left_alone_stays_what_it_is(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.charging.start("4111 1111 1111 1111"))
    page = person.get(f"/i/{card}/modify").text
    assert "4111" not in page
    shown = re.search(r'name="arg.number" value="([^"]+)"', page)
    assert shown
    fields = person.fields(f"/i/{card}/modify")
    answer = person.post(f"/i/{card}/modify", **{**fields, "arg.number": shown[1], "arg.cents": "900"})
    assert answer.status_code == 303, answer.text
    served.shop.il.worker().run_until_idle()
    assert served.shop.sent == [{"number": "4111 1111 1111 1111", "cents": 900}]


def test_a_reveal_is_on_record_before_the_value_is_shown(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.charging.start("4111 1111 1111 1111"))
    assert "4111" not in person.get(f"/i/{card}").text
    answer = person.post(f"/i/{card}/reveal", digest=person.fields(f"/i/{card}")["digest"], path="number")
    assert "4111 1111 1111 1111" in answer.text
    assert "looked at what the card" in person.get("/ledger").text
    assert "4111" not in person.get(f"/i/{card}").text


def test_a_question_is_answered_with_a_value_of_its_type(served: Served, person: Person) -> None:
    run = served.shop.asking.start("How many copies?")
    card = served.shop.card(run)
    assert person.decide(card, "respond", result="many").status_code == 422
    assert person.decide(card, "respond", result="true").status_code == 422
    assert ending(served, card) is None
    assert person.decide(card, "respond", result="3").status_code == 303
    served.shop.il.worker().run_until_idle()
    assert "Finished" in person.get(f"/runs/{run.id}").text


def test_the_options_of_a_question_are_its_buttons(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.choosing.start("Which lamp?"))
    page = person.get(f"/i/{card}").text
    assert re.search(r'value="respond:0"[^>]*>red<', page)
    assert person.decide(card, "respond:7").status_code == 422
    assert person.decide(card, "respond:1").status_code == 303
    view = served.kernel.card(card)
    assert view is not None
    assert view.about.action.result == b'"green"'


@pytest.mark.parametrize(
    ("verb", "state"),
    [("found:done", ActionState.DONE), ("found:failed", ActionState.FAILED), ("found:run_again", ActionState.CLEARED)],
)
def test_an_action_in_doubt_is_reconciled_by_what_a_person_found(
    served: Served, person: Person, verb: str, state: ActionState
) -> None:
    card = served.shop.doubt()
    page = person.get(f"/i/{card}").text
    assert "Did it happen?" in page
    assert "no answer from the bank" in page
    assert 'value="approve"' not in page
    assert person.decide(card, verb, note="I called them.").status_code == 303
    view = served.kernel.card(card)
    assert view is not None
    assert view.about.action.state is state


def test_an_approval_can_be_taken_back_until_it_runs(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    person.decide(card, "approve")
    page = person.get(f"/i/{card}").text
    assert "Take it back" in page
    digest = re.search(r'name="digest" value="([^"]+)"', page)
    assert digest
    back = person.post(f"/i/{card}/undo", digest=digest[1], note="too early")
    assert back.status_code == 303
    assert back.headers["location"] != f"/i/{card}"
    served.shop.il.worker().run_until_idle()
    assert served.shop.sent == []


def test_a_second_decision_is_told_who_was_first(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    fields = person.fields(f"/i/{card}")
    assert person.decide(card, "approve").status_code == 303
    answer = person.post(f"/i/{card}/decide", **{**fields, "verb": "reject", "note": "no"})
    assert answer.status_code == 409
    assert "decided this at" in answer.text
    assert ending(served, card) is Ending.APPROVED


def test_a_card_that_changed_under_the_cursor_asks_to_look_again(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    fields = person.fields(f"/i/{card}")
    answer = person.post(f"/i/{card}/decide", **{**fields, "digest": "sha-256:" + "A" * 43, "verb": "approve"})
    assert answer.status_code == 409
    assert "Changed, look again" in answer.text
    assert ending(served, card) is None


@pytest.mark.parametrize("verb", ["", "approve ", "APPROVE", "found:done", "found:nothing", "delete", "respond"])
def test_no_other_word_than_a_buttons_decides(served: Served, person: Person, verb: str) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    assert 400 <= person.decide(card, verb).status_code < 500
    assert ending(served, card) is None
