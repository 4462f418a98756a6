"""`interlock policy`: a file is checked, a ruling explained, in words and in JSON."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from interlock import Desk, Interlock, Refused
from interlock.cli import main

SOUND = """\
version = 1

[[rule]]
name = "large refunds"
tools = ["refund"]
when = 'args.amount > 500.0'
interrupt_policy = "hard_stop"
reason_required = true

[[rule]]
name = "small refunds are free"
tools = ["refund"]
when = 'args.amount < 5.0 && 1 / args.parts > 0'
interrupt_policy = "none"
loosens = true
owner = "ana@example.com"
reason = "small"

[[rule]]
name = "sure drafts"
tools = ["draft"]
confidence = { threshold = 0.7, above = "none", below = "hard_stop" }

[[rule]]
name = "within the hour"
category = "money"
expires_in = "1h"
"""

APP = """\
from decimal import Decimal

from interlock import Interlock

il = Interlock("memory://")


@il.tool("compensable", category="money", confidence_threshold=0.5)
def refund(amount: Decimal, parts: int = 1) -> str:
    return "done"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("INTERLOCK_POLICY", "INTERLOCK_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "policy.toml").write_text(SOUND)
    (tmp_path / "policy_app.py").write_text(APP)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["policy", *words])


def data(*words: str) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    assert result.output.isascii()
    return json.loads(result.stdout)


def test_a_sound_file_is_said_to_be_sound(folder: Path) -> None:
    result = run("check", "policy.toml")
    assert result.exit_code == 0
    assert "policy.toml is sound: 4 rules, profile cautious." in result.output
    for line in (
        "hard_stop           large refunds",
        "none/hard_stop      sure drafts",
        "adds conditions     within the hour",
    ):
        assert line in result.output
    assert "Add --app MODULE:NAME" in result.output


def test_a_sound_file_is_checked_against_the_tools_of_an_app(folder: Path) -> None:
    result = run("check", "policy.toml", "--app", "policy_app:il")
    assert result.exit_code == 0, result.output
    assert "checked against 1 tool of policy_app:il" in result.output
    assert "Note: no tool is called draft, so nothing was checked for it" in result.output
    assert "Add --app" not in result.output


def test_a_checked_file_in_json(folder: Path) -> None:
    found = data("check", "policy.toml")
    assert found["policy"]["profile"] == "cautious"
    assert found["policy"]["digest"].startswith("sha-256:")
    assert {"name": "large refunds", "line": 3, "asks": "hard_stop", "tools": ["refund"]} in found["rules"]
    assert found["notes"] == []


def test_reviewers_are_a_note_that_the_store_would_refuse(folder: Path) -> None:
    asks = '[[rule]]\nname = "a"\ntools = ["refund"]\nreviewers = { group = "finance" }\n'
    Path("two.toml").write_text(f"version = 1\n[reviewers.finance]\n{asks}")
    result = run("check", "two.toml")
    assert result.exit_code == 0
    assert "reviewers_not_configured" in result.output


def test_a_rule_that_would_loosen_and_never_can_is_noted_and_fails_only_a_strict_check(folder: Path) -> None:
    (folder / "dear_app.py").write_text(APP.replace('"money"', '"money", cost=250'))
    said = "asks for none, which refund never gets: no rule loosens it, since it may cost up to 250, and 100 or more"
    result = run("check", "policy.toml", "--app", "dear_app:il")
    assert result.exit_code == 0
    assert f"Note: the rule 'small refunds are free' {said}" in " ".join(result.output.split())
    assert run("check", "policy.toml", "--app", "dear_app:il", "--strict").exit_code == 1
    raised = SOUND.replace("version = 1", "version = 1\nexpensive_from = 300")
    Path("raised.toml").write_text(raised.replace('tools = ["draft"]', 'tools = ["refund"]'))
    assert said not in " ".join(run("check", "raised.toml", "--app", "dear_app:il").output.split())
    assert any(
        "only a rule with loosens = true" in each
        for each in data("check", "raised.toml", "--app", "dear_app:il")["notes"]
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('version = 1\nprofil = "x"\n', "interlock: bad.toml, line 2, column 1: there is no key profil [policy_key] "),
        (SOUND.replace("args.amount > 500.0", "args.amont > 1.0"), "interlock: bad.toml, line 6, column 14: the rule "),
    ],
)
def test_an_error_is_one_line_with_place_and_mend(folder: Path, text: str, line: str) -> None:
    Path("bad.toml").write_text(text)
    result = run("check", "bad.toml", "--app", "policy_app:il")
    assert result.exit_code == 2
    assert result.stderr.startswith(line)
    assert "Did you mean" in result.stderr
    assert result.stderr.count("\n") == 1
    found = json.loads(run("check", "bad.toml", "--app", "policy_app:il", "--json").stderr)
    assert set(found["error"]) == {"code", "message", "mend"}


