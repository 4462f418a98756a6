"""What an agent knew when it made a call, as a card shows it: what it was asked, what was said, and no secrets."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from tests.langgraph.kinds import THREAD
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import Interlock
from interlock.cli import main
from interlock.langgraph import InterlockMiddleware

CARD = "4242 4242 4242 4242"


class Clerk:
    """An agent that looks something up and then pays with a card, in a store that the command line reads."""

    def __init__(self, folder: Path, asked: str) -> None:
        def look_up(what: str) -> str:
            """Look something up."""
            return f"{what}: 30 days overdue"

        def pay(to: str, card: str) -> str:
            """Pay with a card."""
            return f"paid {to}"

        lines = [
            calls(("look_up", {"what": "INV-7"}), text="I look it up."),
            calls(("pay", {"to": "NewCo", "card": CARD}), text=f"I use the card {CARD}."),
            says(),
        ]
        self.url = f"sqlite:///{folder}/interlock.db"
        self.il = Interlock(self.url)
        declared: Any = {"look_up": "read_only", "pay": {"reversibility": "irreversible", "sensitive": ["card"]}}
        agent = create_agent(
            ScriptedModel(lines=lines),
            [StructuredTool.from_function(look_up), StructuredTool.from_function(pay)],
            checkpointer=InMemorySaver(),
            middleware=[InterlockMiddleware(self.il, name="clerk", tools=declared)],
        )
        agent.invoke({"messages": [("user", asked)]}, THREAD)

    def show(self, *options: str) -> str:
        ((card, *_),) = [self.il.kernel.inbox()]
        done = CliRunner().invoke(main, ["--url", self.url, "show", card.card.id, *options], terminal_width=100)
        assert done.exit_code == 0, done.output
        return done.output


@pytest.fixture
def clerk(tmp_path: Path) -> Any:
    clerk = Clerk(tmp_path, f"Pay what we owe \u202eNewCo, the card is {CARD}")
    yield clerk
    clerk.il.close()


def test_a_card_says_what_the_agent_was_asked_to_do_before_the_agent_speaks(clerk: Clerk) -> None:
    text = clerk.show()
    assert "Pay what we owe ⟨U+202E" in text
    assert "a person's words" in " ".join(text.replace("┊", " ").split())
    assert "3 messages more: --full" in text
    assert text.index("ASKED TO") < text.index("AGENT SAYS")
    assert "I look it up." not in text


def test_an_opened_card_shows_the_whole_conversation(clerk: Clerk) -> None:
    text = " ".join(clerk.show("--full").replace("┊", " ").split())
    places = [
        text.index(each)
        for each in ("IT KNEW", "person: Pay", "agent: I look it up. → look_up", "tool look_up: INV-7", "→ pay")
    ]
    assert places == sorted(places)
    told = json.loads(clerk.show("--json"))["knew"]
    assert told["whole"] is True
    assert [each["role"] for each in told["messages"]] == ["human", "ai", "tool", "ai"]


@pytest.mark.parametrize("options", [(), ("--full",), ("--json",)])
def test_a_sensitive_argument_stands_nowhere_in_what_was_said(clerk: Clerk, options: tuple[str, ...]) -> None:
    assert CARD not in clerk.show(*options)


def test_a_sensitive_argument_is_not_kept_in_the_conversation(clerk: Clerk) -> None:
    (card,) = clerk.il.kernel.inbox()
    head: Any = card.about.facts["messages"]
    while head:
        data = clerk.il.kernel.blob(head)
        assert CARD.encode() not in data
        head = json.loads(data)["before"]


def test_a_long_conversation_says_that_there_was_more_before(clerk: Clerk) -> None:
    (card,) = clerk.il.kernel.inbox()
    known = clerk.il.kernel.knew(card.card.id, 2)
    assert ([each.role for each in known.said], known.whole) == (["tool", "ai"], False)
