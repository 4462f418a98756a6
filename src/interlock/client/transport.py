"""Requests to a server: repeated where that is safe, bounded in time, and one clear error where it stays away."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlsplit

import httpx
import orjson

from interlock.domain.errors import InterlockError, SettingsError, StoreError
from interlock.wire.codec import codec_of
from interlock.wire.operations import LONGEST_WAIT_S, Operation
from interlock.wire.problems import error_of

T = TypeVar("T")
PATIENCE_S = 20.0
"""For so long a request is tried again while the server is away."""
_PAUSES_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
_AWAY = (429, 502, 503, 504)
KEY = "idempotency-key"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Transport:
    """Carries operations to one server with one key. Safe to use from any thread.

    A request that changes something carries an idempotency key of its own and is repeated with it: the server answers
    the same again. Redirects are not followed. Raises the server's own errors, and `StoreError` `server_away` where it
    cannot be reached within `patience` seconds.
    """

    def __init__(self, url: str, credential: str, *, patience: float = PATIENCE_S) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise SettingsError("store_unknown", f"{url!r} is no server", "Use https://host or http://127.0.0.1:8321.")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise SettingsError(
                "public_without_tls", f"{url} would send the key in the open", "Use https for another machine."
            )
        if not credential:
            raise SettingsError(
                "credential_missing", f"{url} asks who you are", "Give credential=… or set INTERLOCK_CREDENTIAL."
            )
        self.url = url.rstrip("/")
        self._patience = patience
        self._closed = threading.Event()
        self._http = httpx.Client(
            base_url=self.url,
            headers={"authorization": f"Bearer {credential}"},
            follow_redirects=False,
            timeout=httpx.Timeout(10.0, read=LONGEST_WAIT_S + 10.0),
            trust_env=False,
        )

    def call(self, operation: Operation, **given: Any) -> Any:
        """Ask for an operation; its values by name, those left out stay at their defaults."""
        path, query, body = _split(operation, given)
        headers = {} if operation.safe else {"content-type": "application/json", KEY: secrets.token_hex(16)}
        content = None if operation.safe else body

        def send() -> httpx.Response:
            return self._http.request(operation.method, path, params=query, content=content, headers=headers)

        answer = self._patiently(send)
        if answer.status_code == 200:
            return operation.returns.read(answer.content, operation.name)
        raise _refusal(answer)

    def _patiently(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        until = time.monotonic() + self._patience
        tries = 0
        while True:
            why = ""
            try:
                answer = send()
                if answer.status_code not in _AWAY or _is_ours(answer):
                    return answer
                why = f"it answered {answer.status_code}"
            except httpx.TransportError as error:
                why = type(error).__name__
            except RuntimeError as error:  # httpx says so of a client that was closed
                raise StoreError("store_closed", "the connection to the server was closed") from error
            pause = _PAUSES_S[min(tries, len(_PAUSES_S) - 1)]
            if self._closed.is_set() or time.monotonic() + pause > until:
                raise StoreError(
                    "server_away",
                    f"the server {self.url} cannot be reached ({why})",
                    "Nothing runs without it; what was under way goes on when it is back.",
                )
            self._closed.wait(pause)
            tries += 1

    def close(self) -> None:
        """End all requests."""
        self._closed.set()
        self._http.close()


def _is_ours(answer: httpx.Response) -> bool:
    """Whether an answer comes from the server itself, and not from a proxy before it; too many is no answer."""
    return answer.status_code == 503 and answer.headers.get("content-type", "").startswith("application/problem+json")


def _split(operation: Operation, given: dict[str, Any]) -> tuple[str, dict[str, list[str]], bytes]:
    path = operation.path
    query: dict[str, list[str]] = {}
    body: list[bytes] = []
    for each in operation.parameters:
        if each.name not in given:
            continue
        value = given[each.name]
        if each.place == "path":
            path = path.replace(f"{{{each.name}}}", quote(str(value), safe=""))
        elif each.place == "query":
            query[each.name] = _texts(value)
        else:
            body.append(orjson.dumps(each.name) + b":" + codec_of(each.kind).write(value))
    return path, query, b"{" + b",".join(body) + b"}"


def _texts(value: object) -> list[str]:
    """A value as it stands in an address: each of a sequence by itself, None not at all."""
    values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else () if value is None else (value,)
    return [str(getattr(one, "value", one)) for one in values]


def _refusal(answer: httpx.Response) -> InterlockError:
    try:
        problem: object = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        problem = {"detail": f"it answered {answer.status_code}"}
    return error_of(cast("dict[str, Any]", problem) if isinstance(problem, dict) else {})
