"""What hurts the users of today's gates, one test for each public report; the judge is always the tool's own ledger."""

import asyncio
import contextlib
import functools
import math
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Annotated, Any

import pytest
import tenacity
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel

from interlock import DecisionError, InterlockError, Refused
from interlock.domain.errors import CallError, SettingsError
from interlock.domain.events import EventType
from interlock.testing import Answer, Rehearsal, found_done, reject, respond


class Tool:
    """One irreversible tool and its ledger."""

    def __init__(self, stage: Rehearsal, name: str = "pay", **keywords: Any) -> None:
        self.ledger: list[tuple[object, ...]] = []

        def pay(amount: int, account: str) -> str:
            self.ledger.append((amount, account))
            return f"paid {amount} to {account}"

        self.call: Callable[[int, str], str] = stage.il.tool("irreversible", name=name, **keywords)(pay)


def hold(stage: Rehearsal, call: Callable[[], object], key: str = "job") -> Any:
    """Make the call in a run until it pauses, and answer the card."""
    with stage.il.run(key) as run:
        call()
    assert run.status == "waiting"
    return stage.reviewer.open()[-1]


def test_p04_a_stale_card_does_not_approve_a_newer_action(both: Rehearsal) -> None:
    tool, desk = Tool(both), both.reviewer.desk

    def program() -> None:
        with both.il.run("job"):
            with contextlib.suppress(Refused):
                tool.call(100, "A")
            tool.call(900, "B")

    program()
    (first,) = both.reviewer.open()
    both.reviewer.decide(reject("not that account"))
    program()
    (second,) = both.reviewer.open()
    for digest in (first.card.digest, second.card.digest):
        with pytest.raises(DecisionError):
            desk.approve(first.card.id, digest=digest)
    with pytest.raises(DecisionError, match="digest_mismatch"):
        desk.approve(second.card.id, digest=first.card.digest)
    assert tool.ledger == []
    assert [card.card.id for card in both.reviewer.open()] == [second.card.id]
    desk.approve(second.card.id, digest=second.card.digest)
    program()
    assert tool.ledger == [(900, "B")]


def test_p04_a_card_of_an_earlier_holding_of_the_same_action_is_superseded(both: Rehearsal) -> None:
    tool, desk = Tool(both), both.reviewer.desk
    first = hold(both, lambda: tool.call(100, "A"))
    both.reviewer.decide("approve")
    desk.revoke(first.card.id, digest=first.card.digest)
    with pytest.raises(DecisionError, match="superseded"):
        desk.reject(first.card.id, digest=first.card.digest)
    assert desk.approve(first.card.id, digest=first.card.digest).replayed, "the old yes, sent again, says the old thing"
    assert both.states("job") == ["held"]
    with both.il.run("job"):
        tool.call(100, "A")
    assert tool.ledger == []


@pytest.mark.parametrize("answer", [0, "", False, None, 0.0, [], {}])
def test_p07_falsy_responses_and_results_survive(both: Rehearsal, answer: object) -> None:
    ran: list[int] = []

    @both.il.tool("irreversible")
    def ask(question: str) -> Any:
        ran.append(1)
        return answer

    for said in (respond(answer), "approve"):
        key = f"job {said if said == 'approve' else 'respond'}"
        hold(both, lambda: ask("how many?"), key)
        both.reviewer.decide(said)
        for _ in range(2):
            with both.il.run(key) as run:
                got = ask("how many?")
                assert got == answer
                assert type(got) is type(answer)
            assert run.status == "finished"
    assert ran == [1]


def test_p07_a_falsy_finding_survives(both: Rehearsal) -> None:
    @both.il.tool("compensable", interrupt_policy="none")
    def count() -> int:
        raise TimeoutError

    with both.il.run("job"):
        count()
    both.reviewer.decide(found_done(0))
    with both.il.run("job") as run:
        assert count() == 0
    assert run.status == "finished"


