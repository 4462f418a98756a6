"""What holds for every request and every answer: hosts, origins, sizes, headers. Policy as data, one ASGI wrapper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from interlock.server.limits import Limits, too_many

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_FORM = 1024 * 1024
"""Bytes of a form; what the API takes is its own limit."""

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Nothing is loaded from elsewhere and nothing inline runs, whatever an agent wrote."""

HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
"""On every answer. `no-referrer` would have browsers hide the origin of our own forms, too. Sources: OWASP Secure
Headers, Fetch metadata.
"""

SAFE = ("GET", "HEAD")
METHODS = (*SAFE, "POST", "PUT", "DELETE", "OPTIONS")
API = "/v1/"
"""Below this, credentials are in a header and never in a cookie: no page of somebody else can send them."""


@dataclass(frozen=True, slots=True)
class Border:
    """Where the server is reached: `origin` as browsers see it, and the hosts that a request may name."""

    origin: str
    hosts: frozenset[str]

    @classmethod
    def at(cls, origin: str) -> Border:
        """The border of a server that is reached under this origin. Loopback has three names."""
        parts = urlsplit(origin)
        hosts = {parts.netloc}
        if parts.hostname in LOOPBACK:
            port = f":{parts.port}" if parts.port else ""
            hosts |= {f"{name}{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        return cls(origin, frozenset(hosts))

    @property
    def secure(self) -> bool:
        """Whether browsers speak TLS to it."""
        return self.origin.startswith("https:")

    def same(self, origin: str) -> bool:
        """Whether a page of this origin is one of ours."""
        scheme, _, host = origin.partition("://")
        return scheme == self.origin.partition("://")[0] and host in self.hosts


LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Guard:
    """Wraps the application: refuses what is not for us before anything of it is read."""

    def __init__(self, app: ASGIApp, border: Border, limits: Limits) -> None:
        self._app = app
        self._border = border
        self._limits = limits
        transport = ((b"strict-transport-security", b"max-age=31536000"),) if border.secure else ()
        self._headers = (*HEADERS, *transport)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through with its body counted and its answer under our headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [*message.get("headers", ())]
                names = {name for name, _ in given}
                given += [pair for pair in self._headers if pair[0] not in names]
                if b"cache-control" not in names:
                    given.append((b"cache-control", b"no-store"))
                message["headers"] = given
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(answer, *refusal)
            return
        await self._app(scope, receive, answer)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get(b"host", "") not in self._border.hosts:
            return 421, "this server does not answer for that host [wrong_host]"
        if scope["method"] not in METHODS:
            return 405, "this method is not known here [wrong_method]"
        api = scope["path"].startswith(API)
        if not api and scope["method"] not in SAFE:
            if scope["method"] != "POST":
                return 405, "this method is not known here [wrong_method]"
            if not self._ours(headers):
                return 403, "this did not come from a page of this server; open the card and try again [wrong_origin]"
            length = headers.get(b"content-length", "")
            if not length.isdecimal():
                return 411, "the length is missing [length_missing]"
            if int(length) > LONGEST_FORM:
                return 413, "that is too long: 1 MiB at most [too_long]"
        if not self._limits.allows(scope, headers):
            return 429, too_many(scope)
        return None

    def _ours(self, headers: dict[bytes, str]) -> bool:
        """Whether a form was sent by a page of ours. Browsers say so themselves; what says nothing is refused."""
        site = headers.get(b"sec-fetch-site")
        if site is not None and site not in ("same-origin", "none"):
            return False
        origin = headers.get(b"origin")
        if origin is not None:
            return self._border.same(origin)
        return site == "same-origin"


async def _refuse(send: Send, status: int, words: str) -> None:
    body = f"interlock: {words}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 429:
        headers.append((b"retry-after", b"10"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
