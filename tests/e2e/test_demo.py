"""The demo as people start it. What counts is what the witnesses hold: the mail server's box and the order database."""

import mailbox
import os
import pty
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from interlock import Desk
from interlock.domain.decision import Verdict
from interlock.domain.interrupt import InterruptKind
from interlock.kernel.views import CardView

DEMO = [sys.executable, "-m", "interlock.cli.demo"]
PATIENCE_S = 45.0

MAYA, TOMAS, STRANGER = (
    "maya.lindqvist@brev.example",
    "tomas.ferreira@correio.example",
    "desk@fern-oak-post.example",
)
SECRET = "Storgatan 12"


def sent(folder: Path) -> list[tuple[str, str]]:
    """What the mail server accepted: recipient and body, in order."""
    box = mailbox.mbox(folder / "sent.mbox", create=False)
    try:
        return [(box[key]["Delivered-To"], str(box[key].get_payload())) for key in sorted(box.keys())]
    finally:
        box.close()


def refunds(folder: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(folder / "orders.db")
    try:
        return connection.execute("SELECT number, amount FROM refunds ORDER BY id").fetchall()
    finally:
        connection.close()


def assert_each_letter_once_and_nothing_refused(folder: Path) -> None:
    assert Counter(to for to, _ in sent(folder)) == {MAYA: 1, TOMAS: 1, STRANGER: 1}
    assert not [body for _, body in sent(folder) if SECRET in body]
    assert [body for to, body in sent(folder) if to == STRANGER and "do not give out data" in body]
    assert "refunded 44.90" in dict(sent(folder))[MAYA]
    assert refunds(folder) == [("1041", "44.90")]


def play(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [*DEMO, "--auto", *options, "--dir", str(folder)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def processes_of(folder: Path) -> list[psutil.Process]:
    """Every process that was started for this folder and still lives."""
    return [each for each in psutil.process_iter() if str(folder) in " ".join(_command(each))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def until(found: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < end, "nothing happened for too long"
        time.sleep(0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "demo"


def test_the_script_changes_the_refund_and_turns_one_letter_down(folder: Path) -> None:
    output = play(folder)
    assert_each_letter_once_and_nothing_refused(folder)
    assert "NOT run again" not in output
    assert not processes_of(folder)


def test_a_letter_that_is_out_when_the_worker_is_killed_is_not_sent_again(folder: Path) -> None:
    output = play(folder, "--kill")
    assert_each_letter_once_and_nothing_refused(folder)
    assert "NOT run again" in output
    assert "a retry after the crash would have sent it again" in " ".join(output.split())
    with Desk(f"sqlite:///{folder / 'interlock.db'}") as desk:
        said = [each.verdict for view in desk.story("mailbox").actions for each in view.decisions]
    assert said.count(Verdict.FOUND_DONE) == 1
    assert not processes_of(folder)


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    done = subprocess.run([*DEMO, "--auto", "--dir", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "demo_folder" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letter.txt"]


class Terminal:
    """A demo with a person's terminal before it: what it shows can be read, and keys can be typed."""

    def __init__(self, demo: subprocess.Popen[bytes], master: int) -> None:
        self.demo = demo
        self._master = master
        self.shown = ""

    def read(self) -> bool:
        """Take what is shown; answers whether there may be more."""
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other side is closed
            return False
        # Words wrap where the terminal is narrow: what was shown is compared without its line breaks.
        self.shown = re.sub(r"\s+", " ", self.shown + data.decode("utf-8", "replace"))
        return bool(data)

    def wait_for(self, words: str) -> None:
        while words not in self.shown:
            assert self.read(), self.shown
        self.shown = self.shown.partition(words)[2]

    def type(self, line: str) -> None:
        os.write(self._master, line.encode() + b"\n")

    def end(self) -> int:
        while self.read():
            pass
        return self.demo.wait(PATIENCE_S)


@contextmanager
def at_a_terminal(folder: Path) -> Generator[Terminal]:
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "dumb"}
    demo = subprocess.Popen([*DEMO, "--dir", str(folder)], stdin=slave, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    try:
        yield Terminal(demo, master)
    finally:
        demo.kill()
        demo.wait()
        os.close(master)


def card_about(desk: Desk, tool: str, kind: InterruptKind = InterruptKind.ACTION) -> CardView:
    found: list[CardView] = []

    def look() -> bool:
        found[:] = [view for view in desk.open() if view.about.tool.name == tool and view.card.kind is kind]
        return bool(found)

    until(look)
    return found[0]


def test_a_person_decides_at_the_terminal_and_in_another_process(folder: Path) -> None:
    with at_a_terminal(folder) as terminal:
        terminal.wait_for("Your decision?")
        for key in ("", "y", "?"):  # nothing but an explicit answer counts
            terminal.type(key)
            terminal.wait_for("Understood are a, m, r and s")
            terminal.wait_for("Your decision?")
        terminal.type("m")
        terminal.wait_for("Change what? NAME=VALUE")
        terminal.type("44.90")
        terminal.wait_for("Expected was NAME=VALUE, with one of these names: ")
        terminal.wait_for("Your decision?")
        terminal.type("m")
        terminal.wait_for("NAME=VALUE")
        terminal.type("amount=ten")
        terminal.wait_for("Your decision?")
        terminal.type("m")
        terminal.type("amount=44.90")
        terminal.wait_for("Your decision?")
        with Desk(f"sqlite:///{folder / 'interlock.db'}") as desk:
            for _ in (MAYA, TOMAS):
                view = card_about(desk, "send_email")
                desk.approve(view.card.id, digest=view.card.digest)
                terminal.wait_for("(decided elsewhere)")
                until(lambda view=view: not desk.card(view.card.id).card.open)
                terminal.wait_for("Your decision?")
        terminal.type("r")
        terminal.wait_for("What should the agent know?")
        terminal.type("No addresses, please.")
        terminal.wait_for("No addresses, please.")
        terminal.wait_for("Your decision?")
        terminal.type("a")
        terminal.wait_for("each happened once")
        terminal.wait_for("Press Enter to end it.")
        terminal.type("")
        assert terminal.end() == 0
    assert_each_letter_once_and_nothing_refused(folder)
    assert not processes_of(folder)


def test_without_a_terminal_it_says_so_at_once_and_its_commands_decide_from_anywhere(
    folder: Path, tmp_path: Path
) -> None:
    demo = subprocess.Popen(
        [*DEMO, "--dir", str(folder)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert demo.stdout is not None
    shown: list[str] = []
    try:
        for line in demo.stdout:
            shown.append(line.strip())
            if " reject " in line:
                break
        said = " ".join(" ".join(shown).split())
        assert said.index("There is no terminal here") < said.index("--auto") < said.index("WAITS FOR A PERSON")
        assert "or there" not in said
        (command,) = [line for line in shown if " modify " in line]
        program, *rest = shlex.split(command)
        assert Path(program).is_absolute() or shutil.which(program)
        bare = {"PATH": os.defpath, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        done = subprocess.run(
            [program, *rest, "--yes"], cwd=tmp_path, env=bare, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        for line in demo.stdout:
            if "done" in line:
                break
    finally:
        demo.kill()
        demo.wait()
        demo.stdout.close()
    assert refunds(folder) == [("1041", "44.90")]


def test_the_inbox_is_in_the_browser_and_says_what_is_worth_trying(folder: Path) -> None:
    demo = subprocess.Popen(
        [*DEMO, "--dir", str(folder)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert demo.stdout is not None
    try:
        link = next(line.strip() for line in demo.stdout if "token=" in line)
        origin, _, token = link.partition("/signin?token=")
        with httpx.Client(base_url=origin, headers={"origin": origin}, follow_redirects=True) as browser:
            assert "This is the demo" in browser.post("/signin", data={"token": token}).text
            with Desk(f"sqlite:///{folder / 'interlock.db'}") as desk:
                card = card_about(desk, "refund_order").card
            page = browser.get(f"/i/{card.id}").text
            assert "Only one of the two lamps is broken" in page
            csrf = re.search(r'name="csrf" value="([^"]+)"', page)
            assert csrf
            fields = {"csrf": csrf[1], "digest": card.digest, "arg.amount": "44.90"}
            assert "Approved" in browser.post(f"/i/{card.id}/modify", data=fields).text
            until(lambda: refunds(folder))
    finally:
        demo.kill()
        demo.wait()
        demo.stdout.close()
    assert refunds(folder) == [("1041", "44.90")]


def test_ctrl_c_stops_everything_and_names_the_folder(folder: Path) -> None:
    with at_a_terminal(folder) as terminal:
        terminal.wait_for("Your decision?")
        assert len(processes_of(folder)) == 3
        terminal.demo.send_signal(2)
        terminal.wait_for("The folder stays")
        assert terminal.end() == 130
    assert not processes_of(folder)
    assert not sent(folder)
    assert not refunds(folder)


def test_a_demo_that_is_killed_leaves_no_process_behind(folder: Path) -> None:
    with at_a_terminal(folder) as terminal:
        terminal.wait_for("Your decision?")
    until(lambda: not processes_of(folder))


def test_without_the_mail_server_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "real = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'aiosmtpd' else real(name, *more)\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [*DEMO, "--auto", "--dir", str(tmp_path / "demo")],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode != 0
    assert re.search(r"aiosmtpd.*\[demo_extra_missing\].*pip install 'interlock\[demo\]'", done.stderr)
    assert "Traceback" not in done.stderr
