"""Routes of the API, made from the table of operations: read strictly, authorise, call, answer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson
from anyio import to_thread
from starlette.responses import Response
from starlette.routing import Route

from interlock.domain.credential import Credential, CredentialKind
from interlock.domain.errors import CallError, DecisionError, InterlockError
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.kernel.desk import ReviewDesk
from interlock.server.api.agents import AgentDoor, Attached
from interlock.server.api.reviewers import ReviewerDoor
from interlock.wire.codec import codec_of
from interlock.wire.openapi import document
from interlock.wire.operations import LONGEST_WAIT_S, OPERATIONS, Operation
from interlock.wire.problems import MEDIA_TYPE, problem_of, status_of
from interlock.wire.reading import fields_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from interlock.kernel import Kernel
    from interlock.server.live import Live

LONGEST = 1024 * 1024
LONGEST_BLOB = 24 * 1024 * 1024
"""Bytes of a body; that of a large value is base64."""
KEPT_ANSWERS = 10_000
"""Answers that are kept for their idempotency keys. In memory: a server that restarts forgets them, and what is
repeated then meets the state machine, which answers the same decision with the same receipt."""
KEY = "idempotency-key"

Answer = tuple[int, bytes, str]


class Api:
    """The API over a kernel."""

    def __init__(self, kernel: Kernel, live: Live) -> None:
        self._kernel = kernel
        self._live = live
        self._processes = Attached(kernel)
        self._answers: OrderedDict[tuple[str, str, str], tuple[bytes, Answer]] = OrderedDict()
        self._description: bytes = b""

    def routes(self) -> list[Route]:
        """All routes: one for each operation, and the description of them."""
        made = [Route(each.path, self._endpoint(each), methods=[each.method]) for each in _most_exact_first()]
        rest = Route("/v1/{rest:path}", self._nothing, methods=["GET", "POST", "PUT", "DELETE"])
        return [Route("/v1/openapi.json", self._describe, methods=["GET"]), *made, rest]

    async def _describe(self, _: Request) -> Response:
        if not self._description:
            self._description = orjson.dumps(document())
        return Response(self._description, media_type="application/json")

    async def _nothing(self, request: Request) -> Response:
        words = f"there is no {request.method} {request.url.path[:200]}"
        return _problem(CallError("no_such_operation", words, "See /v1/openapi.json."))

    def _endpoint(self, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                status, body, kind = await self._answer(operation, request)
            except InterlockError as error:
                return _problem(error)
            return Response(body, status, media_type=kind)

        return answer

    async def _answer(self, operation: Operation, request: Request) -> Answer:
        held = self._credential(request, operation)
        given, body = await _given(operation, request)
        key = request.headers.get(KEY)
        if operation.safe or key is None:
            return await self._call(operation, held, given)
        if not 0 < len(key) <= 200:
            raise CallError("bad_request", "an idempotency key has 1 to 200 characters", "Send a random one.")
        place, digest = (held.id, f"{operation.name} {request.url.path}", key), sha256(body).digest()
        known = self._answers.get(place)
        if known is not None and known[0] != digest:
            raise CallError(
                "idempotency_mismatch", "this key came with another body before", "Use a new key for a new request."
            )
        if known is not None:
            return known[1]
        made = await self._call(operation, held, given)
        self._answers[place] = (digest, made)
        while len(self._answers) > KEPT_ANSWERS:
            self._answers.popitem(last=False)
        return made

    async def _call(self, operation: Operation, held: Credential, given: dict[str, Any]) -> Answer:
        door: Any = self._door(operation, held)
        if operation.name == "changes":
            value: Any = await self._wait(float(given.get("wait", 0.0)))
        elif operation.safe:
            value = getattr(door, operation.name)(**given)
        else:
            value = await to_thread.run_sync(lambda: getattr(door, operation.name)(**given))
        return 200, operation.returns.write(value), "application/json"

    def _door(self, operation: Operation, held: Credential) -> AgentDoor | ReviewerDoor:
        if operation.who == "agent":
            return AgentDoor(self._kernel, self._processes, held.holder, lambda _: False)
        person = Principal(PrincipalKind.REVIEWER, held.holder, authn=held.authn, session=str(held.id))

        def end() -> bool:
            return self._kernel.end_credential(held.id, str(person), "signed out") > 0

        return ReviewerDoor(self._kernel, ReviewDesk(self._kernel, person, channel="http"), lambda _: False, end)

    def _credential(self, request: Request, operation: Operation) -> Credential:
        """Who asks. A key in a header, never a cookie: no page of somebody else can send one."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise DecisionError(
                "not_authenticated", "no key was given", "Send Authorization: Bearer ilk_…; make one: interlock keys"
            )
        held = self._kernel.authenticate(token.strip(), tuple(CredentialKind))
        agent = held.kind is CredentialKind.AGENT_KEY
        if operation.who == "agent" and not agent:
            raise DecisionError("not_allowed", "this is for agents", "Use an agent's key.")
        if operation.who == "reviewer" and not held.kind.decides:
            who = "an agent can never decide, nor look over a reviewer's shoulder" if agent else "a link only signs in"
            raise DecisionError("not_allowed", who, "Use a reviewer's key.")
        return held

    async def _wait(self, seconds: float) -> bool:
        """Wait for a hint without holding a thread."""
        seconds = max(0.0, min(seconds, LONGEST_WAIT_S))
        return await self._live.changed(seconds) if seconds else False


