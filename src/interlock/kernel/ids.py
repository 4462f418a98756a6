"""The sequence that makes ids.

Every id is a UUIDv7 (RFC 9562) in its text form: it sorts by time, and within one process it never
goes back, even when the clock does.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from uuid import UUID

_RAND_BITS = 74
_RAND_MASK = (1 << _RAND_BITS) - 1


class IdSequence:
    """Makes UUIDv7 ids that are strictly increasing within this object; safe to call from any thread.

    `clock_ms` returns milliseconds since the epoch, `random_bytes(n)` n random bytes. Ids made in
    the same millisecond (or after the clock went back) count up from the last one by a random step,
    RFC 9562 section 6.2, method 2.
    """

    __slots__ = ("_clock_ms", "_last_ms", "_last_rand", "_lock", "_random_bytes")

    def __init__(
        self,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._clock_ms = clock_ms
        self._random_bytes = random_bytes
        self._lock = threading.Lock()
        self._last_ms = -1
        self._last_rand = 0

    def __call__(self) -> str:
        """Return the next id as 36 characters of text."""
        fresh = int.from_bytes(self._random_bytes(10), "big")
        with self._lock:
            now = self._clock_ms()
            if now > self._last_ms:
                self._last_ms = now
                # The top bit stays clear, so that there is room to count up within a millisecond.
                self._last_rand = fresh & (_RAND_MASK >> 1)
            else:
                self._last_rand += 1 + (fresh & 0xFFFFFFFF)
                if self._last_rand > _RAND_MASK:
                    self._last_ms += 1
                    self._last_rand = fresh & (_RAND_MASK >> 1)
            ms, rand = self._last_ms, self._last_rand
        value = (ms & 0xFFFFFFFFFFFF) << 80 | 0x7 << 76 | (rand >> 62) << 64 | 0b10 << 62 | (rand & ((1 << 62) - 1))
        return str(UUID(int=value))
