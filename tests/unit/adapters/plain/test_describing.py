"""What a declaration adds to a call: hidden arguments, previews, expectations, slices, and the agent's reasons."""

import asyncio
import inspect
import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, get_type_hints

import pytest

from interlock.domain.errors import CallError, DecisionError, Diverged, SettingsError
from interlock.domain.events import EventType
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.domain.tool import Reversibility, ToolSpec
from interlock.kernel import CardView
from interlock.kernel.desk import ReviewDesk
from interlock.kernel.documents import tool_document, tool_spec
from interlock.testing import Rehearsal

CARD = "4111111111111111"


@dataclass
class Customer:
    name: str
    pin: str
    partner: "Customer | None" = None


def card_of(stage: Rehearsal) -> CardView:
    (card,) = stage.reviewer.desk.open()
    return card


def guarded(stage: Rehearsal, fn: Callable[..., Any], *args: Any, run: str = "job", **keywords: Any) -> CardView:
    """The card of a call of `fn`, guarded with these keywords."""
    tool: Any = stage.il.guard(fn, **{"reversibility": "irreversible", "name": "act", **keywords})
    with stage.il.run(run):
        tool(*args)
    return card_of(stage)


def act(card: str, amount: int = 1) -> str:
    return f"{card[-4:]} {amount}"


