"""The reference says what the code says: every code, event, state, setting, keyword and option, in both directions."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import get_args

import click
import pytest

from interlock import settings
from interlock.adapters.guard.tool import KEYWORDS, SCHEMA_KEYS
from interlock.cli.program import COMMANDS, main
from interlock.domain.action import ActionState, RefusalKind
from interlock.domain.decision import Verdict
from interlock.domain.events import EventType
from interlock.domain.interrupt import Ending, InterruptKind
from interlock.domain.run import RunState
from interlock.domain.tool import InterruptPolicy, Reach, Reversibility, ToolSpec
from interlock.policy import LONGEST, PolicySet, Profile, Situation, rule, table
from interlock.policy.table import default_policy
from interlock.schema.errors import Code

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "interlock"
REFERENCE = ROOT / "docs" / "reference"

ERRORS = {"CallError", "RunError", "DecisionError", "StoreError", "SettingsError", "PolicyError"}


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    """The text under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page(name), re.MULTILINE | re.DOTALL)
    assert found, f"{name}.md has no heading {title!r}"
    return found[1]


def rows(text: str) -> Iterator[list[str]]:
    """The rows of the tables in a text whose first cell is code, cell by cell."""
    for line in text.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def code_of(cell: str) -> str:
    found = re.match(r"`([^`]+)`", cell)
    assert found, cell
    return found[1]


def listed(text: str) -> list[str]:
    return [code_of(row[0]) for row in rows(text)]


