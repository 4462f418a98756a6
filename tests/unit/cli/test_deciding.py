"""Decisions at a terminal: they name what was seen, and an approval has seen all of it."""

import hashlib
import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest


def decisions(shop: Any, run: str) -> list[Any]:
    with shop.desk() as desk:
        return [decision for about in desk.story(run).actions for decision in about.decisions]


def test_approving_lets_it_run_once_a_worker_takes_it(shop: Any) -> None:
    done = shop.cli("approve", shop.held_mail(), "--yes")
    assert done.exit_code == 0
    assert "Approved. It runs as soon as a worker takes it." in done.output
    shop.work()
    assert shop.sent == [{"to": "ap@newco.example", "subject": "Overdue", "body": "Hello."}]


def test_nobody_to_ask_and_no_yes_decides_nothing(shop: Any) -> None:
    done = shop.cli("approve", shop.held_mail())
    assert done.exit_code == 1
    assert "[not_confirmed]" in done.stderr
    assert decisions(shop, "mail-1") == []


def test_a_card_id_alone_does_not_say_what_was_seen(shop: Any) -> None:
    card = shop.json("show", shop.held_mail())
    for command in (["approve", "--yes"], ["reject"], ["respond", "--result", "1"], ["redirect", "--note", "x"]):
        done = shop.cli(command[0], card["id"], *command[1:])
        assert done.exit_code == 1
        assert "[digest_missing]" in done.stderr
    assert shop.cli("approve", card["id"], "--digest", card["digest"], "--yes").exit_code == 0


def test_another_digest_than_the_cards_is_refused_and_kept_as_evidence(shop: Any) -> None:
    card = shop.json("show", shop.held_mail())
    done = shop.cli("approve", card["id"], "--digest", "sha-256:" + "A" * 43, "--yes")
    assert done.exit_code == 1
    assert "[digest_mismatch]" in done.stderr
    assert "DecisionRefused" in [event["type"] for event in shop.json("show", "mail-1")["events"]]


@pytest.mark.parametrize("command", [["approve"], ["modify", "--set", "subject=Other"]])
def test_what_is_folded_cannot_be_let_run_unseen(shop: Any, long_text: str, command: list[str]) -> None:
    fingerprint = shop.held_mail(body=long_text)
    refused = shop.cli(command[0], fingerprint, *command[1:], "--yes")
    assert refused.exit_code == 1
    assert "[not_shown]" in refused.stderr
    assert "body" in refused.stderr
    assert "--full" in refused.stderr
    assert decisions(shop, "mail-1") == []
    done = shop.cli(command[0], fingerprint, *command[1:], "--yes", "--full")
    assert done.exit_code == 0
    assert done.output.count("your invoice is overdue") == 30
    assert decisions(shop, "mail-1")[0].shown.opened == ("body",)


def test_folds_of_what_can_be_undone_may_stay_closed(shop: Any) -> None:
    shop.reopening.start(200, key="reopen-1")
    assert shop.cli("approve", shop.waiting("reopen-1"), "--yes").exit_code == 0


def test_the_record_says_what_was_shown_to_the_letter(shop: Any, terminal: list[str]) -> None:
    fingerprint = shop.held_mail()
    terminal.append("y")
    done = shop.cli("approve", fingerprint)
    shown_text = done.stdout.partition("Approve this?")[0]
    (decision,) = decisions(shop, "mail-1")
    digest = "sha-256:" + urlsafe_b64encode(hashlib.sha256(shown_text.encode()).digest()).rstrip(b"=").decode()
    assert decision.shown.channel == "terminal"
    assert decision.shown.render_digest == digest
    assert decision.shown.dwell_ms is not None
    assert 'Send email to "ap@newco.example"' in shown_text


def test_a_no_at_the_question_decides_nothing(shop: Any, terminal: list[str]) -> None:
    fingerprint = shop.held_mail()
    terminal.append("n")
    done = shop.cli("approve", fingerprint)
    assert done.exit_code == 1
    assert "Nothing was decided." in done.output
    assert decisions(shop, "mail-1") == []


