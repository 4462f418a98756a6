"""Files of the pages, read once. Their addresses hold their digests, so that browsers may keep them for ever."""

from __future__ import annotations

import gzip
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from starlette.requests import Request

TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file: its bytes, the same packed, its type and the first characters of its digest."""

    body: bytes
    packed: bytes
    type: str
    digest: str


class StaticFiles:
    """Every file below a `static` folder of a screen, under `<screen>/<name>`."""

    def __init__(self) -> None:
        screens = files("interlock.server.inbox")
        self._files = {
            f"{screen.name}/{name}": _read(entry)
            for screen in screens.iterdir()
            if screen.is_dir() and screen.joinpath("static").is_dir()
            for entry in screen.joinpath("static").iterdir()
            if (name := entry.name).rpartition(".")[2] in TYPES
        }

    def url(self, name: str) -> str:
        """Where a browser finds the file; raises `KeyError` for one that is not there."""
        return f"/static/{self._files[name].digest}/{name}"

    @property
    def route(self) -> Route:
        """Answers for all of them."""
        return Route("/static/{digest}/{screen}/{name}", self._answer, methods=["GET"])

    async def _answer(self, request: Request) -> Response:
        places = request.path_params
        found = self._files.get(f"{places['screen']}/{places['name']}")
        if found is None or found.digest != places["digest"]:
            return PlainTextResponse("there is no such file [not_found]\n", 404)
        headers = {"cache-control": FOR_EVER, "vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(found.packed, media_type=found.type, headers={**headers, "content-encoding": "gzip"})
        return Response(found.body, media_type=found.type, headers=headers)


def _read(entry: Traversable) -> StaticFile:
    body = entry.read_bytes()
    digest = urlsafe_b64encode(sha256(body).digest())[:12].decode()
    return StaticFile(body, gzip.compress(body, mtime=0), TYPES[entry.name.rpartition(".")[2]], digest)