def trees() -> Iterator[ast.Module]:
    for path in sorted(SOURCE.rglob("*.py")):
        if not path.name.endswith("_contract.py"):  # they raise what others raise
            yield ast.parse(path.read_text(encoding="utf-8"))


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call in the source of something that has a name, with that name."""
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                yield node.func.id if isinstance(node.func, ast.Name) else node.func.attr, node


def raised() -> Iterator[tuple[str, str]]:
    """(class, code) of every error that the source makes with a code that stands there in full."""
    for name, call in calls():
        if name in ERRORS and call.args and isinstance(call.args[0], ast.Constant):
            yield name, str(call.args[0].value)


def made_by(*makers: str) -> Iterator[str]:
    """Codes that are first arguments of these functions, which make the errors of policy files."""
    for name, call in calls():
        if name in makers and call.args and isinstance(call.args[0], ast.Constant):
            yield str(call.args[0].value)


def faults() -> set[str]:
    """Codes of declarations that contradict themselves: first items of what `policy.declare` yields."""
    tree = ast.parse((SOURCE / "policy" / "declare.py").read_text(encoding="utf-8"))
    found = [node.value for node in ast.walk(tree) if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple)]
    return {str(each.elts[0].value) for each in found if isinstance(each.elts[0], ast.Constant)}


# -- errors -----------------------------------------------------------------------------------------


def codes() -> dict[str, set[str]]:
    """By class: every code that is raised under it."""
    found: dict[str, set[str]] = {name: set() for name in ERRORS}
    for name, code in raised():
        found[name].add(code)
    found["SettingsError"] |= faults() | {"bad_reversibility"}
    found["PolicyError"] |= {code for code in made_by("fault", "_error") if "_" in code}
    found["CallError"] |= set(get_args(Code))  # an error of the codecs goes on under its own code
    closed = {ending.value for ending in Ending} - {"approved", "modified", "rejected", "responded", "redirected"}
    found["DecisionError"] |= closed  # a card that was closed without a decision says how
    return found


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_every_code_is_on_the_page_and_no_other(name: str) -> None:
    assert sorted(listed(section("errors", name))) == sorted(codes()[name])


def test_every_kind_of_refusal_is_on_the_page() -> None:
    assert sorted(listed(section("errors", "Refused"))) == sorted(kind.value for kind in RefusalKind)


def test_the_codes_of_single_classes_are_in_the_source() -> None:
    single = listed(section("errors", "ActionFailed, ResultNotStored, RolledBack, Diverged"))
    assert set(single) == {"action_failed", "result_not_stored", "rolled_back", "diverged"}
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    for code in [*single, *listed(section("errors", "The command line itself"))]:
        assert f'"{code}"' in source or f"[{code}]" in source, code


def test_the_tree_on_the_page_is_the_tree_in_the_code() -> None:
    from interlock.domain import errors

    drawn = set(re.findall(r"[├└]── (\w+)", page("errors")))
    there = {
        name for name, each in vars(errors).items() if isinstance(each, type) and each.__module__ == errors.__name__
    }
    assert drawn == {*there, "Exception"}


# -- events, states ---------------------------------------------------------------------------------


def test_every_event_is_on_the_page_and_no_other() -> None:
    assert sorted(listed(page("events"))) == sorted(event.value for event in EventType)


@pytest.mark.parametrize(
    ("title", "kind"),
    [("Actions", ActionState), ("Cards", Ending), ("Verdicts", Verdict), ("Runs", RunState)],
)
def test_every_state_is_on_the_page_and_no_other(title: str, kind: type[StrEnum]) -> None:
    assert listed(section("states", title)) == [each.value for each in kind]


def test_every_kind_of_card_is_on_the_page() -> None:
    stated = {kind for row in rows(section("states", "Verdicts")) for kind in re.findall(r"`(\w+)`", row[1])}
    assert stated == {kind.value for kind in InterruptKind}


# -- settings ---------------------------------------------------------------------------------------


def test_every_setting_is_on_the_page_with_its_default() -> None:
    source = (SOURCE / "settings.py").read_text(encoding="utf-8")
    stated = {code_of(row[0]): row[2] for row in rows(page("settings")) if row[0].startswith("`INTERLOCK_")}
    assert stated.keys() == set(re.findall(r'"(INTERLOCK_\w+)"', source))
    default = settings.load(environ={})
    assert stated["INTERLOCK_PROFILE"] == f"`{default.profile}`"
    assert stated["INTERLOCK_LEASE"] == f"`{default.lease_s:g}`"
    assert stated["INTERLOCK_EXPENSIVE_FROM"] == f"`{default.expensive_from}`"
    assert stated["INTERLOCK_ENVIRONMENT"] == "empty"
    assert default.environment == ""
    assert default.url.endswith("/interlock.db")


def test_nothing_else_reads_the_environment() -> None:
    pattern = re.compile(r"os\.environ\b|os\.getenv\b")
    readers = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if pattern.search(path.read_text())}
    assert readers <= {"settings.py", "cli/work.py"}  # the worker sets it for the module that it imports


# -- tools ------------------------------------------------------------------------------------------


KEYWORD_SECTIONS = (
    "What the tool is",
    "When to ask",
    "What people see",
    "When it is not known what happened",
    "Undoing, results",
)


def test_every_keyword_is_on_the_page_and_no_other() -> None:
    titles = KEYWORD_SECTIONS
    assert sorted(name for title in titles for name in listed(section("tools", title))) == sorted(KEYWORDS)


def test_the_words_that_keywords_take_are_on_the_page() -> None:
    stated = {code_of(row[0]): set(re.findall(r'`"(\w+)"`', row[1])) for row in rows(page("tools"))}
    assert stated["reversibility"] == {each.value for each in Reversibility}
    assert stated["reach"] == {each.value for each in Reach}
    assert stated["interrupt_policy"] == {each.value for each in InterruptPolicy} | {"confidence_gated"}


def test_the_codes_beside_keywords_are_codes_of_declarations() -> None:
    known = codes()["SettingsError"]
    titles = KEYWORD_SECTIONS
    beside = {
        code for title in titles for row in rows(section("tools", title)) for code in re.findall(r"`(\w+)`", row[4])
    }
    assert beside <= known


def test_the_keys_of_tool_schemas_are_on_the_page() -> None:
    said = re.search(r"^Keys of a dict in `declare`.*?\((.*?)\)", page("tools"), re.MULTILINE | re.DOTALL)
    assert said
    assert set(re.findall(r"`(\w+)`", said[1])) == SCHEMA_KEYS


# -- policy -----------------------------------------------------------------------------------------


def test_the_table_of_profiles_is_the_table_in_the_code() -> None:
    wanted = {reversibility.value: reversibility for reversibility in Reversibility}
    lines = [line for line in section("policy", "The profiles").splitlines() if line.startswith("| ")]
    head, *body = ([cell.strip().strip("`") for cell in line.strip("| ").split("|")] for line in lines)
    assert head == ["reversibility", *Profile]
    found = {cells[0]: cells[1:] for cells in body}
    assert found.keys() == {*wanted, "not declared"}
    for name, cells in found.items():
        spec = ToolSpec("t", wanted.get(name))
        expected = ["none" if profile is Profile.RECORD else default_policy(profile, spec).value for profile in Profile]
        assert cells == expected, name


def test_every_interrupt_policy_is_on_the_page_in_order() -> None:
    assert listed(section("policy", "How a ruling interrupts")) == [policy.value for policy in InterruptPolicy]


def test_every_reason_is_on_the_page_and_no_other() -> None:
    made = {
        str(call.args[0].value)
        for name, call in calls()
        if name == "Reason" and call.args and isinstance(call.args[0], ast.Constant)
    }
    made -= {"sample"}
    assert sorted(listed(section("policy", "Reasons"))) == sorted(made)


def test_every_key_of_a_policy_file_is_on_the_page_and_no_other() -> None:
    from interlock.policy.parse import FILE_KEYS, RULE_KEYS

    keys = [re.sub(r"[\[\]]|\.[A-Z]+", "", key) for key in listed(section("policy", "The policy file"))]
    assert sorted(keys) == sorted(FILE_KEYS)
    assert listed(section("policy", "Rules")) == list(RULE_KEYS)


def test_every_variable_and_fact_is_on_the_page_and_no_other() -> None:
    from interlock.policy.conditions import VARIABLES

    stated = {code_of(row[0]): row[1] for row in rows(section("policy", "Conditions")) if code_of(row[0]) in VARIABLES}
    assert stated.keys() == VARIABLES.keys()
    for name, fields in VARIABLES.items():
        if name not in ("args", "facts", "principal"):
            assert set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", stated[name]))) == set(fields)
    facts = [name.removeprefix("facts.") for name in listed(section("policy", "Facts"))]
    assert facts == list(VARIABLES["facts"])


def test_the_deadlines_on_the_pages_are_those_of_the_code() -> None:
    assert (timedelta(hours=4), timedelta(hours=24), timedelta(hours=1)) == (table.SOON, table.LATER, table.CLAIM_SOON)
    assert timedelta(minutes=10) == table.WINDOW
    assert timedelta(days=366) == LONGEST


def test_without_a_channel_a_soft_checkpoint_is_a_hard_stop() -> None:
    ruling = rule(PolicySet(Profile.EARNED), ToolSpec("t", Reversibility.COMPENSABLE), Situation())
    assert ruling.policy is InterruptPolicy.HARD_STOP
    assert ruling.wanted is InterruptPolicy.SOFT_CHECKPOINT


# -- the command line -------------------------------------------------------------------------------

EVERYWHERE = {"--url", "--json", "--help"}


def options_of(command: click.Command) -> set[str]:
    return {
        name
        for each in command.params
        if isinstance(each, click.Option)
        for name in each.opts
        if name.startswith("--") and name not in EVERYWHERE
    }


def commands() -> dict[str, click.Command]:
    """Every command by what one types; those of a group with the group's name."""
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        inner = command.commands if isinstance(command, click.Group) else {"": command}
        found |= {f"{name} {each}".strip(): one for each, one in inner.items()}
    return found