def refused(stage: Rehearsal, fn: Callable[..., Any] = act, **keywords: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        stage.il.guard(fn, reversibility="irreversible", **keywords)
    return caught.value.code


# -- sensitive --------------------------------------------------------------------------------------


def test_a_sensitive_argument_is_hidden_in_views_and_runs_as_it_is(stage: Rehearsal) -> None:
    ran: list[str] = []

    def charge(card: str) -> str:
        ran.append(card)
        return "ok"

    tool = stage.il.tool("irreversible", sensitive="card")(charge)
    with stage.il.run("job"):
        tool(CARD)
    card = card_of(stage)
    assert CARD not in repr(card.about.current.arguments)
    assert card.about.current.exact == {"card": CARD}
    stage.reviewer.decide("approve")
    with stage.il.run("job"):
        assert tool(CARD) == "ok"
    assert ran == [CARD]


def test_paths_lead_into_models_and_lists(stage: Rehearsal) -> None:
    def act(customers: list[Customer], meta: dict[str, Any]) -> None: ...

    family = [Customer("Ana", "1234", Customer("Bob", "9999"))]
    card = guarded(
        stage, act, family, {"pin": "5678"}, sensitive=["customers.pin", "customers.partner.pin", "meta.pin"]
    )
    shown = repr(card.about.current.arguments)
    assert "Ana" in shown
    assert not any(pin in shown for pin in ("1234", "9999", "5678"))


@pytest.mark.parametrize("path", ["nix", "args.nix", "card.pin", "customer.nix", "customer.partner.nix", "when.year"])
def test_a_path_that_leads_nowhere_is_refused_when_the_tool_is_guarded(stage: Rehearsal, path: str) -> None:
    def act(card: str, customer: Customer, when: tuple[int, str]) -> None: ...

    assert refused(stage, act, sensitive=[path]) == "no_such_parameter"


@pytest.mark.parametrize("given", [7, [7], [""], {"card": True}])
def test_sensitive_takes_names(stage: Rehearsal, given: Any) -> None:
    assert refused(stage, sensitive=given) == "bad_keyword"


def test_no_error_of_a_call_tells_a_sensitive_value(stage: Rehearsal) -> None:
    def act(pin: int, name: str) -> None: ...

    tool: Any = stage.il.guard(act, reversibility="irreversible", sensitive="pin")
    with stage.il.run("job"), pytest.raises(CallError) as caught:
        tool("secret-pin", "Ana")
    told = "".join(traceback.format_exception(caught.value))
    assert "args.pin: does not fit" in told
    assert "secret-pin'" not in told.replace('tool("secret-pin", "Ana")', "")
    with stage.il.run("job"), pytest.raises(CallError, match=r"args\.name: Input should be a valid string"):
        tool(1, 7)


def test_a_divergence_hides_sensitive_values_on_both_sides(stage: Rehearsal) -> None:
    def first(card: str) -> None: ...
    def second(card: str) -> None: ...
    def read(card: str) -> str:
        return "read"

    one, two = (stage.il.tool("irreversible", sensitive="card")(fn) for fn in (first, second))
    look = stage.il.tool("read_only", sensitive="card")(read)
    for key, earlier, later in (("a", one, two), ("b", look, one), ("c", one, look)):
        with stage.il.run(key):
            earlier(CARD)
            one(CARD + "0")
        with pytest.raises(Diverged) as caught, stage.il.run(key):
            later(CARD + "1")
        assert CARD not in str(caught.value)
        assert "[hidden · 16 characters" in caught.value.expected
        assert "[hidden · 17 characters" in caught.value.got


def test_the_record_of_a_free_call_says_what_is_sensitive_and_readers_hide_it(stage: Rehearsal) -> None:
    look = stage.il.tool("read_only", sensitive="card")(act)
    with stage.il.run("job"):
        look(CARD)
    (kept,) = [event for event in stage.events("job") if event.type is EventType.CALL_RECORDED]
    assert kept.body["sensitive"] == ["card"]
    desk = stage.reviewer.desk
    for events in (desk.story("job").events, [event for _, event in desk.events("job")]):
        (seen,) = [event for event in events if event.type is EventType.CALL_RECORDED]
        assert seen.body["arguments"] == {"amount": 1, "card": {"$t": "hidden", "v": "[hidden · 16 characters]"}}


def test_a_reveal_is_on_record_without_the_value_and_answers_it(stage: Rehearsal) -> None:
    card = guarded(stage, act, CARD, sensitive="card")
    desk = stage.reviewer.desk
    assert desk.reveal(card.card.id, digest=card.card.digest, path="args.card") == {"card": CARD}
    stage.reviewer.decide("approve")
    assert desk.reveal(card.card.id, digest=card.card.digest, path=["card", "card"]) == {"card": CARD}
    told = [event for event in stage.events("job") if event.type is EventType.VALUE_REVEALED]
    assert len(told) == 2
    assert told[0].actor == "reviewer:ana"
    assert told[0].interrupt == card.card.id
    assert told[0].body == {"paths": ["card"], "digest": card.card.digest, "channel": "test"}
    assert CARD not in repr(told)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"path": "nix"}, "no_such_field"),
        ({"path": "amount"}, "not_hidden"),
        ({"path": []}, "bad_decision"),
        ({"path": ""}, "bad_decision"),
        ({"path": [7]}, "bad_decision"),
        ({"digest": "sha-256:other"}, "digest_mismatch"),
        ({"interrupt": "nix"}, "unknown_interrupt"),
    ],
)
def test_a_reveal_that_does_not_fit_is_refused_and_tells_nothing(
    stage: Rehearsal, given: dict[str, Any], code: str
) -> None:
    card = guarded(stage, act, CARD, sensitive="card")
    asked = {"interrupt": card.card.id, "digest": card.card.digest, "path": "card", **given}
    with pytest.raises(DecisionError) as caught:
        stage.reviewer.desk.reveal(asked.pop("interrupt"), **asked)
    assert caught.value.code == code
    assert CARD not in str(caught.value)
    assert EventType.VALUE_REVEALED not in [event.type for event in stage.events("job")]


def test_who_may_not_decide_may_not_look_either(stage: Rehearsal) -> None:
    card = guarded(stage, act, CARD, sensitive="card")
    agent = ReviewDesk(stage.il.kernel, Principal(PrincipalKind.AGENT, "billing"))
    with pytest.raises(DecisionError) as caught:
        agent.reveal(card.card.id, digest=card.card.digest, path="card")
    assert caught.value.code == "not_allowed"
    with stage.il.run("other"), pytest.raises(DecisionError) as caught:
        stage.reviewer.desk.reveal(card.card.id, digest=card.card.digest, path="card")
    assert caught.value.code == "not_allowed"


def test_a_tool_is_kept_with_what_it_declares_and_older_records_are_read(stage: Rehearsal) -> None:
    card = guarded(stage, act, CARD, sensitive="card", preview=lambda card: card, ask_rationale=True)
    tool = card.about.tool
    assert (tool.sensitive, tool.previewed, tool.asks_rationale) == (("card",), True, True)
    assert tool_spec(json.loads(tool_document(tool)[1])) == tool
    plain = ToolSpec("t", Reversibility.READ_ONLY)
    kept = json.loads(tool_document(plain)[1])
    assert not {"sensitive", "previewed", "asks_rationale"} & kept.keys()
    assert tool_spec(kept) == plain


