"""Runs: their states, entering them again, retrying them, cancelling and freezing them."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from interlock import Desk, Interlock, NoEffect, Refused
from interlock.domain.errors import CallError, DecisionError, RunError
from interlock.kernel.desk import ReviewDesk
from interlock.testing import Rehearsal, approve, modify, redirect, reject, respond


class Shop:
    """A few tools and their ledger."""

    def __init__(self, il: Interlock) -> None:
        self.ledger: list[str] = []
        self.fail: list[Exception] = []

        @il.tool("irreversible")
        def send(to: str, text: str = "hello") -> str:
            self.ledger.append(f"{to}: {text}")
            return f"sent to {to}"

        @il.tool("reversible")
        def log(line: str) -> str:
            self.ledger.append(line)
            if line == "second" and self.fail:
                raise self.fail.pop()
            return line

        self.send: Callable[..., str] = send
        self.log: Callable[[str], str] = log


def test_a_finished_run_answers_from_the_record_and_runs_nothing(both: Rehearsal) -> None:
    shop = Shop(both.il)

    @both.il.workflow
    def agent(who: str) -> str:
        shop.log("start")
        return shop.send(who)

    both.reviewer.script["send"] = "approve"
    assert agent.start("bob", key="job").status == "waiting"
    both.reviewer.decide_all()
    assert agent.start("bob", key="job").result == "sent to bob"
    ledger = list(shop.ledger)
    again = agent.start("bob", key="job")
    assert (again.status, again.result, shop.ledger) == ("finished", "sent to bob", ledger)
    with pytest.raises(RunError, match="other_input"):
        agent.start("eve", key="job")
    with pytest.raises(RunError, match="other_input"), both.il.run("job"):
        pass


def test_a_finished_block_answers_from_the_record_and_refuses_what_was_not_part_of_it(both: Rehearsal) -> None:
    shop = Shop(both.il)
    both.reviewer.script["send"] = "approve"
    for _ in range(2):
        with both.il.run("job"):
            shop.log("start")
            shop.send("bob")
        both.reviewer.decide_all()
    with both.il.run("job") as run:
        assert shop.log("start") == "start"
        assert shop.send("bob") == "sent to bob"
        with pytest.raises(RunError, match="finished"):
            shop.send("eve")
        with pytest.raises(RunError, match="finished"):
            shop.log("more")
    assert (run.status, shop.ledger) == ("finished", ["start", "bob: hello"])


def test_an_ordinary_exception_fails_the_run_and_entering_it_again_goes_on(both: Rehearsal) -> None:
    shop = Shop(both.il)
    trouble = [ValueError("no paper")]

    @both.il.workflow
    def agent() -> str:
        shop.log("start")
        if trouble:
            raise trouble.pop()
        return "done"

    run = agent.start(key="job")
    assert run.status == "failed"
    with pytest.raises(ValueError, match="no paper"):
        _ = run.result
    assert agent.start(key="job").result == "done"
    assert shop.ledger == ["start"]

    trouble.append(ValueError("again"))

    def fail() -> None:
        shop.log("start by hand")
        raise trouble.pop()

    with pytest.raises(ValueError, match="again"), both.il.run("by hand"):
        fail()
    with both.il.run("by hand") as by_hand:
        shop.log("start by hand")
    assert (by_hand.status, shop.ledger) == ("finished", ["start", "start by hand"])


def test_a_failed_call_is_attempt_two_after_a_retry(both: Rehearsal) -> None:
    shop = Shop(both.il)

    @both.il.workflow
    def agent() -> str:
        shop.log("first")
        return shop.log("second")

    shop.fail.append(NoEffect("busy"))
    with pytest.raises(NoEffect):
        _ = agent.start(key="job").result
    shop.fail.append(NoEffect("still busy"))
    both.reviewer.desk.retry("job")
    assert both.il.worker().run_until_idle() == 1
    assert agent.handle("job").status == "failed"  # type: ignore[arg-type]
    assert agent.start(key="job").result == "second"
    assert shop.ledger == ["first", "second", "second", "second"]
    tried = [(each.state.value, each.attempt) for each in both.actions("job")]
    assert sorted(tried) == [("done", 1), ("done", 3), ("failed", 1), ("failed", 2)]


def test_an_expired_card_refuses_and_a_retry_asks_anew(both: Rehearsal) -> None:
    shop = Shop(both.il)

    @both.il.workflow
    def agent() -> str:
        return shop.send("bob")

    assert agent.start(key="job").status == "waiting"
    both.clock.advance(timedelta(hours=5))
    assert both.il.worker().run_until_idle() == 1
    run = agent.handle("job")  # type: ignore[arg-type]
    assert run.status == "failed"
    with pytest.raises(Exception, match="nobody decided in time"):
        _ = run.result
    assert agent.start(key="job").status == "waiting"
    (card,) = both.reviewer.open()
    assert card.about.action.attempt >= 1
    both.reviewer.decide("approve")
    assert agent.start(key="job").result == "sent to bob"
    assert shop.ledger == ["bob: hello"]


def test_a_late_approval_expires_the_card_and_the_run_is_told(both: Rehearsal) -> None:
    shop = Shop(both.il)

    @both.il.workflow
    def agent() -> str:
        try:
            return shop.send("bob")
        except Refused as refused:
            return refused.kind

    agent.start(key="job")
    both.clock.advance(timedelta(hours=4))
    with pytest.raises(DecisionError, match="expired"):
        both.reviewer.decide("approve")
    assert both.il.worker().run_until_idle() == 1
    assert (agent.handle("job").result, shop.ledger) == ("expired", [])  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["", None, 7, b"job", "a" * 201, "two\nlines", "\ud800", "bell\x07"])
def test_a_run_needs_a_key_that_is_one(stage: Rehearsal, key: object) -> None:
    with pytest.raises(RunError, match="bad_key"), stage.il.run(key):  # type: ignore[arg-type]
        pass

    @stage.il.workflow
    def agent() -> None: ...

    if key is not None:
        with pytest.raises(RunError, match="bad_key"):
            agent.start(key=key)
        with pytest.raises(RunError, match="bad_key"):
            agent.submit(key=key)  # type: ignore[arg-type]
    assert stage.events() == ()


def test_the_reviewers_words_reach_the_code(both: Rehearsal) -> None:
    shop = Shop(both.il)
    told: dict[str, Refused] = {}
    words = "use the EU mailbox: <b>eu@example.com</b> — “now”"

    @both.il.workflow
    def agent() -> None:
        for who in ("ann", "bob"):
            try:
                shop.send(who)
            except Refused as refused:
                told[who] = refused

    agent.start(key="job")
    both.reviewer.decide(reject(words))
    agent.start(key="job")
    both.reviewer.decide(redirect(words))
    assert agent.start(key="job").status == "finished"
    assert {who: (each.kind, each.words, each.by) for who, each in told.items()} == {
        "ann": ("rejected", words, "ana"),
        "bob": ("redirected", words, "ana"),
    }
    assert all(words in str(each) for each in told.values())
    assert shop.ledger == []
    notes = agent.handle("job").notes  # type: ignore[arg-type]
    assert [(tool, decision.verdict.value, decision.note) for tool, decision in notes] == [
        ("send", "reject", words),
        ("send", "redirect", words),
    ]


def test_a_note_with_an_approval_can_be_read_by_the_code(both: Rehearsal) -> None:
    shop = Shop(both.il)
    with both.il.run("job"):
        shop.send("bob")
    both.reviewer.decide(approve("keep it short next time"))
    with both.il.run("job") as run:
        shop.send("bob")
        assert [decision.note for _, decision in run.notes] == ["keep it short next time"]


def test_modified_arguments_are_executed_and_the_original_is_blocked_for_the_run(both: Rehearsal) -> None:
    shop = Shop(both.il)
    kinds: list[str] = []
    words: list[str] = []

    def program() -> str:
        with both.il.run("job") as run:
            shop.send("alice")
            try:
                shop.send("alice")
            except Refused as refused:
                kinds.append(refused.kind)
                words.append(str(refused))
        return run.status

    program()
    both.reviewer.decide(modify("wrong Alice", to="bob"))
    assert program() == "finished"
    assert (shop.ledger, kinds, both.reviewer.open()) == (["bob: hello"], ["repeated"], ())
    assert "changed" in words[0]
    first = both.actions("job")[0]
    assert (first.revision, first.state.value) == (2, "done")
    program()
    assert shop.ledger == ["bob: hello"]


def test_an_edit_that_changes_nothing_is_no_edit(both: Rehearsal) -> None:
    shop = Shop(both.il)
    with both.il.run("job"):
        shop.send("bob")
    with pytest.raises(DecisionError, match="bad_edit"):
        both.reviewer.decide(modify(to="bob"))
    assert both.states("job") == ["held"]


def test_an_edit_that_is_taken_back_and_undone_does_not_block_the_original(both: Rehearsal) -> None:
    shop = Shop(both.il)
    with both.il.run("job"):
        shop.send("bob")
    (first,) = both.reviewer.open()
    both.reviewer.decide(modify(to="eve"))
    both.reviewer.desk.revoke(first.card.id, digest=first.card.digest)
    both.reviewer.decide(modify(to="bob"))
    with both.il.run("job") as run:
        shop.send("bob")
        shop.send("bob")
    assert (shop.ledger, run.status, both.states("job")) == (["bob: hello"], "waiting", ["done", "held"])


def test_a_response_stands_in_for_the_result_and_the_tool_does_not_run(both: Rehearsal) -> None:
    shop = Shop(both.il)
    with both.il.run("job"):
        shop.send("bob")
    both.reviewer.decide(respond("sent by hand"))
    with both.il.run("job") as run:
        assert shop.send("bob") == "sent by hand"
    assert (shop.ledger, run.status) == ([], "finished")


def test_waiting_holds_the_caller_for_a_person_at_the_terminal(both: Rehearsal) -> None:
    shop = Shop(both.il)
    both.reviewer.script["send"] = "approve"
    with both.reviewer.attending(), both.il.run("job", wait=timedelta(seconds=30)) as run:
        assert shop.send("bob") == "sent to bob"
    assert (run.status, shop.ledger) == ("finished", ["bob: hello"])


def test_waiting_is_over_when_its_time_is_and_the_run_pauses(stage: Rehearsal) -> None:
    shop = Shop(stage.il)
    with stage.il.run("job", wait=0.05) as run:
        shop.send("bob")
    assert (run.status, shop.ledger) == ("waiting", [])


def test_waiting_asynchronously_holds_only_the_task(stage: Rehearsal) -> None:
    sent: list[str] = []

    @stage.il.tool("irreversible")
    async def send(to: str) -> str:
        sent.append(to)
        return to

    @stage.il.workflow
    async def agent() -> list[str]:
        return list(await asyncio.gather(send("ann"), send("bob")))

    async def program() -> object:
        with stage.reviewer.attending():
            return (await agent.start(key="job", wait="30s")).result

    stage.reviewer.script["send"] = "approve"
    assert asyncio.run(program()) == ["ann", "bob"]
    assert sorted(sent) == ["ann", "bob"]


def test_an_asynchronous_workflow_is_resumed_by_a_worker_in_a_thread_or_within_a_running_loop(both: Rehearsal) -> None:
    sent: list[str] = []

    @both.il.tool("irreversible")
    async def send(to: str) -> str:
        sent.append(to)
        return to

    @both.il.workflow
    async def agent(to: str) -> str:
        await asyncio.sleep(0)
        return await send(to)

    async def program() -> None:
        for key in ("ann", "bob"):
            assert (await agent.start(key, key=key)).status == "waiting"
        both.reviewer.script["send"] = "approve"
        both.reviewer.decide_all()
        assert both.il.worker().run_until_idle() == 2

    asyncio.run(program())
    assert sorted(sent) == ["ann", "bob"]
    agent.submit("eve", key="eve")
    thread = threading.Thread(target=both.il.worker().run_until_idle)
    thread.start()
    thread.join()
    assert agent.handle("eve").status == "waiting"  # type: ignore[arg-type]


def test_one_run_is_driven_by_one_at_a_time(both: Rehearsal) -> None:
    shop = Shop(both.il)
    with both.il.run("job"):
        shop.log("mine")
        codes: list[str] = []

        def enter(il: Interlock) -> None:
            try:
                with il.run("job"):
                    pass
            except RunError as error:
                codes.append(error.code)

        for il in (both.il, both.another()):
            thread = threading.Thread(target=enter, args=(il,))
            thread.start()
            thread.join()
        assert codes == ["busy", "busy"]
    assert shop.ledger == ["mine"]


def test_a_tool_of_another_interlock_does_not_run_in_our_run(both: Rehearsal) -> None:
    theirs = Shop(both.another())
    with both.il.run("job") as run:
        with pytest.raises(CallError, match="other_interlock"):
            theirs.log("hello")
        with pytest.raises(CallError, match="other_interlock"):
            theirs.send("bob")
    assert (theirs.ledger, run.status, both.states("job")) == ([], "finished", [])


# -- cancel and freeze ---------------------------------------------------------------------------


def test_cancelling_withdraws_what_is_held_and_nothing_runs_any_more(both: Rehearsal) -> None:
    shop = Shop(both.il)
    with both.il.run("job"):
        shop.send("bob")
    (card,) = both.reviewer.open()
    both.reviewer.desk.cancel("job", "not needed")
    assert (both.states("job"), both.reviewer.open()) == (["refused"], ())
    assert both.actions("job")[0].refusal == "withdrawn"
    with pytest.raises(DecisionError, match="withdrawn"):
        both.reviewer.desk.approve(card.card.id, digest=card.card.digest)
    with pytest.raises(RunError, match="cancelled"), both.il.run("job"):
        shop.send("bob")
    both.reviewer.desk.cancel("job")
    assert shop.ledger == []


def test_cancelling_withdraws_what_was_approved_and_not_claimed(both: Rehearsal) -> None:
    shop = Shop(both.il)

    @both.il.workflow
    def agent() -> str:
        return shop.send("bob")

    agent.start(key="job")
    both.reviewer.decide("approve")
    both.reviewer.desk.cancel("job")
    both.il.worker().run_until_idle()
    assert (shop.ledger, both.states("job"), agent.handle("job").status) == ([], ["refused"], "cancelled")  # type: ignore[arg-type]


def test_cancelling_while_a_tool_executes_lets_it_end_and_nothing_else_begin(both: Rehearsal) -> None:
    shop = Shop(both.il)

    @both.il.tool("reversible")
    def work(what: str) -> str:
        canceller = threading.Thread(target=both.reviewer.desk.cancel, args=("job", "stop"))
        canceller.start()
        canceller.join()
        shop.ledger.append(what)
        return what

    codes: list[str] = []
    with suppress(RunError), both.il.run("job"):
        assert work("a") == "a"
        try:
            shop.log("b")
        except RunError as error:
            codes.append(error.code)
    assert (shop.ledger, codes, both.states("job")) == (["a"], ["cancelled"], ["done"])
    assert both.il.kernel.run("job").state.value == "cancelled"  # type: ignore[union-attr, arg-type]


def test_a_finished_run_cannot_be_cancelled(stage: Rehearsal) -> None:
    with stage.il.run("job"):
        pass
    with pytest.raises(RunError, match="finished"):
        stage.reviewer.desk.cancel("job")


@pytest.mark.parametrize(("scope", "name"), [("all", ""), ("agent", "agent"), ("tool", "send"), ("run", "job")])
def test_what_is_frozen_parks_and_the_release_wakes_it(both: Rehearsal, scope: str, name: str) -> None:
    shop = Shop(both.il)

    @both.il.workflow
    def agent() -> str:
        return shop.send("bob")

    agent.start(key="job")
    both.reviewer.decide("approve")
    both.reviewer.desk.freeze(scope, name, "an incident")
    for _ in range(3):
        assert both.il.worker().run_until_idle() <= 1
    assert (shop.ledger, both.states("job"), agent.handle("job").status) == ([], ["cleared"], "waiting")  # type: ignore[arg-type]
    assert both.il.worker().run_until_idle() == 0, "nothing spins while it is frozen"
    both.reviewer.desk.release(scope, name)
    assert both.il.worker().run_until_idle() == 1
    assert (shop.ledger, agent.handle("job").status) == (["bob: hello"], "finished")  # type: ignore[arg-type]


def test_a_freeze_of_something_else_stops_nothing(stage: Rehearsal) -> None:
    shop = Shop(stage.il)
    for scope, name in (("agent", "other"), ("tool", "other"), ("run", "other")):
        stage.reviewer.desk.freeze(scope, name)
    with stage.il.run("job"):
        shop.log("a")
    assert shop.ledger == ["a"]


def test_a_doubt_that_would_be_rerun_waits_behind_a_freeze_without_spinning(both: Rehearsal) -> None:
    runs: list[str] = []

    @both.il.tool("reversible")
    def work(what: str) -> str:
        runs.append(what)
        if len(runs) == 1:
            freezer = threading.Thread(target=both.reviewer.desk.freeze)
            freezer.start()
            freezer.join()
            raise ConnectionError("lost")
        return what

    @both.il.workflow
    def agent() -> str:
        return work("a")

    assert agent.start(key="job").status == "waiting"
    assert both.il.worker().run_until_idle() == 0
    assert (runs, both.states("job")) == (["a"], ["in_doubt"])
    both.reviewer.desk.release()
    assert both.il.worker().run_until_idle() == 1
    assert (runs, agent.handle("job").status) == (["a", "a"], "finished")  # type: ignore[arg-type]


def test_free_calls_go_on_while_everything_is_frozen(stage: Rehearsal) -> None:
    looked: list[str] = []

    @stage.il.tool("read_only")
    def look(at: str) -> str:
        looked.append(at)
        return at

    stage.reviewer.desk.freeze()
    with stage.il.run("job") as run:
        look("x")
    assert (looked, run.status) == (["x"], "finished")


# -- who decides ---------------------------------------------------------------------------------


def test_code_inside_a_run_cannot_decide_anything(both: Rehearsal) -> None:
    shop = Shop(both.il)
    desk: ReviewDesk = both.reviewer.desk
    with both.il.run("other"):
        shop.send("bob")
    (card,) = both.reviewer.open()
    card_id, digest = card.card.id, card.card.digest
    acts: list[Callable[[], object]] = [
        lambda: desk.approve(card_id, digest=digest),
        lambda: desk.reject(card_id, digest=digest),
        lambda: desk.redirect(card_id, digest=digest, note="other way"),
        lambda: desk.modify(card_id, digest=digest, arguments={"to": "eve"}),
        lambda: desk.respond(card_id, digest=digest, result="sent"),
        lambda: desk.reconcile(card_id, digest=digest, found="done"),
        lambda: desk.revoke(card_id, digest=digest),
        lambda: desk.retry("other"),
        lambda: desk.cancel("other"),
        desk.freeze,
        desk.release,
        lambda: desk.rollback(card.about.action.id),
        lambda: both.reviewer.decide("approve"),
    ]

    @both.il.tool("reversible")
    def scheme() -> int:
        return sum(refused(act) for act in acts)

    def refused(act: Callable[[], object]) -> bool:
        with pytest.raises(DecisionError, match="may not decide"):
            act()
        return True

    with both.il.run("job"):
        assert scheme() == len(acts)
        assert all(refused(act) for act in acts)
        assert asyncio.run(asyncio.to_thread(scheme)) == len(acts)
    assert (both.states("other"), shop.ledger) == (["held"], [])


def test_an_agents_process_cannot_open_a_desk_inside_a_run(stage: Rehearsal) -> None:
    with stage.il.run("job"), pytest.raises(DecisionError, match="may not decide"):
        Desk("memory://")


def test_revoking_takes_an_approval_back_until_it_is_claimed(both: Rehearsal) -> None:
    shop = Shop(both.il)
    with both.il.run("job"):
        shop.send("bob")
    (card,) = both.reviewer.open()
    both.reviewer.decide("approve")
    both.reviewer.desk.revoke(card.card.id, digest=card.card.digest, note="wait")
    with both.il.run("job") as run:
        shop.send("bob")
    assert (shop.ledger, run.status, both.states("job")) == ([], "waiting", ["held"])
    (newer,) = both.reviewer.open()
    assert newer.card.previous == card.card.id
    both.reviewer.decide("approve")
    with both.il.run("job"):
        shop.send("bob")
    with pytest.raises(DecisionError, match="already_claimed"):
        both.reviewer.desk.revoke(newer.card.id, digest=newer.card.digest)
    assert shop.ledger == ["bob: hello"]


def test_outside_any_run_a_guarded_call_fails_closed_with_the_mend(stage: Rehearsal) -> None:
    shop = Shop(stage.il)
    for call in (shop.send, shop.log):
        with pytest.raises(CallError, match="outside any run") as error:
            call("bob")
        assert "run.wrap" in error.value.mend
    failed: list[BaseException] = []

    def foreign() -> None:
        try:
            shop.log("from a thread")
        except CallError as error:
            failed.append(error)

    with stage.il.run("job") as run:
        thread = threading.Thread(target=foreign)
        thread.start()
        thread.join()
        wrapped = run.wrap(shop.log)
    with pytest.raises(CallError, match="pass_over"):
        wrapped("too late")
    assert len(failed) == 1
    assert shop.ledger == []
