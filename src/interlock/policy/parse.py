"""Parse: the text of a policy file, or the content of a stored one, becomes a `PolicySet`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, cast

from interlock.canonical import parse
from interlock.domain.errors import PolicyError
from interlock.domain.ruling import Requirement
from interlock.domain.tool import InterruptPolicy, Reach, Reversibility
from interlock.policy.check import check_names, conditions_of
from interlock.policy.conditions import compile_condition
from interlock.policy.nearest import mend_of
from interlock.policy.places import Places
from interlock.policy.reader import Table
from interlock.policy.ruleset import UNDECLARED, Condition, Confidence, Group, PolicySet, Profile, Rule, Slice

FILE_KEYS: Final = ("version", "profile", "expensive_from", "reviewers", "rule", "slices")
RULE_KEYS: Final = (
    "name", "tools", "category", "reach", "reversibility", "agents", "environments", "when", "interrupt_policy",
    "confidence", "reviewers", "expires_in", "approval_valid_for", "window", "reason_required", "loosens", "owner",
    "reason", "rollback", "rollback_text", "message",
)  # fmt: skip
"""Every key of a rule."""

MOST_CHARACTERS: Final = 1_000_000
MOST_PARTS: Final = 50
"""Bounds of a policy file: its size, and the parts of a dotted key. Nobody needs more of either."""

_ASKS: Final = tuple(policy.value for policy in InterruptPolicy)
_NATURES: Final = (*(each.value for each in Reversibility), UNDECLARED)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY: Final = re.compile(r"""[\s\[]*[A-Za-z0-9_\-."' \t]+[\]\s]*""")
_AT: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


def parse_policy(text: str, *, defaults: PolicySet = PolicySet()) -> PolicySet:  # noqa: B008 - frozen
    """Read a policy file. What it does not say about profile, costs and channels is as in `defaults`.

    Raises `PolicyError` with line, column and mend.
    """
    lines = text.replace("\r\n", "\n")
    _refuse_what_nobody_writes(lines)
    try:
        data: dict[str, Any] = tomllib.loads(lines)
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(error, lines) from None
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long: nobody writes that by hand
        said = "it is nested too deep" if isinstance(error, RecursionError) else "a number in it is too long"
        raise PolicyError("policy_syntax", said, "Write it more simply.", 1, 1) from None
    file = Table(data, (), Places(lines), "")
    file.only(FILE_KEYS)
    file.needs("version", "1")
    if type(data["version"]) is not int or data["version"] != 1:
        raise file.fault(
            "policy_value", f"version {data['version']!r} is not known here", "Write: version = 1", "version"
        )
    return _policy(file, defaults, text)


def _refuse_what_nobody_writes(text: str) -> None:
    """Before it is parsed: the parser's time grows with the square of a key's parts."""
    if len(text) > MOST_CHARACTERS:
        words = f"it has {len(text):,} characters, and a policy has at most {MOST_CHARACTERS:,}"
        raise PolicyError("policy_syntax", words, "Write it more simply.", 1, 1)
    for number, line in enumerate(text.split("\n"), 1):
        before = line.split("=")[:-1] or [line]  # what may be a key: also that of an inline table
        keys = (re.split("[{,]", each)[-1] for each in before if each.count(".") >= MOST_PARTS)
        if any(key.count(".") >= MOST_PARTS and _KEY.fullmatch(key) for key in keys):
            words = f"a key has more than {MOST_PARTS} parts"
            raise PolicyError("policy_syntax", words, "Write it more simply.", number, 1)


def from_content(content: bytes) -> PolicySet:
    """The policy that has this content."""
    data = cast("dict[str, Any]", parse(content))
    given = PolicySet(channels=bool(data["channels"]))
    data["expensive_from"] = _number_of(data["expensive_from"])
    known = {key: value for key, value in data.items() if key not in ("v", "channels")}
    return _policy(Table(known, (), None, ""), given, "")


def _number_of(text: str) -> Any:
    return Decimal(text)


def _no_toml(error: tomllib.TOMLDecodeError, text: str) -> PolicyError:
    found = _AT.fullmatch(str(error))
    words = found[1] if found else str(error)
    lines = text.split("\n")
    line, column = (int(found[2]), int(found[3])) if found and found[2] else (len(lines), len(lines[-1]) + 1)
    return PolicyError(
        "policy_syntax",
        f"this is not TOML: {words[:1].lower()}{words[1:]}",
        "See https://toml.io for its syntax.",
        line,
        column,
    )


def _policy(file: Table, defaults: PolicySet, source: str) -> PolicySet:
    groups = _groups(file)
    rules = tuple(_rule(each, groups) for each in file.tables("rule", _which(file)))
    first: dict[str, Rule] = {}
    for rule, table in zip(rules, file.tables("rule", _which(file)), strict=True):
        if rule.name in first:
            raise table.fault(
                "policy_conflict",
                f"its name stands at line {first[rule.name].line} already",
                "Give each rule a name of its own; rulings and people refer to it.",
                "name",
            )
        first[rule.name] = rule
    policy = PolicySet(
        Profile(file.word("profile", Profile, defaults.profile.value)),
        _expensive(file, defaults.expensive_from),
        defaults.channels,
        rules,
        tuple(groups.values()),
        _slices(file),
        source,
    )
    for condition, what in conditions_of(policy):
        check_names(condition, what)
    return policy


def _which(file: Table) -> Any:
    """How errors name a rule: by its name, else by its number."""
    listed = file.data.get("rule")

    def which(index: int) -> str:
        name: Any = cast("list[Any]", listed)[index].get("name") if isinstance(listed, list) else None
        return f"the rule {name!r}: " if isinstance(name, str) and name else f"rule {index + 1}: "

    return which


def _expensive(file: Table, otherwise: Decimal) -> Decimal:
    given: Any = file.data.get("expensive_from", otherwise)
    found = given if isinstance(given, Decimal) else Decimal(str(file.number("expensive_from")))
    if not found.is_finite() or found < 0:
        raise file.fault("policy_value", f"expensive_from = {found} is no amount", "Use 0 or more.", "expensive_from")
    return found


def _groups(file: Table) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    every = file.table("reviewers", "", 'reviewers.finance = { members = ["ana@example.com"] }')
    for name in every.data:
        group = every.table(name, f"the reviewers {name}: ", f'reviewers.{name} = {{ members = ["ana@example.com"] }}')
        group.only(("members",))
        groups[name] = Group(name, group.names("members"))
    return groups


def _slices(file: Table) -> tuple[Slice, ...]:
    found: list[Slice] = []
    every = file.table("slices", "", "slices.refund = { band = \"args.amount < 100.0 ? 'small' : 'large'\" }")
    for tool in every.data:
        table = every.table(tool, f"the slices of {tool}: ", f"slices.{tool} = {{ band = \"'all'\" }}")
        for name in table.data:
            if not _NAME.fullmatch(name):
                raise table.fault(
                    "policy_value",
                    f"{name!r} is no name for a slice",
                    "Use letters, digits and _: conditions call it action.slices.NAME.",
                    name,
                    name=True,
                )
            found.append(Slice(tool, name, _condition(table, name)))
    return tuple(found)


def _condition(table: Table, key: str) -> Condition:
    text = table.text(key)
    return compile_condition(text, table.characters(key), table.what)


def _rule(table: Table, groups: Mapping[str, Group]) -> Rule:
    if "advise" in table.data:
        raise table.fault(
            "policy_unsupported",
            "advise is not in this version",
            'Leave it out; interrupt_policy = "async_notification" tells people, too.',
            "advise",
            name=True,
        )
    table.only(RULE_KEYS)
    table.needs("name", '"large refunds"')
    line, column = table.place()
    word = table.word("interrupt_policy", _ASKS)
    rule = Rule(
        name=table.text("name"),
        tools=table.names("tools"),
        category=table.names("category"),
        reach=table.names("reach", Reach),
        reversibility=table.names("reversibility", _NATURES),
        agents=table.names("agents"),
        environments=table.names("environments"),
        when=_condition(table, "when") if "when" in table.data else None,
        interrupt_policy=InterruptPolicy(word) if word else None,
        confidence=_confidence(table),
        reviewers=_reviewers(table, groups),
        expires_in=table.span("expires_in"),
        approval_valid_for=table.span("approval_valid_for"),
        window=table.span("window"),
        reason_required=table.flag("reason_required"),
        loosens=table.flag("loosens"),
        owner=table.text("owner"),
        reason=table.text("reason"),
        rollback=table.word("rollback", ("manual",)),
        rollback_text=table.text("rollback_text"),
        message=table.text("message"),
        line=line,
        column=column,
    )
    for message, mend, key in _contradictions(rule):
        raise table.fault("policy_conflict", message, mend, *([key] if key else []), name=True)
    return rule


def _confidence(table: Table) -> Confidence | None:
    if "confidence" not in table.data:
        return None
    example = 'confidence = { threshold = 0.7, above = "none", below = "hard_stop" }'
    inner = table.table("confidence", table.what, example)
    inner.only(("threshold", "above", "below"))
    inner.needs("threshold", "0.7")
    threshold = inner.number("threshold")
    assert threshold is not None, "it is needed"
    if not 0 < threshold <= 1:
        raise inner.fault(
            "policy_value",
            f"threshold = {threshold} is not above 0 and at most 1",
            "Use a number such as 0.7.",
            "threshold",
        )
    above = InterruptPolicy(inner.word("above", _ASKS, InterruptPolicy.NONE.value))
    below = InterruptPolicy(inner.word("below", _ASKS, InterruptPolicy.HARD_STOP.value))
    if below.rank < above.rank:
        raise inner.fault(
            "policy_conflict",
            f"below asks for less ({below.value}) than above does ({above.value})",
            "An agent that is less sure has to be asked about at least as much.",
            "below" if "below" in inner.data else "above",
        )
    return Confidence(float(threshold), above, below)


def _reviewers(table: Table, groups: Mapping[str, Group]) -> tuple[Requirement, ...]:
    found: list[Requirement] = []
    for each in table.tables("reviewers", lambda _: table.what):
        each.only(("group", "quorum"))
        each.needs("group", '"finance"')
        group = each.text("group")
        if group not in groups:
            raise each.fault(
                "policy_value",
                f"there are no reviewers {group}",
                mend_of(group, groups, f"Declare them: [reviewers.{group}]"),
                "group",
            )
        quorum = each.whole("quorum", 1)
        members = groups[group].members
        if members and quorum > len(members):
            raise each.fault(
                "policy_conflict",
                f"quorum = {quorum} can never be reached, {group} has {len(members)}",
                "Lower the quorum or add members.",
                "quorum",
            )
        found.append(Requirement(group, quorum))
    return tuple(sorted(found, key=lambda each: (each.group, each.quorum)))


def _contradictions(rule: Rule) -> list[tuple[str, str, str | None]]:
    """What the keys of one rule contradict each other in: message, mend, and the key to point at."""
    policy, found = rule.interrupt_policy, list[tuple[str, str, str | None]]()
    if policy is not None and rule.confidence is not None:
        found.append(("interrupt_policy and confidence exclude each other", "Keep one of them.", "confidence"))
    orders = rule.reviewers or rule.expires_in or rule.approval_valid_for or rule.window or rule.reason_required
    if not rule.asks and not orders:
        found.append(("it asks for nothing", 'Say what applies, for example: interrupt_policy = "hard_stop"', None))
    if rule.loosens and not (rule.owner and rule.reason):
        missing = "reason" if rule.owner else "owner"
        found.append(
            (
                f"it loosens, and the key {missing} is missing",
                "Say who answers for it (owner) and why (reason).",
                "loosens",
            )
        )
    if rule.loosens and not (rule.tools or rule.category or rule.reach or rule.reversibility):
        found.append(
            ("it loosens for every tool there is", "Say for which: tools, category, reach or reversibility.", "loosens")
        )
    if rule.loosens and not rule.asks:
        found.append(
            ("it loosens, and does not say what applies then", 'Add for example: interrupt_policy = "none"', "loosens")
        )
    if rule.loosens and InterruptPolicy.DENY in rule.asks and rule.confidence is None:
        found.append(("nothing is stricter than deny, so it cannot loosen", "Leave loosens out.", "loosens"))
    if rule.window is not None and InterruptPolicy.SOFT_CHECKPOINT not in rule.asks:
        found.append(
            ("window is for a soft_checkpoint", "Leave it out; expires_in says how long a card stays open.", "window")
        )
    if bool(rule.rollback) is not bool(rule.rollback_text):
        key = "rollback" if rule.rollback else "rollback_text"
        found.append(
            (
                "rollback and rollback_text go together",
                'Say rollback = "manual" and in rollback_text how to undo it.',
                key,
            )
        )
    if rule.rollback and InterruptPolicy.ASYNC_NOTIFICATION not in rule.asks:
        found.append(("rollback is for an async_notification", "Leave it out.", "rollback"))
    return found
