"""What is hidden on every page, and what a reveal prints and leaves behind."""

from typing import Any

import pytest

CARD = "4111111111111111"
PIN = "pin-98765"


@pytest.fixture
def charged(shop: Any) -> str:
    """A charge that waits, after a look-up that nobody was asked about; answers its fingerprint."""

    @shop.il.tool("read_only", sensitive="card")
    def check(card: str) -> bool:
        return True

    @shop.il.tool(
        "irreversible",
        sensitive=["card", "extra.pin"],
        preview=lambda card, amount: f"POST /charges\n  card …{card[-4:]}\n  amount {amount}",
        expected_outcome="The customer gets a receipt.",
        slices={"amount": lambda amount: "low" if amount < 10 else "high"},
    )
    def charge(card: str, amount: int, extra: dict[str, str], password: str = "hunter2hunter2") -> str:
        shop.sent.append({"card": card, "amount": amount, **extra})
        return "ok"

    @shop.il.workflow
    def charging(order: str) -> str:
        check(CARD)
        with shop.il.rationale("It is due.", expected="they are happy"):
            return charge(CARD, 12, {"pin": PIN, "name": "Ana"})

    charging.start("7", key="charge-1")
    return str(shop.waiting("charge-1"))


def test_no_page_and_no_json_prints_what_is_hidden(shop: Any, charged: str) -> None:
    commands = [
        ["show", charged],
        ["show", charged, "--full"],
        ["show", charged, "--exact"],
        ["show", charged, "--json", "--exact"],
        ["show", "charge-1"],
        ["show", "charge-1", "--json"],
        ["inbox"],
        ["inbox", "--json"],
        ["runs", "--json"],
        ["modify", charged, "--set", "amount=9", "--yes", "--full"],
        ["show", "charge-1", "--json"],
        ["show", charged, "--json", "--exact"],
    ]
    for command in commands:
        done = shop.cli(*command)
        assert done.exit_code == 0, done.output
        for secret in (CARD, PIN, "hunter2"):
            assert secret not in done.output, command
    shop.work()
    assert shop.sent == [{"card": CARD, "amount": 9, "pin": PIN, "name": "Ana"}]
    assert "[hidden]" in shop.cli("show", "charge-1").output or "Charge" in shop.cli("show", "charge-1").output


def test_the_card_says_what_is_hidden_and_how_to_see_it(shop: Any, charged: str) -> None:
    text = shop.cli("show", charged).output
    assert "[hidden · 16 characters · " in text
    assert f"reveal {charged} card extra.pin password" in text
    shown = shop.json("show", charged)
    assert shown["hidden"] == ["card", "extra.pin", "password"]
    assert shown["arguments"]["extra"]["name"] == "Ana"
    assert shown["arguments"]["card"].startswith("[hidden · 16 characters · ")


def test_a_reveal_prints_the_values_and_is_told_in_the_story(shop: Any, charged: str) -> None:
    done = shop.cli("reveal", charged, "card", "args.extra.pin")
    assert done.exit_code == 0
    assert CARD in done.output
    assert PIN in done.output
    assert "On record" in done.output
    assert shop.json("reveal", charged, "password") == {"card": charged, "revealed": {"password": "hunter2hunter2"}}
    assert shop.json("reveal", charged, "extra")["revealed"] == {"extra": {"name": "Ana", "pin": PIN}}
    shop.cli("reject", charged)
    assert shop.cli("reveal", charged, "card").exit_code == 0  # a closed card as well
    story = shop.cli("show", "charge-1").output
    assert "looked" in story
    assert "at what is hidden: card, extra.pin" in story
    assert CARD not in story


@pytest.mark.parametrize(("field", "code"), [("amount", "not_hidden"), ("nix", "no_such_field")])
def test_a_field_that_hides_nothing_is_refused(shop: Any, charged: str, field: str, code: str) -> None:
    assert shop.cli("reveal", charged, field).exit_code == 1
    assert f"[{code}]" in shop.cli("reveal", charged, field).output


