"""What a run may do at all, and counts and lengths of time in words."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from interlock.domain.run import Ticket
from interlock.domain.texts import length, plural
from interlock.domain.tool import Reach, ToolSpec

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
PAY = ToolSpec("pay", cost=Decimal(40), reach=frozenset({Reach.SPENDS}))
TIP = ToolSpec("tip", reach=frozenset({Reach.SPENDS}))
LOOK = ToolSpec("look")


def test_a_ticket_that_limits_nothing_lets_everything_pass() -> None:
    assert Ticket().against(PAY, NOON, NOON + 999 * HOUR) == ""
    assert Ticket().terms() == {}


@pytest.mark.parametrize(
    ("ticket", "spec", "says"),
    [
        (Ticket(tools=("look",)), PAY, "does not cover pay; it is for look"),
        (Ticket(tools=()), LOOK, "does not cover look; it is for no tool"),
        (Ticket(actions=1, used=1), LOOK, "is for 1 action, and they are used up"),
        (Ticket(cost=Decimal(100), spent=Decimal(80)), PAY, "pay may cost 40, and the run's ticket has 20 of 100 left"),
        (Ticket(cost=Decimal(100)), TIP, "tip does not declare its cost"),
        (Ticket(life=2 * HOUR), LOOK, "was good for 2 hours and is over"),
    ],
)
def test_each_bound_says_how_a_call_goes_beyond_it(ticket: Ticket, spec: ToolSpec, says: str) -> None:
    assert says in ticket.against(spec, NOON, NOON + 3 * HOUR)


def test_what_is_within_all_bounds_passes_and_is_counted() -> None:
    ticket = Ticket(("pay", "look"), 2, Decimal(50), 2 * HOUR)
    assert ticket.against(PAY, NOON, NOON + 2 * HOUR) == ""
    used = ticket.with_one_more(PAY)
    assert (used.used, used.spent) == (1, Decimal(40))
    assert "10 of 50 left" in used.against(PAY, NOON, NOON)
    assert used.against(LOOK, NOON, NOON) == ""
    assert used.with_one_more(LOOK).spent == Decimal(40)
    assert ticket.terms() == {"tools": ["pay", "look"], "actions": 2, "cost": "50", "life": "2 hours"}


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (timedelta(0), "0 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(minutes=90), "1 hour 30 minutes"),
        (timedelta(days=2, hours=3, minutes=5), "2 days 3 hours"),
        (timedelta(hours=1, seconds=5), "1 hour 5 seconds"),
    ],
)
def test_lengths_of_time_are_said_as_people_say_them(span: timedelta, said: str) -> None:
    assert length(span) == said


def test_counts_agree_with_their_nouns() -> None:
    assert [plural(each, "card") for each in (0, 1, 2, 1200)] == ["0 cards", "1 card", "2 cards", "1,200 cards"]