def test_what_only_looks_like_a_secret_can_be_revealed_as_well(stage: Rehearsal) -> None:
    def act(password: str) -> None: ...

    card = guarded(stage, act, "hunter2hunter2")
    revealed = stage.reviewer.desk.reveal(card.card.id, digest=card.card.digest, path="password")
    assert revealed == {"password": "hunter2hunter2"}


def test_an_edit_leaves_hidden_values_as_they_are(stage: Rehearsal) -> None:
    def act(customers: list[Customer], amount: int) -> str:
        return f"{customers[0].pin} {amount}"

    card = guarded(stage, act, [Customer("Ana", "1234")], 1, sensitive="customers.pin")
    shown = card.about.current.arguments["customers"]
    stand_in = shown[0]["v"][1]["pin"]["v"]  # type: ignore[call-overload, index]
    edit = {"amount": 2, "customers": [{"name": "Bea", "pin": stand_in, "partner": None}]}
    stage.reviewer.desk.modify(card.card.id, digest=card.card.digest, arguments=edit)
    (action,) = stage.actions("job")
    view = stage.reviewer.desk.action(action.id)
    fields = view.current.exact["customers"][0]["v"][1]  # type: ignore[call-overload, index]
    assert (fields["name"], fields["pin"]) == ("Bea", "1234")
    kept, edited = (each.arguments["customers"][0]["v"][1]["pin"] for each in view.revisions)  # type: ignore[call-overload, index]
    assert kept == edited


def test_a_stand_in_that_came_to_another_place_is_no_value(stage: Rehearsal) -> None:
    card = guarded(stage, act, CARD, sensitive="card")
    for arguments in ({"card": "[hidden · 4 characters · AAAA]"}, {"card": ["[hidden · 4 characters]"]}):
        with pytest.raises(DecisionError, match="stands in for a hidden or masked value"):
            stage.reviewer.desk.modify(card.card.id, digest=card.card.digest, arguments=arguments)


# -- preview ----------------------------------------------------------------------------------------


def preview_calls(stage: Rehearsal, texts: list[Any], **keywords: Any) -> tuple[Any, list[object]]:
    """A guarded tool whose preview shows one text after the other, and what it was called with."""
    calls: list[object] = []

    def preview(amount: int) -> Any:
        calls.append(amount)
        said = texts.pop(0) if len(texts) > 1 else texts[0]
        if isinstance(said, BaseException):
            raise said
        return said

    tool = stage.il.guard(act, **{"reversibility": "irreversible", "name": "act", "preview": preview, **keywords})
    return tool, calls


def go(stage: Rehearsal, tool: Any, amount: int = 1) -> str:
    with stage.il.run("job") as run:
        tool(CARD, amount)
    return run.status


def test_an_unchanged_preview_lets_the_approved_action_run(stage: Rehearsal) -> None:
    tool, calls = preview_calls(stage, ["3 rows"])
    assert go(stage, tool) == "waiting"
    assert card_of(stage).preview is not None
    stage.reviewer.decide("approve")
    assert go(stage, tool) == "finished"
    assert calls == [1, 1]


def test_a_changed_preview_holds_it_again_on_a_card_that_shows_the_new_one(stage: Rehearsal) -> None:
    tool, _ = preview_calls(stage, ["3 rows", "4 rows"])
    go(stage, tool)
    first = card_of(stage)
    stage.reviewer.decide("approve")
    assert go(stage, tool) == "waiting"
    second = card_of(stage)
    assert second.card.previous == first.card.id
    assert second.card.why == "what it would do has changed since it was approved"
    assert second.preview is not None
    assert first.preview is not None
    assert (first.preview.text, second.preview.text) == ("3 rows", "4 rows")
    assert second.preview_before == first.preview
    assert first.preview_before is None
    with pytest.raises(DecisionError, match="digest"):  # a yes to the first card is no yes to the second
        stage.reviewer.desk.approve(second.card.id, digest=first.card.digest)
    stage.reviewer.decide("approve")
    assert go(stage, tool) == "finished"
    assert EventType.ACTION_HELD_AGAIN in [event.type for event in stage.events("job")]