def test_at_a_terminal_the_folded_card_is_shown_and_approve_refused(
    shop: Any, terminal: list[str], long_text: str
) -> None:
    done = shop.cli("approve", shop.held_mail(body=long_text))
    assert done.exit_code == 1
    assert "▸ closed" in done.stdout
    assert "[not_shown]" in done.stderr
    assert terminal == []


def test_rejecting_asks_nothing_and_its_words_reach_the_agent(shop: Any) -> None:
    done = shop.cli("reject", shop.held_mail(), "--note", "not for a first late payment")
    assert done.exit_code == 0
    assert 'Rejected: Send email to "ap@newco.example". It will not run.' in done.output
    assert "“not for a first late payment”" in done.output
    shop.work()
    assert shop.sent == []
    assert shop.state("mail-1") == "failed"


def test_a_redirection_needs_words(shop: Any) -> None:
    fingerprint = shop.held_mail()
    done = shop.cli("redirect", fingerprint)
    assert done.exit_code == 1
    assert "[note_missing]" in done.stderr
    assert shop.cli("redirect", fingerprint, "--note", "write to their lawyer").exit_code == 0


def test_a_response_stands_in_for_the_result(shop: Any) -> None:
    fingerprint = shop.held_mail()
    assert shop.cli("respond", fingerprint, "--result", "5").exit_code == 1
    done = shop.cli("respond", fingerprint, "--result", "by hand")
    assert "The tool does not run" in done.output or "the tool does not run" in done.output
    shop.work()
    assert shop.sent == []
    assert shop.json("show", "mail-1")["run"]["result"] == "by hand"


def test_a_response_of_another_type_is_refused(shop: Any) -> None:
    done = shop.cli("respond", shop.held_mail(), "--result", "[1]")
    assert done.exit_code == 1
    assert "[bad_result]" in done.stderr


def test_modifying_shows_old_and_new_and_runs_the_new(shop: Any) -> None:
    done = shop.cli("modify", shop.held_refund(), "--set", "amount=400.00", "--set", "note=CN-88", "--yes")
    assert done.exit_code == 0, done.output
    changes = done.output.partition("YOUR CHANGES")[2]
    assert "480.00" in changes
    assert "400.00" in changes
    shop.work()
    assert [str(each["amount"]) for each in shop.sent] == ["400.00"]
    assert shop.sent[0]["note"] == "CN-88"


def test_modifying_takes_an_object_as_json_too(shop: Any) -> None:
    done = shop.cli("modify", shop.held_refund(), "--json", '{"amount": "12.5", "note": null}', "--yes", "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["verdict"] == "modify"
    assert "12.5" in answer["shown"]["text"]


def test_modifying_in_an_editor(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import click

    monkeypatch.setattr(click, "edit", lambda text, extension: text.replace("480.00", "9.99"))
    assert shop.cli("modify", shop.held_refund(), "--edit", "--yes").exit_code == 0
    shop.work()
    assert str(shop.sent[0]["amount"]) == "9.99"


@pytest.mark.parametrize("edited", ["[]", '{"amount": "1"}', '{"amount": "1", "amount": "2"}', "{", None])
def test_a_bad_edit_decides_nothing(shop: Any, monkeypatch: pytest.MonkeyPatch, edited: str | None) -> None:
    import click

    monkeypatch.setattr(click, "edit", lambda text, extension: edited)
    done = shop.cli("modify", shop.held_refund(), "--edit", "--yes")
    assert done.exit_code in (1, 2)
    assert decisions(shop, "refund-1") == []


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["--set", "amount=much"], "bad_edit"),
        (["--set", "colour=red"], "bad_edit"),
        (["--set", "amount=480.00"], "bad_edit"),
        (["--set", "amount"], "usage"),
        ([], "usage"),
        (["--json", "{"], "usage"),
        (["--set", "amount=1", "--edit"], "usage"),
    ],
)
def test_an_edit_that_does_not_fit_decides_nothing(shop: Any, given: list[str], code: str) -> None:
    done = shop.cli("modify", shop.held_refund(), *given, "--yes")
    assert done.exit_code in (1, 2)
    assert f"[{code}]" in done.stderr
    assert done.stderr.count("\n") == 1
    assert decisions(shop, "refund-1") == []


