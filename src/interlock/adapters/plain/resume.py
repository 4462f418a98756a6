"""Drives runs: enters them, runs the code, and reports how the pass ended."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from interlock.adapters.plain import outcomes
from interlock.adapters.plain.drivers import finished
from interlock.adapters.plain.places import Frame, Pass, current, entered, pop, push, running_task, watch_tasks
from interlock.adapters.plain.tool import Duration, return_annotation
from interlock.domain.action import Versions, arguments_bytes
from interlock.domain.decision import Decision
from interlock.domain.errors import CallError, Interrupted, RunError
from interlock.domain.ids import RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.run import PassEnd, PassReport, Run, RunState
from interlock.ports.runtime import Runtime
from interlock.schema import (
    Codec,
    Parameters,
    SchemaError,
    codec_for,
    decode_result,
    encode_exception,
    encode_result,
    fill,
    is_opaque,
    storable_reason,
)


class RunHandle:
    """A run as its caller sees it. `status` and everything else are read from the store when asked."""

    def __init__(self, runtime: Runtime, run: RunId, codec: Codec, pass_: Pass | None = None) -> None:
        self._runtime = runtime
        self._codec = codec
        self.id = run
        self._pass = pass_

    def __repr__(self) -> str:
        run = self._row()
        waits = "".join(f", url={card_url!r}" for card_url in [self.url] if card_url)
        return f"Run(id={self.id!r}, status={run.state.value!r}{waits})"

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


class Driver:
    """Enters runs and leaves them again. One for each `Interlock`."""

    def __init__(
        self, runtime: Runtime, agent: str, versions: Versions, owner: str, announce: Callable[[Run], None]
    ) -> None:
        self.runtime = runtime
        self._announce = announce
        self._agent = agent
        self.versions = versions
        self.owner = owner

    def begin(
        self, run: RunId, wait: float, *, agent: str = "", workflow: str = "", input: bytes | None = None
    ) -> Pass:
        """Enter the run; it is driven by us until `finish`."""
        granted = self.runtime.enter(
            run, agent=agent or self._agent, workflow=workflow, input=input, owner=self.owner, versions=self.versions
        ).result()
        until = time.monotonic() + wait
        return Pass(granted, (lambda: until - time.monotonic()) if wait > 0 else (lambda: 0.0), self.runtime)

    def finish(self, pass_: Pass, codec: Codec, value: object, error: BaseException | None) -> Run:
        """Leave the run. What the store says of it then is what counts."""
        if pass_.grant.over:
            return pass_.grant.run
        ended = self.runtime.leave(pass_.run_id, pass_.number, self._report(pass_, codec, value, error)).result()
        if ended.state is RunState.WAITING:
            self._announce(ended)
        return ended

    def _report(self, pass_: Pass, codec: Codec, value: object, error: BaseException | None) -> PassReport:
        seen, waits = frozenset(pass_.seen), tuple(dict.fromkeys(pass_.waits_for))
        if pass_.diverged is not None:
            return PassReport(PassEnd.DIVERGED, seen=seen, expected=pass_.diverged.expected, got=pass_.diverged.got)
        if pass_.parked or (
            error is not None and not isinstance(error, Exception) and not isinstance(error, SystemExit)
        ):
            # Whatever swallowed the pause on its way, the run waits; Ctrl-C and cancellation are no failures either.
            return PassReport(PassEnd.WAITING, seen=seen, waits_for=waits)
        if error is not None:
            return PassReport(PassEnd.FAILED, failure=arguments_bytes(cast("Any", encode_exception(error))), seen=seen)
        tree, stored = encode_result(codec, value)
        return PassReport(PassEnd.FINISHED, arguments_bytes(self.runtime.put_blobs(tree)), stored, seen=seen)

    def drive(self, pass_: Pass, body: Callable[[], object], codec: Codec) -> Run:
        """Run synchronous code as one pass. An ordinary exception is recorded; asking for the result raises it."""
        value, error = None, None
        token = push(Frame(pass_.root, task=running_task()))
        try:
            value = body()
        except BaseException as raised:
            error = raised
        finally:
            pop(token)
            pass_.drain()
        ended = self.finish(pass_, codec, value, error)
        _pass_on(error)
        return ended

    async def drive_async(self, pass_: Pass, body: Callable[[], Any], codec: Codec) -> Run:
        """Run asynchronous code as one pass; its tasks become branches."""
        value, error = None, None
        unwatch = watch_tasks(asyncio.get_running_loop())
        try:
            with entered(Frame(pass_.root, task=running_task())):
                value = await body()
        except BaseException as raised:
            error = raised
        finally:
            unwatch()
            cancelled = await _drained(pass_)
        ended = self.finish(pass_, codec, value, error)
        _pass_on(cancelled or error)
        return ended


async def _drained(pass_: Pass) -> asyncio.CancelledError | None:
    """Drain the pass without blocking the loop; a cancellation meanwhile waits until that is done."""
    return await finished(asyncio.ensure_future(asyncio.to_thread(pass_.drain)))


def _pass_on(error: BaseException | None) -> None:
    """What must not end here: Ctrl-C, cancellation, a system exit."""
    if error is not None and not isinstance(error, (Exception, Interrupted, BaseExceptionGroup)):
        raise error


class RunContext:
    """`with il.run(key) as run:` and `async with`: the block is one pass of the run.

    A pause ends the block quietly: look at `run.status` behind it. An ordinary exception is recorded
    as the run's failure and goes on.
    """

    def __init__(self, driver: Driver, run: RunId, wait: float, agent: str = "") -> None:
        self._driver = driver
        self._run = run
        self._wait = wait
        self._agent = agent
        self._unwatch: Callable[[], None] | None = None
        self._token: Any = None

    def __enter__(self) -> RunHandle:
        if current() is not None:
            raise RunError(
                "nested_run", "a run cannot be started inside another", "Use a composite tool, or il.scope(...)."
            )
        self._pass = self._driver.begin(self._run, self._wait, agent=self._agent)
        self._token = push(Frame(self._pass.root, task=running_task()))
        return RunHandle(self._driver.runtime, self._run, codec_for(Any), self._pass)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        pop(self._token)
        self._pass.drain()
        self._driver.finish(self._pass, codec_for(Any), None, error)
        return self._quiet(error)

    async def __aenter__(self) -> RunHandle:
        handle = self.__enter__()
        self._unwatch = watch_tasks(asyncio.get_running_loop())
        return handle

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if self._unwatch is not None:
            self._unwatch()
        cancelled = await _drained(self._pass)
        quiet = self.__exit__(kind, error, trace)
        if cancelled is not None and not isinstance(error, asyncio.CancelledError):
            raise cancelled
        return quiet

    def _quiet(self, error: BaseException | None) -> bool:
        if self._pass.diverged is not None:
            if error is self._pass.diverged:
                return False
            raise self._pass.diverged
        # Whatever the pause was turned into on its way: the run waits, and the next pass tells what remains of it.
        return isinstance(error, Interrupted) or (
            isinstance(error, (Exception, BaseExceptionGroup)) and self._pass.parked
        )


class Workflow:
    """A function that any worker can resume: its name and its input are stored with the run."""

    def __init__(
        self,
        driver: Driver,
        fn: Callable[..., Any],
        name: str,
        agent: str,
        parameters: Parameters,
        codec: Codec,
        is_async: bool,
        wait_s: Callable[[Duration | None], float],
    ) -> None:
        self._driver = driver
        self._fn = fn
        self._parameters = parameters
        self._codec = codec
        self._wait_s = wait_s
        self.name = name
        self.agent = agent
        self.is_async = is_async
        self.__name__ = name
        self.__doc__ = fn.__doc__
        self.__signature__ = parameters.visible_signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function inside the current run; outside any run this is an error: use `start`."""
        if current() is None:
            raise CallError(
                "outside_run", f"{self.name} was called outside any run", f"Start it: {self.name}.start(...)"
            )
        return self._fn(*args, **kwargs)

    def start(self, *args: Any, key: str | None = None, wait: Duration | None = None, **kwargs: Any) -> Any:
        """Start a run here (or go on with the run `key`) until it ends or pauses; awaitable for async functions.

        `wait` holds the caller at a pause for so long, for a person at the terminal. Returns a `Run`.
        """
        run, data = self._run_id(key), self._input(args, kwargs)
        if self.is_async:
            return self._start_async(run, data, self._wait_s(wait))
        pass_ = self._driver.begin(run, self._wait_s(wait), agent=self.agent, workflow=self.name, input=data)
        handle = self.handle(run, pass_)
        if not pass_.grant.over:
            self._driver.drive(pass_, lambda: self._call(data), self._codec)
        return handle

    async def _start_async(self, run: RunId, data: bytes, wait: float) -> RunHandle:
        pass_ = self._driver.begin(run, wait, agent=self.agent, workflow=self.name, input=data)
        handle = self.handle(run, pass_)
        if not pass_.grant.over:
            await self._driver.drive_async(pass_, lambda: self._call(data), self._codec)
        return handle

    def submit(self, *args: Any, key: str | None = None, **kwargs: Any) -> RunHandle:
        """Record a run and leave it to a worker."""
        run = self._run_id(key)
        self._driver.runtime.create(
            run,
            agent=self.agent,
            workflow=self.name,
            input=self._input(args, kwargs),
            owner=self._driver.owner,
            versions=self._driver.versions,
        ).result()
        return self.handle(run)

    def resume(self, run: Run) -> Run:
        """Go on with a run in this thread; what a worker calls."""
        pass_ = self._driver.begin(run.id, 0.0, agent=run.agent, workflow=self.name)
        if pass_.grant.over:
            return pass_.grant.run
        data = run.input or b"{}"
        if self.is_async:
            return asyncio.run(self._driver.drive_async(pass_, lambda: self._call(data), self._codec))
        return self._driver.drive(pass_, lambda: self._call(data), self._codec)

    def handle(self, run: RunId, pass_: Pass | None = None) -> RunHandle:
        """The handle of a run of this workflow."""
        return RunHandle(self._driver.runtime, run, self._codec, pass_)

    def _run_id(self, key: str | None) -> RunId:
        return RunId(key) if key is not None else self._driver.runtime.new_run()

    def _input(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes:
        try:
            values = self._parameters.bind(args, kwargs)
            trees = self._parameters.encode(values)
            self._parameters.check_round_trip(values, trees)
        except SchemaError as error:
            raise CallError(error.code, f"{self.name}: {error.path}: {error.reason}", "No run was started.") from error
        return arguments_bytes(self._driver.runtime.put_blobs(trees))

    def _call(self, data: bytes) -> Any:
        values = self._parameters.decode(fill(outcomes.tree_of(data), self._driver.runtime.blob))
        args, kwargs = self._parameters.call_args(values)
        return self._fn(*args, **kwargs)


def current_run() -> RunId:
    """The run that this code is in; raises `CallError` outside any run."""
    frame = current()
    if frame is None:
        raise CallError("outside_run", "this is no code of a run", "Use it in a workflow or in `with il.run(...)`.")
    return frame.scope.pass_.run_id


@contextmanager
def named_scope(name: str) -> Generator[None]:
    """A named block: its calls are matched among themselves. For branches whose order is not certain."""
    frame = current()
    if frame is None:
        raise CallError(
            "outside_run",
            f"il.scope({name!r}) was used outside any run",
            "Use it in a workflow or in `with il.run(...)`.",
        )
    with entered(Frame(frame.scope.child("." + name), frame.inside, frame.parent, running_task())):
        yield


def return_of(fn: Callable[..., Any]) -> Codec:
    """The codec of what a workflow returns: its annotation where that can be stored, else whatever it is."""
    annotation = return_annotation(fn)
    return codec_for(annotation if storable_reason(annotation) is None else Any)
