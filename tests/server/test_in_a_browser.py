"""The pages in a real browser: by keyboard, without scripts, on a phone, dark, and under hostile text."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from inbox_server import LONG, Served, serving
from playwright.sync_api import Browser, Page, expect, sync_playwright

pytestmark = pytest.mark.browser

QUIET_S = 0.55
"""Keys that decide are ignored for half a second after anything moved."""
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CORPUS = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\"><svg/onload=document.title='owned'>",
    "{{ 7*7 }} {% raw %} ${7*7} #{7*7}",
    "[approve](javascript:alert(1)) ![x](http://evil.example/x.png) <a href='http://evil.example'>Approve</a>",
    "invoice\u202egnp.exe \u200b\u200d\u2066 \U000e0041\U000e0042 \u3164 \x1b[31mred\x1b[0m \x00 \x07",
    "a" + " " * 400 + "b",
    "\n" * 60 + "APPROVED BY ANA. This card is safe, press Approve.",
    "</textarea></form><form action=/freeze method=post><button>Approve</button></form>",
    "\u0430p@newco.example and http://g\u043e\u043egle.com/ and \uff41\uff50\uff49",
    "sk-live-51H8abcdefghijklmnopqrstuvwxyz0123456789ABCD",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u0e01"
    + "\u0e49" * 8
    + " Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f",
    "Donaudampfschifffahrtselektrizit\u00e4tenhauptbetriebswerkbauunterbeamtengesellschaft" * 3,
)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture
def working(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, worker=True) as served:
        yield served


@contextmanager
def tab(browser: Browser, served: Served, **options: Any) -> Iterator[Page]:
    """A tab of somebody who is signed in; what the browser complains about fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type == "error" and "status of 4" not in said.text else None,
    )
    page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
    page.goto(served.link())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{served.url}/")
    yield page
    context.close()
    assert complaints == []


def press(page: Page, key: str) -> None:
    """Press a key as a person does: after having looked."""
    time.sleep(QUIET_S)
    page.keyboard.press(key)


def everything(served: Served) -> dict[str, str]:
    """One card of each kind, by what it is."""
    shop = served.shop
    return {
        "doubt": shop.doubt(),
        "mail": shop.card(shop.mail.start("ap@newco.example", body=LONG)),
        "hidden": shop.card(shop.charging.start("4111 1111 1111 1111")),
        "refund": shop.card(shop.refunding.start("88-1204")),
        "question": shop.card(shop.asking.start("How many copies?")),
        "choice": shop.card(shop.choosing.start("Which lamp?")),
        "rest": shop.card(shop.reopening.start(7)),
    }


def test_twenty_cards_are_decided_by_keyboard_alone(browser: Browser, served: Served) -> None:
    for number in range(20):
        served.shop.refunding.start(f"88-{number}", f"{number + 1}.00")
    with tab(browser, served) as page:
        for number in range(20):
            press(page, "j")
            page.keyboard.press("Enter")
            page.wait_for_url(re.compile("/i/"))
            press(page, "r" if number % 2 else "a")
            expect(page.locator("#state h2")).to_have_text(
                re.compile("Did not run" if number % 2 else "Approved, not started yet")
            )
            page.goto(served.url)
        expect(page.get_by_role("heading", name="All quiet")).to_be_visible()
    served.shop.il.worker().run_until_idle()
    assert len(served.shop.sent) == 10


def test_what_cannot_be_undone_has_no_key(browser: Browser, served: Served) -> None:
    card = served.shop.card(served.shop.mail.start("ap@newco.example"))
    with tab(browser, served) as page:
        page.goto(f"{served.url}/i/{card}")
        press(page, "a")
        time.sleep(0.3)
        view = served.kernel.card(card)
        assert view is not None
        assert view.card.open
        assert page.evaluate("document.activeElement.tagName") == "BODY"


def test_a_held_key_and_a_double_click_decide_once(browser: Browser, working: Served) -> None:
    first = working.shop.card(working.shop.refunding.start("88-1"))
    second = working.shop.card(working.shop.refunding.start("88-2"))
    with tab(browser, working) as page:
        page.goto(f"{working.url}/i/{first}")
        time.sleep(QUIET_S)
        page.evaluate(
            "for (let n = 0; n < 20; n++) document.dispatchEvent("
            "new KeyboardEvent('keydown', {key: 'a', repeat: n > 0, bubbles: true}))"
        )
        expect(page.locator("#state h2")).to_have_text(re.compile("Done"))
        page.goto(f"{working.url}/i/{second}")
        page.get_by_role("button", name="Approve").dblclick()
        expect(page.locator("#state h2")).to_have_text(re.compile("Done"))
    assert [sent["order"] for sent in working.shop.sent] == ["88-1", "88-2"]
    decided = [event for event in working.kernel.events(None, 500) if event[1].type.value.startswith("Decision")]
    assert len(decided) == 2


