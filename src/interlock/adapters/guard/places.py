"""Where a call stands: the pass and its scopes.

Plain Python gives a call no id, so it is found again by its place: the scope it is made in, the
tool, the arguments and the how-manieth time. A scope is the run, a composite tool, a named block or
a concurrent branch. Calls in one scope are expected in every pass again (that is what makes a
divergence visible); branches are independent of each other.
"""

from __future__ import annotations

import threading
from asyncio import events as asyncio_events
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from interlock.adapters.guard.made import Find, Made, Proposed, known_of
from interlock.adapters.guard.outcomes import call_text
from interlock.adapters.guard.sensitive import Unsaid
from interlock.domain.action import PastCall, call_key
from interlock.domain.conversation import NOTHING_SAID, Conversation
from interlock.domain.errors import CallError, Diverged, Interrupted, StoreError
from interlock.domain.ids import CallKey, InterruptId, RunId
from interlock.domain.run import PassGrant
from interlock.ports.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Called:
    """A call by what it is found again by, beside its scope and the how-manieth it is.

    `twin` is the form in which it would have been counted as a call that nobody is asked about.
    """

    tool: str
    target: str
    arguments: bytes
    occurrence_key: str | None = None
    twin: object = None


@dataclass(frozen=True, slots=True)
class Named:
    """The identity that a framework gives a call: `ref`, unique in that part of the run that `path` names.

    The arguments are no part of it: the same call with others is an error. `retry` counts how often the call was
    made again, by something that retries, after it had failed. `history` are the keys of the calls that the framework's
    own history holds, `conversation` answers what the agent knew.
    """

    path: str
    ref: str
    retry: int = 0
    history: frozenset[CallKey] = frozenset()
    conversation: Callable[[], Conversation] = lambda: NOTHING_SAID


class Place(NamedTuple):
    """Where a call stands: its key, its order in the run, and its record in earlier passes."""

    key: CallKey
    seq: int
    past: PastCall | None


class Scope:
    """A stretch of code in which calls come in order. `path` is its name, unique in the run."""

    __slots__ = ("_counts", "_names", "closed", "expected", "keeps", "matched", "parent", "pass_", "path", "placed")

    def __init__(self, pass_: Pass, path: str, parent: Scope | None) -> None:
        self.pass_ = pass_
        self.path = path
        self.parent = parent
        self.closed: Interrupted | None = None
        self.expected = {past.call_key: past for past in pass_.history.get(path, ()) if not past.gone}
        # Whether there is anything to match calls with, and whether they are kept to be matched in this very pass.
        self.matched = bool(pass_.grant.calls) or (parent is not None and parent.matched)
        self.keeps = parent is not None and parent.keeps
        self.placed: set[str] = set()
        self._counts: dict[object, int] = {}
        self._names: dict[str, int] = {}

    def count(self, call: object, add: int = 1) -> int:
        """How often this very call was made here before, in this pass."""
        seen = self._counts.get(call, 0)
        self._counts[call] = seen + add
        return seen

    def made(self, call: Called, add: int = 0) -> int:
        """How often a call was made here before, also while nobody was asked about such calls."""
        made = self.count((call.tool, call.arguments, call.occurrence_key), add)
        return made if call.twin is None else made + self.count((call.tool, call.twin, call.occurrence_key), add=0)

    def child(self, name: str) -> Scope:
        """The scope `name` inside this one; a name used again gets a number behind it."""
        with self.pass_.lock:
            used = self._names.get(name, 0)
            self._names[name] = used + 1
            path = f"{self.path}/{name}" + (f"#{used + 1}" if used else "")
            made = Scope(self.pass_, path, self)
            made.closed = self.closed  # what is opened after a pause is closed like what it is opened in
            return made

    def close(self, pause: Interrupted) -> None:
        """After a park nothing more runs here nor in what contains it."""
        scope: Scope | None = self
        while scope is not None:
            if scope.closed is None:
                scope.closed = pause
            scope = scope.parent

    def check_open(self) -> None:
        """Raise what closed this scope, or what ended the pass."""
        pass_ = self.pass_
        if pass_.diverged is not None:
            raise pass_.diverged
        if self.closed is not None:
            raise Interrupted(
                str(self.closed), run=pass_.run_id, interrupts=self.closed.interrupts, url=self.closed.url
            )
        pass_.check_running()


