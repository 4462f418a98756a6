"""The small promises of what things are: keys, decisions, people, policies, processes, freezes, errors."""

import copy
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.canonical import CanonicalError, canonical_bytes, fingerprint, parse
from interlock.domain import errors
from interlock.domain.action import Rationale, Traits, arguments_bytes, call_key, words_digest
from interlock.domain.decision import Decision, Shown, Verdict
from interlock.domain.errors import (
    ActionFailed,
    DecisionError,
    Diverged,
    InterlockError,
    Interrupted,
    NoEffect,
    Refused,
    ResultNotStored,
    RolledBack,
)
from interlock.domain.events import Event, EventType
from interlock.domain.ids import ActionId, DecisionId, Digest, EventId, InterruptId, ProcessId, RunId
from interlock.domain.interrupt import Ending, Interrupt, InterruptKind
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.domain.ruling import Reason, Requirement, Ruling
from interlock.domain.run import Freeze, PassGrant, Process, Run, RunState
from interlock.domain.tool import InterruptPolicy, Reversibility, ToolSpec

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = b"k" * 32

# ------------------------------------------------------------------------------------------ call keys

texts = st.text(max_size=4)
places = st.tuples(
    texts, texts, texts, st.binary(max_size=4), st.integers(0, 20), st.none() | texts, st.integers(1, 20)
)


def key_of(place: tuple[Any, ...], run_key: bytes = KEY) -> str:
    scope, tool, target, arguments, occurrence, occurrence_key, attempt = place
    return call_key(run_key, scope, tool, target, arguments, occurrence, occurrence_key, attempt)


def meaning(place: tuple[Any, ...]) -> tuple[Any, ...]:
    """With an occurrence key of its own, a call is not told apart by counting."""
    *rest, occurrence, occurrence_key, attempt = place
    return (*rest, occurrence if occurrence_key is None else None, occurrence_key, attempt)


@given(places, places)
def test_two_calls_share_a_key_only_if_they_stand_at_the_same_place(
    one: tuple[Any, ...], other: tuple[Any, ...]
) -> None:
    assert (key_of(one) == key_of(other)) == (meaning(one) == meaning(other))


def test_no_part_of_a_call_runs_over_into_the_next() -> None:
    keys = {
        call_key(KEY, "a", "bc", "", b"", 1, None),
        call_key(KEY, "ab", "c", "", b"", 1, None),
        call_key(KEY, "", "abc", "", b"", 1, None),
        call_key(KEY, "a", "b", "c", b"", 1, None),
        call_key(KEY, "a", "b", "", b"c", 1, None),
        call_key(KEY, "", "abc", "", b"", 11, None),
        call_key(KEY, "", "abc", "", b"", 1, None, 11),
        call_key(KEY, "", "abc", "", b"", 1, "#1"),
        call_key(KEY, "", "abc", "", b"", 1, "1"),
        call_key(KEY, "", "abc", "", b"", 1, ""),
    }
    assert len(keys) == 10


def test_the_same_call_has_another_key_in_another_run() -> None:
    place = ("", "pay", "", b"{}", 1, None, 1)
    assert key_of(place) == key_of(place)
    assert key_of(place, b"r" * 32) != key_of(place)


def test_a_call_key_is_short_text_that_fits_into_an_address() -> None:
    key = call_key(KEY, "run/branch", "pay", "", b"{}", 1, None)
    assert len(key) == 32
    assert all(letter.isalnum() or letter in "-_" for letter in key)


def test_arguments_without_a_canonical_form_are_refused_with_their_path() -> None:
    assert arguments_bytes({"b": 1, "a": "x"}) == b'{"a":"x","b":1}'
    with pytest.raises(CanonicalError, match=r"^args\.amount is not a finite number$"):
        arguments_bytes({"amount": float("nan")})


# ------------------------------------------------------------------------------------------ tools and traits


def test_policies_are_ordered_from_the_laxest_to_the_strictest() -> None:
    ranks = [policy.rank for policy in InterruptPolicy]
    assert ranks == sorted(set(ranks))
    assert [policy.value for policy in InterruptPolicy if policy.holds] == ["soft_checkpoint", "hard_stop"]


def test_what_nobody_declared_is_reckoned_with_as_irreversible() -> None:
    assert ToolSpec("act").worst is Reversibility.IRREVERSIBLE
    assert ToolSpec("act", Reversibility.READ_ONLY).worst is Reversibility.READ_ONLY


@pytest.mark.parametrize(
    ("traits", "reruns", "guards"),
    [
        (Traits("read_only"), True, False),
        (Traits("reversible"), True, False),
        (Traits("compensable"), False, True),
        (Traits("irreversible"), False, True),
        (Traits("irreversible", idempotent=True), True, True),
        (Traits("irreversible", own_call_id=True), False, False),
        (Traits("something new"), False, True),
    ],
)
def test_only_what_is_declared_harmless_runs_twice(traits: Traits, reruns: bool, guards: bool) -> None:
    assert (traits.reruns, traits.guards_repetition) == (reruns, guards)


