"""Makes the documents that are frozen before a transaction: what is shown, hashed and run."""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import cast

from interlock.canonical import CanonicalError, Json, blob_digest, canonical_bytes, document_digest, effect_hash
from interlock.domain.action import ActionRequest, AgentDecision, Rationale, Versions
from interlock.domain.errors import CallError
from interlock.domain.ids import Digest, EffectHash, RunId
from interlock.domain.tool import Reach, Reversibility, ToolSpec

WORDS_LIMIT = 8_000
"""Characters kept of each of the agent's statements; more is cut, and says so."""


def run_key(namespace_key: bytes, run: RunId) -> bytes:
    """The secret under which a run names its calls."""
    return hmac.digest(namespace_key, b"run\x00" + run.encode(), hashlib.sha256)


def action_document(
    *, namespace: str, principal: str, agent: str, request: ActionRequest, arguments: Json, revision: int
) -> tuple[bytes, Digest]:
    """The canonical action document of one revision with a fresh salt, and its digest (SECURITY section 1)."""
    document: dict[str, Json] = {
        "v": 1,
        "namespace": namespace,
        "principal": principal,
        "agent": agent,
        "run": request.run,
        "call": request.call_key,
        "revision": revision,
        "tool": request.spec.name,
        "tool_rev": request.spec.tool_rev,
        "target": request.spec.target,
        "salt": _salt(),
        "arguments": arguments,
    }
    return _sealed(document)


def revised_document(document: Mapping[str, Json], arguments: Json) -> tuple[bytes, Digest]:
    """The next revision of a document: other arguments, the next number, a fresh salt."""
    revision = cast("int", document["revision"])
    return _sealed({**document, "revision": revision + 1, "salt": _salt(), "arguments": arguments})


def _sealed(document: dict[str, Json]) -> tuple[bytes, Digest]:
    try:
        data = canonical_bytes(document)
    except CanonicalError as error:
        path = error.path.replace("value.arguments", "args", 1)
        raise CallError("not_storable", f"{path}: {error.reason}") from error
    return data, Digest(document_digest(data))


def _salt() -> str:
    return urlsafe_b64encode(os.urandom(16)).rstrip(b"=").decode()


def effect_of(namespace_key: bytes, tool: str, target: str, arguments: Json) -> EffectHash:
    """The keyed hash by which equal effects are recognised."""
    return EffectHash(effect_hash(namespace_key, tool, target, canonical_bytes(arguments, root="args")))


