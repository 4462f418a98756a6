"""An action: one proposed call of one tool in a run, in one or more revisions."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from interlock.canonical import Json, canonical_bytes
from interlock.domain.conversation import NOTHING_SAID, Conversation
from interlock.domain.ids import ActionId, CallKey, DecisionId, Digest, EffectHash, InterruptId, ProcessId, RunId
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.tool import InterruptPolicy, ToolSpec


class ActionState(StrEnum):
    """Where an action stands. The arrows between them are in `lifecycle`."""

    HELD = "held"
    CLEARED = "cleared"
    EXECUTING = "executing"
    DONE = "done"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"
    REFUSED = "refused"
    ROLLING_BACK = "rolling_back"
    ROLLED_BACK = "rolled_back"
    ROLLBACK_FAILED = "rollback_failed"
    ROLLBACK_CONFLICT = "rollback_conflict"


class RefusalKind(StrEnum):
    """How a refused action ended. None of them is ever recorded as another."""

    REJECTED = "rejected"
    REDIRECTED = "redirected"
    EXPIRED = "expired"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"
    REPEATED = "repeated"
    NESTED_PAUSE = "nested_pause"
    TOOL_CHANGED = "tool_changed"


class ActionKind(StrEnum):
    """What people are asked about: a call to be made, a question, or a pause that another framework made by itself."""

    CALL = "call"
    QUESTION = "question"
    OBSERVED = "observed"


@dataclass(frozen=True, slots=True)
class Asking:
    """How an action asks people, where it is more than a call under a ruling.

    `answers` are the verdicts that fit (none: all that its kind knows), `why` is the reason on its card. A call that
    asks is held whatever its ruling would let go by.
    """

    kind: ActionKind
    why: str
    answers: tuple[str, ...] = ()
    expires_in: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Objection:
    """What a check of the team's own says against a call: `hold` it for a person, or `deny` it."""

    policy: InterruptPolicy
    reason: Reason


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checks before a proposal came to: objections, and notes for the reviewer by the check's name."""

    objections: tuple[Objection, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rationale:
    """What the agent says about its own call; shown as the agent's words, kept as evidence.

    `confidence` is 0 to 1 as claimed (None: not claimed). Bounded by the kernel before it is kept.
    """

    reasoning: str = ""
    confidence: float | None = None
    uncertainty: tuple[str, ...] = ()
    considered: tuple[str, ...] = ()
    expected: str = ""


class PreviewText(str):
    """A preview whose `kind` says how its text may be drawn: email, diff, sql, http, files; "" is any text."""

    __slots__ = ("kind",)

    def __new__(cls, text: str, kind: str = "") -> PreviewText:
        """The text, of a kind."""
        made = super().__new__(cls, text)
        made.kind = kind
        return made

    kind: str


@dataclass(frozen=True, slots=True)
class Preview:
    """What the tool's own code shows that a call would do; `text` None: it could not, and `failed` says why.

    `kind` says how the text may be drawn (see `PreviewText`); it says nothing that the text does not.
    """

    text: str | None = None
    failed: str = ""
    kind: str = ""

    def same(self, other: Preview) -> bool:
        """Whether two of them show the same; why there is none may be said in other words each time."""
        return self.text == other.text

    def facts(self) -> dict[str, Json]:
        """As it is kept beside a proposal."""
        if self.text is None:
            return {"no_preview": self.failed}
        return {"preview": self.text, **({"preview_kind": self.kind} if self.kind else {})}

    @classmethod
    def kept(cls, facts: Mapping[str, Json]) -> Preview | None:
        """The inverse of `facts`; None where nothing is kept."""
        text, failed = facts.get("preview"), facts.get("no_preview")
        if isinstance(text, str):
            return cls(text, kind=str(facts.get("preview_kind", "")))
        return cls(failed=failed) if isinstance(failed, str) else None


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions and place of what proposed the action; recorded, never part of its identity."""

    agent: str = ""
    model: str = ""
    prompt: str = ""
    environment: str = ""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """A framework's call, turned into what the gate understands (form 1).

    `arguments` is the typed encoding of the validated arguments, defaults filled in. `call_key` is
    where the call stands, `seq` its order in the run. `unseen` names an earlier call of the same
    scope that this pass has not made again: a new action is then a divergence. `own_call_id` says
    that the framework (or `occurrence_key=`) distinguishes this call from an equal one.

    `named` says that the key is the framework's own name for this call, whatever its arguments: the same name with
    other arguments is an error. `history` are the keys of the named calls that the framework's history holds: an equal
    effect that is done and not among them was lost there, and is held as a suspected repetition. `known` says that the
    record of earlier passes has this call.

    `conversation` is what the agent knew when it made the call, where the framework tells.

    The tool's own code says what the call would do (`preview`: at the proposal of the arguments proposed, at the
    claim of those about to run), what it expects to come of it, and into which `slices` it falls.
    """

    run: RunId
    pass_no: int
    process: ProcessId
    spec: ToolSpec
    arguments: Json
    call_key: CallKey
    scope: str
    seq: int
    parent: ActionId | None = None
    inside: str = ""
    own_call_id: bool = False
    unseen: str = ""
    rationale: Rationale = field(default_factory=Rationale)
    asking: Asking | None = None
    checked: Checked = field(default_factory=Checked)
    preview: Preview | None = None
    tool_expects: str = ""
    slices: Mapping[str, str] = field(default_factory=dict[str, str])
    conversation: Conversation = NOTHING_SAID
    named: bool = False
    history: frozenset[CallKey] = frozenset()
    known: bool = False


@dataclass(frozen=True, slots=True)
class Traits:
    """What recovery needs to know of a tool, frozen with the action.

    `reruns` means that a second execution is harmless by declaration: idempotent with the same
    key, reversible, or read-only.
    """

    reversibility: str
    idempotent: bool = False
    probed: bool = False
    composite: bool = False
    own_call_id: bool = False
    reach: tuple[str, ...] = ()
    tool_rev: str = ""
    kind: ActionKind = ActionKind.CALL
    answers: tuple[str, ...] = ()

    @property
    def reruns(self) -> bool:
        """Whether executing it again is harmless."""
        return self.idempotent or self.reversibility in ("reversible", "read_only")

    @property
    def guards_repetition(self) -> bool:
        """Whether an equal effect in the same run is suspicious."""
        return self.reversibility not in ("reversible", "read_only") and not self.own_call_id


@dataclass(frozen=True, slots=True)
class Action:
    """An action as it stands now. Documents of its revisions are kept beside it.

    `traits` are the declarations that recovery depends on, as they were at proposal. `result` and
    `failure` are canonical bytes of the typed encoding; `stored` is False where only an opaque
    description of the result could be kept. `answered_by` names the person or probe whose word
    stands in for a result. `fence` counts claims; `tries` counts executions of this revision.
    """

    id: ActionId
    run: RunId
    agent: str
    tool: str
    call_key: CallKey
    scope: str
    seq: int
    state: ActionState
    revision: int
    digest: Digest
    effect_hash: EffectHash
    traits: Traits
    ruling: Ruling
    proposed_at: datetime
    parent: ActionId | None = None
    attempt: int = 1
    interrupt: InterruptId | None = None
    refusal: RefusalKind | None = None
    words: str = ""
    refused_by: str = ""
    cleared_at: datetime | None = None
    cleared_by: DecisionId | None = None
    fence: int = 0
    tries: int = 0
    process: ProcessId | None = None
    claimed_at: datetime | None = None
    settled_at: datetime | None = None
    result: bytes | None = None
    stored: bool = True
    failure: bytes | None = None
    answered_by: str = ""
    retried: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision of an action: the exact document that was shown and that will run.

    `document` is canonical bytes (it holds salt and arguments), `facts` canonical bytes of what is
    kept about the proposal, `by` the decision that made it (None: the agent).
    """

    action: ActionId
    number: int
    run: RunId
    digest: Digest
    effect_hash: EffectHash
    document: bytes
    facts: bytes
    at: datetime
    by: DecisionId | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """The permission to execute exactly one revision, once: committed before the effect.

    `arguments` is the typed encoding to execute: the stored one, never what was passed again.
    """

    action: ActionId
    fence: int
    digest: Digest
    arguments: Json
    idempotency_key: str
    attempt: int
    tries: int


