"""A run as its caller sees it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any, cast

from interlock.adapters.guard import outcomes
from interlock.adapters.guard.frames import Frame, current, entered, running_task
from interlock.adapters.guard.places import Pass
from interlock.domain.action import arguments_bytes
from interlock.domain.decision import Decision
from interlock.domain.errors import CallError, RunError
from interlock.domain.ids import RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.run import Run, RunState
from interlock.ports.runtime import Runtime
from interlock.schema import Codec, codec_for, decode_result, encode_result, fill, is_opaque


class RunHandle:
    """A run as its caller sees it. `status` and everything else are read from the store when asked."""

    def __init__(self, runtime: Runtime, run: RunId, codec: Codec, pass_: Pass | None = None) -> None:
        self._runtime = runtime
        self._codec = codec
        self.id = run
        self._pass = pass_

    def __repr__(self) -> str:
        run = self._row()
        cards = [card.fingerprint for card in self.waiting_for]
        return f"Run(id={self.id!r}, status={run.state.value!r}" + (f", cards={cards}" if cards else "") + ")"

    def _row(self) -> Run:
        run = self._runtime.run(self.id)
        if run is None:
            raise RunError("unknown_run", f"there is no run {self.id}")
        return run

    @property
    def status(self) -> str:
        """`running`, `waiting`, `finished`, `failed`, `cancelled`, `diverged` or `needs_attention`."""
        return self._row().state.value

    @property
    def already_finished(self) -> bool:
        """Whether this entry found the run finished: everything came from the record, nothing ran."""
        return self._pass is not None and self._pass.grant.over

    @property
    def attention(self) -> str:
        """Why a person should look, or ""."""
        return self._row().attention

    @property
    def waiting_for(self) -> tuple[Interrupt, ...]:
        """The open cards of this run."""
        return self._runtime.open_cards(self.id)

    @property
    def url(self) -> str:
        """Where the first open card can be seen, or "" where no server runs."""
        return next((self._runtime.url(card) for card in self.waiting_for), "")

    @property
    def notes(self) -> tuple[tuple[str, Decision], ...]:
        """What people decided in this run, in order, each with the tool it was about."""
        return self._runtime.decisions(self.id)

    @property
    def result(self) -> Any:
        """The recorded result. Raises the recorded failure, or `RunError` where there is no result (yet)."""
        run = self._row()
        if run.state is RunState.FAILED:
            raise outcomes.failure_of(run.failure, f"run {run.id}", ())
        if run.result is None:
            raise RunError(
                "no_result",
                f"run {run.id} is {run.state.value}; it has no result",
                "Look at it: interlock show " + run.id,
            )
        tree = outcomes.tree_of(run.result)
        if is_opaque(tree):
            raise CallError(
                "result_not_stored", f"the result of run {run.id} ({outcomes.shown(tree)}) could not be stored"
            )
        return decode_result(self._codec, fill(tree, self._runtime.blob))

    def wait(self, timeout: float | None = None) -> RunHandle:
        """Block until the run is over or waits for people no more; at most `timeout` seconds (None: for ever)."""
        until = None if timeout is None else time.monotonic() + timeout
        while self._row().state in (RunState.RUNNING, RunState.WAITING):
            left = 1.0 if until is None else min(1.0, until - time.monotonic())
            if left <= 0:
                break
            self._runtime.wait_for_change(left)
        return self

    def wrap(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Carry this run into a thread that you start yourself: each call of the result is a branch of the run.

        Branches are told apart by the order of wrapping and by their arguments, so that the order in which
        threads happen to run does not matter.
        """
        frame = current()
        if frame is None or self._pass is None or frame.scope.pass_ is not self._pass:
            raise CallError("outside_run", "run.wrap was called outside its run", "Call it inside `with il.run(...)`.")
        branches = frame.scope.child("w")
        closed = branches.closed  # by now: the branches are siblings, and a pause in one closes no other

        def call(*args: Any, **kwargs: Any) -> Any:
            scope = branches.child(_signature(args, kwargs))
            scope.closed = closed
            with entered(Frame(scope, frame.inside, frame.parent, running_task())):
                return fn(*args, **kwargs)

        return call


def _signature(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A short name for arguments: equal ones get equal names in every pass, as far as they can be stored."""
    tree, stored = encode_result(codec_for(Any), [list(args), sorted(kwargs.items())])
    data = arguments_bytes(cast("Any", tree)) if stored else repr([type(arg).__name__ for arg in args]).encode()
    return hashlib.sha256(data).hexdigest()[:12]