@given(st.sampled_from(InterruptPolicy), st.sampled_from(InterruptPolicy))
def test_a_ruling_made_stricter_is_never_laxer_and_says_why(first: InterruptPolicy, second: InterruptPolicy) -> None:
    ruling = Ruling(first, first, (Reason("first", "it is so"),), "cautious")
    made = ruling.stricter(second, Reason("second", "and so"))
    assert made.policy.rank == max(first.rank, second.rank)
    decides = second.rank > first.rank
    codes = [reason.code for reason in made.reasons]
    if decides and second is InterruptPolicy.DENY:
        assert codes == ["second"], "why it would have been asked about says nothing of why it is denied"
    else:
        assert codes == (["second", "first"] if decides else ["first", "second"])
    assert made.wanted is ruling.wanted


# ------------------------------------------------------------------------------------------ people and decisions


@pytest.mark.parametrize("kind", PrincipalKind)
@pytest.mark.parametrize("authn", ["none", "local"])
def test_only_people_whom_we_know_decide(kind: PrincipalKind, authn: str) -> None:
    known_person = kind.value in ("reviewer", "operator") and authn != "none"
    assert Principal(kind, "ana", authn).may_decide is known_person


def test_a_principal_is_named_with_its_kind() -> None:
    assert str(Principal(PrincipalKind.REVIEWER, "ana@example.com")) == "reviewer:ana@example.com"


def test_nobody_is_known_by_default() -> None:
    assert not Principal(PrincipalKind.REVIEWER, "ana").may_decide


def test_three_verdicts_tell_what_happened_and_five_decide() -> None:
    assert {verdict.value for verdict in Verdict if verdict.reconciles} == {"found_done", "found_failed", "run_again"}
    assert len(Verdict) == 8


DECISION = Decision(
    DecisionId("d1"), InterruptId("i1"), ActionId("a1"), RunId("r1"), 1, Digest("digest1"), Verdict.MODIFY,
    Principal(PrincipalKind.REVIEWER, "ana", "local"), NOON, "less", b'{"amount":1}',
)  # fmt: skip


@pytest.mark.parametrize(
    "again",
    [
        {},
        {"id": DecisionId("d2")},
        {"at": NOON + timedelta(hours=1)},
        {"shown": Shown("console", "sha-256:page", ("arguments",), 4_200)},
        {"by": Principal(PrincipalKind.REVIEWER, "ana", "token", "another session")},
    ],
)
def test_a_decision_sent_again_says_the_same(again: dict[str, Any]) -> None:
    assert DECISION.says_the_same(replace(DECISION, **again))


@pytest.mark.parametrize(
    "other",
    [
        {"interrupt": InterruptId("i2")},
        {"digest": Digest("digest2")},
        {"verdict": Verdict.APPROVE},
        {"note": "much less"},
        {"value": b'{"amount":2}'},
        {"value": None},
        {"by": Principal(PrincipalKind.REVIEWER, "li", "local")},
    ],
)
def test_a_decision_that_differs_in_anything_that_counts_is_another(other: dict[str, Any]) -> None:
    assert not DECISION.says_the_same(replace(DECISION, **other))


# ------------------------------------------------------------------------------------------ cards


def card(**more: Any) -> Interrupt:
    digest = Digest("sha-256:" + "A" * 43)
    usual = {"kind": InterruptKind.ACTION, "revision": 1, "digest": digest, "opened_at": NOON, "expires_at": None}
    return Interrupt(InterruptId("i1"), run=RunId("r1"), action=ActionId("a1"), **(usual | more))


@pytest.mark.parametrize("ending", Ending)
def test_a_card_is_open_until_it_ended_in_whatever_way(ending: Ending) -> None:
    assert card().open
    assert not card(ending=ending).open


def test_a_card_has_a_fingerprint_that_people_can_compare() -> None:
    assert card().fingerprint == fingerprint(card().digest)


# ------------------------------------------------------------------------------------------ runs, processes, freezes


def test_the_right_to_drive_a_run_comes_with_what_earlier_passes_did() -> None:
    run = Run(RunId("r1"), "billing", RunState.RUNNING, 1, NOON, NOON)
    grant = PassGrant(run, KEY, ())
    assert not grant.over
    with pytest.raises(FrozenInstanceError):
        grant.over = True  # type: ignore[misc]


def test_a_process_is_alive_to_the_end_of_its_lease_and_never_once_lost() -> None:
    process = Process(ProcessId("p1"), "host", 7, "born", NOON, NOON, lease_s=30.0)
    assert process.alive(NOON + timedelta(seconds=30))
    assert not process.alive(NOON + timedelta(seconds=30, microseconds=1))
    assert not replace(process, lost=True).alive(NOON)


