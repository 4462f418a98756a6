"""Where cards stand in the queue, which of them may be decided together, and how long a credential holds."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from interlock.canonical import Json
from interlock.domain.batch import MOST, Candidate, batch
from interlock.domain.credential import Credential, CredentialKind
from interlock.domain.ids import CredentialId
from interlock.domain.interrupt import Band, InterruptKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "given", "band"),
    [
        (InterruptKind.RECONCILE, {"reversibility": "reversible"}, Band.IN_DOUBT),
        (InterruptKind.QUESTION, {"reversibility": "irreversible"}, Band.QUESTION),
        (InterruptKind.OBSERVED, {"reversibility": "irreversible", "guarded": False}, Band.OBSERVED),
        (InterruptKind.OBSERVED, {"reversibility": "irreversible"}, Band.IRREVERSIBLE),
        (InterruptKind.ACTION, {"reversibility": "irreversible"}, Band.IRREVERSIBLE),
        (InterruptKind.ACTION, {"reversibility": "compensable"}, Band.COSTLY),
        (InterruptKind.ACTION, {"reversibility": "reversible", "reach": True}, Band.COSTLY),
        (InterruptKind.ACTION, {"reversibility": "reversible", "proceeds": True}, Band.PROCEEDS),
        (InterruptKind.ACTION, {"reversibility": "reversible"}, Band.OTHER),
    ],
)
def test_a_card_stands_in_the_band_of_what_may_follow(kind: InterruptKind, given: dict[str, Any], band: Band) -> None:
    assert Band.of(kind, **{"reach": False, "guarded": True, "proceeds": False, **given}) is band


def candidate(number: int, **given: Any) -> Candidate:
    fields: dict[str, Any] = {
        "kind": InterruptKind.ACTION,
        "band": Band.COSTLY,
        "tool": "refund",
        "policy": "p1",
        "reasons": frozenset({"compensable"}),
        "arguments": {
            "order": f"88-{number}",
            "amount": {"$t": "decimal", "v": f"{10 + number}.00"},
            "currency": "EUR",
        },
    }
    return Candidate(str(number), **{**fields, **given})


def test_cards_of_a_kind_are_decided_together_and_show_what_differs() -> None:
    made = batch([candidate(number) for number in range(5)])
    assert [one.id for one in made.together] == ["0", "1", "2", "3", "4"]
    assert (made.varying, made.constant) == (("order", "amount"), ("currency",))
    assert made.apart == ()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"band": Band.IRREVERSIBLE}, "one by one"),
        ({"kind": InterruptKind.QUESTION, "band": Band.OTHER}, "one by one"),
        ({"again": True}, "asked before"),
        ({"reasons": frozenset({"suspected_duplicate"})}, "is new"),
        ({"closed": True}, "folded"),
        ({"tool": "send"}, "another tool"),
        ({"policy": "p2"}, "another version"),
    ],
)
def test_what_is_of_another_kind_is_left_out_and_told_why(given: dict[str, Any], why: str) -> None:
    made = batch([candidate(0), candidate(1, **given), candidate(2)])
    assert [one.id for one in made.together] == ["0", "2"]
    ((one, said),) = made.apart
    assert one.id == "1"
    assert why in said


def test_the_first_that_may_be_decided_with_others_says_what_they_are() -> None:
    made = batch([candidate(0, again=True, tool="send"), candidate(1), candidate(2)])
    assert [one.id for one in made.together] == ["1", "2"]
    assert batch([candidate(0, closed=True)]).together == ()
    assert batch([]).constant == ()


def test_a_batch_has_an_end() -> None:
    made = batch([candidate(number, arguments={}) for number in range(MOST + 2)])
    assert len(made.together) == MOST
    assert [said for _, said in made.apart] == [f"a batch has at most {MOST} cards"] * 2


@pytest.mark.parametrize(
    "far",
    [900, -900, {"$t": "decimal", "v": "900.00"}, {"$t": "float", "v": "900.5"}, {"$t": "int", "v": "900"}, "900", 1],
)
def test_a_number_far_from_the_others_stands_out(far: Json) -> None:
    others: list[Json] = [10, 11, {"$t": "decimal", "v": "12.0"}, "13", 14]
    made = batch([candidate(n, arguments={"the_amount": each}) for n, each in enumerate([*others, far])])
    assert [(one.id, said) for one, said in made.apart] == [("5", "its the amount is far from the others'")]


@pytest.mark.parametrize("other", [True, None, "a lot", [1], {"$t": "date", "v": "2026-01-01"}, {"v": 1}, 30, "\u00b2"])
def test_what_is_no_number_or_near_stands_out_as_none(other: Json) -> None:
    values: list[Json] = [10, 11, 12, 13, other]
    assert batch([candidate(n, arguments={"n": each}) for n, each in enumerate(values)]).apart == ()


def test_with_few_numbers_or_noughts_none_stands_out() -> None:
    assert batch([candidate(n, arguments={"n": each}) for n, each in enumerate([1, 1000])]).apart == ()
    assert batch([candidate(n, arguments={"n": each}) for n, each in enumerate([0, 0, 0, 0, 5])]).apart == ()


def test_a_credential_holds_until_it_ends_or_its_time_is_over() -> None:
    made = Credential(CredentialId("c"), CredentialKind.SESSION, "ana", "link", b"", NOW, NOW + timedelta(hours=1))
    assert made.holds(NOW)
    assert not made.holds(NOW + timedelta(hours=1))
    ended = Credential(CredentialId("c"), CredentialKind.AGENT_KEY, "billing", "key", b"", NOW, ended_at=NOW)
    assert not ended.holds(NOW)
    assert Credential(CredentialId("c"), CredentialKind.AGENT_KEY, "billing", "key", b"", NOW).holds(NOW)


def test_keys_of_agents_and_links_never_decide() -> None:
    assert [kind for kind in CredentialKind if kind.decides] == [CredentialKind.SESSION, CredentialKind.REVIEWER_KEY]