def test_p08_code_before_a_pause_does_not_run_again(both: Rehearsal) -> None:
    ledger: list[str] = []

    def program(il: Any) -> str:
        @il.tool("reversible", name="notify")
        def notify(what: str) -> None:
            ledger.append(what)

        @il.tool("irreversible", name="gate")
        def gate(what: str) -> None:
            ledger.append(what)

        @il.tool("reversible", name="ship")
        def ship() -> None:
            ledger.append("ship")

        with il.run("job") as run:
            notify("starting")
            gate("A")
            gate("B")
            ship()
        return str(run.status)

    assert program(both.il) == "waiting"
    both.reviewer.decide("approve")
    assert program(both.another()) == "waiting"
    both.reviewer.decide("approve")
    assert program(both.another()) == "finished"
    assert ledger == ["starting", "A", "B", "ship"]


def test_p10_the_first_decision_is_final_and_a_replay_gets_the_same_receipt(both: Rehearsal) -> None:
    tool, desk = Tool(both), both.reviewer.desk
    card = hold(both, lambda: tool.call(1, "A")).card
    first = desk.approve(card.id, digest=card.digest)
    again = desk.approve(card.id, digest=card.digest)
    assert (again.decision, again.replayed) == (first.decision, True)
    with pytest.raises(DecisionError, match="already_decided") as late:
        desk.reject(card.id, digest=card.digest)
    assert late.value.by == "ana"
    assert late.value.at is not None
    with both.il.run("job"):
        tool.call(1, "A")
    assert desk.approve(card.id, digest=card.digest).decision == first.decision
    assert tool.ledger == [(1, "A")]


