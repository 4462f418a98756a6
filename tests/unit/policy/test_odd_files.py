"""Policy files that nobody writes by hand: too large, too deep, or with text that nobody sees."""

import pytest

from interlock.domain.errors import PolicyError
from interlock.policy import from_content, parse_policy

RULE = 'version = 1\n\n[[rule]]\nname = "{name}"\ntools = ["{tool}"]\ninterrupt_policy = "none"\nloosens = true\n'
ANSWERS = 'owner = "{owner}"\nreason = "{reason}"\n'


def written(name: str = "a", tool: str = "send", owner: str = "ana", reason: str = "it is safe") -> str:
    return (RULE + ANSWERS).format(name=name, tool=tool, owner=owner, reason=reason)


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 20_000 + " = 1",
        "version = 1\n[" + "a." * 20_000 + "a]",
        "version = 1\na" + " . a" * 20_000 + " = 1",
        "version = 1\nx = { y = 1, " + '"a".' * 20_000 + "a = 1 }",
        "# " + "a" * 1_000_000,
        "version = 1\nx = " + "[" * 5_000 + "]" * 5_000,
    ],
)
def test_what_would_take_the_parser_long_is_refused_at_once(text: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse_policy(text)
    assert error.value.code == "policy_syntax"


def test_a_text_with_many_dots_is_no_key() -> None:
    said = ". ".join(["no"] * 80)
    assert parse_policy(written(reason=said)).rules[0].reason == said


@pytest.mark.parametrize(
    ("key", "line", "odd"),
    [
        *[
            (key, line, odd)
            for key, line in (("name", 4), ("tool", 5), ("owner", 8))
            for odd in ("a\u200bb", "a\u202eb")
        ],
        *[("reason", 9, odd) for odd in ("\u200b", "\u2060 \u3164", "\U000e0061")],
    ],
)
def test_text_that_nobody_sees_is_refused_where_it_stands(key: str, line: int, odd: str) -> None:
    with pytest.raises(PolicyError, match="which nobody sees") as error:
        parse_policy(written(**{key: odd}))
    assert (error.value.code, error.value.line) == ("policy_value", line)


def test_what_is_stored_already_is_read_as_it_is() -> None:
    content = parse_policy(written(name="a rule")).content
    assert from_content(content.replace(b"a rule", "a\u200brule".encode())).rules[0].name == "a\u200brule"


def test_a_text_of_several_lines_and_other_scripts_is_fine() -> None:
    said = "\u0645\u0646 \u6211\n\tna\u00efve \u26a0\ufe0f"
    text = written().replace('reason = "it is safe"', f'reason = """{said}"""')
    assert parse_policy(text).rules[0].reason == said
