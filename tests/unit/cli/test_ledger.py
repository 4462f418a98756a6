"""`interlock ledger`: the whole record, filtered, followed, exported."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock import Refused
from interlock.canonical import canonical_bytes, parse
from interlock.domain.events import Event, EventType
from interlock.domain.ids import EventId, RunId
from interlock.kernel import ledger as reading
from interlock.stores.memory import MemoryStore


@pytest.fixture
def busy(shop: Any) -> Any:
    """A shop in which a mail was sent with changes, and a refund rejected, with a freeze in between."""
    shop.cli("modify", shop.held_mail(), "--set", "to=new@x.example", "--note", "moved", "--yes")
    shop.work()
    shop.cli("freeze", "agent", "billing", "--reason", "audit")
    shop.cli("release", "agent", "billing")
    shop.cli("reject", shop.held_refund(), "--note", "not yet")
    shop.work()
    return shop


def lines(shop: Any, *args: str) -> list[str]:
    done = shop.cli("ledger", *args)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def told(shop: Any, *args: str) -> str:
    return " ".join("\n".join(lines(shop, *args)).split())


def types(shop: Any, *args: str) -> list[str]:
    return [each["type"] for each in shop.json("ledger", *args)["events"]]


def test_every_event_is_a_sentence_the_newest_last(busy: Any) -> None:
    text = told(busy)
    for sentence in (
        "gave billing run mail-1 (mail) to do",
        'The agent read “Find invoices: "overdue"” (mail-1)',
        'Billing proposed “Send email to "ap@newco.example"”, which waits for a person: it cannot be undone',
        "Run mail-1 waits for people: 1 open card",
        'changed “Send email to "ap@newco.example"” and approved it so ',
        "approved it so (To “ap@newco.example” → “new@x.example”): “moved”",
        'A worker began “Send email to "new@x.example"”',
        '“Send email to "new@x.example"” was done',
        "Run mail-1 finished",
        "froze agent billing: “audit”",
        "released agent billing",
        'rejected “Refund 480.00, order "88-1204"”: “not yet”',
        "Run refund-1 failed",
    ):
        assert sentence in text, sentence
    positions = [each["position"] for each in busy.json("ledger")["events"]]
    assert positions == sorted(positions)
    assert lines(busy)[-1].split()[0] == str(positions[-1])


def test_without_a_place_the_latest_are_shown_and_pages_go_on_from_one(busy: Any) -> None:
    every = busy.json("ledger", "--limit", "1000")["events"]
    assert busy.json("ledger", "--limit", "3") == {"events": every[-3:], "next": None}
    seen: list[Any] = []
    after = 0
    while True:
        page = busy.json("ledger", "--limit", "4", "--after", str(after))
        seen += page["events"]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == every
    assert lines(busy, "--limit", "4", "--after", "0")[-1] == f"There may be more: --after {every[3]['position']}"


@pytest.mark.parametrize(
    ("asked", "some", "none"),
    [
        (["--run", "mail-1"], "ActionDone", "FreezeSet"),
        (["--type", "ActionHeld", "--type", "runfinished"], "RunFinished", "DecisionRecorded"),
        (["--type", "decision_recorded"], "DecisionRecorded", "ActionHeld"),
        (["--tool", "refund"], "DecisionRecorded", "ActionDone"),
        (["--tool", "find_invoices"], "CallRecorded", "ActionHeld"),
        (["--actor", "agent:billing"], "ActionHeld", "DecisionRecorded"),
        (["--actor", "billing"], "ActionHeld", "DecisionRecorded"),
        (["--agent", "billing"], "ActionDone", "FreezeSet"),
        (["--since", "1h"], "FreezeSet", "ActionInDoubt"),
        (["--until", "2999-01-01"], "FreezeSet", "ActionInDoubt"),
    ],
)
def test_a_filter_leaves_out_what_it_does_not_name(busy: Any, asked: list[str], some: str, none: str) -> None:
    found = types(busy, *asked)
    assert some in found
    assert none not in found
    assert types(busy, *asked, "--after", "0") == found


def test_a_card_and_an_action_are_named_as_everywhere(shop: Any) -> None:
    fingerprint = shop.held_mail()
    shop.held_refund()
    shop.cli("reject", fingerprint)
    assert types(shop, "--card", fingerprint) == ["ActionHeld", "DecisionRecorded"]
    action = shop.json("show", "mail-1")["actions"][0]["id"]
    assert types(shop, "--action", action) == ["ActionHeld", "DecisionRecorded"]
    done = shop.cli("ledger", "--run", "refund-1", "--card", fingerprint)
    assert (done.exit_code, "belongs to the run mail-1" in done.stderr) == (2, True)


def test_nothing_found_is_said(busy: Any) -> None:
    assert lines(busy, "--since", "2999-01-01") == ["Nothing of that is recorded."]
    assert lines(busy, "--actor", "nobody-of-this-name") == ["Nothing of that is recorded."]
    assert busy.json("ledger", "--until", "2000-01-01") == {"events": [], "next": None}


@pytest.mark.parametrize(
    ("asked", "code", "says"),
    [
        (["--type", "ActionHelt"], 2, "did you mean ActionHeld?"),
        (["--type", "%"], 2, "the reference of events lists them"),
        (["--run", "nothing"], 1, "[unknown_run]"),
        (["--action", "nothing"], 1, "[unknown_action]"),
        (["--card", "nothing"], 1, "[unknown_interrupt]"),
        (["--since", "yesterday"], 2, "--since yesterday is no time; say 90s"),
        (["--since", "99999999999999d"], 2, "is no time"),
        (["--limit", "0"], 2, "--limit"),
        (["--after", "-1"], 2, "--after"),
        (["--export", "x.jsonl", "--tool", "refund"], 2, "the whole record"),
        (["--export", ""], 2, "--export takes the name of a file, or - for stdout"),
        (["--export", "/nowhere/at/all.jsonl"], 2, "[export_failed]"),
    ],
)
def test_what_cannot_be_answered_is_one_line(busy: Any, asked: list[str], code: int, says: str) -> None:
    done = busy.cli("ledger", *asked)
    assert (done.exit_code, says in done.stderr, done.stderr.count("\n")) == (code, True, 1), done.stderr


def test_what_agents_wrote_does_not_act_on_the_terminal(shop: Any) -> None:
    shop.mail.start(to="a\x1b[2J@x.example", key="mail-1")
    assert "\x1b" not in shop.cli("ledger").output


def test_an_export_holds_every_envelope_as_it_is_recorded(busy: Any, tmp_path: Path) -> None:
    target = tmp_path / "ledger.jsonl"
    every = busy.json("ledger", "--limit", "1000")["events"]
    last = every[-1]["position"]
    said = busy.cli("ledger", "--export", str(target)).output
    assert said == f"{len(every)} events exported, up to position {last}; go on with --after {last}\n"
    exported = target.read_bytes().splitlines()
    assert [parse(line)["id"] for line in exported] == [each["id"] for each in every]  # type: ignore[call-overload, index]
    assert all(canonical_bytes(parse(line)) == line for line in exported)
    with busy.desk() as desk:
        assert exported == [desk.envelope(event) for _, event in desk.ledger()]
    out = busy.cli("ledger", "--export", "-")
    assert (out.stdout_bytes, out.stderr) == (target.read_bytes(), said)


def test_an_export_goes_on_where_it_ended(shop: Any, tmp_path: Path) -> None:
    target = str(tmp_path / "ledger.jsonl")
    shop.held_mail()
    first = shop.json("ledger", "--export", target)
    shop.held_refund()
    second = shop.json("ledger", "--export", target, "--after", str(first["position"]))
    assert second["exported"] > 0
    whole = shop.cli("ledger", "--export", "-").stdout_bytes
    assert Path(target).read_bytes() == whole
    again = shop.json("ledger", "--export", target, "--after", str(second["position"]))
    assert (again["exported"], again["position"]) == (0, second["position"])


def test_an_export_writes_over_nothing_and_goes_on_in_no_torn_line(shop: Any, tmp_path: Path) -> None:
    target = tmp_path / "ledger.jsonl"
    shop.held_mail()
    target.write_text("mine")
    assert "[export_exists]" in shop.cli("ledger", "--export", str(target)).stderr
    assert "[export_torn]" in shop.cli("ledger", "--export", str(target), "--after", "1").stderr
    assert target.read_text() == "mine"


def test_following_shows_what_comes(shop: Any) -> None:
    shop.held_mail()
    code = "from interlock.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--url", shop.url, "ledger", "--follow", "--json", "--limit", "1"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "RunWaiting"
        shop.held_refund()
        assert json.loads(process.stdout.readline())["type"] == "RunStarted"
    finally:
        process.kill()
        process.communicate()


def test_every_type_of_event_has_a_sentence_of_its_own() -> None:
    from interlock.cards.sentences import sentence

    at = datetime(2026, 1, 1, tzinfo=UTC)
    said = {
        kind: sentence(Event(EventId("e"), kind, at, "reviewer:ana", RunId("r"), body={"verdict": "reject"}), None)
        for kind in EventType
    }
    shared = {EventType.ACTION_RECONCILED, EventType.DECISION_RECORDED}
    own = [words for kind, words in said.items() if kind not in shared]
    assert len(set(own)) == len(own)
    assert not [kind for kind, words in said.items() if kind.value in words]


def test_an_export_goes_on_only_where_the_file_ends(busy: Any, tmp_path: Path) -> None:
    target = tmp_path / "part.jsonl"
    busy.cli("ledger", "--export", str(target))
    whole = target.read_bytes()
    lines_of = whole.splitlines(keepends=True)
    target.write_bytes(b"".join(lines_of[:5]))
    for wrong in (3, 9, 999):
        assert "[export_elsewhere]" in busy.cli("ledger", "--export", str(target), "--after", str(wrong)).stderr
    assert busy.cli("ledger", "--export", str(target), "--after", "5").exit_code == 0
    assert target.read_bytes() == whole


def test_verdicts_and_refusals_are_told(shop: Any) -> None:
    @shop.il.workflow
    def stubborn() -> str:
        for _ in range(2):
            try:
                shop.send_email("a@x.example", "s", "b")
            except Refused:
                continue
        return "gave up"

    stubborn.start(key="stubborn")
    shop.cli("redirect", shop.waiting("stubborn"), "--note", "call them")
    shop.work()
    assert 'redirected “Send email to "a@x.example"”: “call them”' in told(shop)
    assert "did not run, refused: the same was turned down before" in told(shop)
    shop.cli("reconcile", shop.doubtful(), "--found", "failed", "--note", "says the bank")
    asked = 'eople are asked whether “Refund 480.00, order "88-1204"” happened'
    assert asked in told(shop)
    assert 'found that “Refund 480.00, order "88-1204"” did not happen: “says the bank”' in told(shop)
    shop.cli("respond", shop.held_mail(), "--result", '"by hand"')
    assert 'gave the result of “Send email to "ap@newco.example"”; the tool does not run' in told(shop)


@pytest.mark.parametrize("gaps", [[], [1], [1, 2, 3], [5], [7, 8, 900, 901, 5000], list(range(1, 1300))])
def test_all_events_are_read_backwards_page_by_page(gaps: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    class Rows:
        def last_event(self) -> int:
            return gaps[-1] if gaps else 0

        def events(self, run: object, page: Any) -> list[Any]:
            return [(each, each) for each in gaps if each > int(page.after)][: page.limit]

    class Store:
        def read(self, query: Any) -> Any:
            return query(Rows())

    monkeypatch.setattr(reading, "PAGE", 100)
    assert [each for each, _ in reading.backwards(Store())] == gaps[::-1]  # type: ignore[arg-type]


def test_events_that_are_older_than_asked_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    from interlock.cli import ledger

    monkeypatch.setattr(ledger, "BATCH", 3)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    hours = [0, 1, 3, 2, 4, 5, 6, 7, 8]
    events = [(n, Event(EventId(str(n)), EventType.RUN_STARTED, now - timedelta(hours=h))) for n, h in enumerate(hours)]
    seen = [n for n, _ in ledger._down_to(iter(events), now - timedelta(hours=2))]
    assert seen == [0, 1, 2, 3, 4, 5, 6]


def test_a_store_in_memory_is_read_backwards_as_well() -> None:
    store = MemoryStore()
    assert list(reading.backwards(store)) == []
