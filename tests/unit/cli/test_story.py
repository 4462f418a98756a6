"""Stories of runs that took other ways than straight through."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock import Interlock, NoEffect, Refused


def story(shop: Any, run: str) -> str:
    return shop.cli("show", run).output


def approve(shop: Any, run: str) -> None:
    assert shop.cli("approve", shop.waiting(run), "--yes").exit_code == 0


def test_a_redirection_reaches_the_agent_and_it_plans_again(shop: Any) -> None:
    shop.cli("redirect", shop.held_mail(), "--note", "write to their lawyer")
    shop.work()
    text = story(shop, "mail-1")
    assert "redirected" in text
    assert "“write to their lawyer”" in text
    assert "plans again" in text


def test_an_answer_by_a_person_is_told_as_such(shop: Any) -> None:
    fingerprint = shop.held_mail()
    shop.cli("respond", fingerprint, "--result", '"by hand"')
    text = story(shop, "mail-1")
    assert "answered in its place: result “by hand”" in text
    assert "The tool did not run." in text
    assert "done by the word of" in shop.cli("show", fingerprint).output


def test_what_policy_denies_is_refused_at_once(shop: Any) -> None:
    @shop.il.tool("irreversible", interrupt_policy="deny")
    def wipe() -> None: ...

    @shop.il.workflow
    def wiping() -> str:
        try:
            wipe()
        except Refused as refused:
            return refused.kind
        return "ran"

    wiping.start(key="wiping")
    text = story(shop, "wiping")
    assert "Was refused" in text
    assert "Denied" in text


def test_what_is_denied_after_people_let_it_go_is_told_after_their_yes(shop: Any) -> None:
    fingerprint = shop.held_mail()

    @shop.il.before
    def ours_only(call: Any) -> None:
        if not call.arguments["to"].endswith("example.com"):
            call.deny("not one of ours")

    assert shop.cli("modify", fingerprint, "--set", "to=eve@elsewhere.test", "--yes").exit_code == 0
    shop.work()
    text = story(shop, "mail-1")
    assert "refused at once" not in text
    changed, stopped = text.index("changed it"), text.index("Did not run")
    assert changed < stopped
    assert "not one of ours" in text[stopped:]
    assert re.search(r"DID +\d\d:\d\d:\d\d  Did not run: Denied", text)


def test_what_was_turned_down_is_not_asked_again(shop: Any) -> None:
    @shop.il.workflow
    def stubborn() -> str:
        for _ in range(2):
            try:
                return shop.send_email("a@x.example", "s", "b")
            except Refused:
                continue
        return "gave up"

    stubborn.start(key="stubborn")
    shop.cli("reject", shop.waiting("stubborn"))
    shop.work()
    text = story(shop, "stubborn")
    assert "rejected" in text
    assert "without a word" in text
    assert "the same was turned down before" in text


def test_a_failure_without_effect_is_told_as_such(shop: Any) -> None:
    shop.fails = NoEffect("mailbox full")
    fingerprint = shop.held_mail()
    approve(shop, "mail-1")
    shop.work()
    text = story(shop, "mail-1")
    assert "mailbox full" in text
    assert "Known to have had no effect." in text
    assert "failed, known to have had no effect" in shop.cli("show", fingerprint).output.replace("\n", "")


def test_doubt_and_what_was_found_are_told(shop: Any) -> None:
    fingerprint = shop.doubtful()
    before = story(shop, "refund-1")
    assert "Nobody knows whether it happened." in before
    assert "a person is asked whether it happened" in " ".join(before.split())
    assert "it raised an error (TimeoutError: no answer from the bank)" in before
    shop.cli("reconcile", fingerprint, "--found", "failed", "--note", "the bank says no")
    shop.work()
    text = story(shop, "refund-1")
    assert "It did not happen. “the bank says no”" in text
    closed = shop.cli("show", fingerprint).output
    assert "reconciled" in closed
    assert "FOUR ANSWERS" not in closed


def test_a_second_try_with_the_same_key_is_told(shop: Any) -> None:
    tries: list[int] = []

    @shop.il.tool("irreversible", idempotent=True)
    def pay(to: str) -> str:
        tries.append(1)
        if len(tries) == 1:
            raise TimeoutError("no answer")
        return "paid"

    @shop.il.workflow
    def paying() -> str:
        return pay("ana")

    paying.start(key="paying")
    approve(shop, "paying")
    shop.work()
    assert "Tried again" in story(shop, "paying")


@pytest.mark.parametrize(
    ("hooks", "says"),
    [
        ({"compensate": lambda order: 1 / 0}, "Not undone"),
        ({"compensate": lambda order: None, "precheck": lambda order: False}, "Not undone"),
        ({"compensate": lambda order: None}, "Undone"),
    ],
)
def test_what_became_of_a_rollback_is_told(shop: Any, hooks: dict[str, Callable[..., object]], says: str) -> None:
    @shop.il.tool("compensable", **hooks)
    def book(order: str) -> str:
        return "booked"

    @shop.il.workflow
    def booking() -> str:
        return book("88")

    booking.start(key="booking")
    fingerprint = shop.waiting("booking")
    approve(shop, "booking")
    shop.work()
    action = shop.json("show", "booking")["actions"][0]["id"]
    assert f"rollback {action}" in story(shop, "booking")
    shop.cli("rollback", action, "--yes")
    shop.work()
    assert says in story(shop, "booking")
    assert "it was done" in shop.cli("show", fingerprint).output


def test_code_that_took_another_way_is_stopped_and_can_be_accepted(shop: Any) -> None:
    new_way: list[bool] = []

    @shop.il.workflow
    def changing() -> str:
        if new_way:
            return shop.send_email("new@x.example", "s", "b")
        return shop.send_email("old@x.example", "s", "b")

    changing.start(key="changing")
    fingerprint = shop.waiting("changing")
    approve(shop, "changing")
    new_way.append(True)
    shop.work()
    text = story(shop, "changing")
    assert "its code took another way" in text
    assert "retry changing --accept-divergence" in text
    assert shop.cli("retry", "changing").exit_code == 0
    shop.work()  # the code is still the new one
    assert "retry changing --accept-divergence" in story(shop, "changing")
    assert shop.cli("retry", "changing", "--accept-divergence").exit_code == 0
    shop.work()
    approve(shop, "changing")
    shop.work()
    text = story(shop, "changing")
    assert "retried" in text
    assert "superseded" in shop.cli("show", fingerprint).output


def test_nothing_ran_after_the_deadline_and_a_late_no_is_kept(tmp_path: Path, shop: Any) -> None:
    from interlock.stores.sqlite import SqliteStore
    from interlock.testing import ManualClock

    path = tmp_path / "late.db"
    clock = ManualClock(datetime.now(UTC) - timedelta(hours=9))
    il = Interlock(agent="billing", store=SqliteStore(path, clock=clock))

    @il.tool("irreversible")
    def send(to: str) -> str:
        return "sent"

    @il.workflow
    def late(to: str) -> str:
        return send(to)

    late.start("ana", key="late")
    late.start("bob", key="later")
    il.close()
    shop.url = f"sqlite:///{path}"
    first, second = (shop.waiting(run) for run in ("late", "later"))
    assert "Nothing waits for you" in shop.cli("inbox").output
    refused = shop.cli("approve", first, "--yes")
    assert refused.exit_code == 1
    assert "[expired]" in refused.stderr
    done = shop.cli("reject", second)
    assert done.exit_code == 0
    assert "The card had expired before; nothing ran." in done.output
    assert "Expired" in story(shop, "late")
    assert "expired, nobody decided in time" in shop.cli("show", first).output


def test_an_old_approval_says_that_it_is_asked_again(shop: Any) -> None:
    from interlock.cards.standing import standing
    from interlock.domain.run import Run

    approve(shop, "mail-1") if shop.held_mail() else None
    with shop.desk() as desk:
        view = desk.story("mail-1")
    later = view.now + timedelta(days=2)
    run: Run = view.run
    assert "too old by now" in standing(view.actions[0], run, later)


def test_calls_of_one_kind_are_summed_up(shop: Any) -> None:
    @shop.il.tool("read_only")
    def look_up(number: int) -> int:
        return number

    @shop.il.workflow
    def reading() -> int:
        return sum(look_up(number % 7) for number in range(9)) + shop.il.step(len, "abc")

    reading.start(key="reading")
    text = story(shop, "reading")
    assert "(2 times)" in text
    assert "and 2 other calls" in text
    assert "WORKED OUT    │" in text
    assert "Look up: number 6 → 6" not in text
    assert "Look up: number 6 → 6" in shop.cli("show", "reading", "--full").output


def test_a_worker_that_died_is_told_and_the_next_one_takes_over(shop: Any) -> None:
    import subprocess
    import sys

    code = (
        "import os\nfrom interlock import Interlock\n"
        f"il = Interlock({shop.url!r}, agent='billing')\n"
        "@il.tool('compensable')\ndef act() -> None: os._exit(1)\n"
        "@il.workflow\ndef dying() -> None: act()\n"
        "from interlock import Desk\n"
        "dying.start(key='dying')\n"
        f"with Desk({shop.url!r}) as desk:\n"
        "    (view,) = desk.open()\n"
        "    desk.approve(view.card.id, digest=view.card.digest)\n"
        "il.worker().run_until_idle()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "is gone; a worker takes it over" in story(shop, "dying")
    shop.work()
    text = story(shop, "dying")
    assert "Broke off" in text
    assert "its executor is gone" in text


def test_the_parts_of_a_story_stand_in_their_order(shop: Any, long_text: str) -> None:
    shop.held_mail(body=long_text)
    shop.cli("modify", shop.waiting("mail-1"), "--set", "to=ana@x.example", "--note", "moved", "--yes", "--full")
    shop.work()
    text = shop.cli("show", "mail-1").output
    parts = (
        "ASKED  ", "INPUT  ", "READ  ", "CONSIDERED  ", "“It is overdue.”", "says it is 80% sure",
        "not sure because: a web form", "expects: they pay", "PROPOSED  ", "To = “ap@newco.example”",
        "Held for a person:", "WAS TOLD  ", "changed it", "→ “ana@x.example”", "“moved”", "DID  ", "Done",
        "ENDED  ", "Finished", "RESULT  ", "▸ CUT  ",
    )  # fmt: skip
    at = 0
    for part in parts:
        assert part in text[at:], part
        at = text.index(part, at)


def test_what_is_long_is_cut_and_shown_whole_when_asked(shop: Any, long_text: str) -> None:
    shop.held_mail(body=long_text)
    text = shop.cli("show", "mail-1").output
    assert f"({len(long_text):,} characters)" in text.replace("\n", " ")
    assert "show mail-1 --full" in text
    whole = shop.cli("show", "mail-1", "--full").output
    assert "▸ CUT" not in whole
    edge = "\n              │ "
    assert long_text.split() == whole.partition("Body = “")[2].replace(edge, " ").partition("”")[0].split()


def test_doubt_and_its_end_are_told_in_the_order_in_which_they_came(shop: Any) -> None:
    shop.cli("reconcile", shop.doubtful(), "--found", "done", "--note", "seen")
    shop.work()
    text = shop.cli("show", "refund-1").output
    said = ["WAS TOLD", "approved", "DID", "In doubt", "WAS TOLD", "found", "It happened. “seen”", "ENDED"]
    assert [word for word in said if word in text] == said
    at = 0
    for word in said:
        at = text.index(word, at) + len(word)
    assert "did not run" not in text


def test_a_run_that_proposed_nothing_says_so(shop: Any) -> None:
    @shop.il.workflow
    def idle() -> None: ...

    idle.start(key="idle")
    text = story(shop, "idle")
    assert "It has proposed nothing that could change anything." in text
    assert "0 actions" in text


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_of_a_story_is_wider_than_the_terminal_but_commands(shop: Any, columns: int) -> None:
    from rich.console import Console

    from interlock.cli.paper import Sheet
    from interlock.cli.run_page import draw_run

    shop.held_mail(to="a" * 300 + "@x.example", why="because " * 40)
    with shop.desk() as desk:
        sheet = Sheet(Console(width=columns))
        draw_run(sheet, desk.story("mail-1"), desk, prefix="interlock", full=False)
    width = min(columns, 100)
    assert not [line for line in sheet.plain.splitlines() if len(line) > width and not line.startswith("  interlock")]
