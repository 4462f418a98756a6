"""A policy file at work: what it says is what happens to calls, from the proposal to the claim."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from interlock import Interlock, Refused
from interlock.canonical import digest_bytes
from interlock.domain.errors import CallError, DecisionError, PolicyError, SettingsError
from interlock.domain.ids import ActionId
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.kernel import Kernel
from interlock.kernel.desk import ReviewDesk
from interlock.policy import PolicySet, Profile
from interlock.testing import Rehearsal, approve, modify

Write = Callable[[str], Path]
Stage = Callable[..., Rehearsal]


def rule(name: str, when: str = "", asks: str = "hard_stop", more: str = "", tools: str = '["refund"]') -> str:
    condition = f"when = '{when}'\n" if when else ""
    return f'[[rule]]\nname = "{name}"\ntools = {tools}\n{condition}interrupt_policy = "{asks}"\n{more}\n'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a policy file of these rules."""

    def made(rules: str, name: str = "policy.toml") -> Path:
        path = tmp_path / name
        path.write_text(f"version = 1\n\n{rules}", encoding="utf-8")
        return path

    return made


@pytest.fixture(params=["memory", "sqlite"])
def staged(request: pytest.FixtureRequest, tmp_path: Path, write: Write) -> Iterator[Stage]:
    """An Interlock with a policy of these rules, in memory and on SQLite."""
    opened: list[Rehearsal] = []

    def made(rules: str, **more: Any) -> Rehearsal:
        path = tmp_path if request.param == "sqlite" else None
        opened.append(Rehearsal(path, policy=write(rules), **more))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


def refund_of(il: Interlock) -> Callable[..., str]:
    @il.tool("reversible", cost=20)
    def refund(amount: Decimal, order: str = "A") -> str:
        return f"{order}: {amount}"

    return refund


def ruling(stage: Rehearsal, run: str, number: int = -1) -> Any:
    return stage.actions(run)[number].ruling


def test_a_rule_decides_by_the_arguments(staged: Stage) -> None:
    stage = staged(rule("large", "args.amount > 500.0"))
    refund = refund_of(stage.il)
    with stage.il.run("small") as run:
        assert refund(Decimal(500)) == "A: 500"
    assert run.status == "finished"
    with stage.il.run("large") as run:
        refund(Decimal("500.01"))
    assert run.status == "waiting"
    assert ruling(stage, run.id).rules == ("large",)
    assert ruling(stage, run.id).policy_digest == stage.il.kernel.policy.digest


def test_what_the_rules_deny_is_refused_with_the_rule_and_its_words(staged: Stage) -> None:
    stage = staged(rule("never", "args.amount > 9.0", "deny", 'message = "ask the bank"'))
    refund = refund_of(stage.il)
    with stage.il.run("r"), pytest.raises(Refused, match="the rule 'never' says that it never runs; ask the bank"):
        refund(Decimal(10))


def test_a_condition_that_fails_holds_and_says_why(staged: Stage) -> None:
    stage = staged(rule("odd", "100 / int(args.amount) > 50", "deny"))
    refund = refund_of(stage.il)
    with stage.il.run("r") as run:
        assert refund(Decimal(10)) == "A: 10"
        refund(Decimal(0))
    assert run.status == "waiting"
    (card,) = stage.reviewer.open()
    assert "the condition of the rule 'odd' could not be evaluated (it divides by zero" in card.card.why
    assert ruling(stage, run.id).rules == ()


def test_a_read_that_a_rule_may_hold_is_not_free(staged: Stage) -> None:
    stage = staged(rule("secrets", 'args.path.startsWith("/etc")', tools='["read_file"]'))

    def read_file(path: str) -> str:
        return path

    def list_files(path: str) -> str:
        return path

    read, other = stage.il.tool("read_only")(read_file), stage.il.tool("read_only")(list_files)
    with stage.il.run("r") as run:
        assert (read("/tmp/a"), other("/etc")) == ("/tmp/a", "/etc")
        read("/etc/passwd")
    assert run.status == "waiting"
    assert [(action.tool, action.state.value) for action in stage.actions(run.id)] == [
        ("read_file", "done"),
        ("read_file", "held"),
    ]


def test_a_journalled_step_is_ruled_by_no_rule_that_does_not_name_it(staged: Stage) -> None:
    stage = staged('[[rule]]\nname = "everything"\ninterrupt_policy = "deny"\n')
    with stage.il.run("r"):
        assert stage.il.step(str.upper, "a") == "A"


