"""More of what hurts the users of today's gates: several pauses, nested agents, forged answers, human time.

One test for each public report; the judge is always the tool's own ledger.
"""

import asyncio
import json
import sqlite3
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock import DecisionError, InterlockError, Interrupted, Refused
from interlock.domain.errors import RunError, StoreError
from interlock.domain.ids import RunId
from interlock.kernel.desk import ReviewDesk
from interlock.stores.sql.documents import pack_document, unpack_document
from interlock.testing import Rehearsal, modify, reject


def irreversible(stage: Rehearsal, name: str) -> tuple[Callable[..., str], list[tuple[object, ...]]]:
    """One irreversible tool and its ledger."""
    ledger: list[tuple[object, ...]] = []

    def act(what: str, detail: str = "") -> str:
        ledger.append((what, detail))
        return f"{name} {what}"

    return stage.il.tool("irreversible", name=name)(act), ledger


def in_threads(stage: Rehearsal, calls: list[Callable[[], object]], key: str = "job") -> Any:
    """Make the calls at the same time, each in a branch of its own."""
    with stage.il.run(key) as run:
        threads = [threading.Thread(target=_swallowing(run.wrap(call))) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return run


def _swallowing(call: Callable[[], object]) -> Callable[[], None]:
    def quiet() -> None:
        with suppress(Interrupted, Refused):
            call()

    return quiet


def test_p01_parallel_pauses_have_an_id_each_and_answers_go_where_they_belong(both: Rehearsal) -> None:
    draw, ledger = irreversible(both, "draw")
    calls = [lambda c=c: draw(*c) for c in (("circle", "red"), ("square", "blue"), ("triangle", "green"))]
    assert in_threads(both, calls).status == "waiting"
    cards = {view.about.current.arguments["what"]: view.card for view in both.reviewer.open()}
    assert len({card.id for card in cards.values()}) == len({card.digest for card in cards.values()}) == 3
    restarted = both.another()
    assert {view.card.id for view in ReviewDesk(restarted.kernel, both.reviewer.principal).open()} == {
        card.id for card in cards.values()
    }
    desk = both.reviewer.desk
    desk.reject(cards["triangle"].id, digest=cards["triangle"].digest, note="not needed")
    desk.modify(cards["square"].id, digest=cards["square"].digest, arguments={"detail": "navy"})
    desk.approve(cards["circle"].id, digest=cards["circle"].digest)
    assert in_threads(both, calls).status == "finished"
    assert sorted(ledger) == [("circle", "red"), ("square", "navy")]


def test_p02_an_answer_without_an_id_is_refused_while_several_pauses_are_open(both: Rehearsal) -> None:
    say, ledger = irreversible(both, "say")

    @both.il.tool("reversible", composite=True)
    def child(which: str) -> str:
        return say(which)

    calls = [lambda: child("left"), lambda: child("right")]
    in_threads(both, calls)
    desk: Any = both.reviewer.desk
    for bare in ((), ("yes",), (True,)):
        with pytest.raises(TypeError):
            desk.approve(*bare)
    with pytest.raises(DecisionError, match="2 cards are open, and one was to be decided"):
        both.reviewer.decide("approve")
    left, right = both.reviewer.open()
    with pytest.raises(DecisionError) as caught:
        desk.approve(left.card.id, digest=right.card.digest)
    assert caught.value.code == "digest_mismatch"
    assert (len(both.reviewer.open()), ledger) == (2, [])
    for view in (right, left):
        desk.approve(view.card.id, digest=view.card.digest)
    assert in_threads(both, calls).status == "finished"
    assert sorted(ledger) == [("left", ""), ("right", "")]


def test_p06_nested_agents_of_the_same_name_are_told_apart_by_their_place(tmp_path: Path) -> None:
    ledger: list[str] = []

    def app(stage: Rehearsal, il: Any) -> Any:
        @il.tool("irreversible")
        def send_sms(to: str) -> str:
            ledger.append(to)
            return f"sent {to}"

        @il.tool("reversible", composite=True, name="Assistant")
        def assistant(to: str, depth: int) -> str:
            return send_sms(to) if depth == 0 else assistant(to, depth - 1)

        @il.workflow(agent="Assistant", name="outer")
        def outer() -> list[str]:
            return [assistant("ana", 2), assistant("bob", 1)]

        return outer

    with Rehearsal(tmp_path) as stage:
        assert app(stage, stage.il).start(key="job").status == "waiting"
        for rounds in range(2):
            stage.reviewer.decide("approve")
            fresh = stage.another()  # another process, the same store
            run = app(stage, fresh).start(key="job")
            assert run.status == ("waiting", "finished")[rounds]
        assert ledger == ["ana", "bob"]


def test_p18_an_approval_that_names_nothing_or_somebody_elses_card_runs_nothing(both: Rehearsal) -> None:
    pay, ledger = irreversible(both, "pay")
    with both.il.run("job"):
        pay("invoice")
    (view,) = both.reviewer.open()
    desk: Any = both.reviewer.desk
    with pytest.raises(DecisionError) as caught:
        desk.approve(str(uuid.uuid4()), digest=view.card.digest)
    assert caught.value.code == "unknown_interrupt"
    with Rehearsal() as theirs:
        with pytest.raises(DecisionError) as caught:
            theirs.reviewer.desk.approve(view.card.id, digest=view.card.digest)
        assert caught.value.code == "unknown_interrupt"
    with pytest.raises(TypeError):
        desk.approve(view.card.id, digest=view.card.digest, tool="delete_db", arguments={"what": "all"})
    with pytest.raises(DecisionError) as caught:
        desk.modify(view.card.id, digest=view.card.digest, arguments={"tool": "delete_db"})
    assert caught.value.code == "bad_edit"
    with both.il.run("job") as run:
        pay("invoice")
    assert (run.status, ledger) == ("waiting", [])


def test_p18_arguments_that_were_edited_in_the_store_after_the_approval_do_not_run(tmp_path: Path) -> None:
    with Rehearsal(tmp_path) as stage:
        pay, ledger = irreversible(stage, "pay")

        def program() -> None:
            with stage.il.run("job"):
                pay("INV-7", "100")

        program()
        stage.reviewer.decide("approve")
        _rewrite(stage, tmp_path, lambda document: document["arguments"].update(detail="100000"))
        with pytest.raises(StoreError) as caught:
            program()
        assert caught.value.code == "store_inconsistent"
        assert "not the one that was decided" in str(caught.value)
        assert ledger == []


@pytest.mark.parametrize("field", ["arguments", "tool", "salt", "revision", "run", "call", "tool_rev"])
def test_p29_a_stored_action_that_lost_a_field_is_an_error_and_no_new_question(tmp_path: Path, field: str) -> None:
    with Rehearsal(tmp_path) as stage:
        pay, ledger = irreversible(stage, "pay")

        def program() -> None:
            with stage.il.run("job"):
                pay("INV-7")

        program()
        stage.reviewer.decide("approve")
        _rewrite(stage, tmp_path, lambda document: document.pop(field))
        for _ in range(2):
            with pytest.raises(StoreError) as caught:
                program()
            assert caught.value.code == "store_inconsistent"
        assert ledger == []
        assert len(stage.actions("job")) == 1, "nothing is proposed anew in its place"


def _rewrite(stage: Rehearsal, folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the stored document of the only action, as somebody with the file could."""
    stage.il.kernel.store.flush()
    with sqlite3.connect(folder / "interlock.db") as connection:
        ((kept,),) = connection.execute("SELECT document FROM revisions").fetchall()
        document = json.loads(unpack_document(kept))
        change(document)
        data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        connection.execute("UPDATE revisions SET document = ?", (pack_document(data),))
    connection.close()


def test_p29_every_field_survives_a_pause_and_the_card_is_still_there_and_answerable(tmp_path: Path) -> None:
    with Rehearsal(tmp_path) as stage:
        pay, ledger = irreversible(stage, "pay")
        with stage.il.run("job"):
            pay("INV-7", "with all of it")
        (before,) = stage.reviewer.open()
        for _ in range(3):
            other = ReviewDesk(stage.another().kernel, stage.reviewer.principal)
            (again,) = other.open()
            assert (again.card, again.about.action, again.about.current) == (
                before.card, before.about.action, before.about.current,
            )  # fmt: skip
        other.approve(again.card.id, digest=again.card.digest)
        fresh = stage.another()

        def act(what: str, detail: str = "") -> str:
            ledger.append((what, detail))
            return what

        act.__module__, act.__qualname__ = pay.__module__, pay.__qualname__
        paying = fresh.tool("irreversible", name="pay")(act)
        with fresh.run("job") as run:
            paying("INV-7", "with all of it")
        assert (run.status, ledger) == ("finished", [("INV-7", "with all of it")])


def test_p23_one_yes_for_a_tool_unlocks_no_other_arguments_and_no_second_call(both: Rehearsal) -> None:
    curl, ledger = irreversible(both, "curl")

    def program() -> str:
        with both.il.run("job") as run:
            for url in ("https://status.example.com", "https://evil.invalid", "https://status.example.com"):
                try:
                    curl(url)
                except Refused:
                    continue
        return run.status

    program()
    both.reviewer.decide("approve")
    assert program() == "waiting"
    (view,) = both.reviewer.open()
    assert view.about.current.arguments["what"] == "https://evil.invalid"
    both.reviewer.decide(reject("not that host"))
    assert program() == "waiting", "the same call once more is asked about, too"
    assert ledger == [("https://status.example.com", "")]
    (view,) = both.reviewer.open()
    both.reviewer.decide("approve")
    desk = both.reviewer.desk
    desk.revoke(view.card.id, digest=view.card.digest)
    assert program() == "waiting"
    assert len(ledger) == 1


def test_p30_one_no_cancels_neither_the_approved_nor_the_ungated_siblings(both: Rehearsal) -> None:
    write, ledger = irreversible(both, "write")

    @both.il.tool("read_only")
    def calc(a: int, b: int) -> int:
        return a + b

    @both.il.workflow
    async def batch() -> list[object]:
        async def one(call: Callable[[], object]) -> object:
            try:
                return await asyncio.to_thread(call)
            except Refused as refused:
                return refused.kind

        calls = one(lambda: calc(2, 2)), one(lambda: write("a")), one(lambda: write("b"))
        # Without it the first pause ends the pass, and a thread that comes later asks only in the next one.
        return list(await asyncio.gather(*calls, return_exceptions=True))

    assert asyncio.run(batch.start(key="job")).status == "waiting"
    cards = {view.about.current.arguments["what"]: view.card for view in both.reviewer.open()}
    both.reviewer.desk.reject(cards["b"].id, digest=cards["b"].digest)
    both.reviewer.desk.approve(cards["a"].id, digest=cards["a"].digest)
    run = asyncio.run(batch.start(key="job"))
    assert (run.status, run.result) == ("finished", [4, "write a", "rejected"])
    assert ledger == [("a", "")]


def test_p36_an_effect_that_was_denied_is_refused_without_asking_and_another_one_asks(both: Rehearsal) -> None:
    git, ledger = irreversible(both, "git")
    said: list[str] = []

    def program() -> None:
        with both.il.run("job"):
            for command in ("push --force origin x", "push --force origin x", "-c a=b push -f origin x"):
                try:
                    git(command)
                except Refused as refused:
                    said.append(f"{refused.kind}: {refused.words}")

    program()
    both.reviewer.decide(reject("never force"))
    program()
    assert said == ["rejected: never force", "repeated: reviewer:ana rejected this very call before: never force"]
    (view,) = both.reviewer.open()
    assert view.about.current.arguments["what"] == "-c a=b push -f origin x"
    assert ledger == []


def test_p41_a_run_that_is_gone_is_an_error_for_whoever_decides_and_whoever_resumes(tmp_path: Path) -> None:
    with Rehearsal(tmp_path) as stage:
        confirm, ledger = irreversible(stage, "confirm")

        @stage.il.tool("reversible", composite=True)
        def member() -> list[str]:
            return [confirm("first"), confirm("second")]

        @stage.il.workflow
        def team() -> list[str]:
            return member()

        assert team.start(key="job").status == "waiting"
        for _ in range(2):  # the same member pauses twice in a row
            stage.reviewer.decide("approve")
            run = team.start(key="job")
        assert (run.result, ledger) == (["confirm first", "confirm second"], [("first", ""), ("second", "")])
        with pytest.raises(RunError) as caught:
            stage.reviewer.desk.retry("no such run")
        assert caught.value.code == "unknown_run"
        with pytest.raises(InterlockError):
            stage.reviewer.desk.story("no such run")
        assert stage.il.kernel.run(RunId("no such run")) is None


def test_p44_waiting_is_never_an_empty_result(both: Rehearsal) -> None:
    search, _ = irreversible(both, "search")
    got: dict[str, object] = {}

    def ask(what: str) -> None:
        try:
            got[what] = search(what)
        except Interrupted as pause:
            got[what] = pause.interrupts
            raise

    calls = [lambda w=w: ask(w) for w in ("a", "b", "c")]
    assert in_threads(both, calls).status == "waiting"
    cards = {view.card.id: view.about.action.id for view in both.reviewer.open()}
    assert len(cards) == 3
    assert {card for ids in got.values() for card in ids} == set(cards), "each says that it waits, and for which card"
    for view in both.reviewer.open():
        both.reviewer.desk.approve(view.card.id, digest=view.card.digest)
    assert in_threads(both, calls).status == "finished"
    assert got == {"a": "search a", "b": "search b", "c": "search c"}
    assert {action.id for action in both.actions("job")} == set(cards.values())


def test_p46_a_time_limit_on_work_does_not_count_the_time_of_people(both: Rehearsal) -> None:
    ran: list[str] = []

    @both.il.tool("irreversible")
    async def execute(what: str) -> str:
        ran.append(what)
        return what

    @both.il.workflow
    async def job() -> str:
        return await asyncio.wait_for(execute("build"), timeout=30)

    assert asyncio.run(job.start(key="job")).status == "waiting"
    both.clock.advance(timedelta(hours=2))
    both.reviewer.decide("approve")
    run = asyncio.run(job.start(key="job"))
    assert (run.status, run.result, ran) == ("finished", "build", ["build"])


def test_p46_a_caller_that_stops_waiting_for_a_person_leaves_the_card_open(both: Rehearsal) -> None:
    ran: list[str] = []

    @both.il.tool("irreversible")
    async def execute(what: str) -> str:
        ran.append(what)
        return what

    @both.il.workflow
    async def job() -> str:
        try:
            return await asyncio.wait_for(execute("build"), timeout=0.05)
        except TimeoutError:
            return "gave up"

    assert asyncio.run(job.start(key="job", wait="30s")).status == "waiting"
    assert (len(both.reviewer.open()), ran) == (1, [])
    both.reviewer.decide("approve")
    run = asyncio.run(job.start(key="job"))
    assert (run.status, ran) == ("finished", ["build"])


def test_a_modification_beside_a_rejection_leaves_each_call_its_own_answer(both: Rehearsal) -> None:
    write, ledger = irreversible(both, "write")
    calls = [lambda w=w: write(w) for w in ("a", "b")]
    in_threads(both, calls)
    for view in both.reviewer.open():
        said = modify(detail="x") if view.about.current.arguments["what"] == "a" else reject("no")
        both.reviewer.script = {
            "write": lambda card, said=said, wanted=view.card.id: said if card.card.id == wanted else None
        }
        both.reviewer.decide_all()
    assert in_threads(both, calls).status == "finished"
    assert ledger == [("a", "x")]
