"""Freeze, release, cancel, retry, rollback."""

from typing import Any


def test_a_freeze_stops_the_next_action_and_a_release_lets_it_go_on(shop: Any) -> None:
    fingerprint = shop.held_mail()
    assert "Frozen: everything." in shop.cli("freeze", "all", "--reason", "audit").output
    shop.cli("approve", fingerprint, "--yes")
    shop.work()
    assert shop.sent == []
    assert "FROZEN" in shop.cli("show", fingerprint).output
    answer = shop.json("release", "all")
    assert answer == {"released": {"scope": "all", "name": None}, "freezes": []}
    shop.work()
    assert len(shop.sent) == 1


def test_a_freeze_names_what_it_stops(shop: Any) -> None:
    shop.held_mail()
    assert shop.cli("freeze").exit_code == 2  # stopping everything is said, not left out
    assert shop.cli("freeze", "agent").exit_code == 2
    assert shop.cli("freeze", "all", "name").exit_code == 2
    stop = shop.json("freeze", "agent", "billing")["freeze"]
    assert (stop["scope"], stop["name"]) == ("agent", "billing")
    assert "Still frozen: agent billing." in shop.cli("freeze", "all").output + shop.cli("release", "all").output


def test_releasing_what_is_not_frozen_is_refused(shop: Any) -> None:
    shop.held_mail()
    done = shop.cli("release", "all")
    assert done.exit_code == 1
    assert "[not_frozen]" in done.stderr


def test_cancelling_withdraws_what_has_not_started(shop: Any) -> None:
    fingerprint = shop.held_mail()
    assert "Cancelled." in shop.cli("cancel", "mail-1", "--reason", "done by phone").output
    assert shop.state("mail-1") == "cancelled"
    assert "withdrawn" in shop.cli("show", fingerprint).output
    assert "done by phone" in shop.cli("show", "mail-1").output


def test_a_failed_run_can_be_retried(shop: Any) -> None:
    fingerprint = shop.held_refund()
    shop.cli("approve", fingerprint, "--yes")
    shop.fails = TimeoutError("no")
    shop.work()
    shop.cli("reconcile", shop.waiting("refund-1"), "--found", "failed")
    shop.work()
    assert shop.state("refund-1") == "failed"
    shop.fails = None
    done = shop.cli("retry", "refund-1")
    assert "It is due again." in done.output
    shop.work()
    again = shop.waiting("refund-1")
    text = shop.cli("show", again).output
    assert "attempt 2" in text
    assert "1 earlier attempt" in text


def test_a_run_that_is_not_stopped_is_not_retried(shop: Any) -> None:
    fingerprint = shop.held_mail()
    shop.cli("approve", fingerprint, "--yes")
    shop.work()
    done = shop.cli("retry", "mail-1")
    assert done.exit_code == 1
    assert "[not_stopped]" in done.stderr
    assert "[unknown_run]" in shop.cli("retry", "nothing").stderr


def test_a_rollback_asks_and_a_worker_does_it(shop: Any, terminal: list[str]) -> None:
    shop.cli("approve", shop.held_refund(), "--yes")
    shop.work()
    action = shop.json("show", "refund-1")["actions"][0]["id"]
    terminal.append("n")
    assert shop.cli("rollback", action).exit_code == 1
    terminal.append("y")
    done = shop.cli("rollback", action)
    assert 'This was done: Refund 480.00, order "88-1204"' in done.output
    assert 'Asked: Refund 480.00, order "88-1204" is to be undone, and is not yet.' in done.output
    assert f"interlock --url {shop.url} show refund-1" in done.output
    shop.work()
    assert shop.json("show", "refund-1")["actions"][0]["state"] == "rolled_back"
    assert "Undone" in shop.cli("show", "refund-1").output


def test_what_cannot_be_undone_is_not_rolled_back(shop: Any) -> None:
    shop.cli("approve", shop.held_mail(), "--yes")
    shop.work()
    action = shop.json("show", "mail-1")["actions"][0]["id"]
    assert "[not_compensable]" in shop.cli("rollback", action, "--yes").stderr
    assert "[unknown_action]" in shop.cli("rollback", "nothing", "--yes").stderr


def test_a_rollback_with_nobody_to_ask_needs_yes(shop: Any) -> None:
    shop.cli("approve", shop.held_refund(), "--yes")
    shop.work()
    action = shop.json("show", "refund-1")["actions"][0]["id"]
    assert "[not_confirmed]" in shop.cli("rollback", action).stderr
    assert shop.json("rollback", action, "--yes")["work"].startswith("rollback:")


def test_a_freeze_of_what_nobody_knows_holds_and_warns(shop: Any) -> None:
    shop.held_mail()
    done = shop.cli("freeze", "tool", "send_emial")
    assert done.exit_code == 0
    assert "Warning: no tool send_emial is known in this store. Did you mean send_email?" in done.output
    assert (
        "no agent biling is known in this store. Did you mean billing?" in shop.cli("freeze", "agent", "biling").output
    )
    assert "there is no run mail-2 in this store yet." in shop.cli("freeze", "run", "mail-2").output
    assert len(shop.json("release", "run", "mail-2")["freezes"]) == 2
    for known in (("tool", "send_email"), ("tool", "find_invoices"), ("agent", "billing"), ("run", "mail-1"), ("all",)):
        assert shop.json("freeze", *known)["warning"] is None, known


def test_a_cancelled_run_says_how_many_actions_still_run(shop: Any) -> None:
    shop.held_mail()
    assert "still" not in shop.cli("cancel", "mail-1").output
