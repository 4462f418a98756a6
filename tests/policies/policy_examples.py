"""The tools that the example policies are for, declared as users declare them, and rulings on calls of them."""

import enum
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast
from uuid import UUID

from interlock.adapters.guard.tool import make_tool
from interlock.domain.action import Rationale, Versions
from interlock.domain.ruling import Ruling
from interlock.domain.tool import ToolSpec
from interlock.policy import (
    Explanation,
    PolicySet,
    Situation,
    check_rules,
    explain,
    no_facts,
    parse_policy,
    rule,
    slices,
)

HERE = Path(__file__).parent


class Kind(enum.Enum):
    GOODS = "goods"
    SERVICE = "service"


@dataclass
class Booking:
    room: str
    nights: int
    guest: str | None = None


def create_refund(
    amount: Decimal,
    currency: Literal["EUR", "USD"] = "EUR",
    reason: str | None = None,
    urgent: bool = False,
    items: tuple[str, ...] = (),
    count: int = 1,
    share: float = 1.0,
    kind: Kind = Kind.GOODS,
) -> str:
    return "done"


def send_email(to: str, subject: str = "", attachment: Path | None = None) -> str:
    return "sent"


def book_room(booking: Booking, start: datetime, length: timedelta, notes: dict[str, str], tags: set[str]) -> str:
    return "booked"


def deploy(cluster: str, replicas: int, build: UUID, day: date, options: Any = None) -> str:
    return "deployed"


def read_file(path: str) -> str:
    return "text"


def draft_email(to: str) -> str:
    return "draft"


DECLARED: dict[Any, dict[str, Any]] = {
    create_refund: {"reversibility": "compensable", "category": "money", "reach": ["spends"], "cost": 50},
    send_email: {"reversibility": "irreversible", "category": "mail", "reach": ["outward"]},
    book_room: {"reversibility": "compensable", "compensate": lambda result: None},
    deploy: {"reversibility": "reversible", "reach": ["privilege"]},
    read_file: {"reversibility": "read_only"},
    draft_email: {"reversibility": "reversible", "category": "draft"},
}
MADE = {fn.__name__: make_tool(fn, cast("Any", keywords)) for fn, keywords in DECLARED.items()}
TOOLS: dict[str, ToolSpec] = {name: tool.spec for name, tool in MADE.items()}


def example(name: str, *, channels: bool = True) -> PolicySet:
    """An example policy, checked against the tools; by default where channels can deliver."""
    text = (HERE / "ok" / f"{name}.toml").read_text(encoding="utf-8")
    policy = parse_policy(text, defaults=PolicySet(channels=channels))
    check_rules(policy, TOOLS.values())
    return policy


def situation(policy: PolicySet, tool: str, arguments: dict[str, object], **said: Any) -> Situation:
    """The situation of a call with these arguments; `facts` are added to those of a first call."""
    made = MADE[tool].parameters
    found = Situation(
        arguments=cast("Any", made.encode(made.bind((), arguments))),
        rationale=Rationale(confidence=said.get("confidence")),
        agent=said.get("agent", "billing"),
        versions=said.get("versions", Versions(environment=said.get("environment", ""))),
        run=said.get("run", "r1"),
        workflow=said.get("workflow", "dunning"),
        principal="user:ana",
        facts={**no_facts(), **said.get("facts", {})},
    )
    sliced = slices(policy, TOOLS[tool], found)
    return Situation(
        found.arguments, found.rationale, found.agent, found.versions, found.run, found.workflow, found.principal,
        found.facts, sliced,
    )  # fmt: skip


def ruled(policy: PolicySet | str, tool: str, said: dict[str, Any] | None = None, **arguments: object) -> Ruling:
    """The ruling on a call; `said` holds what is not an argument."""
    policy = example(policy) if isinstance(policy, str) else policy
    return rule(policy, TOOLS[tool], situation(policy, tool, arguments, **(said or {})))


def explained(
    policy: PolicySet | str, tool: str, said: dict[str, Any] | None = None, **arguments: object
) -> Explanation:
    """The explanation of a ruling on a call."""
    policy = example(policy) if isinstance(policy, str) else policy
    return explain(policy, TOOLS[tool], situation(policy, tool, arguments, **(said or {})))