@dataclass(frozen=True, slots=True)
class AgentDecision:
    """A decision that an agent made by itself, for the record; `said` is typed encoding by name.

    `run` None: made outside any run. `call_key` names its place, so that code which runs again does not
    say it twice.
    """

    agent: str
    kind: str
    said: Mapping[str, Json]
    run: RunId | None = None
    pass_no: int = 0
    scope: str = ""
    seq: int = 0
    call_key: str = ""


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call that earlier passes of a run made, in order: what re-entry is matched against.

    For a free call `action` is None and `outcome` holds its recorded event body, or None. `gone`
    calls were withdrawn or superseded, or are decisions of the agent: no pass is expected to make them again.
    """

    call_key: CallKey
    scope: str
    seq: int
    tool: str
    action: ActionId | None = None
    state: ActionState | None = None
    retried: bool = False
    gone: bool = False
    outcome: Json = None


def past_action(action: Action) -> PastCall:
    """An action as a call that was made before."""
    return PastCall(
        action.call_key,
        action.scope,
        action.seq,
        action.tool,
        action.id,
        action.state,
        action.retried,
        gone=action.refusal in (RefusalKind.WITHDRAWN, RefusalKind.SUPERSEDED),
    )


def call_key(
    run_key: bytes,
    scope: str,
    tool: str,
    target: str,
    arguments: bytes,
    occurrence: int,
    occurrence_key: str | None,
    attempt: int = 1,
) -> CallKey:
    """Name the place of a call in its run: scope, tool, arguments and the how-manieth time.

    `run_key` is the run's own secret, so that the key tells nothing about low-entropy arguments.
    `arguments` are canonical bytes. With `occurrence_key` the call is told apart by that instead of
    by counting. `attempt` above 1 is the call tried anew after a failure.
    """
    parts = (
        scope.encode(),
        tool.encode(),
        target.encode(),
        arguments,
        b"#%d" % occurrence if occurrence_key is None else b"=" + occurrence_key.encode(),
        b"%d" % attempt,
    )
    message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return CallKey(urlsafe_b64encode(hmac.digest(run_key, message, hashlib.sha256)[:24]).decode())


def words_digest(text: str) -> str:
    """A short digest of a long text, by which two of them can be told apart."""
    return "sha-256:" + hashlib.sha256(text.encode()).hexdigest()[:16]


def arguments_bytes(arguments: Json) -> bytes:
    """Canonical bytes of encoded arguments (RFC 8785); raises `CanonicalError` with the path."""
    return canonical_bytes(arguments, root="args")
