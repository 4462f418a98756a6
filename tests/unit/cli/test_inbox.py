"""The list of what waits: its order, its facts, its JSON."""

from typing import Any

import pytest


def test_an_empty_inbox_says_so_kindly(shop: Any) -> None:
    done = shop.cli("inbox")
    assert done.exit_code == 0
    assert "Nothing waits for you." in done.output


def test_a_store_that_is_not_there_is_not_made_by_looking_at_it(shop: Any, tmp_path: Any) -> None:
    path = tmp_path / "typo.db"
    done = shop.cli("inbox", "--url", f"sqlite:///{path}")
    assert done.exit_code == 2
    assert "[no_store]" in done.stderr
    assert not path.exists()


def test_what_is_in_doubt_stands_before_what_is_final_and_that_before_the_rest(shop: Any) -> None:
    shop.reopening.start(3, key="reopen-1")
    shop.held_mail()
    shop.doubtful()
    shop.refunding.start("other", key="refund-2")
    text = shop.cli("inbox").output
    places = [text.index(title) for title in ("IN DOUBT", "IRREVERSIBLE", "COSTLY", "THE REST")]
    assert places == sorted(places)
    assert [card["band"] for card in sorted(shop.json("inbox")["cards"], key=lambda card: card["band"])] == [
        "costly",
        "in_doubt",
        "irreversible",
        "other",
    ]


def test_a_row_names_what_to_whom_whose_and_how_long(shop: Any) -> None:
    fingerprint = shop.held_mail()
    text = shop.cli("inbox").output
    assert f'{fingerprint}  Send email to "ap@newco.example"' in text
    assert "waits 0 s · expires in 3 h 59 min" in text
    assert 'billing · mail, run mail-1   Subject: "Overdue"' in text


def test_a_disguised_recipient_is_the_fact_that_matters(shop: Any) -> None:
    shop.held_mail(to="ap@ex\u0430mple.com")
    assert "! a name that looks like another" in shop.cli("inbox").output


def test_the_inbox_says_what_is_frozen(shop: Any) -> None:
    shop.held_mail()
    shop.cli("freeze", "all", "--reason", "audit")
    text = shop.cli("inbox").output
    assert "Everything is frozen" in text
    assert "audit" in text
    assert "! frozen" in text


def test_the_list_ends_at_its_limit_and_says_so(shop: Any) -> None:
    for number in range(3):
        shop.refunding.start(str(number), key=f"r{number}")
    assert "More wait than the 2 shown" in shop.cli("inbox", "--limit", "2").output
    assert shop.json("inbox", "--limit", "2")["total"] == 2


def test_the_json_of_a_card_keeps_its_keys(shop: Any) -> None:
    shop.held_mail()
    answer = shop.json("inbox")
    assert set(answer) == {"now", "total", "cards"}
    (card,) = answer["cards"]
    assert set(card) == {
        "band", "fingerprint", "id", "kind", "digest", "open", "ending", "revision", "opened_at", "expires_at",
        "ended_at", "why", "previous", "now", "what", "action", "run", "agent_says", "reasons",
    }  # fmt: skip
    assert card["action"]["reversibility"] == "irreversible"
    assert card["agent_says"] == {
        "reasoning": "It is overdue.",
        "expected": "they pay",
        "confidence": 0.8,
        "uncertainty": ["a web form"],
        "considered": [],
    }


def test_watching_shows_the_list_again_when_it_changes_until_ctrl_c(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from interlock.kernel.desk import ReviewDesk

    shop.held_mail()
    waits = iter([lambda: shop.refunding.start("late", key="late")])

    def wait(self: object, timeout: float) -> bool:
        try:
            next(waits)()
        except StopIteration:
            raise KeyboardInterrupt from None
        return True

    monkeypatch.setattr(ReviewDesk, "wait_for_change", wait)
    done = shop.cli("inbox", "--watch")
    assert done.exit_code == 130
    assert "1 waits for you." in done.stdout
    assert "2 wait for you." in done.stdout
    assert "Traceback" not in done.output


def test_a_process_that_died_with_something_in_hand_is_told(shop: Any) -> None:
    import subprocess
    import sys

    code = (
        "import os\nfrom interlock import Interlock\n"
        f"il = Interlock({shop.url!r}, agent='billing')\n"
        "@il.tool('compensable', interrupt_policy='none')\ndef act() -> None: os._exit(1)\n"
        "@il.workflow\ndef dying() -> None: act()\n"
        "dying.start(key='dying')\n"
    )
    shop.held_mail()
    assert "gone" not in shop.cli("inbox").output
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 1
    said = " ".join(shop.cli("inbox").output.split())
    assert "! 1 process is gone and left 1 started action and 1 run behind. The next worker looks after that:" in said
    shop.work()
    assert "gone and left" not in shop.cli("inbox").output
