"""What is wrong with a policy file is said with code, line, column, words and mend: each broken file says its own."""

import re
from pathlib import Path

import pytest
from policy_examples import HERE, TOOLS

from interlock.domain.errors import PolicyError
from interlock.policy import check_rules, from_content, parse_policy
from interlock.policy.check import check_names
from interlock.policy.conditions import compile_condition

BROKEN = sorted((HERE / "broken").glob("*.toml"))
HEAD = re.compile(r"# code: (.+)\n# at: (\d+):(\d+)\n# says: (.+)\n# mend: (.+)\n")


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_broken_file_is_refused_with_place_and_mend(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    head = HEAD.match(text)
    assert head, "the first lines say what is expected"
    with pytest.raises(PolicyError) as caught:
        check_rules(parse_policy(text), TOOLS.values())
    error = caught.value
    found = (error.code, str(error.line), str(error.column), error.words, error.mend)
    assert found == head.groups()
    assert str(error).startswith(f"line {error.line}, column {error.column}: ")


def test_there_are_many_of_them_and_every_code_is_met() -> None:
    heads = [HEAD.match(path.read_text(encoding="utf-8")) for path in BROKEN]
    assert len(BROKEN) >= 60
    assert {head[1] for head in heads if head} == {
        "policy_syntax", "policy_key", "policy_value", "policy_conflict", "policy_unsupported", "rule_without_undo",
        "condition_syntax", "condition_name", "condition_argument", "condition_type",
    }  # fmt: skip


def test_lines_may_end_as_on_windows() -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy("version = 1\r\n\r\nprofil = 'x'\r\n")
    assert (caught.value.line, caught.value.column) == (3, 1)


def test_an_error_can_name_its_file() -> None:
    error = PolicyError("policy_key", "there is no key a", "Did you mean b?", 3, 1).within("policy.toml")
    assert str(error) == "policy.toml, line 3, column 1: there is no key a [policy_key] Did you mean b?"
    assert str(PolicyError("policy_key", "no")) == "no [policy_key]"
    again = type(error)(*error.args)
    assert (str(again), again.line, again.file) == (str(error), 3, "policy.toml")


def test_content_that_was_tampered_with_is_refused_without_a_place() -> None:
    content = parse_policy('version = 1\n[[rule]]\nname = "a"\ninterrupt_policy = "deny"\n').content
    with pytest.raises(PolicyError) as caught:
        from_content(content.replace(b'"deny"', b'"nothing"'))
    assert (caught.value.code, caught.value.line) == ("policy_value", 0)


def test_a_condition_from_no_file_has_no_place() -> None:
    with pytest.raises(PolicyError) as caught:
        compile_condition("args.amount >")
    assert (caught.value.line, caught.value.column) == (0, 0)
    with pytest.raises(PolicyError, match=r"^it names foo, which there is none of"):
        check_names(compile_condition("foo == 1"), "it")
