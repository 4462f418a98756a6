"""What happens next, as far as it can be known: who would go on with a run, and what stands in the way."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from interlock.cards.words import who
from interlock.display import is_clean, plain
from interlock.domain.run import Freeze, Run, RunState

if TYPE_CHECKING:
    from interlock.kernel.desk import ReviewDesk

START_ONE = "interlock worker MODULE:NAME (for example app:il)"


def typed(name: str) -> str:
    """A name as a shell needs it; `NAME` where what is shown could not be typed."""
    return quote(name) if is_clean(name) and "\n" not in name else "NAME"


def goes_on(desk: ReviewDesk, run: Run, *, approved: bool = False) -> str:
    """Who goes on with this run, in a sentence that is true now; `approved` says that an action of it may start."""
    alive = desk.processes()
    if run.state not in (RunState.RUNNING, RunState.WAITING):
        return f"Its run is {run.state.value.replace('_', ' ')}."
    if run.state is RunState.RUNNING:
        if any(process.id == run.process for process in alive):
            return "Its process is running and goes on by itself."
        return f"The process that ran it is gone; a worker takes it over: {START_ONE}."
    if not run.workflow:
        return f"It goes on when its program enters the run {plain(run.id, limit=60)} again."
    if not alive:
        return f"No worker is running: start one with {START_ONE}."
    return "It runs as soon as a worker takes it." if approved else "Its run goes on as soon as a worker takes it."


def frozen(desk: ReviewDesk, run: Run, tool: str, prefix: str) -> str:
    """The freeze that stands in the way, or ""."""
    stop = next((each for each in desk.freezes() if each.covers(run.agent, tool, run.id)), None)
    return stopped(stop, prefix) if stop is not None else ""


def stopped(stop: Freeze, prefix: str) -> str:
    """A freeze in force, and how it is lifted."""
    scope = "all" if stop.scope == "all" else f"{stop.scope} {typed(stop.name)}"
    what = "Everything" if stop.scope == "all" else f"The {stop.scope} {plain(stop.name, limit=40)}"
    reason = f" (“{plain(stop.reason, limit=120)}”)" if stop.reason else ""
    return f"{what} is frozen by {who(stop.by)}{reason}: nothing of it starts before {prefix} release {scope}"


def next_step(desk: ReviewDesk, run: Run, prefix: str, *, poison: str = "") -> list[str]:
    """What a person can do about a run that has no open card: sentences, commands indented by two."""
    ref = typed(run.id)
    match run.state:
        case RunState.FINISHED:
            return []
        case RunState.CANCELLED:
            return ["It was cancelled and stays so. Start a new run under another key."]
        case RunState.FAILED:
            return ["Go on from what is recorded:", f"  {prefix} retry {ref}"]
        case RunState.DIVERGED:
            return [
                "Put the old code back and retry, or accept the new way: what is no longer proposed is left behind.",
                f"  {prefix} retry {ref}",
                f"  {prefix} retry {ref} --accept-divergence",
            ]
        case RunState.NEEDS_ATTENTION:
            return [
                "When that is settled, go on from what is recorded, or end it:",
                f"  {prefix} retry {ref}",
                f"  {prefix} cancel {ref}",
            ]
        case RunState.RUNNING | RunState.WAITING:
            stop = frozen(desk, run, "", prefix)
            return [stop] if stop else [*([poison] if poison else []), goes_on(desk, run)]