def test_an_approval_has_to_say_why_where_a_rule_wants_it(staged: Stage) -> None:
    stage = staged(rule("large", "args.amount > 9.0", more="reason_required = true"))
    refund = refund_of(stage.il)
    with stage.il.run("r") as run:
        refund(Decimal(10))
    for said in (approve(), approve("  "), modify(amount="9.50")):
        with pytest.raises(DecisionError, match="reason_missing") as refused:
            stage.reviewer.decide(said)
        assert "--note" in refused.value.mend
    assert stage.states(run.id) == ["held"]
    assert stage.reviewer.decide(approve("the customer called")).state.value == "cleared"
    with stage.il.run("r"):
        assert refund(Decimal(10)) == "A: 10"


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        ("facts.calls >= 2", [False, False, True]),
        ("facts.actions > 1", [False, False, True]),
        ("facts.novel", [True, False, False]),
        ("facts.count_1h > 1", [False, False, True]),
        ("facts.count_24h == 1", [False, True, False]),
        ("facts.cost_24h >= 40.0", [False, False, True]),
        ("facts.repeated > 0", [False, False, False]),
    ],
)
def test_facts_are_counted_from_the_store(staged: Stage, condition: str, asked: list[bool]) -> None:
    stage = staged(rule("counted", condition, "deny"))
    refund = refund_of(stage.il)
    found: list[bool] = []
    with stage.il.run("r"):
        for number in range(3):
            try:
                refund(Decimal(number))
            except Refused:
                found.append(True)
            else:
                found.append(False)
    assert found == asked


def test_the_same_effect_again_is_a_fact(staged: Stage) -> None:
    stage = staged(rule("again", "facts.repeated > 1", "deny"))
    refund = refund_of(stage.il)
    with stage.il.run("r"):
        assert [refund(Decimal(1)), refund(Decimal(1))] == ["A: 1"] * 2
        with pytest.raises(Refused, match="again"):
            refund(Decimal(1))


def test_windows_of_time_pass_and_an_action_does_not_count_itself(staged: Stage) -> None:
    from datetime import timedelta

    stage = staged(rule("burst", "facts.count_1h > 0"))
    refund = refund_of(stage.il)
    with stage.il.run("r") as run:
        refund(Decimal(1))
        refund(Decimal(2))
    assert run.status == "waiting"
    stage.clock.advance(timedelta(minutes=61))
    with stage.il.run("later") as run:
        assert refund(Decimal(3)) == "A: 3"
    stage.reviewer.decide(approve(), "refund")
    with stage.il.run("r") as run:
        assert refund(Decimal(1)) == "A: 1"
        assert refund(Decimal(2)) == "A: 2"
    assert run.status == "finished"


def test_slices_are_kept_with_the_proposal(staged: Stage) -> None:
    stage = staged("[slices.refund]\nband = \"args.amount < 100.0 ? 'small' : 'large'\"\n")
    refund = refund_of(stage.il)
    with stage.il.run("r") as run:
        refund(Decimal(5))
    view = stage.il.kernel.action(stage.actions(run.id)[0].id)
    assert view is not None
    assert view.facts["slices"] == {"band": "small"}


def test_large_arguments_are_seen_whole(staged: Stage) -> None:
    stage = staged(rule("long", 'args.order.endsWith("!") && size(args.order) > 70000', "hard_stop"))
    refund = refund_of(stage.il)
    text = "x" * 70_000 + "!"
    with stage.il.run("r") as run:
        refund(Decimal(1), order=text)
    assert ruling(stage, run.id).rules == ("long",)
    stage.reviewer.decide(modify(order="y" * 80_000))
    assert ruling(stage, run.id).rules == ()
    with stage.il.run("r"):
        assert refund(Decimal(1), order=text).startswith("yyy")


def test_a_large_argument_that_is_lost_stops_the_ruling(staged: Stage) -> None:
    with pytest.raises(CallError, match="blob_missing"):
        staged("").il.kernel.blob("sha-256:lost")


def test_an_edit_is_ruled_on_anew(staged: Stage) -> None:
    stage = staged(rule("large", "args.amount > 10.0") + rule("huge", "args.amount > 100.0", "deny"))
    refund = refund_of(stage.il)
    with stage.il.run("r") as run:
        refund(Decimal(50))
    with pytest.raises(DecisionError, match="edit_denied"):
        stage.reviewer.decide(modify(amount="500"))
    stage.reviewer.decide(modify(amount="5"))
    assert ruling(stage, run.id).rules == ()


def test_the_claim_is_ruled_on_with_the_stored_arguments(staged: Stage, write: Write) -> None:
    stage = staged(rule("large", "args.amount > 10.0"))
    refund = refund_of(stage.il)
    with stage.il.run("r") as run:
        refund(Decimal(50))
    stage.reviewer.decide(modify(amount="60"))
    stricter = write(rule("large", "args.amount > 55.0", "deny"), "stricter.toml")
    again = stage.another(policy=stricter)
    refund = refund_of(again)
    with again.run("r"), pytest.raises(Refused, match="ruled more strictly by now"):
        refund(Decimal(50))
    assert stage.states(run.id) == ["refused"]


