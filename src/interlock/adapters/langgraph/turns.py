"""Which run a place in a graph belongs to: one input of a conversation is one run, in every process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from interlock.adapters.guard.frames import current
from interlock.adapters.guard.guards import Guards
from interlock.adapters.langgraph.places import Spot, run_name, turn_of
from interlock.adapters.langgraph.threads import Threads, Whose, kept_input, threads_of
from interlock.domain.action import Action, ActionState, call_key
from interlock.domain.ids import RunId
from interlock.domain.run import RunState
from interlock.ports.gate import Standing

MOST_CALLS = 1024
"""Calls of graphs of which it is remembered what they are about; of one that is forgotten it is found out anew."""


class Turns:
    """The runs of one agent in graphs that tell nobody when they begin and end."""

    def __init__(self, guards: Guards, agent: str, workflow: str) -> None:
        self._guards = guards
        self._agent = agent
        self._workflow = workflow
        self._threads: Threads = threads_of(guards)
        self._lock = threading.Lock()
        self._calls: OrderedDict[int, tuple[object, dict[str, RunId]]] = OrderedDict()

    def whose(self, spot: Spot, asynchronous: bool = False) -> Whose:
        """The run that this place belongs to, with what a worker needs to go on with it."""
        thread = _thread(spot)
        run = self._run(spot, thread)
        kept = kept_input(spot.thread, spot.configurable, asynchronous=asynchronous)
        return Whose(run, self._agent, thread, "" if spot.graph else self._workflow, kept)

    def _run(self, spot: Spot, thread: str) -> RunId:
        """The run of a thread that one call of a graph is about: the same one in all of it, whatever is said meanwhile.

        New input begins a run, named after the last message of a person. A call that resumes goes on with the run of
        that name, or else (a message came in since: a reminder, a summary) with what the thread is at.
        """
        known = self._of_call(spot.call)
        if thread in known:
            return known[thread]
        run, runtime = run_name(self._agent, thread, turn_of(spot.messages())), self._guards.runtime
        if spot.resumes and runtime.run(run) is None:
            at = runtime.unended_run(self._agent, thread)
            run = run if at is None else at.id
        return known.setdefault(thread, run)

    def _of_call(self, call: object) -> dict[str, RunId]:
        """The runs that a call of a graph is known to be about, by thread. `call` is held, so its id stays its own."""
        if call is None:
            return {}
        with self._lock:
            _, known = self._calls.setdefault(id(call), (call, {}))
            self._calls.move_to_end(id(call))
            if len(self._calls) > MOST_CALLS:
                self._calls.popitem(last=False)
            return known

    def supersede(self, spot: Spot) -> None:
        """A turn of the conversation begins: what an earlier one left held is ended by that."""
        if current() is None:
            with self._threads.within(self.whose(spot), spot.call):
                pass

    def went_on(self, spot: Spot, answered: Iterable[tuple[str, str]]) -> None:
        """The model is asked again in this turn: a call that something else has answered is left behind.

        `answered` are the calls of the turn that have an answer, by tool and name. If the run waits for one of them, it
        goes on, and what is held or approved in it is superseded when it ends.
        """
        if current() is not None or not spot.thread or not spot.durable:
            return
        whose = self.whose(spot)
        run = self._guards.runtime.run(whose.run)
        if run is None or run.state is not RunState.WAITING:
            return
        run_key = self._guards.runtime.run_key(run.id)
        keys = (call_key(run_key, spot.graph, tool, "", b"", 0, ref) for tool, ref in answered)
        found = (self._guards.gate.find(run.id, key) for key in keys)
        if any(each is not None and each.state in (ActionState.HELD, ActionState.CLEARED) for each in found):
            with self._threads.within(whose, spot.call):
                pass

    def ended(self, spot: Spot) -> None:
        """The agent has said its last word in this turn; what a run of ours did in it is finished."""
        if current() is not None or not spot.thread or not spot.durable:
            return  # the call of a registered graph ends by itself
        self._guards.runtime.finish(self.whose(spot).run)

    def standing(self, spot: Spot, tool: str, ref: str, attempt: int = 1) -> Standing | None:
        """How a call of this turn stands, by its name (`message/call`); None where it was not proposed. Only looks."""
        frame, gate = current(), self._guards.gate
        inside = frame is not None and self._threads.holds(frame.scope.pass_)
        run = frame.scope.pass_.run_id if frame is not None and inside else self.whose(spot).run
        run_key = self._guards.runtime.run_key(run)
        while True:
            found = gate.find(run, call_key(run_key, spot.graph, tool, "", b"", 0, ref, attempt))
            if found is None or not found.retried:
                return None if found is None else gate.look(found.id)
            attempt += 1

    def find(self, spot: Spot, turn: str, tool: str, ref: str) -> Action | None:
        """The action that a call of an earlier turn became, if it became one."""
        run = run_name(self._agent, _thread(spot), turn)
        key = call_key(self._guards.runtime.run_key(run), spot.graph, tool, "", b"", 0, ref)
        return self._guards.gate.find(run, key)


def _thread(spot: Spot) -> str:
    """The conversation: a graph inside another one has its own, as often as it is started side by side."""
    return spot.thread + (f" {spot.graph} {spot.inside}" if spot.graph else "")
