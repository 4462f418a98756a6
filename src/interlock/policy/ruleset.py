"""A policy as data: its profile, its rules, its groups of reviewers and its slices of arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from interlock.canonical import Json, canonical_bytes, digest_bytes
from interlock.domain.errors import SettingsError
from interlock.domain.ruling import Requirement
from interlock.domain.tool import InterruptPolicy, Reversibility, ToolSpec

STEP = "step:"
"""How the names of journalled steps begin. They are no tools: only a rule that names one applies to it."""

UNDECLARED = "undeclared"
"""What a rule says for tools whose reversibility nobody declared."""


class Profile(StrEnum):
    """How much is asked while trust is being earned; `cautious` is where a team starts.

    `record` asks nobody and writes down what `cautious` would have asked; `phase1` is for the first
    weeks with a new agent; `earned` is for where the evidence allows less.
    """

    RECORD = "record"
    PHASE1 = "phase1"
    CAUTIOUS = "cautious"
    EARNED = "earned"


class Program(Protocol):
    """A compiled condition. May be run by several threads at once."""

    def execute(self, context: Any = None, /) -> Any:
        """What the condition gives in this context; raises whatever the evaluation raises."""
        ...


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression in CEL, compiled. `places` are line and column of each of its characters and of its end."""

    text: str
    program: Program = field(compare=False, repr=False)
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character in the file; (0, 0) where it came from no file."""
        return place_in(self.places, offset)


def place_in(places: tuple[tuple[int, int], ...], offset: int) -> tuple[int, int]:
    """The place of a character; (0, 0) where none is known."""
    return places[min(offset, len(places) - 1)] if places else (0, 0)


@dataclass(frozen=True, slots=True)
class Confidence:
    """What a rule asks for at or above a claimed confidence, and below it."""

    threshold: float
    above: InterruptPolicy = InterruptPolicy.NONE
    below: InterruptPolicy = InterruptPolicy.HARD_STOP


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. It applies where every selector that is given names the call and `when` is true.

    Selectors: `tools`, `category`, `reach`, `reversibility` look at the tool, `agents` and `environments` at who
    calls. `interrupt_policy` and `confidence` exclude each other. `loosens` lets it ask for less than what applies
    without it; `rollback_text` tells people how to undo by hand. `line` is where it stands in its file.
    """

    name: str
    tools: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    reach: tuple[str, ...] = ()
    reversibility: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    when: Condition | None = None
    interrupt_policy: InterruptPolicy | None = None
    confidence: Confidence | None = None
    reviewers: tuple[Requirement, ...] = ()
    expires_in: timedelta | None = None
    approval_valid_for: timedelta | None = None
    window: timedelta | None = None
    reason_required: bool = False
    loosens: bool = False
    owner: str = ""
    reason: str = ""
    rollback: str = ""
    rollback_text: str = ""
    message: str = ""
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)

    def selects(self, spec: ToolSpec) -> bool:
        """Whether the selectors that look at the tool name this one."""
        return (
            (not self.tools or spec.name in self.tools)
            and (not self.category or spec.category in self.category)
            and (not self.reach or any(each.value in self.reach for each in spec.reach))
            and (not self.reversibility or not _natures(spec).isdisjoint(self.reversibility))
        )

    @property
    def asks(self) -> tuple[InterruptPolicy, ...]:
        """Every interrupt policy that this rule may come to."""
        if self.confidence is not None:
            return self.confidence.above, self.confidence.below
        return () if self.interrupt_policy is None else (self.interrupt_policy,)


def _natures(spec: ToolSpec) -> set[str]:
    """The words for how far it can be taken back; what nobody declared counts as irreversible, too."""
    return {spec.worst.value} if spec.reversibility else {UNDECLARED, Reversibility.IRREVERSIBLE.value}


@dataclass(frozen=True, slots=True)
class Slice:
    """A declared slice of a tool's arguments: an expression that gives a short text, such as a band of amounts."""

    tool: str
    name: str
    condition: Condition