def test_a_reviewer_who_has_no_policy_file_edits_under_the_policy_of_the_agent(staged: Stage) -> None:
    stage = staged(rule("large", "args.amount > 10.0") + rule("huge", "args.amount > 100.0", "deny"))
    refund = refund_of(stage.il)
    with stage.il.run("r"):
        refund(Decimal(50))
    kernel = Kernel(stage.il.kernel.store, PolicySet())
    desk = ReviewDesk(kernel, Principal(PrincipalKind.REVIEWER, "li", authn="test"))
    (view,) = desk.open()
    with pytest.raises(DecisionError, match="edit_denied"):
        desk.modify(view.card.id, digest=view.card.digest, arguments={"amount": "500"})
    assert desk.modify(view.card.id, digest=view.card.digest, arguments={"amount": "5"}).state.value == "cleared"


def test_the_very_version_of_a_policy_is_kept_in_the_store(staged: Stage) -> None:
    stage = staged(rule("large", "args.amount > 10.0"))
    refund = refund_of(stage.il)
    with stage.il.run("r") as run:
        refund(Decimal(5))
        refund(Decimal(6))
    policy = stage.il.kernel.policy
    digest = ruling(stage, run.id).policy_digest
    kept = stage.il.kernel.store.read(lambda rows: rows.blob(digest))
    assert kept == policy.content
    assert digest_bytes("interlock-policy/v1", kept) == digest == policy.digest
    other = Kernel(stage.il.kernel.store, PolicySet())
    assert other.rulings.policy_by(digest) == policy
    assert other.rulings.policy_by("sha-256:unknown") is None
    assert other.rulings.policy_by("") is None


def test_a_recorded_action_is_explained_under_its_own_policy_or_another(staged: Stage, write: Write) -> None:
    from interlock.compose import read_policy

    stage = staged(rule("large", "args.amount > 10.0 && action.confidence < 0.5 && facts.calls == 0"))
    refund = refund_of(stage.il)
    with stage.il.run("r") as run, stage.il.rationale("because", confidence=0.25):
        refund(Decimal(50))
    action = stage.actions(run.id)[0]
    found = stage.reviewer.desk.explain(action.id)
    assert found.ruling == action.ruling
    assert found.looks[0].came_to == "matched"
    other = read_policy(write(rule("tiny", "args.amount < 1.0"), "other.toml"))
    assert stage.reviewer.desk.explain(action.id, other).looks[0].came_to == "not_matched"


def test_an_action_whose_policy_is_not_kept_needs_a_file_to_be_explained(staged: Stage) -> None:
    from dataclasses import replace

    from interlock.kernel.explaining import explain_recorded

    stage = staged("")
    refund = refund_of(stage.il)
    with stage.il.run("r") as run:
        refund(Decimal(50))
    view = stage.il.kernel.action(ActionId(stage.actions(run.id)[0].id))
    assert view is not None
    lost = replace(view, action=replace(view.action, ruling=replace(view.action.ruling, policy_digest="")))
    with pytest.raises(DecisionError, match="policy_unknown"):
        explain_recorded(stage.il.kernel, lost, None)


# ------------------------------------------------------------------------------------------ what does not fit


def test_rules_that_ask_for_reviewers_are_refused_where_there_is_one_reviewer(write: Write) -> None:
    path = write("[reviewers.finance]\n\n" + rule("large", more='reviewers = { group = "finance" }'))
    with pytest.raises(PolicyError) as refused:
        Interlock("memory://", policy=path)
    assert refused.value.code == "reviewers_not_configured"
    assert "the rule 'large'" in refused.value.message
    assert (refused.value.file, refused.value.line) == ("policy.toml", 5)


def test_a_rule_that_does_not_fit_a_tool_is_refused_when_the_tool_is_registered(write: Write) -> None:
    with Interlock("memory://", policy=write(rule("large", "args.amout > 5.0"))) as il:
        with pytest.raises(PolicyError, match=r"^policy.toml, line 6, column 14: .*Did you mean amount\?$"):
            refund_of(il)
        assert not il.guards.tools


@pytest.mark.parametrize(("name", "said"), [("missing.toml", "No such file"), ("latin.toml", "not UTF-8")])
def test_a_file_that_cannot_be_read_is_an_error_of_the_settings(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "latin.toml").write_bytes("# café".encode("latin-1"))
    with pytest.raises(SettingsError, match=said) as refused:
        Interlock("memory://", policy=tmp_path / name)
    assert refused.value.code == "policy_unreadable"


def test_a_broken_file_is_named_with_line_and_column(write: Write) -> None:
    with pytest.raises(PolicyError, match=r"^policy.toml, line 3, column 1: there is no key profil"):
        Interlock("memory://", policy=write('profil = "earned"'))


def test_the_file_goes_before_the_settings_and_the_settings_before_the_defaults(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_POLICY", str(write('profile = "phase1"')))
    monkeypatch.setenv("INTERLOCK_EXPENSIVE_FROM", "7")
    with Interlock("memory://", profile="record") as il:
        assert il.kernel.policy.profile is Profile.PHASE1
        assert il.kernel.policy.expensive_from == 7
    with Interlock("memory://", profile="record", policy=write("", "empty.toml")) as il:
        assert il.kernel.policy.profile is Profile.RECORD
