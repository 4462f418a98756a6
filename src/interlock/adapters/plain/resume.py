"""Drives runs: enters them, runs the code, and reports how the pass ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

from interlock.adapters.guard import outcomes
from interlock.adapters.guard.drivers import finished
from interlock.adapters.guard.frames import Frame, current, entered, pop, push, running_task, watch_tasks
from interlock.adapters.guard.places import Pass
from interlock.adapters.guard.tool import Duration, return_annotation
from interlock.adapters.plain.handle import RunHandle
from interlock.domain.action import Versions, arguments_bytes
from interlock.domain.errors import CallError, Interrupted, RunError, StoreError
from interlock.domain.ids import RunId
from interlock.domain.run import PassEnd, PassReport, Run, RunState, Ticket
from interlock.ports.runtime import Runtime
from interlock.schema import (
    Codec,
    Parameters,
    SchemaError,
    codec_for,
    encode_result,
    fill,
    storable_reason,
)

LONGEST_KEY = 200
"""Characters of a run's key."""


class Driver:
    """Enters runs and leaves them again. One for each `Interlock`."""

    def __init__(
        self,
        runtime: Runtime,
        agent: str,
        versions: Versions,
        owner: str,
        announce: Callable[[Run], None],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._check = check
        self.runtime = runtime
        self._announce = announce
        self._agent = agent
        self.versions = versions
        self.owner = owner

    def begin(
        self,
        run: RunId,
        wait: float,
        *,
        agent: str = "",
        workflow: str = "",
        input: bytes | None = None,
        ticket: Ticket | None = None,
    ) -> Pass:
        """Enter the run; it is driven by us until `finish`."""
        self._check()
        granted = self.runtime.enter(
            run,
            agent=agent or self._agent,
            workflow=workflow,
            input=input,
            owner=self.owner,
            versions=self.versions,
            ticket=ticket,
        ).result()
        until = time.monotonic() + wait
        left = (lambda: until - time.monotonic()) if wait > 0 else (lambda: 0.0)
        return Pass(granted, left, self.runtime, lambda: self._announce(granted.run))

    def finish(self, pass_: Pass, codec: Codec, value: object, error: BaseException | None) -> Run:
        """Leave the run. What the store says of it then is what counts."""
        if pass_.grant.over:
            return pass_.grant.run
        try:
            report = self._report(pass_, codec, value, error)
        except StoreError as failed:  # there is no room for the result, say
            pass_.break_off(pass_.root, failed)
            report = self._report(pass_, codec, None, None)
        ended = self.runtime.leave(pass_.run_id, pass_.number, report).result()
        if pass_.broken is not None:
            raise pass_.broken
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
            return PassReport(PassEnd.WAITING, seen=seen, waits_for=waits, broken=pass_.broken is not None)
        if error is not None:
            return PassReport(
                PassEnd.FAILED, failure=arguments_bytes(cast("Any", pass_.unsaid.ending(error))), seen=seen
            )
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

    def __init__(self, driver: Driver, run: RunId, wait: float, agent: str = "", ticket: Ticket | None = None) -> None:
        self._ticket = ticket
        self._driver = driver
        self._run = run
        self._wait = wait
        self._agent = agent
        self._unwatch: Callable[[], None] | None = None
        self._token: Any = None

    def __enter__(self) -> RunHandle:
        refuse_nesting()
        self._pass = self._driver.begin(self._run, self._wait, agent=self._agent, ticket=self._ticket)
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
        ticket: Ticket | None = None,
    ) -> None:
        self._ticket = ticket
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
        refuse_nesting()
        run, data = self._run_id(key), self._input(args, kwargs)
        if self.is_async:
            return self._start_async(run, data, self._wait_s(wait))
        pass_ = self._enter(run, self._wait_s(wait), data)
        handle = self.handle(run, pass_)
        if not pass_.grant.over:
            self._driver.drive(pass_, lambda: self._call(data), self._codec)
        return handle

    async def _start_async(self, run: RunId, data: bytes, wait: float) -> RunHandle:
        pass_ = self._enter(run, wait, data)
        handle = self.handle(run, pass_)
        if not pass_.grant.over:
            await self._driver.drive_async(pass_, lambda: self._call(data), self._codec)
        return handle

    def _enter(self, run: RunId, wait: float, data: bytes) -> Pass:
        return self._driver.begin(run, wait, agent=self.agent, workflow=self.name, input=data, ticket=self._ticket)

    def submit(self, *args: Any, key: str | None = None, **kwargs: Any) -> RunHandle:
        """Record a run and leave it to a worker."""
        refuse_nesting()
        run = self._run_id(key)
        self._driver.runtime.create(
            run,
            agent=self.agent,
            workflow=self.name,
            input=self._input(args, kwargs),
            owner=self._driver.owner,
            versions=self._driver.versions,
            ticket=self._ticket,
        ).result()
        return self.handle(run)

    def resume(self, run: Run) -> Run:
        """Go on with a run in this thread; what a worker calls."""
        pass_ = self._driver.begin(run.id, 0.0, agent=run.agent, workflow=self.name)
        if pass_.grant.over:
            return pass_.grant.run
        data = run.input or b"{}"
        if self.is_async:
            return _in_a_loop(lambda: self._driver.drive_async(pass_, lambda: self._call(data), self._codec))
        return self._driver.drive(pass_, lambda: self._call(data), self._codec)

    def handle(self, run: RunId, pass_: Pass | None = None) -> RunHandle:
        """The handle of a run of this workflow."""
        return RunHandle(self._driver.runtime, run, self._codec, pass_)

    def _run_id(self, key: str | None) -> RunId:
        return run_id(key) if key is not None else self._driver.runtime.new_run()

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


def run_id(key: object) -> RunId:
    """A run's key, if it is one: text of 1 to 200 characters that can be stored and shown in one line."""
    if isinstance(key, str) and 0 < len(key) <= LONGEST_KEY and key.isprintable():
        return RunId(key)
    raise RunError(
        "bad_key",
        f"{key!r:.80} is no key of a run",
        f"Use 1 to {LONGEST_KEY} printable characters, such as the job's number.",
    )


def refuse_nesting() -> None:
    """Raise `RunError` inside a run: every pass would start the other run again. In a claimed tool it is once."""
    frame = current()
    if frame is not None and not frame.scope.pass_.ended and not (frame.inside and frame.parent):
        raise RunError(
            "nested_run",
            "a run cannot be started inside another",
            "Call the workflow as a function, use a composite tool or il.scope(...), or start it in a tool of its own.",
        )


def _in_a_loop(make: Callable[[], Coroutine[Any, Any, Run]]) -> Run:
    """Run a coroutine to its end, in a thread of its own where this one has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(make())).result()


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