def test_p10_fifty_threads_race_and_one_wins(both: Rehearsal) -> None:
    tool, desk = Tool(both), both.reviewer.desk
    card = hold(both, lambda: tool.call(1, "A")).card
    won: list[str] = []
    start = threading.Barrier(50)

    def race(number: int) -> None:
        decide = desk.approve if number % 2 else desk.reject
        start.wait()
        with contextlib.suppress(DecisionError):
            receipt = decide(card.id, digest=card.digest, note=str(number))
            won.append(receipt.decision.verdict.value)

    threads = [threading.Thread(target=race, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    with contextlib.suppress(Refused), both.il.run("job"):
        tool.call(1, "A")
    assert tool.ledger == ([(1, "A")] if won == ["approve"] else [])


def test_p12_a_process_that_is_gone_after_the_effect_leaves_a_doubt_for_a_person() -> None:
    with Rehearsal(lease=timedelta(seconds=30)) as stage:
        sent: list[str] = []

        def program(il: Any, lost: bool) -> str:
            @il.tool("irreversible", name="send")
            def send(to: str) -> str:
                sent.append(to)
                if lost:
                    stage.clock.advance(timedelta(minutes=1))  # silent past its lease: as good as dead
                    raise SystemExit(9)
                return to

            with contextlib.suppress(BaseException), il.run("job") as run:
                send("bob")
            return str(run.status)

        program(stage.il, lost=False)
        stage.reviewer.script["send"] = "approve"
        stage.reviewer.decide_all()
        program(stage.il, lost=True)
        for _ in range(3):
            program(stage.another(), lost=False)
        assert (sent, stage.states("job")) == (["bob"], ["in_doubt"])
        assert [card.card.kind.value for card in stage.reviewer.open()] == ["reconcile"]
        stage.reviewer.decide(found_done("sent"))
        assert program(stage.another(), lost=False) == "finished"
        assert sent == ["bob"]


def test_p13_an_answer_is_not_lost_when_the_run_fails_after_it(both: Rehearsal) -> None:
    tool = Tool(both)
    trouble = [ConnectionError("500"), ConnectionError("500")]

    @both.il.workflow
    def agent() -> str:
        paid = tool.call(120, "A")
        if trouble:
            raise trouble.pop()
        return paid

    agent.start(key="job")
    both.reviewer.decide("approve")
    assert agent.start(key="job").status == "failed"
    both.reviewer.desk.retry("job")
    both.il.worker().run_until_idle()
    assert agent.handle("job").status == "failed"  # type: ignore[arg-type]
    assert agent.start(key="job").result == "paid 120 to A"
    assert tool.ledger == [(120, "A")]


def test_p14_a_retry_of_the_framework_does_not_repeat_a_payment(both: Rehearsal) -> None:
    tool = Tool(both)
    amounts = [120, 120, 120]

    def task() -> str:
        paid = tool.call(amounts[0], "INV-7")
        if len(amounts) > 1:
            amounts.pop()
            raise ValueError("cannot parse that")
        return paid

    both.reviewer.script["pay"] = "approve"
    with both.il.run("job") as run:
        tenacity.Retrying(stop=tenacity.stop_after_attempt(3), reraise=True)(task)
    both.reviewer.decide_all()
    with both.il.run("job") as run:
        tenacity.Retrying(stop=tenacity.stop_after_attempt(3), reraise=True)(task)
    assert (tool.ledger, run.status) == ([(120, "INV-7")], "waiting")
    (card,) = both.reviewer.open()
    assert "identical to one that ran" in card.card.why


def test_p14_other_arguments_on_the_retry_are_a_new_card(both: Rehearsal) -> None:
    tool = Tool(both)
    hold(both, lambda: tool.call(120, "INV-7"))
    both.reviewer.decide("approve")
    with both.il.run("job") as run:
        tool.call(120, "INV-7")
        tool.call(130, "INV-7")
    assert (tool.ledger, run.status, both.states("job")) == ([(120, "INV-7")], "waiting", ["done", "held"])


class AlwaysEqual:
    """Says yes to every comparison."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("approve")


plain_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.sampled_from(["yes", "approve ", "APPROVE", "true", "\u0430pprove", "ok", "1", "{}", "approve\x00", "\ud800"]),
    st.sampled_from([AlwaysEqual(), object(), ..., NotImplemented, print, int, b"approve"]),
)
odd_values = st.recursive(
    plain_values, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3))
)


ODD_PLACES = ["id", "digest", "note", "found", "arguments", "shown", "script"]


def decisions_with(stage: Rehearsal, where: str, odd: Any) -> list[Callable[[], object]]:
    """Every way of deciding the open card with something odd in that place; none where it would not be odd there."""
    desk, card = stage.reviewer.desk, stage.reviewer.open()[0].card
    match where:
        case "id":
            return [
                lambda: desk.approve(odd, digest=card.digest),
                lambda: desk.modify(odd, digest=card.digest, arguments={"amount": 2}),
                lambda: desk.respond(odd, digest=card.digest, result="x"),
                lambda: desk.revoke(odd, digest=card.digest),
                lambda: desk.card(odd),
                lambda: desk.find(odd),
            ]
        case "digest":
            return [
                lambda: desk.approve(card.id, digest=odd),
                lambda: desk.modify(card.id, digest=odd, arguments={"amount": 2}),
                lambda: desk.respond(card.id, digest=odd, result="x"),
                lambda: desk.revoke(card.id, digest=odd),
            ]
        case "note" if not isinstance(odd, str):
            return [
                lambda: desk.approve(card.id, digest=card.digest, note=odd),
                lambda: desk.redirect(card.id, digest=card.digest, note=odd),
            ]
        case "found":
            return [lambda: desk.reconcile(card.id, digest=card.digest, found=odd)]
        case "arguments" if not (isinstance(odd, dict) and set(odd) & {"amount", "account"}):
            return [lambda: desk.modify(card.id, digest=card.digest, arguments=odd)]
        case "shown" if odd is not None:
            return [lambda: desk.approve(card.id, digest=card.digest, shown=odd)]
        case "script" if odd is not None and not (isinstance(odd, str) and odd in ("approve", "reject")):
            return [lambda: stage.reviewer.decide(odd), lambda: stage.reviewer.decide(Answer(odd))]
    return []


def test_p16_nothing_but_an_explicit_decision_counts(stage: Rehearsal) -> None:
    tool = Tool(stage)
    hold(stage, lambda: tool.call(1, "A"))
    tried = 0

    @given(odd=odd_values, where=st.sampled_from(ODD_PLACES))
    @settings(max_examples=300, database=None)
    def odd_decisions_are_refused(odd: Any, where: str) -> None:
        nonlocal tried
        for act in decisions_with(stage, where, odd):
            tried += 1
            with pytest.raises((DecisionError, SettingsError)) as error:
                act()
            assert "\n" not in str(error.value)
            if error.value.code in ("bad_decision", "bad_edit"):
                assert where[:3] in str(error.value), "the error names the field"
        assert stage.states("job") == ["held"]

    odd_decisions_are_refused()
    assert tried >= 200
    with stage.il.run("job"):
        tool.call(1, "A")
    assert tool.ledger == []


def test_p17_a_tool_that_looks_at_nothing_does_not_run_when_it_was_declined(both: Rehearsal) -> None:
    class Headstrong:
        ledger: list[str] = []  # noqa: RUF012

        def __call__(self, what: str) -> str:
            self.ledger.append(what)
            return what

    tool = both.il.guard(Headstrong(), reversibility="irreversible", name="headstrong")
    hold(both, lambda: tool("x"))
    both.reviewer.decide("reject")
    rest: list[Callable[[], str]] = [functools.partial(tool, "x"), lambda: tool("x"), lambda: tool(what="x")]
    with both.il.run("job"):
        for call in rest:
            with pytest.raises(Refused):
                call()
    with pytest.raises(CallError):
        tool("x")
    assert Headstrong.ledger == []


def test_p19_no_way_of_calling_goes_round_the_gate(both: Rehearsal) -> None:
    tool = Tool(both)

    @both.il.tool("reversible", composite=True)
    def agent(amount: int) -> str:
        return tool.call(amount, "sub-agent")

    ways: list[Callable[[int], object]] = [
        lambda n: tool.call(n, "direct"),
        lambda n: asyncio.run(asyncio.to_thread(tool.call, n, "thread")),
        lambda n: functools.partial(tool.call, n)("partial"),
        agent,
        lambda n: eval("call(n, 'code')", {"call": tool.call, "n": n}),
        lambda n: list(map(tool.call, [n], ["map"])),
        lambda n: getattr(tool.call, "__wrapped__", tool.call)(n, "wrapped"),
        lambda n: tool.call.__call__(n, "dunder"),  # type: ignore[operator]
    ]
    for number, way in enumerate(ways):
        with both.il.run(f"job {number}") as run:
            way(number)
        assert run.status == "waiting"
        with pytest.raises(CallError):
            way(number)
    assert tool.ledger == []
    assert len(both.reviewer.open()) == len(ways)


def test_p21_an_approval_after_the_expiry_is_refused_and_a_late_no_is_recorded(both: Rehearsal) -> None:
    tool, desk = Tool(both, expires_in="60s"), both.reviewer.desk
    card = hold(both, lambda: tool.call(1, "A")).card
    both.clock.advance(timedelta(seconds=60))
    with pytest.raises(DecisionError, match="expired"):
        desk.approve(card.id, digest=card.digest)
    late = desk.reject(card.id, digest=card.digest, note="no")
    assert late.late
    with pytest.raises(Refused) as refused, both.il.run("job"):
        tool.call(1, "A")
    assert (refused.value.kind, tool.ledger) == ("expired", [])
    assert EventType.LATE_REJECTION_RECORDED in [event.type for event in both.events("job")]


def test_p21_the_last_moment_counts_and_a_late_no_on_an_open_card_is_no_rejection(both: Rehearsal) -> None:
    tool, desk = Tool(both, expires_in="60s"), both.reviewer.desk
    card = hold(both, lambda: tool.call(1, "A")).card
    both.clock.advance(timedelta(seconds=59, microseconds=999_999))
    desk.approve(card.id, digest=card.digest)
    with both.il.run("job"):
        tool.call(1, "A")
    assert tool.ledger == [(1, "A")]
    card = hold(both, lambda: tool.call(2, "A"), "other").card
    both.clock.advance(timedelta(seconds=61))
    assert desk.reject(card.id, digest=card.digest).late
    with pytest.raises(Refused) as refused, both.il.run("other"):
        tool.call(2, "A")
    assert refused.value.kind == "expired"


def test_p22_silence_is_not_written_down_as_anybodys_word(both: Rehearsal) -> None:
    tool = Tool(both)

    @both.il.workflow
    def agent() -> str:
        try:
            return tool.call(1, "A")
        except Refused as refused:
            return f"{refused}, by {refused.by}"

    agent.start(key="job")
    both.clock.advance(timedelta(days=30))
    assert both.il.worker().run_until_idle() == 1
    told = agent.handle("job").result  # type: ignore[arg-type]
    assert "nobody decided in time" in told
    assert told.endswith("by None")
    (expired,) = [event for event in both.events("job") if event.type is EventType.INTERRUPT_EXPIRED]
    assert expired.actor == ""
    told = " ".join(f"{event.type} {event.actor} {dict(event.body)}" for event in both.events("job"))
    assert not any(word in told for word in ("approve", "reject", "DecisionRecorded"))
    assert tool.ledger == []


def test_p26_what_the_card_shows_is_what_runs(both: Rehearsal) -> None:
    paid: list[Any] = []

    def clamp(amount: int) -> int:
        return min(amount, 50)

    @both.il.tool("irreversible")
    def pay(amount: Annotated[int, AfterValidator(clamp)], meta: dict[str, Any]) -> None:
        paid.append((amount, meta))
        meta["tag"].append("changed by the tool")

    meta: dict[str, Any] = {"tag": ["x"]}
    card = hold(both, lambda: pay(100, meta))
    assert dict(card.about.current.arguments) == {"amount": 50, "meta": {"tag": ["x"]}}
    meta["tag"].append("evil")
    both.reviewer.decide("approve")
    with pytest.raises(InterlockError, match="diverged"), both.il.run("job"):
        pay(100, meta)
    assert paid == []
    both.reviewer.desk.retry("job", accept_divergence=True)
    meta["tag"].pop()
    with both.il.run("job"):
        pay(100, meta)
    assert [amount for amount, _ in paid] == [50]
    assert meta == {"tag": ["x"]}, "the tool got a copy"


def test_p27_after_an_edit_the_original_is_not_done_too(both: Rehearsal) -> None:
    sent: list[str] = []

    @both.il.tool("irreversible")
    def mail(to: str) -> str:
        sent.append(to)
        return f"mailed {to}"

    report: list[str] = []

    def program() -> str:
        with both.il.run("job") as run:
            report.clear()
            report.append(mail("alice@example.com"))
            for _ in range(3):
                try:
                    mail("alice@example.com")
                except Refused as refused:
                    report.append(refused.kind)
        return str(run.status)

    program()
    both.reviewer.decide(Answer("edit", arguments={"to": "bob@example.com"}))
    program()
    assert sent == ["bob@example.com"]
    assert report == ["mailed bob@example.com", "repeated", "repeated", "repeated"]
    assert both.reviewer.open() == ()


def test_p31_one_gated_call_does_not_make_its_siblings_ask(both: Rehearsal) -> None:
    ledger: list[str] = []

    @both.il.tool("irreversible")
    async def add_comment(text: str) -> str:
        ledger.append(text)
        return text

    @both.il.tool("read_only")
    async def search(what: str) -> str:
        ledger.append(f"searched {what}")
        return what

    async def program() -> list[Any]:
        async with both.il.run("job"):
            return list(await asyncio.gather(add_comment("hi"), search("x"), return_exceptions=True))
        return []

    assert asyncio.run(program())[1] == "x"
    assert (ledger, len(both.reviewer.open())) == (["searched x"], 1)


def test_p32_the_results_of_siblings_survive_the_pause(both: Rehearsal) -> None:
    ledger: list[str] = []

    def program(il: Any) -> Any:
        @il.tool("irreversible", name="delete")
        async def delete(what: str) -> str:
            ledger.append(f"deleted {what}")
            return f"deleted {what}"

        @il.tool("read_only", name="list_all")
        async def list_all() -> list[str]:
            ledger.append("listed")
            return ["X", "Y"] if ledger.count("listed") == 1 else []

        async def go() -> Any:
            async with il.run("job"):
                return await asyncio.gather(delete("X"), list_all())

        return asyncio.run(go())

    program(both.il)
    both.il.kernel.store.flush()
    both.reviewer.decide("approve")
    assert program(both.another()) == ["deleted X", ["X", "Y"]]
    assert ledger == ["listed", "deleted X"]


def test_p33_a_rejected_call_is_not_asked_about_again_and_the_run_needs_attention(both: Rehearsal) -> None:
    created: list[str] = []

    @both.il.tool("irreversible")
    def create(page: str) -> str:
        created.append(page)
        return page

    def program() -> tuple[str, list[str]]:
        kinds: list[str] = []
        with both.il.run("job") as run:
            for _ in range(10):
                try:
                    create("notes")
                except Refused as refused:
                    kinds.append(refused.kind)
        return str(run.status), kinds

    assert program() == ("waiting", [])
    both.reviewer.decide("reject")
    status, kinds = program()
    assert kinds == ["rejected"] + ["repeated"] * 9
    assert (created, status, both.reviewer.open()) == ([], "needs_attention", ())
    assert len(both.reviewer.seen) == 1


def test_p34_the_reviewers_words_arrive_as_they_were_written(both: Rehearsal) -> None:
    words = "use the <EU> mailbox & say “hi”\nsecond line {0} %s \\n 日本"
    sent: list[str] = []
    got: list[str] = []

    def program(il: Any) -> None:
        @il.tool("irreversible", name="send")
        def send(to: str) -> None:
            sent.append(to)

        @il.tool("reversible", composite=True, name="nested")
        def nested(to: str) -> str:
            try:
                send(to)
            except Refused as refused:
                got.append(refused.words)
            return "tried"

        with il.run("job"):
            try:
                send("direct")
            except Refused as refused:
                got.append(refused.words)
            nested("nested")

    both.reviewer.script["send"] = reject(words)
    for _ in range(3):
        program(both.another())
        both.reviewer.decide_all()
    assert set(got) == {words}
    assert sent == []


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: int
    when: datetime


class Letter(BaseModel):
    to: str
    copies: int = 1


KEEPABLE: list[Any] = [
    datetime(2026, 3, 29, 2, 30, tzinfo=UTC),
    datetime(2026, 3, 29, 2, 30),  # noqa: DTZ001
    datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=timezone(timedelta(hours=1))),
    date(2026, 1, 1),
    timedelta(days=-1, microseconds=7),
    Decimal("0.10"),
    2**80,
    -(2**63) - 1,
    1.0,
    -0.0,
    1e300,
    bytes(range(256)),
    uuid.UUID(int=7),
    {"a", "b"},
    (1, "two"),
    {1: "one", "two": 2},
    {"$t": "int", "v": "7"},
    "x" * 1_000_000,
    "e\u0301 \u202e \u200b",
    True,
    None,
]


@pytest.mark.parametrize("value", KEEPABLE, ids=lambda value: type(value).__name__)
def test_p37_a_value_comes_back_as_it_was(both: Rehearsal, value: Any) -> None:
    got: list[Any] = []

    @both.il.tool("irreversible")
    def act(value: Any) -> Any:
        got.append(value)
        return value

    hold(both, lambda: act(value))
    both.reviewer.decide("approve")
    for _ in range(2):
        with both.il.run("job"):
            answer = act(value)
    assert (got, [type(each) for each in got]) == ([value], [type(value)])
    assert answer == value
    assert type(answer) is type(value)
    if isinstance(value, float):
        assert math.copysign(1, answer) == math.copysign(1, value)


def test_p37_declared_types_come_back_as_they_were(both: Rehearsal) -> None:
    got: list[Any] = []

    @both.il.tool("irreversible")
    def act(colour: Colour, point: Point, letter: Letter, path: PurePosixPath, many: list[Point]) -> Letter:
        got.append((colour, point, letter, path, many))
        return letter

    point = Point(1, datetime(2026, 1, 1, tzinfo=UTC))
    given_ = (Colour.RED, point, Letter(to="bob"), PurePosixPath("/a/b"), [point, point])
    hold(both, lambda: act(*given_))
    both.reviewer.decide("approve")
    with both.il.run("job"):
        assert act(*given_) == Letter(to="bob")
    assert got == [given_]


@pytest.mark.parametrize("odd", [float("nan"), "\ud800", complex(1, 2), Fraction(1, 3), range(3)], ids=ascii)
def test_p37_what_cannot_be_kept_is_refused_with_the_path_of_the_offender(both: Rehearsal, odd: Any) -> None:
    got: list[Any] = []

    @both.il.tool("irreversible")
    def act(items: list[Any]) -> None:
        got.append(items)

    with pytest.raises(CallError, match=r"args\.items\[3\]\.when"), both.il.run("job"):
        act([1, 2, 3, {"when": odd}])
    assert (got, both.states("job")) == ([], [])


def with_a_retry(call: Callable[[], object]) -> None:
    tenacity.Retrying(stop=tenacity.stop_after_attempt(3))(call)


def with_a_handler(call: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        call()


def with_everything_suppressed(call: Callable[[], object]) -> None:
    with contextlib.suppress(BaseException):
        call()


def in_a_gather(call: Callable[[], object]) -> None:
    async def one() -> None:
        call()

    async def main() -> None:
        await asyncio.gather(one(), return_exceptions=True)

    asyncio.run(main())


def with_a_time_out(call: Callable[[], object]) -> None:
    async def main() -> None:
        await asyncio.wait_for(asyncio.to_thread(call), 20)

    asyncio.run(main())


@pytest.mark.parametrize(
    "wrapper", [with_a_retry, with_a_handler, with_everything_suppressed, in_a_gather, with_a_time_out]
)
def test_p42_no_handling_of_errors_eats_the_pause(
    both: Rehearsal, wrapper: Callable[[Callable[[], object]], None]
) -> None:
    tool = Tool(both)
    for _ in range(2):
        with both.il.run("job") as run:
            wrapper(lambda: tool.call(1, "A"))
        assert (tool.ledger, len(both.reviewer.open()), run.status) == ([], 1, "waiting")


def test_p47_every_card_has_an_expiry_and_the_run_goes_on_after_it(both: Rehearsal) -> None:
    ledger: list[str] = []

    @both.il.tool("irreversible", expires_in=None)
    def send(to: str) -> str:
        ledger.append(to)
        return to

    @both.il.tool("compensable")
    def book(room: str) -> str:
        ledger.append(room)
        return room

    @both.il.workflow
    def agent() -> str:
        kinds: list[str] = []
        for tool, what in ((send, "bob"), (book, "A")):
            try:
                tool(what)
            except Refused as refused:
                kinds.append(refused.kind)
        return " ".join(kinds)

    agent.start(key="job")
    (card,) = both.reviewer.open()
    assert card.card.expires_at == card.card.opened_at + timedelta(hours=4)
    both.clock.advance(timedelta(hours=4))
    both.il.worker().run_until_idle()
    (card,) = both.reviewer.open()
    assert card.card.expires_at == card.card.opened_at + timedelta(hours=24)
    both.clock.advance(timedelta(hours=24))
    both.il.worker().run_until_idle()
    run = agent.handle("job")  # type: ignore[arg-type]
    assert (run.status, run.result, ledger) == ("finished", "expired expired", [])
    with pytest.raises(DecisionError, match="expired"):
        both.reviewer.desk.approve(card.card.id, digest=card.card.digest)