def facts_document(
    request: ActionRequest,
    *,
    versions: Versions,
    tool: str,
    host: str,
    pid: int,
    slices: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """What is kept about a proposal because later evidence depends on it; canonical bytes."""
    rationale = request.rationale
    facts: dict[str, Json] = {
        "tool": tool,
        "agent_version": versions.agent,
        "model": request.conversation.model or versions.model,
        "model_parameters": dict(request.conversation.parameters),
        "prompt": versions.prompt,
        "environment": versions.environment,
        "host": host,
        "pid": pid,
        "parents": [request.parent] if request.parent else [],
        "reasoning": _bounded(rationale.reasoning),
        "expected": _bounded(rationale.expected),
        "confidence": _confidence(rationale),
        "uncertainty": [_bounded(each) for each in rationale.uncertainty[:20]],
        "considered": [_bounded(each) for each in rationale.considered[:20]],
        "notes": [{"by": by, "words": _bounded(words)} for by, words in request.checked.notes[:20]],
        "tool_expects": _bounded(request.tool_expects),
        **(request.preview.facts() if request.preview is not None else {}),
        "slices": dict(slices),
        "messages": request.conversation.head,
    }
    # What is empty says nothing: left out, so that a plain action stays small.
    return canonical_bytes({key: value for key, value in facts.items() if value not in ("", None, [], {})})


def decision_body(decision: AgentDecision, said: Mapping[str, Json]) -> dict[str, Json]:
    """What is kept of a decision that an agent made by itself; in a run with its place, by which it is matched."""
    body: dict[str, Json] = {"kind": decision.kind, **said}
    if decision.run is not None:
        body |= {"scope": decision.scope, "seq": decision.seq, "call": decision.call_key, "pass": decision.pass_no}
    return body


def _bounded(words: object) -> str:
    text = str(words).encode("utf-8", "replace").decode()
    return text if len(text) <= WORDS_LIMIT else text[:WORDS_LIMIT] + f" [{len(text):,} characters, cut here]"


def _confidence(rationale: Rationale) -> Json:
    claimed: object = rationale.confidence
    if isinstance(claimed, (int, float)) and not isinstance(claimed, bool) and 0 <= claimed <= 1:
        return {"$t": "float", "v": repr(float(claimed))}
    return None if claimed is None else _bounded(claimed)


def tool_document(spec: ToolSpec) -> tuple[str, bytes]:
    """The tool as declared, kept for those who decide without its code; answers digest and bytes."""
    data = canonical_bytes(
        cast(
            "dict[str, Json]",
            {
                **_declared(spec),
                "name": spec.name,
                "description": spec.description,
                "target": spec.target,
                "tool_rev": spec.tool_rev,
                "reversibility": spec.reversibility.value if spec.reversibility else None,
                "reach": sorted(each.value for each in spec.reach),
                "cost": str(spec.cost) if spec.cost is not None else None,
                "category": spec.category,
                "confidence_threshold": None if spec.confidence_threshold is None else repr(spec.confidence_threshold),
                "interrupt_policy": str(spec.interrupt_policy) if spec.interrupt_policy else None,
                "idempotent": spec.idempotent,
                "probed": spec.probed,
                "composite": spec.composite,
                "compensated": spec.compensated,
                "expires_in": _seconds(spec.expires_in),
                "window": _seconds(spec.window),
                "approval_valid_for": _seconds(spec.approval_valid_for),
                "result_type": spec.result_type,
                "schema": _tagged(dict(spec.schema)),
                "shape": _tagged(dict(spec.shape)),
            },
        )
    )
    return blob_digest(data), data


def tool_spec(document: Mapping[str, Json]) -> ToolSpec:
    """The tool as the process that proposed the action had it; the inverse of `tool_document`."""
    get = cast("Mapping[str, str | None]", document).get
    reversibility, cost, threshold = get("reversibility"), get("cost"), get("confidence_threshold")
    return ToolSpec(
        name=str(document["name"]),
        reversibility=Reversibility(reversibility) if reversibility else None,
        target=str(document["target"]),
        tool_rev=str(document["tool_rev"]),
        description=str(document["description"]),
        schema=cast("Mapping[str, object]", untagged(document["schema"])),
        shape=cast("Mapping[str, object]", untagged(document["shape"])),
        reach=frozenset(Reach(each) for each in cast("list[str]", document["reach"])),
        cost=Decimal(cost) if cost is not None else None,
        category=str(document["category"]),
        interrupt_policy=get("interrupt_policy"),
        confidence_threshold=float(threshold) if threshold is not None else None,
        expires_in=_span(get("expires_in")),
        window=_span(get("window")),
        approval_valid_for=_span(get("approval_valid_for")),
        idempotent=bool(document["idempotent"]),
        probed=bool(document["probed"]),
        composite=bool(document["composite"]),
        compensated=bool(document["compensated"]),
        result_type=str(document["result_type"]),
        sensitive=tuple(map(str, cast("list[Json]", document.get("sensitive", [])))),
        previewed=bool(document.get("previewed")),
        asks_rationale=bool(document.get("asks_rationale")),
    )


def _declared(spec: ToolSpec) -> dict[str, Json]:
    """What came later than the first documents: left out where it says nothing, so that those stay as they were."""
    later: dict[str, Json] = {
        "sensitive": list(spec.sensitive),
        "previewed": spec.previewed,
        "asks_rationale": spec.asks_rationale,
    }
    return {key: value for key, value in later.items() if value}


def _seconds(span: timedelta | None) -> str | None:
    return None if span is None else str(span / timedelta(microseconds=1))


def _span(microseconds: str | None) -> timedelta | None:
    return None if microseconds is None else timedelta(microseconds=float(microseconds))


def _tagged(value: object) -> Json:
    """A JSON schema may hold floats (bounds); keep them exact, as every document does."""
    if isinstance(value, float):
        return {"$t": "float", "v": repr(value)}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53 - 1:
        return {"$t": "int", "v": str(value)}
    if isinstance(value, Mapping):
        return {str(key): _tagged(each) for key, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_tagged(each) for each in cast("list[object]", value)]
    return cast("Json", value)


def untagged(value: Json) -> object:
    """The JSON schema as it was."""
    if isinstance(value, dict):
        if value.keys() == {"$t", "v"}:
            return float(str(value["v"])) if value["$t"] == "float" else int(str(value["v"]))
        return {key: untagged(each) for key, each in value.items()}
    return [untagged(each) for each in value] if isinstance(value, list) else value
