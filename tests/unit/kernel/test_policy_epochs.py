"""Two policies at once: a process with an old file does not let go what a newer one holds, whatever comes first."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock import DecisionError, Interlock, Refused
from interlock.compose import read_policy
from interlock.domain.errors import StoreError
from interlock.testing import Rehearsal, modify, respond
from interlock.usecases.adopt_policy import adopt_policy

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def made(name: str, rules: str) -> Path:
        path = tmp_path / name
        path.write_text(f"version = 1\n\n{rules}", encoding="utf-8")
        return path

    return made


def rule(asks: str, tools: str = '["write"]', name: str = "newer", more: str = "") -> str:
    return f'[[rule]]\nname = "{name}"\ntools = {tools}\ninterrupt_policy = "{asks}"\n{more}\n'


def tools(il: Interlock) -> tuple[Callable[[str], str], Callable[[str], str], list[str]]:
    ran: list[str] = []

    @il.tool("reversible")
    def write(line: str) -> str:
        ran.append(line)
        return line

    @il.tool("read_only")
    def look(what: str) -> str:
        ran.append(what)
        return what

    return write, look, ran


def newer(stage: Rehearsal, path: Path) -> Interlock:
    """A process that is started with the newer policy, and has made its first call."""
    other = stage.another(policy=path)
    write, _, _ = tools(other)
    with other.run("other"):
        write("to adopt it")
    return other


def test_a_process_with_an_old_policy_does_not_let_go_what_a_newer_one_holds(both: Rehearsal, write: Write) -> None:
    put, _, ran = tools(both.il)
    with both.il.run("before") as run:
        put("a")
    assert run.status == "finished"
    newer(both, write("new.toml", rule("hard_stop")))
    with both.il.run("after") as run:
        put("b")
    assert (run.status, ran) == ("waiting", ["a"])
    (action,) = both.actions("after")
    assert (action.ruling.policy.value, action.ruling.rules) == ("hard_stop", ("newer",))


@pytest.mark.parametrize("held_first", [False, True])
def test_a_policy_that_comes_between_the_ruling_and_its_transaction_counts(
    both: Rehearsal, write: Write, held_first: bool
) -> None:
    put, _, ran = tools(both.il)
    kernel = both.il.kernel
    stricter = read_policy(write("new.toml", rule("deny" if held_first else "hard_stop")))
    ruled, late = kernel.rulings.rule_on, iter([True])

    def rule_and_lose(request: Any, call: Any) -> Any:
        answer = ruled(request, call)
        if next(late, False):
            adopt = adopt_policy("agent", stricter.digest, stricter.content, kernel.process, kernel.ids)
            kernel.store.write(adopt).result()
        return answer

    def program() -> str:
        with both.il.run("job") as run:
            try:
                put("a")
            except Refused as refused:
                return refused.kind
        return run.status

    if held_first:
        both.il.before(lambda call: call.hold("look"))
        assert program() == "waiting"
        both.reviewer.decide("approve")
    kernel.rulings.rule_on = rule_and_lose
    assert program() == ("denied" if held_first else "waiting")
    assert ran == []


def test_an_approval_under_an_old_policy_is_not_used_when_a_newer_one_denies(both: Rehearsal, write: Write) -> None:
    ran: list[str] = []

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        ran.append(to)
        return to

    def program() -> str:
        with both.il.run("job") as run:
            try:
                send("bob")
            except Refused as refused:
                return refused.words
        return run.status

    assert program() == "waiting"
    both.reviewer.decide("approve")
    newer(both, write("new.toml", rule("deny", '["send"]', more='message = "not this week"')))
    assert "not this week" in program()
    assert ran == []


def test_what_a_newer_policy_denies_cannot_be_approved_nor_edited_into_and_can_be_rejected(
    both: Rehearsal, write: Write
) -> None:
    @both.il.tool("irreversible")
    def send(to: str) -> str:
        return to

    with both.il.run("job"):
        send("bob")
    newer(both, write("new.toml", rule("deny", '["send"]')))
    for said, code in (("approve", "policy_denies"), (modify(to="li"), "edit_denied")):
        with pytest.raises(DecisionError) as caught:
            both.reviewer.decide(said)
        assert caught.value.code == code
    assert both.states("job") == ["held"]
    both.reviewer.decide("reject")
    assert both.states("job") == ["refused"]


def test_a_looser_policy_that_comes_later_does_not_loosen_what_was_ruled_before(
    both: Rehearsal, write: Write, tmp_path: Path
) -> None:
    strict = both.another(policy=write("strict.toml", rule("hard_stop")))
    put, _, ran = tools(strict)

    def program() -> str:
        with strict.run("job") as run:
            put("a")
        return run.status

    assert program() == "waiting"
    newer(both, write("loose.toml", ""))
    assert (program(), ran) == ("waiting", [])
    both.reviewer.decide("approve")
    assert (program(), ran) == ("finished", ["a"])


def test_reads_are_no_longer_free_once_a_newer_policy_names_them(both: Rehearsal, write: Write) -> None:
    put, look, ran = tools(both.il)
    with both.il.run("first"):
        look("a")
        put("a")
    newer(both, write("new.toml", rule("hard_stop", '["look"]')))
    with both.il.run("second") as run:
        look("b")
    assert (run.status, ran) == ("waiting", ["a", "a"])


def test_each_agent_has_a_policy_of_its_own(both: Rehearsal, write: Write) -> None:
    put, _, ran = tools(both.il)
    other = both.another(agent="other", policy=write("new.toml", rule("deny")))
    theirs, _, _ = tools(other)
    with other.run("theirs"), pytest.raises(Refused):
        theirs("a")
    with both.il.run("ours") as run:
        put("b")
    assert (run.status, ran) == ("finished", ["b"])


def test_adoption_is_on_record_once_for_each_change(both: Rehearsal, write: Write) -> None:
    put, _, _ = tools(both.il)
    for key in ("a", "b"):
        with both.il.run(key):
            put(key)
    newer(both, write("new.toml", rule("hard_stop")))
    forgetful = both.another()  # without a file: it follows the rules that there are
    with forgetful.run("c") as run:
        tools(forgetful)[0]("c")
    assert run.status == "waiting"
    meant = both.another(policy=write("empty.toml", ""))
    with meant.run("d"):
        tools(meant)[0]("d")
    told = [event.body for event in both.events() if event.type.value == "PolicyAdopted"]
    assert [body["epoch"] for body in told] == [1, 2, 3]
    assert told[0]["policy_digest"] == told[1]["before"]
    assert [body["rules"] for body in told] == [0, 1, 0]
    assert both.il.kernel.store.read(lambda rows: rows.blob(str(told[1]["policy_digest"]))) is not None


def test_a_rule_can_forbid_questions_and_nothing_can_let_them_go(both: Rehearsal, write: Write) -> None:
    quiet = both.another(policy=write("quiet.toml", rule("deny", '["question"]')))
    with quiet.run("quiet"), pytest.raises(Refused) as refused:
        quiet.question("May I?", bool)
    assert refused.value.kind == "denied"
    loose = both.another(agent="loose", policy=write("loose.toml", rule("none", '["question"]')))
    with loose.run("loose") as run:
        loose.question("May I?", bool)
    assert run.status == "waiting"
    both.reviewer.decide(respond(True))


def test_a_policy_whose_content_is_gone_from_the_store_rules_nothing(stage: Rehearsal, write: Write) -> None:
    put, _, ran = tools(stage.il)
    with stage.il.run("a"):
        put("a")
    newer(stage, write("new.toml", rule("hard_stop")))
    stage.clock.advance(timedelta(seconds=1))
    shelf = stage.il.kernel.store._shelf  # type: ignore[attr-defined]
    digest = shelf.policies["agent"].digest
    body = shelf.blobs.pop(digest)
    with pytest.raises(StoreError, match="nothing can be ruled"), stage.il.run("b"):
        put("b")
    assert ran == ["a"]
    shelf.blobs[digest] = body


def test_a_ruling_names_the_adopted_policy_where_the_process_has_none_that_is_stricter(
    both: Rehearsal, write: Write
) -> None:
    new = write("new.toml", rule("hard_stop", tools='["send", "write"]'))
    newer(both, new)
    adopted = read_policy(new).digest

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        return to

    with both.il.run("after"):
        send("bob")
    (action,) = both.actions("after")
    assert (action.ruling.policy_digest, action.ruling.rules) == (adopted, ("newer",))
    both.reviewer.decide(modify(to="eve"), "send")
    (action,) = both.actions("after")
    assert (action.revision, action.ruling.policy_digest) == (2, adopted)
