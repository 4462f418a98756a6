"""Conditions by themselves: the values that they see, the names that they mention, the samples they are tried on."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from interlock.domain.errors import PolicyError
from interlock.domain.tool import Reversibility, ToolSpec
from interlock.policy import PolicySet, Situation, check_rules, parse_policy, rule
from interlock.policy.conditions import (
    LONGEST_CONDITION,
    compile_condition,
    context_of,
    holds,
    slices_of,
    why_failed,
)
from interlock.policy.nearest import mend_of
from interlock.policy.samples import Shaped, combinations, shapes_of
from interlock.policy.tokens import names_of
from interlock.policy.values import to_value


def tagged(tag: str, v: Any) -> dict[str, Any]:
    return {"$t": tag, "v": v}


def true_of(condition: str, tree: Any) -> bool | str:
    situation = Situation(arguments={"x": tree})
    return holds(compile_condition(condition), lambda: context_of(ToolSpec("t"), situation))


# ------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize(
    ("tree", "value"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2**63, float(2**63)),
        (tagged("int", str(2**63 - 1)), 2**63 - 1),
        (tagged("int", str(2**70)), float(2**70)),
        (tagged("int", str(10**400)), float("inf")),
        (tagged("int", str(-(10**400))), float("-inf")),
        (tagged("float", "1.5"), 1.5),
        (tagged("decimal", "12.50"), 12.5),
        (tagged("datetime", "2026-01-01T10:00:00"), datetime(2026, 1, 1, 10, tzinfo=UTC)),
        (tagged("datetime", "2026-01-01T10:00:00+02:00"), datetime(2026, 1, 1, 8, tzinfo=UTC)),
        (tagged("timedelta", "PT1H"), timedelta(hours=1)),
        (tagged("bytes", "AA"), b"\0"),
        (tagged("date", "2026-01-01"), "2026-01-01"),
        (tagged("uuid", "00000000-0000-4000-8000-000000000000"), "00000000-0000-4000-8000-000000000000"),
        (tagged("tuple", [1, tagged("decimal", "2")]), [1, 2.0]),
        (tagged("map", [[1, "a"], [tagged("float", "1.5"), "b"], [True, "c"]]), {1: "c", "1.5": "b"}),
        (tagged("model", ["m:Booking", {"nights": 2}]), {"nights": 2}),
        (tagged("enum", ["m:Kind", "GOODS"]), "GOODS"),
        (tagged("secret", ["env://KEY"]), "env://KEY"),
        ({"a": {"b": [1]}}, {"a": {"b": [1]}}),
    ],
)
def test_a_stored_argument_has_a_value_of_its_own_kind(tree: Any, value: object) -> None:
    assert to_value(tree) == value
    assert type(to_value(tree)) is type(value)


def test_an_argument_that_cannot_be_read_fails_the_condition_and_nothing_else() -> None:
    assert true_of("args.x == 1", tagged("datetime", "no time")) == "an argument cannot be read"


@pytest.mark.parametrize(
    ("condition", "tree", "answer"),
    [
        ("args.x > 500", tagged("decimal", "500.01"), True),
        ("args.x > 500.0", 501, True),
        ("args.y == 1", 1, "there is no y"),
        ("{'a': 1}[args.x] == 1", "secret", "a key is missing"),
        ("args.x * 9223372036854775807 == 1", 77, "a number is too large"),
        ("int(args.x) == 1", "secret", "int(...) cannot take what it is given"),
        ("'a'.matches(args.x)", "secret(", "its regular expression is not valid"),
        ("args.x", 3, "it gives int, not true or false"),
        ("args.x[3] == 1", [1], "a list is too short"),
        ("1 / args.x == 1", 0, "it divides by zero"),
    ],
)
def test_a_condition_is_true_or_false_or_says_why_not(condition: str, tree: Any, answer: object) -> None:
    assert true_of(condition, tree) == answer


def test_an_error_without_words_is_named() -> None:
    assert why_failed(RuntimeError(), "") == "RuntimeError"


def test_a_slice_that_gives_no_text_says_nothing() -> None:
    slices = {"a": compile_condition("args.x"), "b": compile_condition("args.y"), "c": compile_condition("'c'")}
    assert slices_of(slices, context_of(ToolSpec("t"), Situation(arguments={"x": 1}))) == {"c": "c"}


def test_a_condition_has_a_longest_length() -> None:
    with pytest.raises(PolicyError, match="the condition has 4,004 characters, more than 4,000"):
        compile_condition("true" + " " * LONGEST_CONDITION)


def test_an_error_of_the_evaluator_without_a_place_is_at_the_start() -> None:
    with pytest.raises(PolicyError) as caught:
        compile_condition("(" * 200 + "true" + ")" * 200, ((3, 9),))
    assert (caught.value.line, caught.value.column) == (3, 9)


# ------------------------------------------------------------------------------------------ names


def references(text: str) -> list[str]:
    return [str(each) for each in names_of(text).references]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("args.a.b == 1 && facts.calls > 2", ["args.a.b", "facts.calls"]),
        ("args['a'].b['c'] == 1", ["args.a.b.c"]),
        ("args.to.endsWith('x') && size(args.l) > 1", ["args.to", "args.l"]),
        ("'args.no' == \"args.no\" // args.no", []),
        ("args.l.exists(e, e.name == args.n)", ["args.l", "e", "e.name", "args.n"]),
        ("args.l[0] == args.l[args.i]", ["args.l", "args.l", "args.i"]),
        ("type(args.a) == int && true", ["args.a", "int"]),
        ("args", ["args"]),
    ],
)
def test_the_names_of_a_condition_are_found(text: str, found: list[str]) -> None:
    assert references(text) == found


def test_the_literals_of_a_condition_are_found() -> None:
    text = r"""args.a == 'it\'s' || args.b > 0x1F || args.c > 1.5e3 || args.d == 7u || args.e == '\?' || args.f == .5"""
    assert names_of(text).literals() == ("it's", 31, 1500.0, 7, "?", 0.5)
    strings = r"""args.a in ['\x41\u0042\103\n', r'\d', b"z", '''it's''']"""
    assert names_of(strings).literals() == ("ABC\n", r"\d", b"z", "it's")


def test_a_variable_that_is_taken_as_a_whole_mentions_every_field() -> None:
    assert names_of("facts.calls > 1").fields("facts") == {"calls"}
    assert names_of("size(facts) > 1").fields("facts") is None
    assert names_of("true").fields("facts") == frozenset()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("args.a == 1", 1),
        ("1 != args.a", 1),
        ("args.a + 1 == 1", 0),
        ("args.a == 1 + 1", 0),
        ("args.a == args.b", 0),
        ("!(args.a == true) || null == args.b ? args.c == 'x' : args.d", 3),
        ("[args.a == 1, 2 == args.b]", 2),
        ("args.a == size(args.b)", 0),
    ],
)
def test_comparisons_with_a_literal_are_found(text: str, count: int) -> None:
    assert len(names_of(text).equalities()) == count


def test_the_nearest_word_is_suggested() -> None:
    assert mend_of("amout", ["amount", "to"]) == "Did you mean amount?"
    assert mend_of("AMOUNT", ["amount", "to"]) == "Did you mean amount?"
    assert mend_of("x", ["amount", "to"]) == "Known: amount, to."
    assert mend_of("x", []) == "There is nothing to name here."
    assert mend_of("x", ["amount"], "Declare it.") == "Declare it."


# ------------------------------------------------------------------------------------------ samples


@pytest.mark.parametrize(
    ("shape", "some"),
    [
        ("none", None),
        ({"list": "int"}, [1]),
        ({"tuple": ["int", "str"]}, [0, ""]),
        ({"tuple_of": "str"}, ["a"]),
        ({"set": "bool"}, [True]),
        ({"dict": ["str", "int"]}, {"a": 1}),
        ({"union": ["int", "none"]}, None),
        ({"literal": ["a", ["enum", ["m:K", "B"], "b"]]}, "B"),
        ({"record": {"a": ["int", True], "b": ["none", True]}}, {"a": 1, "b": None}),
        ({"enum": ["m:K", [["A", "A", 1]]]}, "A"),
        ({"tuple": [{"literal": []}]}, [None]),
    ],
)
def test_there_are_samples_of_every_shape(shape: Any, some: object) -> None:
    assert some in Shaped(shape).values()


def test_samples_of_a_type_that_contains_itself_end() -> None:
    tree = {"defs": {"Tree": {"model": ["m:Tree", {"left": [{"union": [{"ref": "Tree"}, "none"]}, True]}]}}}
    shaped = Shaped({**tree, "is": {"ref": "Tree"}})
    assert shaped.values()
    assert shaped.certain
    assert shaped.kinds(["left", "left"]) == {"map", "null"}
    assert shaped.fields(["left"]) == {"left"}


def test_what_is_not_known_of_a_type_is_not_claimed() -> None:
    assert not Shaped({"list": "any"}).certain
    assert not Shaped({"tuple": ["any"]}).certain
    assert Shaped({"dict": ["str", "any"]}).fields([]) is None
    assert Shaped({"model": ["m:M", {}, {"extra": True}]}).fields([]) is None
    assert Shaped("any").kinds(["a", "b"]) == {"any"}
    assert Shaped({"dict": ["str", "int"]}).kinds(["a"]) == {"number"}
    assert Shaped({"literal": ["a", 1, True, None]}).kinds() == {"string", "number", "bool", "null"}


def test_the_types_of_a_json_schema_serve_where_nothing_else_is_known() -> None:
    properties = {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}, "c": {"anyOf": []}, "d": True}
    found = shapes_of(ToolSpec("t", schema={"properties": properties}))
    assert found == {"a": "int", "b": {"union": ["str", "none"]}, "c": "any", "d": "any"}
    assert shapes_of(ToolSpec("t")) is None


def test_few_combinations_are_all_tried_and_many_are_mixed() -> None:
    assert len(list(combinations({"a": [1, 2], "b": [3, 4]}))) == 4
    columns: dict[str, list[object]] = {name: list(range(8)) for name in "abcdef"}
    tried = list(combinations(columns))
    assert len(tried) < 400
    assert all({each[name] for each in tried} == set(range(8)) for name in columns)
    assert len({(each["a"], each["b"]) for each in tried}) > 30


# ------------------------------------------------------------------------------------------ what is not known passes


def policy_of(condition: str) -> PolicySet:
    return parse_policy(f'version = 1\n[[rule]]\nname = "a"\nwhen = """{condition}"""\ninterrupt_policy = "deny"\n')


@pytest.mark.parametrize(
    "condition",
    [
        "args.anything > 3",  # nothing is known of this tool's arguments
        "agent.name == 'x' && args.a.b.c == 'y'",
        "agent.name == 'x'",
    ],
)
def test_a_tool_of_which_nothing_is_known_takes_any_condition(condition: str) -> None:
    check_rules(policy_of(condition), [ToolSpec("t", Reversibility.READ_ONLY)])


@pytest.mark.parametrize(
    ("condition", "shape"),
    [
        ("args.x > 3", "any"),  # it may be a number
        ("args.x.a.b == 'y'", "any"),
        ("args.x[7] == 1", {"list": "int"}),  # a list may be longer than any sample
        ("args.x['key'] == 'y'", {"dict": ["str", "str"]}),
        ("args.x['a'].b == 1", {"dict": ["str", {"record": {"b": ["int", True]}}]}),
        ("100 / args.x > 3", "int"),
        ("has(args.x) && args.x != null && args.x.startsWith('a')", {"union": ["str", "none"]}),
        ("args.x == null || args.x > 3", {"union": ["int", "none"]}),
        ("args.x == 'a' || args.x == null", "str"),
        ("args.x == 3", {"union": ["int", "str"]}),
        ("args.x.size() > 3 && size(args) > 0", "str"),
        ("args.x.exists(each, each.startsWith('a'))", {"list": "str"}),
        ("args.x == 3", {"literal": []}),
    ],
)
def test_what_may_be_right_is_not_refused(condition: str, shape: Any) -> None:
    spec = ToolSpec("t", shape={"arguments": {"x": shape}})
    check_rules(policy_of(condition), [spec])


def test_what_fails_whatever_the_arguments_are_is_refused() -> None:
    spec = ToolSpec("t", shape={"arguments": {"x": "int"}})
    with pytest.raises(PolicyError, match=r"timestamp\(\.\.\.\) cannot take what it is given"):
        check_rules(policy_of("timestamp('never') > timestamp('soon')"), [spec])


def test_the_part_that_fails_is_pointed_at() -> None:
    spec = ToolSpec("t", shape={"arguments": {"x": "str", "l": {"list": "str"}}})
    condition = "size(args.l) >= 0 && (args.x == 'a' || args.x > 3)"
    with pytest.raises(PolicyError) as caught:
        check_rules(policy_of(condition), [spec])
    assert caught.value.column == len('when = """') + condition.index("(args.x ==") + 1


def test_a_rule_without_a_condition_needs_no_evaluation() -> None:
    policy = parse_policy('version = 1\n[[rule]]\nname = "a"\ninterrupt_policy = "deny"\n')
    assert rule(policy, ToolSpec("t"), Situation(arguments={"x": {"$t": "datetime", "v": "no time"}})).rules == ("a",)
