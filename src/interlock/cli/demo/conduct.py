"""Plays the demo: starts the processes, follows the run, brings cards to a reviewer, and compares at the end."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from interlock.cards.words import count
from interlock.cli.demo.evidence import Finding, Sent, findings, sent_mail
from interlock.cli.demo.page import page_of
from interlock.cli.demo.processes import Processes
from interlock.cli.demo.reviewers import Person, Reviewer, Script
from interlock.cli.demo.screen import Screen
from interlock.cli.demo.shop import ORDERS, Folder, furnish, refunds_of
from interlock.cli.demo.telling import Teller
from interlock.cli.demo.worker import RUN
from interlock.cli.opening import open_browser
from interlock.compose import Desk
from interlock.domain.errors import SettingsError
from interlock.domain.interrupt import InterruptKind
from interlock.domain.run import RunState
from interlock.kernel.desk import ReviewDesk
from interlock.kernel.views import CardView, RunView

MOST_WORKERS = 5
"""A worker that ends by itself more often than this is broken."""

STILL_S = 60.0
"""With the script deciding, so long a silence is a fault."""

OVER = (RunState.FINISHED, RunState.FAILED, RunState.CANCELLED, RunState.DIVERGED, RunState.NEEDS_ATTENTION)


@dataclass(frozen=True, slots=True)
class Options:
    """How the demo is played: `auto` a script decides, `kill` the first worker dies at the worst moment."""

    auto: bool = False
    kill: bool = False
    prompt: bool = False


def play(folder: Folder, options: Options, screen: Screen) -> int:
    """Play the demo in an empty folder; answers the exit code: 0 if ledger and witnesses agree, else 1."""
    furnish(folder)
    with Processes(folder) as processes, ExitStack() as stack:
        processes.start_server()
        with Desk(folder.url, channel="demo-script" if options.auto else "demo") as desk:
            link = "" if options.auto else stack.enter_context(page_of(folder))
            conductor = Conductor(folder, options, screen, processes, desk, link)
            conductor.welcome()
            code = conductor.conclude(conductor.follow())
            conductor.stay()
            return code


class Conductor:
    """One demo on its way."""

    def __init__(
        self, folder: Folder, options: Options, screen: Screen, processes: Processes, desk: ReviewDesk, link: str
    ) -> None:
        self._folder = folder
        self._options = options
        self._screen = screen
        self._processes = processes
        self._desk = desk
        self._link = link
        self._teller = Teller(desk, RUN, screen)
        self._reviewer: Reviewer | None = None
        if options.auto:
            self._reviewer = Script(desk, folder)
        elif options.prompt:
            self._reviewer = Person(desk, folder, screen)
        # At a terminal the store was named once, before the first card; elsewhere every command is whole.
        self._interlock = program() if options.prompt else f"{program()} --url {quote(folder.url)}"
        self._workers: list[int] = []
        self._asked: set[str] = set()
        self._struck: Sent | None = None

    # -- before ---------------------------------------------------------------------------------

    def welcome(self) -> None:
        """Say what is going to happen, and start the agent."""
        self._start_worker()
        port = self._processes.server_port()
        say = self._screen.say
        self._screen.title("Interlock demo", "a mailbox, an agent, and a person who decides")
        say()
        say(
            "An agent answers the letters of a small lamp shop. It is a script, not a model, but its mail goes to a "
            "real mail server and its refunds to a real database, and it works in a process of its own. Reading, "
            "thinking and drafting it does alone. Giving money back and sending mail wait for a person."
        )
        say()
        self._screen.step(
            "agent",
            f"process {self._workers[-1]}" + (" (will be killed at the worst moment)" if self._options.kill else ""),
        )
        self._screen.step("mail", f"server on 127.0.0.1:{port}, keeps what it accepts in sent.mbox")
        self._screen.step("orders", f"orders.db, {len(ORDERS)} orders")
        self._screen.step("folder", str(self._folder.path))
        if self._options.auto:
            self._screen.step("reviewer", f"a script (--auto), deciding as {self._desk.principal.name}")
            return
        say()
        if self._link:
            say("The inbox is in your browser. Open this link, sign in (it works once), and decide there:")
            self._screen.copyable(self._link)
            say()
            if self._options.prompt:
                open_browser(self._link)
        if self._options.prompt:
            say("Or decide here, or in any other terminal. There, first say which store:")
            self._screen.copyable(f"export INTERLOCK_URL={quote(self._folder.url)}")
            return
        say(
            "There is no terminal here, so nobody is asked here. Each card comes with commands that decide it in "
            "another terminal, and the demo waits for that. What is waiting is listed by:"
        )
        self._screen.copyable(f"{self._interlock} inbox")
        say("Or press Ctrl-C and start the demo with --auto: then a script decides.")

    def _start_worker(self) -> None:
        first = not self._workers
        self._workers.append(self._processes.start_worker())
        if first and self._options.kill:
            self._folder.strike.write_text(str(self._workers[-1]), encoding="ascii")

    # -- meanwhile ------------------------------------------------------------------------------

    def follow(self) -> RunView:
        """Tell what happens and bring every card to the reviewer, until the run is over."""
        last = time.monotonic()
        while True:
            self._teller.tell()
            self._tend()
            run = next(iter(self._desk.runs(limit=1)), None)  # none yet where the worker has not begun
            if run is not None and run.state in OVER:
                self._teller.tell()
                return self._desk.story(RUN)
            view = self._next_card()
            if view is not None:
                self._bring(view)
                last = time.monotonic()
            else:
                self._desk.wait_for_change(0.2)
            if self._options.auto and time.monotonic() - last > STILL_S:
                raise SettingsError(
                    "demo_failed", "nothing has happened for a minute", f"See {self._folder.path / 'worker.log'}."
                )

    def _next_card(self) -> CardView | None:
        return next((view for view in self._desk.open() if view.card.id not in self._asked), None)

    def _bring(self, view: CardView) -> None:
        self._teller.tell()
        self._asked.add(view.card.id)
        self._screen.card(view)
        if not self._options.auto:
            self._screen.step("or there" if self._options.prompt else "decide", "in another terminal")
            for line in commands(view, self._interlock):
                self._screen.copyable(line)
        if self._reviewer is not None:
            self._reviewer.decide(view, lambda: self._closed(view))
        else:
            while not self._closed(view):
                self._desk.wait_for_change(0.2)

    def _closed(self, view: CardView) -> bool:
        self._tend()
        return not self._desk.card(view.card.id).card.open

    def _tend(self) -> None:
        """Look whether the worker still lives; start another one if it does not."""
        code = self._processes.worker_ended()
        if code is None:
            return
        self._teller.tell()
        dead = self._workers[-1]
        if len(self._workers) >= MOST_WORKERS:
            raise SettingsError(
                "demo_failed", f"the worker ended {MOST_WORKERS} times", f"See {self._folder.path / 'worker.log'}."
            )
        self._screen.say()
        if self._options.kill and not self._struck and not self._folder.strike.exists():
            self._struck = sent_mail(self._folder)[-1]
            words = (
                f"The mail server has kept the letter to {self._struck.to}. Before it answered, it killed the worker "
                f"(process {dead}, SIGKILL). The letter is out, and nobody has recorded it."
            )
            self._screen.step("KILLED", words, "bold red")
        else:
            self._screen.step("died", f"The worker (process {dead}) is gone, exit status {code}.", "bold red")
        self._start_worker()
        self._screen.step("again", f"A new worker (process {self._workers[-1]}) takes the run over.")

    # -- after ----------------------------------------------------------------------------------

    def conclude(self, story: RunView) -> int:
        """Compare the ledger with the witnesses, and say how to look further."""
        found = findings(self._folder, story)
        agree = all(each.agrees for each in found)
        finished = story.run.state is RunState.FINISHED
        self._screen.title("What was proposed, what people said, what really happened")
        self._screen.table(
            {"The agent proposed": 5, "A person": 4, "The witness holds": 3},
            [(each.proposed, each.said, f"{each.count} {each.what}{_mark(each)}") for each in found],
        )
        mails, refunds = sent_mail(self._folder), refunds_of(self._folder.orders)
        self._screen.step("mailbox", f"sent.mbox holds {count(len(mails), 'letter')}, " + _once(mails))
        self._screen.step(
            "database",
            "orders.db holds "
            + (", ".join(f"a refund of {r.amount} for order {r.order}" for r in refunds) or "no refund"),
        )
        self._verdict(found, agree)
        if not finished:
            self._screen.step(
                "run",
                f"{story.run.state.value}: {story.run.attention or 'see ' + str(self._folder.path / 'worker.log')}",
                "bold red",
            )
        self._screen.say()
        self._screen.say("Everything that was said and done is on record. Look further:")
        self._screen.copyable(f"export INTERLOCK_URL={quote(self._folder.url)}")
        self._screen.copyable(f"{program()} show {RUN}")
        self._screen.say(f"The folder stays: {self._folder.path}")
        return 0 if agree and finished else 1

    def stay(self) -> None:
        """Keep the inbox open for whoever is looking at it, until they press Enter here."""
        if self._link and self._options.prompt:
            self._screen.say()
            self._screen.say("The inbox stays open in your browser. Press Enter to end it.")
            with suppress(EOFError):
                input()

    def _verdict(self, found: Sequence[Finding], agree: bool) -> None:
        if self._struck:
            copies = sum(1 for mail in sent_mail(self._folder) if mail.letter == self._struck.letter)
            words = f"{self._struck.to} has {copies} cop{'y' if copies == 1 else 'ies'} of the letter that was in doubt"
            words += "; a retry after the crash would have sent it again." if copies == 1 else "."
            self._screen.step("killed", words, "bold")
        elif self._options.kill:
            self._screen.step("killed", "nobody: no letter was sent, so the moment never came")
        if agree:
            ran = sum(each.must for each in found)
            self._screen.step(
                "verdict",
                f"{count(ran, 'action was', 'actions were')} let through and each happened once; "
                "what was refused did not happen.",
                "bold green",
            )
        else:
            self._screen.step(
                "verdict", "The record and the witnesses do not agree, see the lines marked (!).", "bold red"
            )


def commands(view: CardView, name: str) -> list[str]:
    """What to type in another terminal to look at this card and to decide it; `name` calls the program there."""
    short = view.fingerprint
    if view.card.kind is InterruptKind.RECONCILE:
        return [f"{name} show {short}", f"{name} reconcile {short} --found done"]
    edit = "amount=44.90" if "amount" in view.about.current.arguments else "'subject=Your letter'"
    return [
        f"{name} show {short}",
        f"{name} approve {short}",
        f"{name} modify {short} --set {edit}",
        f'{name} reject {short} --note "Say why"',
    ]


def program() -> str:
    """How a person in another terminal, and in another folder, calls this program."""
    own, found = Path(sys.executable).with_name("interlock"), shutil.which("interlock")
    # What is on the PATH only because this environment is active may not be there.
    everywhere = found is not None and (Path(found) != own or sys.prefix == sys.base_prefix)
    return quote(str(own)) if own.exists() and not everywhere else "interlock"


def _mark(finding: Finding) -> str:
    return "" if finding.agrees else f" (!) must be {finding.must}"


def _once(mails: Sequence[Sent]) -> str:
    alike = len(mails) - len({mail.letter for mail in mails})
    return f"{alike} of them twice" if alike else "no two alike"