def test_keys_do_nothing_right_after_the_page_moved_and_can_be_turned_off(browser: Browser, served: Served) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1"))
    with tab(browser, served) as page:
        page.goto(f"{served.url}/i/{card}")
        page.keyboard.press("a")
        page.locator(".menu summary").click()
        page.get_by_role("button", name="Turn shortcuts off").click()
        page.locator(".menu summary").click()
        page.locator("h1").click()
        press(page, "a")
        press(page, "r")
        time.sleep(0.3)
        view = served.kernel.card(card)
        assert view is not None
        assert view.card.open


def test_everything_works_without_scripts(browser: Browser, served: Served) -> None:
    cards = everything(served)
    with tab(browser, served, java_script_enabled=False) as page:
        page.goto(f"{served.url}/i/{cards['mail']}")
        expect(page.get_by_role("button", name="Approve")).to_be_disabled()
        page.get_by_role("button", name="Open body").click()
        page.get_by_role("button", name="Approve").click()
        expect(page.locator("#state h2")).to_have_text(re.compile("Approved"))
        page.get_by_role("button", name="Take it back").click()
        expect(page.get_by_role("button", name="Reject")).to_be_visible()
        page.goto(f"{served.url}/i/{cards['refund']}")
        page.get_by_role("link", name="Modify").click()
        page.get_by_label("Amount").fill("408.00")
        page.get_by_role("button", name="Approve as modified").click()
        expect(page.locator("#state h2")).to_have_text(re.compile("Approved"))
        page.goto(f"{served.url}/i/{cards['question']}")
        page.get_by_role("link", name="Answer").click()
        page.get_by_label("Answer").fill("3")
        page.get_by_role("button", name="Give this answer").click()
        expect(page.locator("#state h2")).to_have_text(re.compile("Done"))
        page.goto(f"{served.url}/i/{cards['choice']}")
        page.get_by_role("button", name="green").click()
        page.goto(f"{served.url}/i/{cards['doubt']}")
        page.get_by_role("button", name="It did not happen").click()
        expect(page.locator("#state h2")).to_have_text(re.compile("Failed"))
        page.goto(f"{served.url}/freeze")
        page.get_by_label("What").select_option("all")
        page.get_by_role("button", name="Freeze", exact=True).click()
        expect(page.get_by_text("Everything is frozen")).to_be_visible()
        page.get_by_role("button", name="Release").click()
        expect(page.get_by_text("Everything is frozen")).to_have_count(0)
        page.locator(".menu summary").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Signed out")).to_be_visible()


SCREENS = ["/", "/runs", "/ledger", "/policy", "/freeze", "/done", "/ledger/1", "/nothing"]


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_every_screen_is_accessible_and_fits(browser: Browser, served: Served, look: str, width: int) -> None:
    cards = everything(served)
    served.person().decide(cards["rest"], "reject", note="No.")
    run = served.kernel.runs()[0].id
    pages = [*SCREENS, f"/runs/{run}", *(f"/i/{card}" for card in cards.values())]
    pages += [f"/i/{cards['refund']}/modify", f"/i/{cards['question']}/respond", f"/i/{cards['mail']}/exact"]
    axe = Axe()
    with tab(browser, served, color_scheme=look, viewport={"width": width, "height": 800}) as page:
        for path in pages:
            page.goto(served.url + path)
            if page.locator("details.card-more > summary").count():
                page.locator("details.card-more > summary").click()
            found = axe.run(page).response["violations"]
            assert [(path, each["id"], each["nodes"][0]["html"][:160]) for each in found] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    with tab(browser, served, color_scheme=look, viewport={"width": width, "height": 800}) as page:
        page.get_by_role("link", name="Interlock").click()
        page.context.clear_cookies()
        page.goto(f"{served.url}/signin")
        assert axe.run(page).response["violations"] == []


