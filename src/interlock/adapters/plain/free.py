"""Calls that nobody is asked about and that change nothing: matched, run, recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from interlock.adapters.plain import outcomes
from interlock.adapters.plain.places import Frame, Pass, Scope
from interlock.adapters.plain.tool import Tool, encode
from interlock.domain.action import PastCall, arguments_bytes, call_key
from interlock.domain.errors import Diverged
from interlock.ports.gate import FreeCall, Gate
from interlock.ports.runtime import Runtime
from interlock.schema import encode_exception, encode_result, fill


class Free:
    """A free call on its way: matched against the record if there is one, recorded when it ends."""

    __slots__ = (
        "_encoded",
        "_gate",
        "_key",
        "_past",
        "_runtime",
        "_scope",
        "_seq",
        "_tool",
        "args",
        "inside",
        "kwargs",
    )

    def __init__(self, gate: Gate, runtime: Runtime, tool: Tool, frame: Frame, values: dict[str, object]) -> None:
        self._gate, self._runtime, self._tool = gate, runtime, tool
        self._scope = scope = frame.scope
        self._encoded = encoded = encode(tool, values)
        self._past: Any = None
        pass_, spec, data, occurrence_key = (
            scope.pass_,
            tool.spec,
            arguments_bytes(cast("Any", encoded)),
            tool.occurrence(values),
        )
        if pass_.history:
            key, self._seq, past, missing = pass_.place(scope, spec.name, spec.target, data, occurrence_key)
            if past is None and missing and not pass_.grant.run.accept_divergence:
                pass_.diverged = Diverged(
                    f"run {pass_.run_id} called {spec.name}, but the record expects {missing} first",
                    run=pass_.run_id,
                    expected=missing,
                    got=spec.name,
                )
                raise pass_.diverged
            self._key: Callable[[], str] = lambda: key
            self._past = past.outcome if past is not None and self._stands(past, pass_) else None
        else:
            # Nothing to match yet: the key is hashed when the record is written, off the caller's path.
            with pass_.lock:
                occurrence, self._seq = scope.count((spec.name, data, occurrence_key)), pass_.next_seq()
            run_key, path = pass_.grant.run_key, scope.path
            self._key = lambda: call_key(run_key, path, spec.name, spec.target, data, occurrence, occurrence_key)
        self.args, self.kwargs = tool.parameters.call_args(values)
        self.inside = Frame(self._within, spec.name, frame.parent, frame.task)

    def _within(self) -> Scope:
        """The scope of calls inside the body: apart from ours, since a recorded call does not make them again."""
        return Scope(self._scope.pass_, f"{self._scope.path}/{self._tool.spec.name}:{self._key()[:12]}", self._scope)

    @staticmethod
    def _stands(past: PastCall, pass_: Pass) -> bool:
        """A failure that nothing followed is asked again; a result that was not stored as well."""
        record = cast("dict[str, Any]", past.outcome)
        return record.get("stored", True) and ("failure" not in record or past.seq < pass_.last_recorded)

    @property
    def recorded(self) -> bool:
        """Whether an earlier pass made this call, and its record stands."""
        return self._past is not None

    def answer(self) -> object:
        """The recorded result, or the recorded failure raised again."""
        record, tool = cast("dict[str, Any]", self._past), self._tool
        if "failure" in record:
            raise outcomes.failure_of(arguments_bytes(record["failure"]), tool.spec.name, tool.no_effect_on)
        return tool.result.decode(fill(record["result"], self._runtime.blob))

    def ended(self, value: object) -> object:
        """Record what the call returned, and pass it on; a pause that the body swallowed goes on instead."""
        if self.inside.closed is not None:
            raise self.inside.closed
        tree, stored = encode_result(self._tool.result, value)
        self._record(tree, stored, None)
        return value

    def failed(self, error: Exception) -> None:
        """Record what the call raised, unless it paused inside."""
        if self.inside.closed is not None:
            raise self.inside.closed from error
        self._record(None, True, encode_exception(error))

    def _record(self, result: Any, stored: bool, failure: Any) -> None:
        scope = self._scope
        pass_ = scope.pass_
        if pass_.grant.over:
            return
        self._gate.record(
            FreeCall(
                pass_.run_id,
                pass_.number,
                self._runtime.process,
                self._tool.spec.name,
                scope.path,
                self._seq,
                self._key,
                cast("Any", self._encoded),
                result,
                stored,
                failure,
            )
        )
