"""Questions, hand-offs, decisions of the agent, and pauses that other frameworks make by themselves."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

import pytest

from interlock import Interrupted, Refused
from interlock.domain.errors import CallError, DecisionError
from interlock.domain.interrupt import InterruptKind
from interlock.testing import Rehearsal, modify, redirect, reject, respond


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


def sender(stage: Rehearsal) -> tuple[Callable[[str], str], list[str]]:
    """An irreversible tool, and what it did."""
    sent: list[str] = []

    @stage.il.tool("irreversible")
    def send(to: str) -> str:
        sent.append(to)
        return to

    return send, sent


# ---------------------------------------------------------------------------------------------------- questions


def test_a_question_pauses_the_run_and_its_answer_is_of_the_asked_type_and_asked_once(both: Rehearsal) -> None:
    @both.il.workflow
    def job() -> str:
        copies = both.il.question("How many copies?", int, context={"order": 7})
        colour = both.il.question("Which colour?", options=["red", "blue"])
        return f"{copies + 1} {colour}"

    assert job.start(key="job").status == "waiting"
    (view,) = both.reviewer.open()
    assert (view.card.kind, view.about.current.arguments["context"]) == (InterruptKind.QUESTION, {"order": 7})
    both.reviewer.decide(respond(3))
    assert job.start(key="job").status == "waiting"
    both.reviewer.decide(respond("blue"))
    run = job.start(key="job")
    assert (run.status, run.result) == ("finished", "4 blue")
    assert len(both.actions("job")) == 2


@pytest.mark.parametrize(
    ("kind", "given", "answer"),
    [
        (bool, False, False),
        (float, 1.0, 1.0),
        (Decimal, "12.50", Decimal("12.50")),
        (list[int], [1, 2], [1, 2]),
        (Size, "LARGE", Size.LARGE),
        (Literal["a", "b"], "b", "b"),
        (int | None, None, None),
    ],
)
def test_an_answer_comes_back_as_what_was_asked_for(stage: Rehearsal, kind: Any, given: Any, answer: object) -> None:
    got: list[object] = []

    @stage.il.workflow
    def job() -> None:
        got.append(stage.il.question("Well?", kind))

    job.start(key="job")
    stage.reviewer.decide(respond(given))
    assert job.start(key="job").status == "finished"
    assert got == [answer]
    assert type(got[0]) is type(answer)


def test_a_question_takes_no_approval_no_edit_and_no_answer_of_another_type(stage: Rehearsal) -> None:
    with stage.il.run("job"):
        stage.il.question("How many?", int)
    for said in ("approve", modify(question="How few?"), respond("three"), respond(None)):
        with pytest.raises(DecisionError):
            stage.reviewer.decide(said)
    assert stage.states("job") == ["held"]


def test_who_will_not_answer_says_why_and_the_question_is_not_asked_again(both: Rehearsal) -> None:
    words: list[str] = []

    def program() -> None:
        with both.il.run("job"):
            for _ in range(2):
                try:
                    both.il.question("May I?", bool)
                except Refused as refused:
                    words.append(f"{refused.kind}: {refused.words}")

    program()
    both.reviewer.decide(reject("ask your manager"))
    program()
    assert words[0] == "rejected: ask your manager"
    assert words[1].startswith("repeated: ")
    assert not both.reviewer.open()


def test_a_question_expires_and_says_so(stage: Rehearsal) -> None:
    kinds: list[str] = []

    def program() -> None:
        with stage.il.run("job"):
            try:
                stage.il.question("Anybody?", expires_in="10m")
            except Refused as refused:
                kinds.append(refused.kind)

    program()
    stage.clock.advance(timedelta(minutes=11))
    program()
    assert kinds == ["expired"]


def test_a_question_is_asked_even_where_nobody_is_asked_about_actions() -> None:
    with Rehearsal(profile="record") as stage:
        with stage.il.run("job") as run:
            stage.il.question("Really?", bool)
        assert run.status == "waiting"


def test_a_question_in_a_tool_that_cannot_pause_is_refused_with_the_mend(stage: Rehearsal) -> None:
    @stage.il.tool("reversible")
    def draft() -> bool:
        return stage.il.question("Really?", bool)

    with stage.il.run("job"), pytest.raises(Refused) as refused:
        draft()
    assert refused.value.kind == "nested_pause"
    assert "composite=True" in refused.value.mend


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"text": ""}, "bad_text"),
        ({"text": 5}, "bad_text"),
        ({"text": "x" * 4_001}, "bad_text"),
        ({"text": "?", "options": []}, "bad_options"),
        ({"text": "?", "options": "yes"}, "bad_options"),
        ({"text": "?", "options": ["a", "a"]}, "bad_options"),
        ({"text": "?", "options": ["a"], "kind": int}, "bad_options"),
    ],
)
def test_a_question_that_nobody_could_answer_is_refused_at_once(stage: Rehearsal, given: Any, code: str) -> None:
    with pytest.raises(CallError) as caught, stage.il.run("job"):
        stage.il.question(**given)
    assert caught.value.code == code
    assert not stage.actions("job")


def test_a_question_of_a_type_that_cannot_be_stored_is_refused_at_once(stage: Rehearsal) -> None:
    with pytest.raises(CallError) as caught, stage.il.run("job"):
        stage.il.question("?", complex)
    assert caught.value.code == "not_storable"


# ---------------------------------------------------------------------------------------------------- hand-offs


def test_a_handoff_is_held_and_what_it_sets_going_runs_once_and_may_pause_inside(both: Rehearsal) -> None:
    paid: list[int] = []

    @both.il.tool("irreversible")
    def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    @both.il.workflow
    def job() -> str:
        return both.il.handoff("billing", "settle INV-7", details={"amount": 5}, perform=lambda: pay(5))

    assert job.start(key="job").status == "waiting"
    (view,) = both.reviewer.open()
    assert (view.about.action.tool, view.about.current.arguments["to"]) == ("handoff", "billing")
    assert "sets another agent going" in view.card.why
    both.reviewer.decide("approve")
    assert job.start(key="job").status == "waiting"
    both.reviewer.decide("approve", tool="pay")
    run = job.start(key="job")
    assert (run.status, run.result, paid) == ("finished", "paid 5", [5])


def test_a_person_can_take_a_task_over_and_answer_with_its_result(both: Rehearsal) -> None:
    called: list[str] = []

    @both.il.workflow
    def job() -> str:
        return both.il.handoff("people:finance", "check INV-7", perform=lambda: called.append("agent") or "by agent")

    job.start(key="job")
    both.reviewer.decide(respond("checked by hand"))
    assert (job.start(key="job").result, called) == ("checked by hand", [])


def test_a_refused_handoff_sets_nothing_going(stage: Rehearsal) -> None:
    called: list[str] = []

    def program() -> None:
        with stage.il.run("job"):
            try:
                stage.il.handoff("billing", "pay all", perform=lambda: called.append("x"))
            except Refused as refused:
                called.append(refused.kind)

    program()
    stage.reviewer.decide(redirect("only INV-7"))
    program()
    assert called == ["redirected"]


def test_an_asynchronous_handoff_is_awaited(stage: Rehearsal) -> None:
    async def other() -> str:
        await asyncio.sleep(0)
        return "done there"

    @stage.il.workflow
    async def job() -> str:
        return await stage.il.handoff("other", "do it", perform=other)

    assert asyncio.run(job.start(key="job")).status == "waiting"
    stage.reviewer.decide("approve")
    assert asyncio.run(job.start(key="job")).result == "done there"


# ---------------------------------------------------------------------------------------------------- decisions


def test_a_decision_of_the_agent_is_recorded_once_however_often_the_code_runs(both: Rehearsal) -> None:
    send, _ = sender(both)

    def program() -> None:
        with both.il.run("job"):
            both.il.record_decision(
                "route", inputs={"n": 3}, considered=["a", complex(1, 2)], chosen=Decimal("1.5"), because="cheaper"
            )
            send("bob")

    for said in ("approve", None):
        program()
        if said:
            both.reviewer.decide(said)
    decided = [event for event in both.events("job") if event.type.value == "AgentDecided"]
    assert len(decided) == 1
    assert decided[0].actor == "agent:agent"
    assert decided[0].body["kind"] == "route"
    assert decided[0].body["chosen"] == {"$t": "decimal", "v": "1.5"}
    assert decided[0].body["considered"][1]["$t"] == "opaque"


def test_other_words_in_another_pass_are_another_record_and_no_divergence(stage: Rehearsal) -> None:
    numbers = iter(range(9))

    send, _ = sender(stage)

    def program() -> str:
        with stage.il.run("job") as run:
            stage.il.record_decision("route", because=f"thought {next(numbers)}")
            send("bob")
        return run.status

    assert program() == "waiting"
    stage.reviewer.decide("approve")
    assert program() == "finished"
    assert [event.type.value for event in stage.events("job")].count("AgentDecided") == 2


def test_a_decision_outside_any_run_is_on_record_too(both: Rehearsal) -> None:
    both.il.record_decision("start", chosen="tomorrow")
    (event,) = [event for event in both.events() if event.type.value == "AgentDecided"]
    assert (event.run, event.body) == (None, {"kind": "start", "chosen": "tomorrow"})


# ---------------------------------------------------------------------------------------------------- observed pauses


def test_a_pause_of_another_framework_is_shown_answered_and_marked_as_observed(both: Rehearsal) -> None:
    said: list[dict[str, object]] = []

    def program() -> str:
        with both.il.run("job") as run:
            answer = both.il.observed_pause(
                "approval_node", {"plan": "buy", "n": 3}, options=["approve", "reject", "modify"]
            )
            said.append(answer)
        return run.status

    assert program() == "waiting"
    (view,) = both.reviewer.open()
    assert view.card.kind is InterruptKind.OBSERVED
    assert "approval_node pauses here by itself" in view.card.why
    with pytest.raises(DecisionError, match="respond does not answer this card"):
        both.reviewer.decide(respond("yes"))
    both.reviewer.decide(modify(n=2, note="fewer"))
    assert program() == "finished"
    assert said == [{"decision": "modify", "reason": "fewer", "by": "ana", "modified_action": {"plan": "buy", "n": 2}}]
    assert both.states("job") == ["done"]
    assert "AnswerDelivered" in [event.type.value for event in both.events("job")]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("approve", {"decision": "approve", "reason": "", "by": "ana"}),
        (reject("no"), {"decision": "reject", "reason": "no", "by": "ana"}),
        (redirect("other way"), {"decision": "redirect", "reason": "other way", "by": "ana"}),
        (respond({"a": 1}), {"decision": "respond", "reason": "", "by": "ana", "value": {"a": 1}}),
    ],
)
def test_each_answer_reaches_the_framework_as_what_it_is(both: Rehearsal, said: Any, answer: dict[str, object]) -> None:
    got: list[object] = []

    def program() -> None:
        with both.il.run("job"):
            got.append(both.il.observed_pause("node", "what now?"))

    program()
    both.reviewer.decide(said)
    program()
    program()  # a finished run answers from the record
    assert got == [answer, answer]


def test_options_of_the_framework_are_what_a_person_can_choose(stage: Rehearsal) -> None:
    got: list[object] = []

    def program() -> None:
        with stage.il.run("job"):
            got.append(stage.il.observed_pause("node", {"plan": "x"}, options=["now", "later"])["decision"])

    program()
    for wrong in ("approve", respond("never"), reject("no")):
        with pytest.raises(DecisionError):
            stage.reviewer.decide(wrong)
    stage.reviewer.decide(respond("later"))
    program()
    assert got == ["later"]


def test_a_pause_that_nobody_answers_gets_what_it_was_registered_with(stage: Rehearsal) -> None:
    got: list[object] = []

    def program() -> None:
        with stage.il.run("job"):
            got.append(stage.il.observed_pause("node", "?", options=["now", "later"], on_expiry="later", expires_in=60))

    program()
    stage.clock.advance(timedelta(minutes=2))
    program()
    assert got == [{"decision": "later", "ended": "expired", "reason": "nobody decided in time", "by": ""}]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": " "}, "bad_text"),
        ({"name": "n", "options": ["x", "x"]}, "bad_options"),
        ({"name": "n", "on_expiry": "approve"}, "bad_options"),
        ({"name": "n", "tool": print}, "not_guarded"),
        ({"name": "n", "payload": object()}, "not_storable"),
    ],
)
def test_a_pause_that_could_not_be_shown_or_answered_is_refused(stage: Rehearsal, given: Any, code: str) -> None:
    with pytest.raises(CallError) as caught, stage.il.run("job"):
        stage.il.observed_pause(**given)
    assert caught.value.code == code
    assert not stage.actions("job")


# ---------------------------------------------------------------------------------------------------- layers


@pytest.mark.parametrize("edit", [False, True])
def test_a_call_seen_by_workflow_pause_composite_and_guard_is_one_card_and_one_claim(
    both: Rehearsal, edit: bool
) -> None:
    sent: list[str] = []

    @both.il.tool("irreversible")
    def send(to: str, body: str = "hello") -> str:
        sent.append(to)
        return f"sent to {to}"

    @both.il.tool("reversible", composite=True)
    def crew(to: str) -> str:
        answer: Any = both.il.observed_pause(
            "human_in_the_loop", {"to": to}, options=["approve", "edit", "reject"], tool=send
        )
        call = answer.get("modified_action", {"to": to})
        return inner(**call) if answer["decision"] != "reject" else "no"

    @both.il.tool("reversible", composite=True)
    def inner(to: str, body: str = "hello") -> str:
        return send(to, body)

    @both.il.workflow
    def job() -> str:
        return crew("bob")

    assert job.start(key="job").status == "waiting"
    (view,) = both.reviewer.open()
    assert (view.card.kind, view.about.action.tool) == (InterruptKind.OBSERVED, "send")
    both.reviewer.decide(modify(to="li") if edit else "approve")
    run = job.start(key="job")
    to = "li" if edit else "bob"
    assert (run.status, run.result, sent) == ("finished", f"sent to {to}", [to])
    assert not both.reviewer.open()
    assert sorted(action.tool for action in both.actions("job")) == ["crew", "inner", "send"]
    claims = [event for event in both.events("job") if event.type.value == "ActionClaimed"]
    assert len([event for event in claims if event.action == view.about.action.id]) == 1
    assert job.start(key="job").result == f"sent to {to}"
    assert sent == [to]


def test_one_answer_joins_one_call_and_the_next_equal_call_is_asked_about(stage: Rehearsal) -> None:
    send, sent = sender(stage)

    def program() -> str:
        with stage.il.run("job") as run:
            stage.il.observed_pause("node", {"to": "bob"}, tool=send)
            send("bob")
            send("bob")
        return run.status

    program()
    stage.reviewer.decide("approve")
    assert program() == "waiting"
    assert sent == ["bob"]
    (view,) = stage.reviewer.open()
    assert view.card.kind is InterruptKind.ACTION


def test_other_arguments_than_the_answered_ones_are_another_action(stage: Rehearsal) -> None:
    send, sent = sender(stage)

    def program() -> str:
        with stage.il.run("job") as run:
            stage.il.observed_pause("node", {"to": "bob"}, tool=send)
            send("mallory")
        return run.status

    program()
    stage.reviewer.decide("approve")
    assert program() == "waiting"
    assert not sent
    assert [view.about.current.arguments for view in stage.reviewer.open()] == [{"to": "mallory"}]


def test_an_approval_that_the_framework_does_not_use_leaves_the_run_to_a_person(stage: Rehearsal) -> None:
    send, _ = sender(stage)

    def program() -> str:
        with stage.il.run("job") as run:
            stage.il.observed_pause("node", {"to": "bob"}, tool=send)
        return run.status

    program()
    stage.reviewer.decide("approve")
    assert program() == "needs_attention"


def test_a_swallowed_pause_of_another_framework_opens_nothing(stage: Rehearsal) -> None:
    ran: list[str] = []

    @stage.il.tool("reversible")
    def write(line: str) -> None:
        ran.append(line)

    with stage.il.run("job") as run:
        with suppress(Interrupted):
            stage.il.observed_pause("node", "?")
        write("went on")
    assert (run.status, ran) == ("waiting", [])


def test_a_guarded_call_in_a_crashed_pass_after_the_answer_is_in_doubt_and_not_answered_anew(tmp_path: Any) -> None:
    with Rehearsal(tmp_path) as stage:
        calls: list[str] = []

        @stage.il.tool("irreversible")
        def send(to: str) -> str:
            calls.append(to)
            raise TimeoutError("after the data was sent")

        def program() -> str:
            with stage.il.run("job") as run:
                stage.il.observed_pause("node", {"to": "bob"}, tool=send)
                send("bob")
            return run.status

        program()
        stage.reviewer.decide("approve")
        assert program() == "waiting"
        assert program() == "waiting"
        assert calls == ["bob"]
        assert [view.card.kind for view in stage.reviewer.open()] == [InterruptKind.RECONCILE]


# ---------------------------------------------------------------------------------------------------- attacks


def test_what_silence_was_agreed_to_mean_answers_silence_and_nothing_else(stage: Rehearsal) -> None:
    got: list[object] = []

    def program() -> None:
        with stage.il.run("job"):
            for _ in range(2):
                answer = stage.il.observed_pause("gate", "?", options=["go", "reject"], on_expiry="go")
                got.append((answer["decision"], answer.get("ended")))

    program()
    stage.reviewer.decide(reject("never"))
    program()
    assert got == [("reject", None), ("reject", "repeated")]


def test_an_answer_reaches_only_the_pause_that_it_was_given_to(both: Rehearsal) -> None:
    told: dict[str, object] = {}

    send, _ = sender(both)

    def program() -> str:
        with both.il.run("job") as run:
            for name in ("a", "b"):
                with both.il.scope(name), suppress(Interrupted):
                    told[name] = both.il.observed_pause("node", {"to": "bob"}, tool=send)["decision"]
        return run.status

    def together() -> str:
        with both.il.run("job") as run:

            def one(name: str) -> None:
                with both.il.scope(name), suppress(Interrupted):
                    told[name] = both.il.observed_pause("node", {"to": "bob"}, tool=send)["decision"]

            threads = [threading.Thread(target=run.wrap(one), args=(name,)) for name in ("a", "b")]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return run.status

    assert together() == "waiting"
    first, second = both.reviewer.open()
    both.reviewer.desk.approve(first.card.id, digest=first.card.digest)
    assert together() == "waiting"
    assert list(told.values()) == ["approve"], "the other has a card of its own, and nobody has answered it"
    both.reviewer.desk.reject(second.card.id, digest=second.card.digest)
    together()
    assert sorted(map(str, told.values())) == ["approve", "reject"]


def test_an_unguarded_pause_of_the_same_name_takes_no_answer_of_a_guarded_one(stage: Rehearsal) -> None:
    send, _ = sender(stage)

    def program() -> str:
        with stage.il.run("job") as run:
            stage.il.observed_pause("node", {"to": "bob"}, tool=send)
            stage.il.observed_pause("send", {"to": "bob"})
            send("bob")
        return run.status

    program()
    stage.reviewer.decide("approve")
    assert program() == "waiting"
    (view,) = stage.reviewer.open()
    assert view.card.kind is InterruptKind.OBSERVED


def test_a_second_equal_call_elsewhere_is_not_answered_with_the_first_ones_result(both: Rehearsal) -> None:
    sent: list[str] = []

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        sent.append(to)
        return f"receipt {len(sent)}"

    @both.il.tool("reversible", composite=True)
    def sub(number: int) -> str:
        return send("bob")

    @both.il.workflow
    def job() -> list[str]:
        both.il.observed_pause("node", {"to": "bob"}, options=["approve", "reject"], tool=send)
        first = sub(1)
        both.il.question("again?", bool)
        return [first, send("bob")]

    job.start(key="job")
    both.reviewer.decide("approve")
    assert job.start(key="job").status == "waiting"
    both.reviewer.decide(respond(True))
    assert job.start(key="job").status == "waiting", "the second call is an action of its own"
    both.reviewer.decide("approve")
    run = job.start(key="job")
    assert (run.result, sent) == (["receipt 1", "receipt 2"], ["bob", "bob"])


def test_a_call_with_large_arguments_joins_its_pause(both: Rehearsal) -> None:
    sent: list[int] = []

    @both.il.tool("irreversible")
    def send(body: str) -> int:
        sent.append(len(body))
        return len(body)

    def program() -> str:
        with both.il.run("job") as run:
            both.il.observed_pause("node", {"body": "z" * 70_000}, tool=send)
            send("z" * 70_000)
        return run.status

    program()
    both.reviewer.decide("approve")
    assert (program(), sent, both.reviewer.open()) == ("finished", [70_000], ())


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda il: il.observed_pause("n", options=None), "bad_options"),
        (lambda il: il.observed_pause("n", options=[["x"]]), "bad_options"),
        (lambda il: il.question("?", options=5), "bad_options"),
        (lambda il: il.question("?", expires_in="999999d"), "bad_life"),
        (lambda il: il.question("?", expires_in=0), "bad_life"),
        (lambda il: il.question("\ud800"), "bad_text"),
        (lambda il: il.record_decision("\ud800"), "bad_text"),
        (lambda il: il.handoff("a", "b", perform=5), "not_callable"),
    ],
)
def test_clumsy_questions_are_errors_with_a_code(stage: Rehearsal, ask: Any, code: str) -> None:
    with pytest.raises(CallError) as caught, stage.il.run("job"):
        ask(stage.il)
    assert caught.value.code == code
    assert not stage.actions("job")


def test_odd_but_harmless_values_are_taken(stage: Rehearsal) -> None:
    def program() -> str:
        with stage.il.run("job") as run:
            stage.il.record_decision("k", considered=5, because="\ud800 odd")  # type: ignore[arg-type]
            stage.il.observed_pause("n", {"from": "a", "to": "b"})
        return run.status

    assert program() == "waiting"
    assert stage.reviewer.open()[0].about.current.arguments == {"payload": {"from": "a", "to": "b"}}
