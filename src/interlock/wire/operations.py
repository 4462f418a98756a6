"""The table of operations: the server's routes, its description and its client are all made from it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_type_hints

from interlock.wire.agents import AgentApi
from interlock.wire.codec import Codec, codec_of
from interlock.wire.reviewers import ReviewerApi

Who = Literal["agent", "reviewer"]
LONGEST_WAIT_S = 30.0
"""How long a request may wait for a change, at most."""
REQUIRED: Any = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value that an operation takes: where it stands, its type, and what it is where nothing is said."""

    name: str
    place: Literal["path", "query", "body"]
    kind: Any
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is REQUIRED


@dataclass(frozen=True)
class Operation:
    """A method of `AgentApi` or `ReviewerApi` as a request: `name` is the method, `who` may ask for it."""

    who: Who
    method: Literal["GET", "POST"]
    path: str
    call: Callable[..., Any]
    says: str

    @property
    def name(self) -> str:
        """The method's name."""
        return self.call.__name__

    @property
    def safe(self) -> bool:
        """Whether it changes nothing, so that it may be repeated without thought."""
        return self.method == "GET"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it takes, in order."""
        hints = get_type_hints(self.call)
        in_path = set(re.findall(r"{(\w+)}", self.path))
        found: list[Parameter] = []
        for name, each in inspect.signature(self.call).parameters.items():
            if name != "self":
                place = "path" if name in in_path else "query" if self.safe else "body"
                found.append(Parameter(name, place, hints[name], each.default))
        return tuple(found)

    @cached_property
    def returns(self) -> Codec[Any]:
        """The codec of its answer."""
        return codec_of(get_type_hints(self.call)["return"])


def _table(who: Who, *rows: tuple[str, str, Callable[..., Any], str]) -> tuple[Operation, ...]:
    return tuple(Operation(who, method, path, call, says) for method, path, call, says in rows)  # type: ignore[arg-type]


AGENTS = _table(
    "agent",
    ("POST", "/v1/processes", AgentApi.attach, "Register an executor process; its lease runs from now on"),
    ("POST", "/v1/processes/{process}/beat", AgentApi.beat, "Renew the lease of everything the process executes"),
    ("POST", "/v1/processes/{process}/detach", AgentApi.detach, "Say that the process ends"),
    ("POST", "/v1/runs/{run}/enter", AgentApi.enter, "Start a run, or go on with it"),
    ("POST", "/v1/runs/{run}/create", AgentApi.create, "Record a run for the workers"),
    ("POST", "/v1/runs/{run}/leave", AgentApi.leave, "End a pass of a run"),
    ("POST", "/v1/runs/{run}/finish", AgentApi.finish, "End a run that goes on outside any pass"),
    ("GET", "/v1/agent/runs/{run}", AgentApi.run, "A run of the agent"),
    ("GET", "/v1/agent/runs/{run}/key", AgentApi.run_key, "The run's secret, by which its calls are named"),
    ("GET", "/v1/agent/unended", AgentApi.unended_run, "What a thread of the agent is at"),
    ("GET", "/v1/agent/runs/{run}/interrupts", AgentApi.open_cards, "The open interrupts of a run"),
    ("GET", "/v1/agent/runs/{run}/decisions", AgentApi.decisions, "The decisions of a run, with their tools"),
    ("POST", "/v1/agent/runs/{run}/cancel", AgentApi.cancel, "Withdraw what is not claimed, and end the run"),
    ("POST", "/v1/tools/free", AgentApi.is_free, "Whether calls of a tool are only recorded"),
    ("POST", "/v1/records", AgentApi.record, "Record free calls and decisions that the agent made alone"),
    ("POST", "/v1/actions", AgentApi.propose, "Propose an action"),
    ("POST", "/v1/pauses", AgentApi.report_pause, "Tell of a pause of another framework"),
    ("POST", "/v1/actions/{action}/claim", AgentApi.claim, "Take a cleared action for execution"),
    ("POST", "/v1/actions/{action}/park", AgentApi.park, "Make sure that an action has a card where it needs one"),
    ("POST", "/v1/actions/{action}/give-back", AgentApi.give_back, "Return a claim whose tool was never started"),
    ("POST", "/v1/actions/{action}/outcome", AgentApi.settle, "Report what came of a claim"),
    ("POST", "/v1/actions/{action}/probed", AgentApi.probed, "Report what the tool's probe found"),
    ("POST", "/v1/actions/{action}/suspend", AgentApi.suspend, "Record that a composite action paused inside"),
    ("POST", "/v1/actions/{action}/deliver", AgentApi.deliver, "Record that a framework was handed an approval"),
    ("GET", "/v1/agent/runs/{run}/calls/{call}", AgentApi.find, "The action that a call of a run became"),
    ("GET", "/v1/agent/actions/{action}", AgentApi.look, "How an action stands"),
    ("GET", "/v1/agent/actions/{action}/answer", AgentApi.answer, "What people answered to a reported pause"),
    ("GET", "/v1/agent/actions/{action}/arguments", AgentApi.arguments, "The stored arguments of an action"),
    ("GET", "/v1/agent/actions/{action}/shown", AgentApi.shown, "The same, as people may see them"),
    ("GET", "/v1/agent/actions/{action}/decisions", AgentApi.decisions_about, "The decisions about an action"),
    ("GET", "/v1/agent/blobs/{digest}", AgentApi.blob, "A large value"),
    ("POST", "/v1/agent/blobs", AgentApi.put_blob, "Keep a large value; answers its digest"),
    ("GET", "/v1/agent/changes", AgentApi.changes, "Wait until something may have changed"),
)

REVIEWERS = _table(
    "reviewer",
    ("GET", "/v1/interrupts", ReviewerApi.inbox, "What waits, the riskiest first"),
    ("GET", "/v1/interrupts/count", ReviewerApi.count, "How many wait; counts no further than `most`"),
    ("GET", "/v1/interrupts/{interrupt}", ReviewerApi.card, "An interrupt by its id or fingerprint, in its context"),
    ("GET", "/v1/interrupts/{interrupt}/conversation", ReviewerApi.knew, "What the agent knew"),
    ("POST", "/v1/interrupts/{interrupt}/decision", ReviewerApi.decide, "Decide it"),
    ("POST", "/v1/interrupts/{interrupt}/check", ReviewerApi.check, "Whether an edit or a result would fit"),
    ("POST", "/v1/interrupts/{interrupt}/revoke", ReviewerApi.revoke, "Take an approval back until it is claimed"),
    ("POST", "/v1/interrupts/{interrupt}/open", ReviewerApi.open_parts, "Note that folded parts were opened"),
    ("POST", "/v1/interrupts/{interrupt}/reveal", ReviewerApi.reveal, "See hidden values; that is on record first"),
    ("POST", "/v1/decisions", ReviewerApi.decide_together, "Decide several of a kind, each with its own result"),
    ("GET", "/v1/actions/{action}", ReviewerApi.action, "An action with its revisions, cards and decisions"),
    ("POST", "/v1/actions/{action}/rollback", ReviewerApi.rollback, "Ask the workers to undo an action"),
    ("GET", "/v1/runs", ReviewerApi.runs, "Runs, the newest first"),
    ("GET", "/v1/runs/{run}", ReviewerApi.run, "A run as it stands"),
    ("GET", "/v1/runs/{run}/story", ReviewerApi.story, "A run with everything that happened in it"),
    ("POST", "/v1/runs/{run}/retry", ReviewerApi.retry, "Make a stopped run due again"),
    ("POST", "/v1/runs/{run}/cancel", ReviewerApi.cancel, "Withdraw what is not claimed, and end the run"),
    ("GET", "/v1/freezes", ReviewerApi.freezes, "What is frozen"),
    ("POST", "/v1/freezes", ReviewerApi.freeze, "Stop everything, an agent, a tool or a run"),
    ("POST", "/v1/freezes/release", ReviewerApi.release, "Lift a freeze"),
    ("GET", "/v1/audit/events", ReviewerApi.events, "Events in commit order, with their positions"),
    ("GET", "/v1/processes", ReviewerApi.processes, "Executor processes that live"),
    ("GET", "/v1/health", ReviewerApi.health, "The state of the store as a whole"),
    ("GET", "/v1/blobs/{digest}", ReviewerApi.blob, "A large value"),
    ("GET", "/v1/changes", ReviewerApi.changes, "Wait until something may have changed"),
    ("POST", "/v1/session/end", ReviewerApi.sign_out, "End the credential that this request carries"),
)

OPERATIONS = (*AGENTS, *REVIEWERS)
