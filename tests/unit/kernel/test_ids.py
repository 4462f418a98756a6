"""Ids are UUIDv7 and never go back, whatever the clock and the threads do."""

import itertools
import threading
from uuid import RFC_4122, UUID

from hypothesis import given
from hypothesis import strategies as st

from interlock.kernel.ids import IdSequence

MOST = b"\xff" * 10
LEAST = b"\x00" * 10


def milliseconds(text: str) -> int:
    return UUID(text).int >> 80


def test_an_id_is_a_uuid_of_version_7_in_its_usual_text() -> None:
    text = IdSequence()()
    assert len(text) == 36
    assert str(UUID(text)) == text
    assert (UUID(text).version, UUID(text).variant) == (7, RFC_4122)


def test_an_id_begins_with_the_time_of_its_making() -> None:
    assert milliseconds(IdSequence(lambda: 1_772_366_400_123)()) == 1_772_366_400_123


def test_the_example_of_the_standard_comes_out_bit_by_bit() -> None:
    # RFC 9562, appendix A.6: 017F22E2-79B0-7CC3-98C4-DC0C0C07398F; its random part has the top bit set, which
    # a first id of a millisecond leaves clear here (7CC3 becomes 74C3).
    rand = (0xCC3 << 62) | 0x18C4DC0C0C07398F
    sequence = IdSequence(lambda: 0x017F22E279B0, lambda _: rand.to_bytes(10, "big"))
    assert sequence() == "017f22e2-79b0-74c3-98c4-dc0c0c07398f"


@given(st.lists(st.integers(min_value=0, max_value=2**48 - 2), min_size=1), st.data())
def test_ids_only_grow_whatever_the_clock_says(times: list[int], data: st.DataObject) -> None:
    clock = iter(times)
    sequence = IdSequence(lambda: next(clock), lambda n: data.draw(st.binary(min_size=n, max_size=n)))
    made = [sequence() for _ in times]
    assert made == sorted(set(made))
    assert all(UUID(text).version == 7 and UUID(text).variant == RFC_4122 for text in made)


def test_a_clock_that_went_back_is_waited_for_not_followed() -> None:
    clock = iter([5_000, 1_000, 1_000, 6_000])
    sequence = IdSequence(lambda: next(clock))
    assert [milliseconds(sequence()) for _ in range(4)] == [5_000, 5_000, 5_000, 6_000]


def test_a_millisecond_that_is_full_runs_over_into_the_next() -> None:
    sequence = IdSequence(lambda: 1_000, lambda _: MOST)
    made = [sequence()]
    sequence._last_rand = 2**74 - 2
    made += [sequence(), sequence()]
    assert made == sorted(set(made))
    assert [milliseconds(text) for text in made] == [1_000, 1_001, 1_001]


def test_two_ids_of_a_millisecond_differ_even_where_chance_gives_nothing() -> None:
    sequence = IdSequence(lambda: 1_000, lambda _: LEAST)
    made = [sequence() for _ in range(100)]
    assert made == sorted(set(made))


def test_threads_share_one_growing_sequence() -> None:
    sequence, start = IdSequence(lambda: 1_000), threading.Barrier(8)
    made: list[list[str]] = [[] for _ in range(8)]

    def make(own: list[str]) -> None:
        start.wait()
        own.extend(sequence() for _ in range(500))

    threads = [threading.Thread(target=make, args=(own,)) for own in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(own == sorted(own) for own in made)
    assert len(set(itertools.chain(*made))) == 4_000


def test_two_sequences_do_not_make_the_same_ids() -> None:
    one, other = IdSequence(lambda: 1_000), IdSequence(lambda: 1_000)
    assert not {one() for _ in range(100)} & {other() for _ in range(100)}
