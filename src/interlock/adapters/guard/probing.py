"""Asks a tool's probe whether an action in doubt happened."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from interlock.adapters.guard import outcomes
from interlock.adapters.guard.tool import Tool
from interlock.domain.commands import Outcome
from interlock.ports.runtime import Runtime
from interlock.schema import fill


@dataclass(frozen=True, slots=True)
class Happened:
    """A probe's answer: it happened, and this is what the tool would have returned."""

    result: object = None


class DidNotHappen:
    """A probe's answer: it certainly did not happen; it may run (once) now."""


def ask(tool: Tool, arguments: object, idempotency_key: str, runtime: Runtime) -> tuple[bool, Outcome | None] | None:
    """What the probe says: (happened, outcome), or None where it cannot tell.

    The probe gets the tool's arguments, and the idempotency key under the tool's own name for it.
    Anything but `Happened(...)` or `DidNotHappen` means that it cannot tell; so does an exception.
    """
    if tool.probe is None:
        return None
    try:
        values = tool.parameters.decode(fill(cast("Any", arguments), runtime.blob))
        hidden = {tool.spec.idempotency_key: idempotency_key} if tool.spec.idempotency_key else None
        args, kwargs = tool.parameters.call_args(values, hidden)
        found = call(tool.probe, args, kwargs)
    except (Exception, SystemExit):
        return None
    if isinstance(found, Happened):
        return True, outcomes.done(tool.result, found.result, runtime.put_blobs)
    if isinstance(found, DidNotHappen) or found is DidNotHappen:
        return False, None
    return None


def call(fn: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Call a hook, synchronous or not, from synchronous code (in a loop of its own where it must be awaited)."""
    answer = fn(*args, **kwargs)
    if not inspect.isawaitable(answer):
        return answer

    async def wait() -> object:
        return await cast("Awaitable[object]", answer)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, wait()).result()