def described() -> dict[str, list[str]]:
    """By command: the cells of its row."""
    titles = ("See", "Policy", "Decide", "Stop, undo, go on", "Run")
    return {typed(row): row for title in titles for row in rows(section("command-line", title))}


def typed(row: list[str]) -> str:
    """What one types before any argument: arguments are written in capitals."""
    return " ".join(word for word in code_of(row[0]).split() if word.islower())


def test_every_command_is_on_the_page_and_no_other() -> None:
    assert sorted(described()) == sorted(commands())


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_option_of_a_command_is_on_the_page_and_no_other(name: str) -> None:
    command = commands()[name]
    assert set(re.findall(r"`(--[\w-]+)`", described()[name][1])) == options_of(command)
    arguments = [
        each.human_readable_name for each in command.params if isinstance(each, click.Argument) and each.required
    ]
    assert code_of(described()[name][0]).removeprefix(name).split() == arguments


# -- the architecture -------------------------------------------------------------------------------


def imports_of(room: str) -> set[str]:
    """The rooms that a room's files import, as written; the public face counts as `interlock`."""
    paths = [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).rglob("*.py"))
    found: set[str] = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "interlock":
                names = [alias.name for alias in node.names] if node.module == "interlock" else [node.module]
                found |= {name.removeprefix("interlock.").partition(".")[0] for name in names}
            elif isinstance(node, ast.Import):
                found |= {each.name.split(".")[1] for each in node.names if each.name.startswith("interlock.")}
    there = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    return {name if name in there else "interlock" for name in found} - {room}


def test_what_the_architecture_says_about_imports_is_what_the_code_imports() -> None:
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.stem for path in SOURCE.iterdir() if (path.is_dir() or path.suffix == ".py") and path.stem[0] != "_"}
    below = {
        "client",
        "server",
        "worker",
        "kernel",
        "stores",
        "adapters",
        "identities",
        "ports",
        "policy",
        "settings",
        "domain",
        "canonical",
    }
    said: dict[str, set[str]] = {}
    for first, second in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (.+?) \|$", text, re.MULTILINE):
        named = set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", second)))
        if "everything below it but" in second:
            assert named == rooms - below - {"cli", "testing", "compose", "langgraph", "py"}
            named = below
        if "the public face" in second:
            named.add("interlock")
        for room in re.findall(r"`(\w+)`", first):
            if room in rooms:
                said.setdefault(room, named)
    assert said == {room: imports_of(room) for room in rooms - {"py"}}


@pytest.mark.parametrize("name", ["architecture", "guarantees"])
def test_the_files_that_an_explanation_names_exist(name: str) -> None:
    text = (ROOT / "docs" / "explanation" / f"{name}.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:\w+/)+\w+\.py)`", text):
        assert (SOURCE / path).exists() or (ROOT / path).exists(), path


# -- Python -----------------------------------------------------------------------------------------


def test_the_page_of_python_is_what_the_code_says() -> None:
    spec = importlib.util.spec_from_file_location("python_reference", Path(__file__).with_name("python_reference.py"))
    assert spec is not None
    assert spec.loader is not None
    made_by = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made_by)
    made = made_by.page()
    assert page("python") == made, "write it again: ./dev run python tests/docs/python_reference.py"
    undocumented = re.findall(r"^### (.*)\n\n(?:```text\n[^`]*```\n\n)?(?=\n|#|\Z)", made, re.MULTILINE)
    assert not undocumented