def test_an_action_that_is_edited_runs_without_comparing(stage: Rehearsal) -> None:
    tool, calls = preview_calls(stage, ["3 rows", "4 rows"])
    go(stage, tool)
    card = card_of(stage)
    stage.reviewer.desk.modify(card.card.id, digest=card.card.digest, arguments={"amount": 9})
    assert go(stage, tool) == "finished"
    assert calls == [1, 9]


@pytest.mark.parametrize("bad", [ValueError("no\nrows"), 7, None, b"bytes", SystemExit("stop")])
def test_a_preview_that_fails_is_a_reason_on_the_card_and_no_crash(stage: Rehearsal, bad: Any) -> None:
    tool, _ = preview_calls(stage, [bad])
    go(stage, tool)
    card = card_of(stage)
    assert card.preview is not None
    assert card.preview.text is None
    assert ": " in card.preview.failed
    assert "\n" not in card.preview.failed
    assert "no_preview" in [reason.code for reason in card.about.action.ruling.reasons]
    stage.reviewer.decide("approve")
    assert go(stage, tool) == "finished"  # it fails as it did when people approved it


def test_an_error_with_a_hostile_text_is_still_told(stage: Rehearsal) -> None:
    class HostileError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    tool, _ = preview_calls(stage, [HostileError()])
    go(stage, tool)
    preview = card_of(stage).preview
    assert preview is not None
    assert preview.failed.startswith("HostileError")


def test_what_nobody_is_asked_about_is_previewed_once(stage: Rehearsal) -> None:
    tool, calls = preview_calls(stage, ["3 rows"], reversibility="reversible")
    assert go(stage, tool) == "finished"
    assert calls == [1]


def test_a_long_preview_is_cut_and_what_is_cut_off_still_counts(stage: Rehearsal) -> None:
    tool, _ = preview_calls(stage, ["x" * 9_000 + "a", "x" * 9_000 + "b"])
    go(stage, tool)
    preview = card_of(stage).preview
    assert preview is not None
    assert preview.text is not None
    assert len(preview.text) < 8_100
    assert "[9,001 characters, cut here" in preview.text
    stage.reviewer.decide("approve")
    assert go(stage, tool) == "waiting"


def test_nothing_that_a_preview_does_to_its_arguments_changes_what_runs(stage: Rehearsal) -> None:
    ran: list[list[int]] = []

    def act(ids: list[int]) -> None:
        ran.append(ids)

    def spoil(ids: list[int]) -> str:
        ids.append(666)
        return f"{len(ids) - 1} rows"

    for reversibility in ("reversible", "irreversible"):
        tool: Any = stage.il.guard(
            act,
            name=reversibility,
            reversibility=reversibility,
            preview=spoil,
            expected_outcome=spoil,
            slices={"ids": spoil},
        )
        with stage.il.run(reversibility) as run:
            tool([1, 2])
        if run.status == "waiting":
            stage.reviewer.decide("approve")
        with stage.il.run(reversibility):
            tool([1, 2])
    assert ran == [[1, 2], [1, 2]]


def test_a_preview_cannot_make_guarded_calls(stage: Rehearsal) -> None:
    sent: list[str] = []
    send = stage.il.tool("reversible")(sent.append)

    def act() -> None: ...

    def preview() -> str:
        send("now")  # type: ignore[arg-type]
        return "sent"

    card = guarded(stage, act, preview=preview)
    assert card.preview is not None
    assert "in_check" in card.preview.failed
    assert sent == []


def test_a_preview_in_an_asynchronous_tool_is_called_as_well(stage: Rehearsal) -> None:
    @stage.il.tool("irreversible", preview=lambda to: f"mail to {to}")
    async def send(to: str) -> None: ...

    async def job() -> None:
        async with stage.il.run("job"):
            await send("bob")

    asyncio.run(job())
    preview = card_of(stage).preview
    assert preview is not None
    assert preview.text == "mail to bob"


def test_sensitive_values_do_not_come_back_by_what_the_tools_code_says(stage: Rehearsal) -> None:
    card = guarded(
        stage,
        act,
        CARD,
        sensitive="card",
        preview=lambda card: f"POST {card}",
        expected_outcome=lambda card: f"{card} is charged",
        slices={"card": lambda card: card},
    )
    assert card.preview is not None
    assert card.preview.text == "POST [hidden]"
    assert CARD not in repr(dict(card.about.facts))


class Level(Enum):
    HIGH = 1