def test_a_file_that_is_not_there_is_one_line(folder: Path) -> None:
    result = run("check", "missing.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "policy_unreadable" in result.stderr


def test_the_group_alone_shows_its_help(folder: Path) -> None:
    result = run()
    assert result.exit_code == 0
    assert "check" in result.output
    assert "explain" in result.output


# ------------------------------------------------------------------------------------------ explain


def explain(arguments: str, *more: str) -> Result:
    return run("explain", "--policy", "policy.toml", "--tool", "refund", "--args", arguments, *more)


def test_a_call_that_nobody_made_is_explained(folder: Path) -> None:
    result = explain('{"amount": "501", "parts": 0}', "--app", "policy_app:il", "--confidence", "0.9")
    assert result.exit_code == 0, result.output
    for words in (
        "hard stop, because of the profile",
        "cautious asks for hard_stop",
        "leaves it to the profile",
        "the agent says it is 0.9 sure, and 0.5 is enough",
        "open for 1 h",
        "has to say why",
        "applies   large refunds (hard_stop): its condition is true",
        "does not  small refunds are free: its condition is false",
        "does not  sure drafts: it is for other tools",
    ):
        assert words in result.output


def test_a_rule_that_fails_is_shown_as_failed(folder: Path) -> None:
    result = explain('{"amount": "1", "parts": 0}', "--app", "policy_app:il")
    assert "failed    small refunds are free (hard_stop): the condition of the rule" in result.output


def test_an_explanation_in_json(folder: Path) -> None:
    words = ("--args", '{"amount": "1"}', "--app", "policy_app:il", "--confidence", "1")
    found = data("explain", "--policy", "policy.toml", "--tool", "refund", *words)
    assert found["ruling"]["policy"] == "none"
    assert found["ruling"]["expires_in"] == 3600
    assert found["ruling"]["rules"] == ["small refunds are free", "within the hour"]
    assert found["without_rules"]["applies"] == "hard_stop"
    assert found["won"] == "the rule 'small refunds are free'"
    assert [each["came_to"] for each in found["rules"]] == ["not_matched", "matched", "not_matched", "matched"]


def test_the_policy_of_the_settings_is_used_where_none_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("explain", "--tool", "anything")
    assert result.exit_code == 0
    assert "There are no rules." in result.output
    monkeypatch.setenv("INTERLOCK_POLICY", "policy.toml")
    result = run("explain", "--tool", "draft", "--agent", "a", "--env", "prod")
    assert "applies   sure drafts (hard_stop)" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a recorded action, or a call with --tool"),
        (("REF", "--tool", "refund"), "name a recorded action, or a call with --tool"),
        (("--tool", "refund", "--args", "[]"), "--args takes a JSON object"),
        (("--tool", "refund", "--args", "{"), "--args is not valid JSON"),
    ],
)
def test_wrong_usage_is_said(folder: Path, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["policy", "explain", *words])
    assert ended.value.code == 2
    assert said in run("explain", *words).stderr


def test_an_unknown_tool_and_a_wrong_argument_are_said(folder: Path) -> None:
    result = run("explain", "--tool", "refnd", "--app", "policy_app:il")
    assert (result.exit_code, "It has: refund." in result.stderr) == (2, True)
    result = explain('{"amount": "much"}', "--app", "policy_app:il")
    assert (result.exit_code, "args.amount" in result.stderr) == (1, True)