@dataclass(frozen=True, slots=True)
class Join:
    """An answered pause, at `key`, that waits in `scope` for the guarded call that it was about.

    `at` is the scope in which that call was made before, if it was: then only there is it the same call.
    """

    key: CallKey
    scope: str
    at: str | None

    def fits(self, scope: Scope) -> bool:
        """Whether a call in this scope is the one that the answer was given for."""
        if self.at is not None:
            return scope.path == self.at
        return not self.scope or scope.path == self.scope or scope.path.startswith(f"{self.scope}/")


class Pass:
    """One entry into a run: what earlier passes did, what this one has done, what it waits for."""

    def __init__(
        self, grant: PassGrant, wait_until: Callable[[], float], runtime: Runtime, announce: Callable[[], None]
    ) -> None:
        self.grant = grant
        self.announce = announce
        self.runtime = runtime
        self.run_id: RunId = grant.run.id
        self.number = grant.run.pass_no
        self.wait_left = wait_until
        self.lock = threading.RLock()
        self.history: dict[str, list[PastCall]] = {}
        for past in grant.calls:
            self.history.setdefault(past.scope, []).append(past)
        self.known: dict[str, PastCall] = {past.call_key: past for past in grant.calls}
        self.seq = self.last_recorded = max((past.seq for past in grant.calls), default=0)
        self.seen: set[str] = set()
        self.made = Made()
        self.first_attempt: dict[str, str] = {}
        self.joins: dict[tuple[str, str, bytes], Join] = {}
        self.waits_for: list[InterruptId] = []
        self.parked = False
        self.diverged: Diverged | None = None
        self.broken: StoreError | None = None
        self.ended = False
        self.running = 0
        self.idle = threading.Condition(self.lock)
        self.frames: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self.loops: WeakKeyDictionary[Any, tuple[Scope, Interrupted | None]] = WeakKeyDictionary()
        self.at_end: list[Callable[[], None]] = []
        self.unsaid = Unsaid()
        self.root = Scope(self, "", None)

    def park(self, scope: Scope, pause: Interrupted) -> Interrupted:
        """Note that the run waits, and close the scope."""
        with self.lock:
            self.parked = True
            self.waits_for.extend(pause.interrupts)
            scope.close(pause)
        return pause

    def break_off(self, scope: Scope, error: StoreError) -> StoreError:
        """The store failed: nothing more runs in this pass, whatever swallows the error, and the run is due again."""
        self.broken = self.broken or error
        self.park(scope, Interrupted(f"the store failed: {error}", run=self.run_id))
        return error

    def place(
        self, scope: Scope, call: Called, earlier: Callable[[], Iterable[bytes]] = tuple
    ) -> tuple[Place, PastCall | None]:
        """Find the place of a call, and the call that should have come first where the record expects another.

        `earlier` gives the arguments as earlier versions of the tool would have had them.
        """
        with self.lock:
            place = self._place(scope, call)
            missing = None if place.past is not None else next(iter(scope.expected.values()), None)
            if missing is not None:
                for data in earlier():
                    before = replace(call, arguments=data, twin=None)
                    if self._key(scope, before, scope.made(before)) in scope.expected:
                        return self._place(scope, before), None
            return place, missing

    def place_named(self, tool: str, named: Named) -> Place:
        """Find the place of a call that the framework names; a try after a failure is a place of its own."""
        with self.lock:
            attempt = 1 + named.retry
            while True:
                key = self.key_of(named.path, tool, named.ref, attempt)
                past = self.known.get(key)
                if past is None or not past.retried:
                    self.seen.add(key)
                    return Place(key, past.seq if past is not None else self.next_seq(), past)
                attempt += 1

    def put_off(self, key: str) -> None:
        """A call that may run waits for a pause met on its way: the answer to that makes the run due, not the call."""
        with self.lock:
            self.seen.discard(key)

    def key_of(self, path: str, tool: str, ref: str, attempt: int = 1) -> CallKey:
        """The key of a call that the framework names."""
        return call_key(self.grant.run_key, path, tool, "", b"", 0, ref, attempt)

    def joined(self, scope: Scope, call: Called) -> Place | None:
        """The place of a guarded call that people have answered for already, as a pause: the same action, once."""
        with self.lock:
            about = (call.tool, call.target, call.arguments)
            join = self.joins.get(about)
            if join is None or not join.fits(scope):
                return None
            del self.joins[about]
            self.seen.add(join.key)
            scope.expected.pop(join.key, None)
            past = self.known.get(join.key)
            return Place(join.key, past.seq if past is not None else self.seq, past)

    def look_up(self, scope: Scope, call: Called) -> PastCall | None:
        """What the record has of the next such call, without making it."""
        with self.lock:
            return self.known.get(self._key(scope, call, scope.made(call)))

    def _key(self, scope: Scope, call: Called, occurrence: int, attempt: int = 1) -> CallKey:
        return call_key(
            self.grant.run_key,
            scope.path,
            call.tool,
            call.target,
            call.arguments,
            occurrence,
            call.occurrence_key,
            attempt,
        )

    def _place(self, scope: Scope, call: Called) -> Place:
        scope.placed.add(call.tool)
        occurrence, attempt, first = scope.made(call, add=1), 1, ""
        while True:
            key = self._key(scope, call, occurrence, attempt)
            if attempt > 1:
                self.first_attempt[key] = first
            else:
                first = key
            past = self.known.get(key)
            self.seen.add(key)
            scope.expected.pop(key, None)
            if past is None or not past.retried:
                if scope.keeps:
                    self.made.keep(scope.path, Proposed(self.run_id, key))
                return Place(key, past.seq if past is not None else self.next_seq(), past)
            attempt += 1

    def again(self, before: Scope, find: Find) -> Scope:
        """The scope anew, for code that is executed again within this pass: its calls are matched as in a later pass.

        What has closed the scope keeps it closed.
        """
        taken = self.made.take(before.path)
        with self.lock:
            for path, calls in taken.items():
                known = known_of(calls, find)
                earlier = {past.call_key: past for past in self.history.get(path, ())}
                self.known.update(known)
                self.history[path] = list({**earlier, **known}.values())
                self.last_recorded = max([self.last_recorded, *(past.seq for past in known.values())])
            made = Scope(self, before.path, before.parent)
            made.closed, made.matched, made.keeps = before.closed, True, before.keeps
            return made

    def inner_path(self, scope: Scope, tool: str, key: str) -> str:
        """The path of the scope inside an execution: the same one for every attempt of that call."""
        return f"{scope.path}/{tool}:{self.first_attempt.get(key, key)[:12]}"

    def diverge(self, expected: str, got: str) -> Diverged:
        """End the pass: the code took another way than the record."""
        said = f"run {self.run_id} called {got}, but the record expects {expected} first"
        self.diverged = Diverged(said, run=self.run_id, expected=expected, got=got)
        return self.diverged

    def told(self, past: PastCall) -> str:
        """An earlier call in words, for the two sides of a divergence."""
        body = cast("dict[str, Any]", past.outcome) if past.action is None else {}
        arguments = self.runtime.shown(past.action) if past.action is not None else body.get("arguments")
        return call_text(past.tool, arguments, body.get("sensitive", ()))

    def next_seq(self) -> int:
        """The order of the next new call in this run."""
        with self.lock:
            self.seq += 1
            return self.seq

    @contextmanager
    def under_way(self) -> Generator[None]:
        """Count a call between its proposal and its end, so that the end of the pass can wait for it."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def idling(self) -> Generator[None]:
        """Within `under_way`: only waiting for people, which the end of the pass does not wait for."""
        self._end()
        try:
            yield
        finally:
            self._begin(late=True)
        self.check_running()

    def check_running(self) -> None:
        """Raise `CallError` where the pass has ended."""
        if self.ended:
            raise CallError(
                "pass_over",
                "this run's pass has ended; the call came from something it left behind",
                "Wait for your threads and tasks before the run ends.",
            )

    def _begin(self, late: bool = False) -> None:
        with self.lock:
            if not late:
                self.check_running()
            self.running += 1

    def _end(self) -> None:
        with self.lock:
            self.running -= 1
            self.idle.notify_all()

    def drain(self) -> None:
        """Wait for the calls that other threads have under way, then let nothing more begin.

        In a thread with a running event loop nothing is waited for: it could be waiting for this very thread.
        """
        blocked = asyncio_events._get_running_loop() is not None
        with self.lock:
            while self.running and not blocked:
                self.idle.wait(0.05)
            self.ended = True
        while self.at_end:
            self.at_end.pop()()