def test_a_slice_is_a_parameter_or_what_a_callable_tells(stage: Rehearsal) -> None:
    def act(amount: Decimal, to: str | None, level: Level) -> None: ...

    slices: Mapping[str, Any] = {
        "amount": "amount",
        "to": "to",
        "level": "level",
        "band": lambda amount: "low" if amount < 10 else "high",
        "fails": lambda: 1 / 0,
        "no text": lambda: [1],
        "long": lambda: "x" * 100,
        "all": lambda **every: str(sorted(every)),
    }
    facts = guarded(stage, act, Decimal("5.0"), None, Level.HIGH, slices=slices).about.facts
    assert facts["slices"] == {
        "amount": "5.0",
        "to": "none",
        "level": "HIGH",
        "band": "low",
        "fails": "?",
        "no text": "?",
        "long": "x" * 63 + "…",
        "all": "['amount', 'level', 'to']",
    }


@pytest.mark.parametrize(
    ("keywords", "code"),
    [
        ({"slices": {str(n): "card" for n in range(9)}}, "bad_slices"),
        ({"slices": {" ": "card"}}, "bad_slices"),
        ({"slices": {"card": "card"}, "sensitive": "card"}, "bad_slices"),
        ({"slices": {"a": "nix"}}, "no_such_parameter"),
        ({"slices": {"a": lambda nix: ""}}, "no_such_parameter"),
        ({"slices": ["card"]}, "bad_keyword"),
        ({"slices": {"a": 7}}, "bad_keyword"),
        ({"preview": "text"}, "bad_keyword"),
        ({"preview": lambda nix: ""}, "no_such_parameter"),
        ({"expected_outcome": 7}, "bad_keyword"),
        ({"expected_outcome": lambda nix: ""}, "no_such_parameter"),
        ({"ask_rationale": "yes"}, "bad_keyword"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused_with_its_code(
    stage: Rehearsal, keywords: dict[str, Any], code: str
) -> None:
    assert refused(stage, **keywords) == code


def test_what_is_asynchronous_cannot_describe_a_call(stage: Rehearsal) -> None:
    async def later(card: str) -> str:
        return card

    def starts(card: str) -> object:
        return later(card)

    assert refused(stage, preview=later) == "async_hook"
    assert refused(stage, slices={"a": later}) == "async_hook"
    card = guarded(stage, act, CARD, preview=starts, slices={"a": starts})
    assert card.preview is not None
    assert card.preview.failed == "TypeError: it gave coroutine, not text"
    assert card.about.facts["slices"] == {"a": "?"}


def test_callables_get_the_arguments_that_they_name(stage: Rehearsal) -> None:
    class Shows:
        def __call__(self, card: str, /, amount: int, *rest: object, extra: str = "e") -> str:
            return f"{card[-4:]} {amount} {rest} {extra}"

    card = guarded(stage, act, CARD, 5, preview=Shows(), expected_outcome=repr.__call__, slices={"t": dict})
    assert card.preview is not None
    assert card.preview.text == "1111 5 () e"


def test_what_the_tool_expects_is_kept_apart_from_what_the_agent_expects(stage: Rehearsal) -> None:
    for name, expects, kept in (
        ("text", "a receipt", "a receipt"),
        ("callable", lambda amount: f"{amount} arrives", "1 arrives"),
        ("fails", lambda: 1 / 0, "cannot be told: ZeroDivisionError: division by zero"),
    ):
        with stage.il.rationale("why", expected="agent's own"):
            facts = guarded(stage, act, CARD, run=name, name=name, expected_outcome=expects).about.facts
        assert (facts["tool_expects"], facts["expected"]) == (kept, "agent's own")
        stage.reviewer.decide("approve")


# -- ask_rationale ----------------------------------------------------------------------------------


def test_the_agent_is_asked_why_beside_the_arguments_and_the_tool_gets_none_of_it(stage: Rehearsal) -> None:
    ran: list[str] = []

    @stage.il.tool("irreversible", ask_rationale=True)
    def send(to: str, **headers: str) -> str:
        ran.append(to)
        return "sent"

    assert list(inspect.signature(send).parameters) == [
        "to",
        "reasoning",
        "confidence",
        "uncertainty_reasons",
        "expected_outcome",
        "headers",
    ]
    assert get_type_hints(send)["confidence"] == float | None
    schema = stage.il.schema("send")
    assert schema == stage.il.schema(send)
    assert schema["required"] == ["to"] or "to" in schema["required"]
    assert schema["properties"]["reasoning"]["description"]
    said: dict[str, Any] = {
        "reasoning": "it is due",
        "confidence": 0.5,
        "uncertainty_reasons": ["old address"],
        "expected_outcome": "they pay",
    }
    with stage.il.run("job"), stage.il.rationale("overridden", considered=["a call"]):
        send("bob", **said)
    card = card_of(stage)
    facts = card.about.facts
    assert (facts["reasoning"], facts["expected"], facts["considered"]) == ("it is due", "they pay", ["a call"])
    assert facts["uncertainty"] == ["old address"]
    assert set(card.about.current.arguments) == {"to", "headers"}
    stage.reviewer.decide("approve")
    with stage.il.run("job"):
        assert send("bob", reasoning="now in other words") == "sent"  # no part of the call's identity
    assert ran == ["bob"]


@pytest.mark.parametrize(
    ("said", "fact", "kept"),
    [
        ({"confidence": "high"}, "confidence", "high"),
        ({"confidence": True}, "confidence", "True"),
        ({"confidence": 7}, "confidence", "7"),
        ({"reasoning": 7}, "reasoning", "7"),
        ({"uncertainty_reasons": "one"}, "uncertainty", ["one"]),
        ({"uncertainty_reasons": [1, None]}, "uncertainty", ["1", "None"]),
        ({"uncertainty_reasons": []}, "uncertainty", ["around"]),
        ({"reasoning": None, "expected_outcome": ""}, "reasoning", "around"),
        ({"expected_outcome": {"a": 1}}, "expected", "{'a': 1}"),
    ],
)
def test_reasons_of_the_wrong_kind_never_break_a_call(
    stage: Rehearsal, said: dict[str, Any], fact: str, kept: Any
) -> None:
    tool: Any = stage.il.guard(act, reversibility="irreversible", ask_rationale=True)
    with stage.il.run("job"), stage.il.rationale("around", uncertainty=["around"]):
        tool(CARD, **said)
    assert card_of(stage).about.facts[fact] == kept


def test_reasons_with_a_hostile_text_never_break_a_call(stage: Rehearsal) -> None:
    class Hostile:
        def __str__(self) -> str:
            raise ValueError("no text")

    tool: Any = stage.il.guard(act, reversibility="irreversible", ask_rationale=True)
    with stage.il.run("job"):
        tool(CARD, reasoning=Hostile())
    assert card_of(stage).about.facts["reasoning"] == "(ValueError: no text)"


def test_asynchronous_and_free_tools_drop_the_reasons_as_well(stage: Rehearsal) -> None:
    @stage.il.tool("reversible", ask_rationale=True)
    async def write(text: str) -> str:
        return text

    @stage.il.tool("read_only", ask_rationale=True)
    def read(text: str) -> str:
        return text

    async def job() -> list[str]:
        async with stage.il.run("job"):
            return [await write("a", reasoning="r"), read("b", confidence=0.1)]  # type: ignore[call-arg]
        raise AssertionError

    assert asyncio.run(job()) == ["a", "b"]


def test_a_confidence_that_is_asked_for_is_ruled_by(stage: Rehearsal) -> None:
    tool: Any = stage.il.guard(
        act, reversibility="reversible", ask_rationale=True, confidence_threshold=0.7, interrupt_policy="none"
    )
    with stage.il.run("sure") as run:
        tool(CARD, confidence=0.9)
    assert run.status == "finished"
    with stage.il.run("unsure") as run:
        tool(CARD, confidence=0.3)
    assert run.status == "waiting"


@pytest.mark.parametrize("name", ["reasoning", "confidence", "uncertainty_reasons", "expected_outcome"])
def test_a_tool_with_a_parameter_of_that_name_cannot_ask_why(stage: Rehearsal, name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def act({name}: str) -> None: ...", namespace)
    assert refused(stage, namespace["act"], ask_rationale=True) == "reserved_parameter"


def test_the_schema_of_a_tool_that_does_not_ask_is_that_of_its_arguments(stage: Rehearsal) -> None:
    tool = stage.il.guard(act, reversibility="irreversible")
    assert set(stage.il.schema(tool)["properties"]) == {"card", "amount"}
    for unknown in ("nix", act, 7):
        with pytest.raises(SettingsError, match="is guarded here"):
            stage.il.schema(unknown)  # type: ignore[arg-type]
