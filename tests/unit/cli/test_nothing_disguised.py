"""Hostile text: nothing that an agent, a tool or a person writes can hide, pose or act on the terminal."""

import re
import unicodedata
from typing import Any

import pytest

HOSTILE = (
    "Hello\u202edlrow\x1b[2K\x1b]0;title\x07\r\u200b"
    + " " * 300
    + "; rm -rf /\nWHAT HAPPENS  nothing leaves the company\nSAID SO FAR   ana approved\n"
    + "  interlock approve AAAA-AAAA\x9b1m"
)
SECRET = "sk-live_abcdefghijklmnop1234"


def bad_characters(text: str) -> list[str]:
    return [
        f"U+{ord(character):04X}"
        for character in text
        if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    ]


@pytest.fixture
def hostile(shop: Any) -> Any:
    shop.mail.start(HOSTILE[:60], body=HOSTILE, subject=HOSTILE, why=HOSTILE, key="evil'; rm -rf ~")
    return shop


def every_output(shop: Any) -> list[str]:
    fingerprint = shop.json("inbox")["cards"][0]["fingerprint"]
    run = "evil'; rm -rf ~"
    commands = [
        ["inbox"],
        ["inbox", "--json"],
        ["runs"],
        ["runs", "--json"],
        ["show", fingerprint],
        ["show", fingerprint, "--full"],
        ["show", fingerprint, "--exact"],
        ["show", fingerprint, "--json", "--exact"],
        ["show", run],
        ["show", run, "--json"],
        ["show", HOSTILE],
        ["doctor"],
        ["freeze", "run", run, "--reason", HOSTILE],
        ["inbox"],
        ["show", fingerprint],
        ["doctor"],
        ["show", run],
        ["approve", fingerprint, "--yes"],
        ["approve", fingerprint, "--yes", "--full", "--note", HOSTILE],
        ["revoke", fingerprint, "--note", HOSTILE],
        ["show", fingerprint],
        ["reject", fingerprint, "--note", HOSTILE],
        ["reject", fingerprint],
        ["show", fingerprint],
        ["show", run],
        ["retry", run],
        ["cancel", run, "--reason", HOSTILE],
        ["show", run],
        ["release", "run", run],
        ["modify", fingerprint, "--set", HOSTILE],
        ["frobnicate\x1b[2J"],
        ["approve", "--\x1b[2J"],
        ["worker", "no_such\x1b[2J:il"],
    ]
    outputs: list[str] = []
    for command in commands:
        done = shop.cli(*command)
        assert "Traceback" not in done.output, command
        assert done.exception is None or isinstance(done.exception, SystemExit), command
        outputs += [done.stdout, done.stderr]
    return outputs


def test_no_output_ever_holds_a_control_or_turning_character(hostile: Any) -> None:
    for text in every_output(hostile):
        assert bad_characters(text) == []


def test_no_line_of_a_value_can_pose_as_a_line_of_the_card(hostile: Any) -> None:
    fingerprint = hostile.json("inbox")["cards"][0]["fingerprint"]
    text = hostile.cli("show", fingerprint, "--full").stdout
    for forged in ("WHAT HAPPENS  nothing leaves", "SAID SO FAR   ana approved", "interlock approve AAAA-AAAA"):
        lines = [line for line in text.splitlines() if forged in line]
        assert lines
        assert all(re.match(r"^.{8,40}[│┊] ", line) for line in lines)
    assert not re.search(r"^(SAID SO FAR|  interlock approve)", text, re.MULTILINE)


def test_what_would_hide_is_spelled_out_and_counted(hostile: Any) -> None:
    fingerprint = hostile.json("inbox")["cards"][0]["fingerprint"]
    text = hostile.cli("show", fingerprint, "--full").stdout
    assert "would hide or mislead" in text
    joined = re.sub(r"\s*\n\s*│ ", " ", text)
    assert "U+202E RIGHT-TO-LEFT OVERRIDE" in joined
    assert "U+001B ESCAPE" in joined
    assert "300 spaces" in joined
    assert "; rm -rf /" in joined


def test_a_recipient_in_look_alike_letters_is_flagged_with_its_real_name(shop: Any) -> None:
    text = shop.cli("show", shop.held_mail(to="ap@ex\u0430mple.com")).stdout
    assert "! Not ap@example.com" in text
    assert "U+0430 CYRILLIC SMALL LETTER A" in text
    assert "xn--exmple-4nf.com" in text.replace("\n", "")


def test_secrets_are_masked_with_a_suffix_to_compare(shop: Any) -> None:
    fingerprint = shop.held_mail(body=f"the key is {SECRET}")
    for command in (
        ["show", fingerprint],
        ["show", fingerprint, "--full"],
        ["show", fingerprint, "--exact"],
        ["inbox"],
    ):
        assert SECRET not in shop.cli(*command).stdout
    assert "sk-…••••(sha256 " in shop.cli("show", fingerprint).stdout


def test_a_value_whose_name_says_secret_is_masked(shop: Any) -> None:
    @shop.il.tool("irreversible")
    def log_in(user: str, password: str) -> None: ...

    with shop.il.run("login"):
        log_in("ana", "hunter2hunter2")
    text = shop.cli("show", shop.waiting("login")).stdout
    assert "hunter2" not in text
    assert "••••(sha256 " in text


def test_a_text_cannot_pose_as_another_type(shop: Any) -> None:
    @shop.il.tool("irreversible")
    def pay(amount: str, parts: list[object]) -> None: ...

    with shop.il.run("pay"):
        pay("Decimal  │ 5.00", ['Decimal("5.00")', 5])
    text = shop.cli("show", shop.waiting("pay")).stdout
    assert re.search(r"Amount +text +│ Decimal  │ 5.00", text)
    assert r'["Decimal(\"5.00\")", 5]' in text


def test_a_masked_part_is_announced_because_it_is_not_seen(shop: Any) -> None:
    fingerprint = shop.held_mail(body="api_key=wire-all-money-to-eve-and-delete-the-backups")
    card = shop.cli("show", fingerprint).output
    assert "wire-all-money" not in card
    assert "masked here: you do not see all that would run" in " ".join(card.split())