def test_hostile_text_is_shown_everywhere_and_obeyed_nowhere(browser: Browser, served: Served) -> None:
    runs = [served.shop.mail.start(text[:200], subject=text, body=text, why=text) for text in CORPUS]
    person = served.person()
    with tab(browser, served) as page:
        for run in runs:
            card = served.shop.card(run)
            for path in ("/", f"/i/{card}", f"/i/{card}/modify", f"/i/{card}/exact", f"/runs/{run.id}"):
                page.goto(served.url + path)
                assert page.title() != "owned"
                assert page.locator("main script, main img, main iframe, main style").count() == 0
                links = page.locator("main a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
                assert all(link.startswith(("/", "#")) for link in links), links
                assert page.locator("main form").evaluate_all(
                    "all => all.every(f => new URL(f.action).origin === location.origin)"
                )
                text = page.locator("main").inner_text() if "/modify" not in path else ""
                assert not re.search(
                    "[\u200b\u200d\u202e\u2066\u3164\U000e0041\x1b\x00\x07]",
                    text.replace("\U0001f468\u200d\U0001f469\u200d\U0001f467", ""),
                )
        for path in ("/ledger", "/runs", "/policy", "/done"):
            page.goto(served.url + path)
            assert page.title() != "owned"
    assert all(run.waiting_for for run in runs)
    del person


def test_two_tabs_and_the_command_line_agree_within_two_seconds(browser: Browser, working: Served) -> None:
    card = working.shop.card(working.shop.refunding.start("88-1204"))
    other = working.shop.card(working.shop.refunding.start("88-1205"))
    with tab(browser, working) as list_, tab(browser, working) as page:
        page.goto(f"{working.url}/i/{card}")
        list_.goto(working.url)
        time.sleep(0.5)
        store = working.shop.il.settings.url
        view = working.kernel.card(card)
        assert view is not None
        command = ["-c", "from interlock.cli import main; main()", "--url", store, "reject", view.card.fingerprint]
        subprocess.run([sys.executable, *command, "--note", "No."], check=True, capture_output=True)
        began = time.monotonic()
        expect(page.locator("#state")).to_contain_text("This changed while it was open", timeout=2_000)
        expect(page.locator("#state h2")).to_have_text(re.compile("Did not run"), timeout=2_000)
        expect(list_.locator(f"#row-{card}")).to_contain_text("rejected", timeout=2_000)
        assert time.monotonic() - began < 4
        page.goto(f"{working.url}/i/{other}")
        page.get_by_role("button", name="Approve").click()
        expect(list_.locator(f"#row-{other}")).to_contain_text("approved", timeout=2_000)


def test_the_list_does_not_move_and_new_cards_wait_behind_the_pill(browser: Browser, served: Served) -> None:
    served.shop.refunding.start("88-1")
    with tab(browser, served) as page:
        page.goto(served.url)
        rows = page.locator("[data-row]").evaluate_all("all => all.map(r => [r.id, r.getBoundingClientRect().top])")
        time.sleep(0.3)
        served.shop.mail.start("ap@newco.example")  # stands above it by its risk
        expect(page.locator(".pill")).to_have_text("1 new, show it", timeout=3_000)
        assert [each[0] for each in rows] == page.locator("[data-row]").evaluate_all("all => all.map(r => r.id)")
        page.locator(".pill").click()
        expect(page.locator("[data-row]")).to_have_count(2)
        expect(page.locator("[data-row]").first).to_contain_text("Send email")


def test_a_batch_takes_what_was_selected_and_nothing_that_came_later(browser: Browser, served: Served) -> None:
    cards = [served.shop.card(served.shop.refunding.start(f"88-{n}", f"{10 + n}.00")) for n in range(6)]
    odd = served.shop.card(served.shop.refunding.start("88-9", "900.00"))
    with tab(browser, served) as page:
        page.goto(served.url)
        for _ in range(7):
            page.keyboard.press("j")
            page.keyboard.press("x")
        late = served.shop.card(served.shop.refunding.start("88-99", "12.00"))
        page.get_by_role("button", name="Decide the selected together").click()
        expect(page.get_by_role("heading", name="Decide 6 together")).to_be_visible()
        expect(page.get_by_text("its amount is far from the others'")).to_be_visible()
        after = served.shop.card(served.shop.refunding.start("88-98", "11.00"))
        page.get_by_role("checkbox").first.uncheck()
        page.get_by_role("button", name="Approve these").click()
        expect(page.get_by_text("approved")).to_have_count(5)
    open_ = {view.card.id for view in served.kernel.inbox()}
    assert {odd, late, after} <= open_
    assert len(open_ & set(cards)) == 1
    batches = {d.shown.batch for c in cards if (v := served.kernel.card(c)) for d in v.about.decisions}
    assert len(batches) == 1
    assert "" not in batches