def test_the_editor_shows_no_hidden_value_and_keeps_it(
    shop: Any, charged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import click

    seen: list[str] = []

    def edit(text: str, **_: object) -> str:
        seen.append(text)
        return text.replace('"Ana"', '"Bea"').replace('"amount": 12', '"amount": 1')

    monkeypatch.setattr(click, "edit", edit)
    done = shop.cli("modify", charged, "--edit", "--yes", "--full")
    assert done.exit_code == 0, done.output
    for secret in (CARD, PIN, "hunter2"):
        assert secret not in seen[0] + done.output
    shop.work()
    assert shop.sent == [{"card": CARD, "amount": 1, "pin": PIN, "name": "Bea"}]


def test_a_new_hidden_value_is_shown_as_changed_and_hidden(shop: Any, charged: str) -> None:
    done = shop.cli("modify", charged, "--set", "card=5500000000000004", "--yes", "--full")
    assert "5500000000000004" not in done.output
    assert done.output.count("[hidden · 16 characters · ") >= 3
    assert "Card [hidden" in shop.cli("show", "charge-1").output


def test_the_preview_is_a_block_of_its_own_in_the_tools_words(shop: Any, charged: str) -> None:
    text = shop.cli("show", charged, "--full").output
    assert "by the tool's own code, not the agent" in text
    assert "│ POST /charges\n" in text
    assert "│   card …1111\n" in text
    assert "EXPECTED      │ The customer gets a receipt.  by the tool" in text
    assert "EXPECTED      ┊ “they are happy”  agent's words" in text
    assert "SLICES        amount: high" in text
    shown = shop.json("show", charged)
    assert shown["preview"] == "POST /charges\n  card …1111\n  amount 12"
    assert (shown["no_preview"], shown["tool_expects"]) == (None, "The customer gets a receipt.")
    assert shown["slices"] == {"amount": "high"}


def held(shop: Any, preview: Any) -> str:
    @shop.il.tool("irreversible", preview=preview)
    def wipe() -> None: ...

    with shop.il.run("wipe"):
        wipe()
    return str(shop.waiting("wipe"))


def test_a_preview_that_fails_is_said_and_a_reason(shop: Any) -> None:
    fingerprint = held(shop, lambda: {}["rows"])
    text = shop.cli("show", fingerprint).output
    assert "PREVIEW       no preview: KeyError: 'rows'" in text
    assert "• its preview failed, so what it would do is not shown" in text
    assert shop.json("show", fingerprint)["no_preview"] == "KeyError: 'rows'"


def test_a_preview_that_changed_is_shown_with_what_is_gone(shop: Any) -> None:
    rows = [3]

    @shop.il.tool("irreversible", preview=lambda: f"DELETE FROM t\n{rows[0]} rows")
    def wipe() -> None: ...

    @shop.il.workflow
    def wiping() -> None:
        wipe()

    wiping.start(key="wipe")
    shop.cli("approve", shop.waiting("wipe"), "--yes")
    rows[0] = 5000
    shop.work()
    text = shop.cli("show", shop.waiting("wipe")).output
    assert "SHOWN BEFORE  │ 3 rows\n" in text
    assert "│ 5000 rows\n" in text
    assert "• what it would do has changed since it was approved" in text
    assert "asked again: what it would do has changed" in " ".join(shop.cli("inbox").output.split())
    assert shop.json("show", shop.waiting("wipe"), "--exact")["document_whole"] is True


def test_a_long_preview_must_be_opened_before_it_is_approved(shop: Any) -> None:
    fingerprint = held(shop, lambda: "\n".join(f"row {n} \x1b[2J" for n in range(40)))
    text = shop.cli("show", fingerprint).output
    assert "row 15" in text
    assert "row 16" not in text
    assert "40 lines; --full opens it" in text
    assert "\x1b" not in text
    assert "[not_shown]" in shop.cli("approve", fingerprint, "--yes").output
    assert "row 39" in shop.cli("show", fingerprint, "--full").output
    assert shop.cli("approve", fingerprint, "--yes", "--full").exit_code == 0


def test_a_value_whose_name_says_secret_is_in_no_headline(shop: Any) -> None:
    @shop.il.tool("irreversible")
    def log_in(password: str) -> None: ...

    with shop.il.run("login"):
        log_in("hunter2hunter2")
    for command in (["inbox"], ["show", shop.waiting("login")], ["show", "login"], ["inbox", "--json"]):
        assert "hunter2" not in shop.cli(*command).output