def _most_exact_first() -> list[Operation]:
    """The operations so that `/interrupts/count` is not taken for an interrupt of that name."""
    return sorted(OPERATIONS, key=lambda each: each.path.count("{"))


async def _given(operation: Operation, request: Request) -> tuple[dict[str, Any], bytes]:
    """The values that an operation takes, read from where each of them stands."""
    given: dict[str, Any] = {}
    places = {each.name: each for each in operation.parameters}
    for name, text in request.path_params.items():
        given[name] = codec_of(places[name].kind).read_text(str(text), name)
    if operation.safe:
        given |= _queried(operation, request)
        return given, b""
    body = await _body(operation, request)
    for name, value in fields_of(body).items():
        known = places.get(name)
        if known is None or known.place != "body":
            raise CallError("bad_request", f"{name[:60]}: there is no such field", "See /v1/openapi.json.")
        given[name] = codec_of(known.kind).read(value, name)
    for each in operation.parameters:
        if each.required and each.name not in given:
            raise CallError("bad_request", f"{each.name}: is missing", "See /v1/openapi.json.")
    return given, body


def _queried(operation: Operation, request: Request) -> dict[str, Any]:
    found: dict[str, Any] = {}
    known = {each.name: each for each in operation.parameters if each.place == "query"}
    for name in dict.fromkeys(request.query_params):
        each = known.get(name)
        if each is None:
            raise CallError("bad_request", f"{name[:60]}: there is no such parameter", "See /v1/openapi.json.")
        values = request.query_params.getlist(name)
        if name == "states":
            found[name] = tuple(codec_of(str).read_text(value, name) for value in values)
            found[name] = codec_of(each.kind).read(orjson.dumps(found[name]), name)
        elif len(values) > 1:
            raise CallError("bad_request", f"{name}: was given twice", "Give it once.")
        else:
            found[name] = codec_of(each.kind).read_text(values[0], name)
    for each in known.values():
        if each.required and each.name not in found:
            raise CallError("bad_request", f"{each.name}: is missing", "See /v1/openapi.json.")
    return found


async def _body(operation: Operation, request: Request) -> bytes:
    most = LONGEST_BLOB if operation.name in ("put_blob", "propose", "enter") else LONGEST
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise CallError("wrong_type", f"the body is to be application/json, not {kind[:60] or 'nothing'}", "Send JSON.")
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise CallError("too_long", f"the body is longer than {most:,} bytes", "Send less.")
        parts.append(part)
    return b"".join(parts)


def _problem(error: InterlockError) -> Response:
    headers = {"www-authenticate": "Bearer"} if error.code == "not_authenticated" else None
    return Response(orjson.dumps(problem_of(error)), status_of(error), headers=headers, media_type=MEDIA_TYPE)