@dataclass(frozen=True, slots=True)
class Group:
    """People who may decide together; `members` may be empty, then the identity provider knows them."""

    name: str
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicySet:
    """What a team has settled about asking.

    A tool that costs `expensive_from` or more is asked about, whatever can be undone. `channels`
    says whether there is a channel that can deliver a notice: without one a soft checkpoint, which
    nobody could see in time, becomes a hard stop. `digest` names this content in every ruling; `content` are the
    canonical bytes that it is of, from which `from_content` makes the policy again. `source` is the text that it was
    read from: formatting, comments and the order of rules are no part of the content.
    """

    profile: Profile = Profile.CAUTIOUS
    expensive_from: Decimal = Decimal(100)
    channels: bool = False
    rules: tuple[Rule, ...] = ()
    groups: tuple[Group, ...] = ()
    slices: tuple[Slice, ...] = ()
    source: str = field(default="", compare=False, repr=False)
    content: bytes = field(init=False, compare=False, repr=False)
    digest: str = field(init=False)
    by_tool: Mapping[str, tuple[Rule, ...]] = field(init=False, compare=False, repr=False)
    for_any: tuple[Rule, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.expensive_from.is_finite() or self.expensive_from < 0:
            raise SettingsError(
                "bad_expensive_from",
                f"expensive_from is {self.expensive_from}, which is no amount",
                "Give a finite number, 0 or more.",
            )
        # In one order, so that equal policies are equal whatever the order of their files.
        object.__setattr__(self, "rules", tuple(sorted(self.rules, key=lambda rule: rule.name)))
        object.__setattr__(self, "groups", tuple(sorted(self.groups, key=lambda group: group.name)))
        object.__setattr__(self, "slices", tuple(sorted(self.slices, key=lambda each: (each.tool, each.name))))
        content = canonical_bytes(_content(self))
        object.__setattr__(self, "content", content)
        object.__setattr__(self, "digest", digest_bytes("interlock-policy/v1", content))
        named: dict[str, list[Rule]] = {}
        for rule in self.rules:
            for tool in rule.tools:
                named.setdefault(tool, []).append(rule)
        object.__setattr__(self, "by_tool", {tool: tuple(rules) for tool, rules in named.items()})
        object.__setattr__(self, "for_any", tuple(rule for rule in self.rules if not rule.tools))

    def rules_for(self, spec: ToolSpec) -> tuple[Rule, ...]:
        """The rules that may apply to a call of this tool, in alphabetical order."""
        named = self.by_tool.get(spec.name, ())
        rules = [*named, *(rule for rule in self.for_any if not spec.name.startswith(STEP))]
        return tuple(sorted((rule for rule in rules if rule.selects(spec)), key=lambda rule: rule.name))

    def slices_for(self, spec: ToolSpec) -> tuple[Slice, ...]:
        """The declared slices of this tool's arguments."""
        return tuple(each for each in self.slices if each.tool == spec.name)


def _content(policy: PolicySet) -> dict[str, Json]:
    content: dict[str, Json] = {
        "v": 1,
        "profile": policy.profile.value,
        "expensive_from": _shortest(policy.expensive_from),
        "channels": policy.channels,
    }
    if policy.rules:
        content["rule"] = [_rule_data(rule) for rule in policy.rules]
    if policy.groups:
        content["reviewers"] = {
            group.name: {"members": list(group.members)} if group.members else {} for group in policy.groups
        }
    if policy.slices:
        tools: dict[str, dict[str, Json]] = {each.tool: {} for each in policy.slices}
        for each in policy.slices:
            tools[each.tool][each.name] = each.condition.text
        content["slices"] = {**tools}
    return content


def _rule_data(rule: Rule) -> dict[str, Json]:
    """A rule as the keys of a file, with what is not said left out."""
    data: dict[str, Json] = {"name": rule.name}
    for key in ("tools", "category", "reach", "reversibility", "agents", "environments"):
        names: tuple[str, ...] = getattr(rule, key)
        if names:
            data[key] = list(names)
    if rule.when is not None:
        data["when"] = rule.when.text
    if rule.interrupt_policy is not None:
        data["interrupt_policy"] = rule.interrupt_policy.value
    if rule.confidence is not None:
        sure = rule.confidence
        data["confidence"] = {"threshold": sure.threshold, "above": sure.above.value, "below": sure.below.value}
    if rule.reviewers:
        data["reviewers"] = [{"group": each.group, "quorum": each.quorum} for each in rule.reviewers]
    for key in ("expires_in", "approval_valid_for", "window"):
        length: timedelta | None = getattr(rule, key)
        if length is not None:
            seconds = length.total_seconds()
            data[key] = f"{int(seconds) if seconds.is_integer() else seconds}s"
    for key in ("reason_required", "loosens"):
        if getattr(rule, key):
            data[key] = True
    for key in ("owner", "reason", "rollback", "rollback_text", "message"):
        if getattr(rule, key):
            data[key] = getattr(rule, key)
    return data


def _shortest(amount: Decimal) -> str:
    """One text for equal amounts (100, 100.0, 1E+2), at any precision; none is negative."""
    _, digits, exponent = amount.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    return f"{kept}e{int(exponent) + len(text) - len(kept)}" if kept else "0"
