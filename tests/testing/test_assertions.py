"""Assertions: what holds passes, what does not fails with words that a stranger understands."""

import asyncio
from decimal import Decimal
from typing import Any
from unittest.mock import ANY

import pytest

from interlock import Interlock, NoEffect, Refused
from interlock.domain.errors import DecisionError, RunError, SettingsError
from interlock.testing import Assertions, Rehearsal, approve, modify, reject, respond


def build(il: Interlock, fails: list[BaseException] | None = None) -> Any:
    @il.tool("read_only")
    def look(order: str) -> str:
        return order

    @il.tool("irreversible")
    def pay(order: str, amount: Decimal, urgent: bool = False) -> str:
        if fails:
            raise fails.pop()
        return f"paid {amount}"

    @il.workflow
    def agent(order: str = "88") -> str:
        look(order)
        try:
            return pay(order, Decimal("480.00"))
        except Refused as no:
            return no.kind

    return agent


def failure(stage: Assertions, name: str, *given: Any, **arguments: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        getattr(stage, name)(*given, **arguments)
    return str(caught.value)


@pytest.mark.parametrize("amount", [Decimal("480.00"), Decimal(480), "480.00", ANY])
def test_an_argument_is_given_as_the_code_or_as_json_has_it(stage: Rehearsal, amount: object) -> None:
    run = build(stage.il).start()
    card = stage.assert_pauses(run, "pay", amount=amount)
    assert card.about.action.tool == "pay"


@pytest.mark.parametrize("given", [{"amount": "481.00"}, {"amount": 480.5}, {"urgent": 0}, {"urgent": None}])
def test_a_value_that_only_looks_alike_is_another(stage: Rehearsal, given: dict[str, object]) -> None:
    run = build(stage.il).start(key="r")
    said = failure(stage, "assert_pauses", run, "pay", **given)
    assert said.startswith("expected: run 'r' waits for a person to decide pay(")
    assert "1. pay(amount='480.00', order='88', urgent=False)  waits for a person (card " in said


def test_a_run_that_is_over_does_not_pause(stage: Rehearsal) -> None:
    run = build(stage.il).start(key="r")
    stage.decide(approve())
    said = failure(stage, "assert_pauses", "r", "pay")
    assert "run 'r' of agent: finished, result 'paid 480.00'" in said
    assert "ran (ana said approve)" in said
    assert "look(order='88')  nobody had to be asked" in said
    assert run.status == "finished"


def test_what_ran_did_not_never_run(stage: Rehearsal) -> None:
    build(stage.il).start(key="r")
    stage.assert_never_ran("pay")
    stage.decide(modify(amount="1.00"))
    stage.assert_never_ran("pay", amount=Decimal("480.00"))
    said = failure(stage, "assert_never_ran", "pay")
    assert "pay(…) never runs; it started once" in said
    assert "pay(amount='1.00', order='88', urgent=False)  in run 'r'" in said


def test_what_a_person_answered_did_not_run(stage: Rehearsal) -> None:
    run = build(stage.il).start()
    stage.decide(respond("by hand"))
    stage.assert_never_ran("pay")
    stage.assert_finished(run, "by hand")
    assert "it never did" in failure(stage, "assert_ran_once", "pay")
    assert "did not run: reviewer:ana gave the result" in failure(stage, "assert_ran_once", "pay")


@pytest.mark.parametrize("error", [NoEffect("no money"), TimeoutError("no answer")])
def test_a_start_that_did_not_end_well_is_neither_never_nor_once(stage: Rehearsal, error: BaseException) -> None:
    build(stage.il, [error]).start()
    stage.decide(approve())
    assert "it started once" in failure(stage, "assert_never_ran", "pay")
    assert "and did not end well" in failure(stage, "assert_ran_once", "pay")


def test_two_runs_of_a_tool_are_not_once_unless_the_arguments_tell_them_apart(stage: Rehearsal) -> None:
    agent = build(stage.il)
    for order in ("88", "89"):
        agent.start(order, key=order)
    stage.play({"pay": "approve"})
    stage.assert_ran_once("pay", order="89")
    said = failure(stage, "assert_ran_once", "pay")
    assert "it started 2 times" in said
    assert "in run '88'" in said
    assert "in run '89'" in said


def test_a_free_read_counts_as_a_start(stage: Rehearsal) -> None:
    build(stage.il).start()
    stage.assert_ran_once("look", order="88")
    assert "it started once" in failure(stage, "assert_never_ran", "look")


def test_a_slip_of_the_pen_does_not_pass(stage: Rehearsal) -> None:
    run = build(stage.il).start()
    assert failure(stage, "assert_never_ran", "pya") == "no tool 'pya' is guarded here; did you mean 'pay'?"
    assert "there are: look, pay" in failure(stage, "assert_never_ran", "transfer_money")
    assert failure(stage, "assert_never_ran", "pay", amuont=1) == "pay has no argument 'amuont'; did you mean 'amount'?"
    assert "did you mean 'rejected'?" in failure(stage, "assert_refused", run, "reject")
    assert "no tool 'pya'" in failure(stage, "assert_refused", run, "rejected", tool="pya")


def test_a_refusal_is_found_by_its_kind_words_and_tool(stage: Rehearsal) -> None:
    run = build(stage.il).start(key="r")
    assert "an action was refused as 'rejected'" in failure(stage, "assert_refused", run, "rejected")
    stage.decide(reject("too much"))
    stage.assert_refused(run, "rejected")
    stage.assert_refused(run, "rejected", "too much", tool="pay")
    said = failure(stage, "assert_refused", run, "rejected", "too little")
    assert "and the words 'too little'" in said
    assert "never ran: rejected: too much" in said
    assert "refused as 'expired'" in failure(stage, "assert_refused", run, "expired")


def test_a_result_is_compared_as_the_code_returned_it(stage: Rehearsal) -> None:
    run = build(stage.il).start(key="r")
    assert "finishes with the result 'x'; it is waiting" in failure(stage, "assert_finished", run, "x")
    stage.decide(approve())
    for which in (run, "r"):
        stage.assert_finished(which)
        stage.assert_finished(which, "paid 480.00")
        assert "it is finished, result 'paid 480.00'" in failure(stage, "assert_finished", which, None)


def test_a_run_without_a_workflow_has_its_result_in_its_own_code(stage: Rehearsal) -> None:
    with stage.il.run("block"):
        pass
    stage.assert_finished("block", None)
    assert "no tool was called" in failure(stage, "assert_finished", "block", 1)


def test_nobody_was_asked_means_not_even_what_was_approved(stage: Rehearsal) -> None:
    run = build(stage.il).start(key="r")
    assert "run 'r' asks nobody" in failure(stage, "assert_asked_nobody", run)
    stage.decide(approve())
    assert "run 'r' asks nobody" in failure(stage, "assert_asked_nobody", run)


def test_what_waits_is_listed_until_nothing_does(stage: Rehearsal) -> None:
    build(stage.il).start(key="r")
    assert "run 'r' of agent: waiting" in failure(stage, "assert_nothing_waits")
    stage.decide(approve())
    stage.assert_nothing_waits()


def test_a_run_is_a_handle_or_a_key(stage: Rehearsal) -> None:
    build(stage.il).start(key="r")
    with pytest.raises(RunError, match=r"there is no run 's'.*There are: 'r'"):
        stage.assert_finished("s")

    @stage.il.workflow
    async def later() -> None: ...

    started = later.start()
    with pytest.raises(RunError, match=r"coroutine is no run.*awaited"):
        stage.assert_finished(started)
    asyncio.run(started)


def test_the_card_to_decide_is_named_by_its_tool_and_arguments(stage: Rehearsal) -> None:
    agent = build(stage.il)
    for order in ("88", "89"):
        agent.start(order, key=order)
    with pytest.raises(DecisionError, match=r"2 cards of pay are open, and one was to be decided.*order='88'.*'89'"):
        stage.decide(approve(), "pay")
    with pytest.raises(DecisionError, match="no card of look is open"):
        stage.decide(approve(), "look")
    stage.decide(approve(), "pay", order="89")
    assert stage.il.kernel.run("89").state.value == "finished"  # type: ignore[union-attr, arg-type]
    stage.decide(reject())
    with pytest.raises(DecisionError, match="Nothing is open"):
        stage.decide(approve())


@pytest.mark.parametrize("how", ["decide", "play"])
def test_a_decision_that_does_not_count_names_the_card_that_it_was_about(stage: Rehearsal, how: str) -> None:
    build(stage.il).start()
    with pytest.raises(DecisionError, match=r"args.amount.*pay\(.*order='88'.*\[bad_edit\]") as caught:
        stage.decide(modify(amount="much")) if how == "decide" else stage.play({"pay": modify(amount="much")})
    assert caught.value.code == "bad_edit"


def test_assertions_ask_any_interlock(stage: Rehearsal) -> None:
    run = build(stage.il).start()
    Assertions(stage.il).assert_pauses(run, "pay")


def test_tools_of_every_process_are_known(both: Rehearsal) -> None:
    build(both.another())
    both.assert_never_ran("pay")


def test_a_clock_moves_by_what_people_write(stage: Rehearsal) -> None:
    before = stage.clock()
    assert (stage.clock.advance("25h") - before).total_seconds() == 25 * 3600
    assert (stage.clock.advance(1.5) - before).total_seconds() == 25 * 3600 + 1.5
    with pytest.raises(SettingsError, match="bad_duration"):
        stage.clock.advance("a while")
