"""Calls that nobody is asked about and that change nothing: matched, run, recorded.

These are the many, so their path is short: what need not be done before the call returns (encoding
what cannot change any more, hashing the key) is done when the record is written.
"""

from __future__ import annotations

from typing import Any, cast

from interlock.adapters.guard import outcomes
from interlock.adapters.guard.frames import Frame
from interlock.adapters.guard.places import Called, Pass, Scope
from interlock.adapters.guard.tool import Tool, earlier_forms, encode
from interlock.domain.action import PastCall, arguments_bytes, call_key
from interlock.domain.errors import CallError
from interlock.domain.ids import CallKey, RunId
from interlock.ports.runtime import Runtime
from interlock.schema import Json, decode_result, encode_result, fill

UNCHANGING = frozenset({str, int, bool, bytes, float, type(None)})
"""Types of results that can be encoded later, because nobody can change them meanwhile."""


class Free(Frame):
    """A free call on its way, and the frame of its body; afterwards the `FreeCall` that is recorded.

    `values` are the validated arguments: a tuple where all of them are plain and cannot change, else
    name to value.
    """

    __slots__ = ("_encoded", "_key", "_occurrence", "_result", "failure", "outer", "past", "seq", "spec_tool", "values")

    def __init__(self, tool: Tool, frame: Frame, scope: Scope, values: tuple[Any, ...] | dict[str, object]) -> None:
        self._scope = self._within
        self.inside = tool.spec.name
        self.parent = frame.parent
        self.task = frame.task
        self.barred = ""
        self.locate = None
        self.outer = scope
        self.spec_tool = tool
        self.past: Any = None
        self.failure: Json = None
        self.values = values
        self._key: str | None = None
        plain = type(values) is tuple
        self._encoded: dict[str, Any] | None = None if plain else encode(tool, cast("dict[str, object]", values))
        pass_ = scope.pass_
        if scope.matched:
            self._match(pass_)
            return
        # Nothing to match yet: only the how-manieth time must be counted now.
        call = values if plain else tool.twin(cast("dict[str, object]", values))
        with pass_.lock:
            self._occurrence = scope.count(
                (self.inside, self._data() if call is None else call, self._occurrence_key())
            )
            if call is not None and self.inside in scope.placed:  # others like it were proposed, and counted so
                self._occurrence += scope.count((self.inside, self._data(), self._occurrence_key()), add=0)
            self.seq = pass_.next_seq()

    def _match(self, pass_: Pass) -> None:
        spec = self.spec_tool.spec
        (self._key, self.seq, past), missing = pass_.place(
            self.outer,
            Called(spec.name, spec.target, self._data(), self._occurrence_key()),
            lambda: earlier_forms(self.spec_tool, self.named(), cast("Any", self.arguments)),
        )
        if past is None and missing and not pass_.grant.run.accept_divergence:
            raise pass_.diverge(pass_.told(missing), outcomes.call_text(spec.name, self.arguments, spec.sensitive))
        self.past = past.outcome if past is not None and _stands(past, pass_) else None

    def _occurrence_key(self) -> str | None:
        tool = self.spec_tool
        return None if tool.occurrence_key is None else tool.occurrence(self.named())

    def named(self) -> dict[str, object]:
        """The arguments by name."""
        values = self.values
        return (
            dict(zip(self.spec_tool.parameters.names, values, strict=True))
            if type(values) is tuple
            else cast("Any", values)
        )

    def _data(self) -> bytes:
        return arguments_bytes(cast("Any", self.arguments))

    def _within(self) -> Scope:
        """The scope of calls inside the body: apart from ours, since a recorded call does not make them again."""
        return Scope(self.outer.pass_, f"{self.outer.path}/{self.inside}:{self.call_key()[:12]}", self.outer)

    def answer(self, runtime: Runtime) -> object:
        """The recorded result, or the recorded failure raised again."""
        record, tool = cast("dict[str, Any]", self.past), self.spec_tool
        if "failure" in record:
            raise outcomes.failure_of(arguments_bytes(record["failure"]), tool.spec.name, tool.no_effect_on)
        return decode_result(tool.result, fill(record["result"], runtime.blob))

    def returned(self, value: object) -> bool:
        """Take note of what the body returned; a pause that it swallowed goes on instead. Whether to record it."""
        if self.closed is not None:
            raise self.closed
        tool = self.spec_tool
        if tool.must_store or type(value) not in UNCHANGING:
            pair = encode_result(tool.result, value)
            if tool.must_store and not pair[1]:
                raise CallError(
                    "not_storable",
                    f"the result of {self.inside} cannot be stored ({outcomes.shown(pair[0])})",
                    "Return a value that can be stored; what is not journalled would be asked anew in every pass.",
                )
            self._result = _Encoded(pair)
        else:
            self._result = value
        if self.outer.keeps:
            self.outer.pass_.made.keep(self.outer.path, self)
        return not self.outer.pass_.grant.over

    def raised(self, error: Exception) -> bool:
        """Take note of what the body raised, unless it paused inside. Whether to record it."""
        if self.closed is not None:
            raise self.closed from error
        self._result = None
        self.failure = self.outer.pass_.unsaid.failure(self.spec_tool.spec, error, lambda: self.arguments)
        if self.outer.keeps:
            self.outer.pass_.made.keep(self.outer.path, self)
        return not self.outer.pass_.grant.over

    def as_past(self, find: object) -> PastCall:
        """What a later pass would know of it, once its record is written."""
        del find
        body: dict[str, Json] = {"arguments": self.arguments, "sensitive": list(self.sensitive)}
        if self.failure is not None:
            body["failure"] = self.failure
        else:
            body["result"], body["stored"] = self.outcome()
        return PastCall(CallKey(self.call_key()), self.path, self.seq, self.tool, outcome=body)

    # -- as the gate's FreeCall ---------------------------------------------------------------------

    @property
    def run(self) -> RunId:
        """The run it was made in."""
        return self.outer.pass_.run_id

    @property
    def pass_no(self) -> int:
        """The pass it was made in."""
        return self.outer.pass_.number

    @property
    def tool(self) -> str:
        """The tool's name."""
        return self.inside

    @property
    def path(self) -> str:
        """The scope it was made in."""
        return self.outer.path

    @property
    def arguments(self) -> Json:
        """The typed encoding of its arguments."""
        if self._encoded is None:
            self._encoded = encode(self.spec_tool, self.named())
        return cast("Json", self._encoded)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Paths of the arguments that readers of the record hide."""
        return self.spec_tool.spec.sensitive

    def call_key(self) -> str:
        """The name of this call's place."""
        if self._key is None:
            spec, pass_ = self.spec_tool.spec, self.outer.pass_
            self._key = call_key(
                pass_.grant.run_key,
                self.outer.path,
                spec.name,
                spec.target,
                self._data(),
                self._occurrence,
                self._occurrence_key(),
            )
        return self._key

    def outcome(self) -> tuple[Json, bool]:
        """The result's typed encoding, and whether it could be stored."""
        result = self._result
        return result.pair if isinstance(result, _Encoded) else encode_result(self.spec_tool.result, result)


class _Encoded:
    """A result that had to be frozen at once."""

    __slots__ = ("pair",)

    def __init__(self, pair: tuple[Json, bool]) -> None:
        self.pair = pair


def _stands(past: PastCall, pass_: Pass) -> bool:
    """A failure that nothing followed is asked again; a result that was not stored as well."""
    record = cast("dict[str, Any]", past.outcome)
    return record.get("stored", True) and ("failure" not in record or past.seq < pass_.last_recorded)