def test_a_recorded_action_is_explained_by_its_card_or_its_id(folder: Path) -> None:
    url = f"sqlite:///{folder / 'store' / 'il.db'}"
    with Interlock(url, policy="policy.toml") as il:

        @il.tool("compensable")
        def refund(amount: Decimal, parts: int = 1) -> str:
            return "done"

        with il.run("r"):
            refund(Decimal(501))
    with Desk(url) as desk:
        (view,) = desk.open()
    shown = CliRunner().invoke(main, ["--url", url, "show", view.fingerprint])
    assert "whoever lets it run has to say why: --note" in shown.output
    whole = json.loads(CliRunner().invoke(main, ["--url", url, "show", view.fingerprint, "--json"]).stdout)
    assert (whole["action"]["rules"], whole["action"]["reason_required"]) == (
        [
            "large refunds",
        ],
        True,
    )
    refused = CliRunner().invoke(main, ["--url", url, "approve", view.fingerprint, "--yes", "--full"])
    assert (refused.exit_code, "[reason_missing]" in refused.stderr) == (1, True)
    for ref in (view.fingerprint, view.card.id, view.about.action.id):
        result = run("explain", ref, "--url", url)
        assert result.exit_code == 0, result.output
        assert "applies   large refunds (hard_stop)" in result.output
    Path("other.toml").write_text('version = 1\n[[rule]]\nname = "no"\ntools = ["refund"]\ninterrupt_policy = "deny"\n')
    assert "applies   no (deny)" in run("explain", view.fingerprint, "--url", url, "--policy", "other.toml").output
    for ref in ("nothing", "AAAA-BBBB"):
        missing = run("explain", ref, "--url", url)
        assert (missing.exit_code, f"no card and no action {ref} [unknown_ref]" in missing.stderr) == (1, True)


def test_what_a_check_said_of_a_recorded_action_is_in_its_explanation(folder: Path) -> None:
    url = f"sqlite:///{folder / 'store' / 'il.db'}"
    with Interlock(url) as il:

        @il.tool("reversible")
        def note(text: str) -> str:
            return text

        @il.before
        def tone(call: Any) -> None:
            (call.deny if "never" in call.arguments["text"] else call.hold)("not like this")

        with il.run("held"):
            note("you fool")
        with il.run("denied"), pytest.raises(Refused):
            note("never")
    with Desk(url) as desk:
        actions = {run: desk.story(run).actions[0].action.id for run in ("held", "denied")}
    for run_, policy in (("held", "hard_stop"), ("denied", "deny")):
        result = run("explain", actions[run_], "--url", url)
        assert result.exit_code == 0, result.output
        assert f"{policy.replace('_', ' ')}, because of a check of the team's own" in result.output
        assert "the check tone says: not like this" in result.output
        assert data("explain", actions[run_], "--url", url)["ruling"]["policy"] == policy
    assert "cautious asks for none" in result.output


def test_an_explanation_names_the_checks_that_were_not_asked(folder: Path) -> None:
    more = "\n\n@il.before(tools=['refund'])\ndef fraud_score(call):\n    call.deny('no')\n"
    (folder / "checked_app.py").write_text(APP + more)
    words = ("--args", '{"amount": "1"}', "--app", "checked_app:il")
    assert "they were not asked: fraud_score." in " ".join(run("explain", "--tool", "refund", *words).output.split())
    assert json.loads(run("explain", "--tool", "refund", *words, "--json").output)["checks"] == ["fraud_score"]
    assert "they were not asked" not in explain('{"amount": "1"}', "--app", "policy_app:il").output


@pytest.mark.parametrize("given", ["nan", "5", "-0.1"])
def test_a_confidence_that_is_none_is_refused(folder: Path, given: str) -> None:
    result = run("explain", "--tool", "refund", "--confidence", given)
    assert (result.exit_code, "confidence" in result.stderr) == (2, True)