def test_an_approval_can_be_taken_back_by_the_fingerprint_it_was_given_on(shop: Any) -> None:
    fingerprint = shop.held_mail()
    shop.cli("approve", fingerprint, "--yes")
    done = shop.cli("revoke", fingerprint, "--note", "wait")
    assert done.exit_code == 0
    assert fingerprint in done.output
    assert "approval taken back" in shop.cli("show", fingerprint).output
    shop.work()
    assert shop.sent == []


def test_the_second_decision_is_told_who_was_first(shop: Any) -> None:
    fingerprint = shop.held_mail()
    shop.cli("reject", fingerprint)
    done = shop.cli("approve", fingerprint, "--yes")
    assert done.exit_code == 1
    assert "[already_decided]" in done.stderr


def test_the_same_decision_again_changes_nothing_and_says_so(shop: Any) -> None:
    fingerprint = shop.held_mail()
    shop.cli("reject", fingerprint)
    done = shop.cli("reject", fingerprint)
    assert done.exit_code == 0
    assert "You had said this already. Nothing changed" in done.output
    assert shop.json("reject", fingerprint)["replayed"] is True


def test_the_receipt_in_json_keeps_its_keys(shop: Any) -> None:
    answer = shop.json("approve", shop.held_mail(), "--yes")
    assert set(answer) == {
        "verdict", "state", "late", "replayed", "decision", "card", "next", "outlook", "shown",
    }  # fmt: skip
    assert answer["state"] == "cleared"
    assert answer["card"]["ending"] == "approved"
    digest = urlsafe_b64encode(hashlib.sha256(answer["shown"]["text"].encode()).digest()).rstrip(b"=").decode()
    assert answer["shown"]["digest"] == f"sha-256:{digest}"


def test_reconciling_says_what_happened(shop: Any) -> None:
    done = shop.cli("reconcile", shop.doubtful(), "--found", "done", "--result", '"ref 17"')
    assert done.exit_code == 0
    assert "Recorded: it happened." in done.output
    shop.work()
    assert shop.json("show", "refund-1")["run"]["result"] == "ref 17"


def test_running_again_what_is_in_doubt_shows_it_and_asks(shop: Any) -> None:
    fingerprint = shop.doubtful()
    refused = shop.cli("reconcile", fingerprint, "--found", "run-again")
    assert "[not_confirmed]" in refused.stderr
    done = shop.cli("reconcile", fingerprint, "--found", "run-again", "--yes")
    assert "IF RUN AGAIN" in done.output
    shop.work()
    assert shop.state("refund-1") == "finished"


def test_found_failed_takes_no_result_and_approve_does_not_answer_a_reconcile_card(shop: Any) -> None:
    fingerprint = shop.doubtful()
    assert shop.cli("reconcile", fingerprint, "--found", "failed", "--result", "1").exit_code == 2
    done = shop.cli("approve", fingerprint, "--yes")
    assert done.exit_code == 1
    assert "[bad_verdict]" in done.stderr
    assert shop.cli("reconcile", fingerprint, "--found", "failed").exit_code == 0


def test_with_no_process_alive_an_approval_says_that_no_worker_runs(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from interlock.kernel.desk import ReviewDesk

    fingerprint = shop.held_mail()
    monkeypatch.setattr(ReviewDesk, "processes", lambda self: ())
    assert "No worker is running: start one with interlock worker" in shop.cli("approve", fingerprint, "--yes").output


def test_an_approval_behind_a_freeze_says_so(shop: Any) -> None:
    fingerprint = shop.held_mail()
    shop.cli("freeze", "tool", "send_email")
    done = shop.cli("approve", fingerprint, "--yes")
    assert "The tool send_email is frozen" in done.output
    assert "release tool send_email" in done.output


def test_a_run_that_only_its_program_can_enter_says_so(shop: Any) -> None:
    with shop.il.run("by-hand"):
        shop.send_email("a@x.example", "s", "b")
    done = shop.cli("approve", shop.waiting("by-hand"), "--yes")
    assert "It goes on when its program enters the run by-hand again." in done.output