@pytest.mark.parametrize(
    ("scope", "name", "covered"),
    [
        ("all", "", True),
        ("agent", "billing", True),
        ("agent", "support", False),
        ("tool", "pay", True),
        ("tool", "billing", False),
        ("run", "r1", True),
        ("run", "r2", False),
        ("agent", "", False),
        ("everything", "pay", False),
    ],
)
def test_a_freeze_covers_what_its_scope_names_and_nothing_else(scope: str, name: str, covered: bool) -> None:
    assert Freeze(scope, name, "operator:li", NOON).covers("billing", "pay", RunId("r1")) is covered


# ------------------------------------------------------------------------------------------ events


def test_an_event_is_an_envelope_of_plain_values_with_the_time_in_microseconds() -> None:
    event = Event(
        EventId("e1"), EventType.ACTION_HELD, NOON, "agent:billing", RunId("r1"), ActionId("a1"), 1,
        InterruptId("i1"), {"why": "it cannot be undone"},
    )  # fmt: skip
    assert parse(canonical_bytes(event.envelope("default"))) == {
        "v": 1, "id": "e1", "type": "ActionHeld", "at": "2026-03-01T12:00:00.000000+00:00", "namespace": "default",
        "actor": "agent:billing", "run": "r1", "action": "a1", "revision": 1, "interrupt": "i1",
        "body": {"why": "it cannot be undone"},
    }  # fmt: skip


def test_events_are_named_in_the_past_tense_and_each_name_is_its_own() -> None:
    values = [kind.value for kind in EventType]
    assert len(values) == len(set(values))
    assert all(value.isalpha() and value[0].isupper() for value in values)


def test_an_agent_that_says_nothing_about_its_call_claims_no_confidence() -> None:
    assert Rationale().confidence is None


# ------------------------------------------------------------------------------------------ errors


def some_errors() -> Iterator[InterlockError]:
    yield Refused("rejected", "pay was not run", words="too much", by="ana", tool="pay", action=ActionId("a1"))
    yield ActionFailed("declined", error="CardError", action=ActionId("a1"))
    yield ResultNotStored("open_socket", "<socket>", ActionId("a1"))
    yield RolledBack("pay", ActionId("a1"))
    yield Diverged("another call", run=RunId("r1"), expected="pay", got="mail")
    yield DecisionError("already_decided", "ana decided", by="ana", at=NOON)
    for kind in (errors.CallError, errors.RunError, errors.StoreError, errors.SettingsError):
        yield kind("some_code", "it does not fit", "Mend it.")


@pytest.mark.parametrize("error", [*some_errors()], ids=lambda error: type(error).__name__)
def test_every_error_is_one_line_with_a_code_and_survives_copying_and_pickling(error: InterlockError) -> None:
    assert f"[{error.code}]" in str(error)
    assert "\n" not in str(error)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), vars(again)) == (str(error), vars(error))


def test_a_mend_follows_the_code_and_may_be_missing() -> None:
    assert str(InterlockError("bad_cost", "no amount", "Give a number.")) == "no amount [bad_cost] Give a number."
    assert str(InterlockError("bad_cost", "no amount")) == "no amount [bad_cost]"


def test_a_pause_is_no_error_that_somebody_catches_by_accident() -> None:
    pause = Interrupted(
        "waits", run=RunId("r1"), interrupts=(InterruptId("i1"),), digest=Digest("d"), url="https://x/i1"
    )
    assert not isinstance(pause, Exception)
    again = pickle.loads(pickle.dumps(pause))
    assert (str(again), vars(again)) == ("waits", vars(pause))


def test_two_long_texts_are_told_apart_by_their_digests() -> None:
    assert words_digest("a") == words_digest("a") != words_digest("b")


def test_what_had_no_effect_is_an_ordinary_exception_of_the_tool() -> None:
    assert issubclass(NoEffect, Exception)
    assert not issubclass(NoEffect, InterlockError)


@given(st.sampled_from(InterruptPolicy), st.sampled_from(InterruptPolicy), st.booleans(), st.booleans())
def test_two_rulings_together_ask_for_all_that_either_asks_for(
    one: InterruptPolicy, two: InterruptPolicy, because: bool, too: bool
) -> None:
    first = Ruling(
        one, one, (Reason("one", "1"),), "cautious", rules=("a", "b"), requires=(Requirement("x", 2),),
        reason_required=because, expires_in=timedelta(hours=1),
    )  # fmt: skip
    second = Ruling(
        two, two, (Reason("two", "2"),), "earned", rules=("b", "c"), reason_required=too,
        requires=(Requirement("x", 1), Requirement("y", 1)), approval_valid_for=timedelta(minutes=5),
    )  # fmt: skip
    both = first.and_also(second)
    assert both.policy.rank == max(one.rank, two.rank)
    assert both.reasons == (second if two.rank > one.rank else first).reasons
    assert set(both.rules) == {"a", "b", "c"}
    assert {each.group: each.quorum for each in both.requires} == {"x": 2, "y": 1}
    assert both.reason_required is (because or too)
    assert (both.expires_in, both.approval_valid_for) == (timedelta(hours=1), timedelta(minutes=5))
