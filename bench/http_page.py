"""What a page of the queue costs over HTTP: a bare endpoint, ours, and other ways to write it. CPU of the server only.

Run: ./dev run python bench/http_page.py [--requests N] (FastAPI is compared where it is installed)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import orjson
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from interlock import Interlock
from interlock.cards.shapes import card_head
from interlock.compose import web_server


def fill(il: Interlock, cards: int) -> None:
    @il.tool("compensable", reach=["spends"])
    def refund(order: str, cents: int) -> str:
        return f"{order} {cents}"

    @il.workflow
    def refunding(order: str) -> str:
        return refund(order, 4800)

    for number in range(cards):
        refunding.start(f"88-{number}")


async def cpu_ms(app: Any, path: str, cookies: dict[str, str], requests: int) -> float:
    """CPU milliseconds a request, client included: it is the same for all."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321", cookies=cookies) as client:
        for _ in range(5):
            answer = await client.get(path)
            assert answer.status_code == 200, answer.text
        began = time.process_time()
        for _ in range(requests):
            await client.get(path)
        return 1000 * (time.process_time() - began) / requests


def ways(il: Interlock) -> dict[str, tuple[Any, str]]:
    kernel = il.kernel

    def rows() -> list[dict[str, object]]:
        return [card_head(view) for view in kernel.inbox(50)]

    async def bare(_: object) -> Response:
        return Response(orjson.dumps(rows()), media_type="application/json")

    def threaded(_: object) -> Response:
        return Response(orjson.dumps(rows()), media_type="application/json")

    found: dict[str, tuple[Any, str]] = {
        "bare Starlette and orjson": (Starlette(routes=[Route("/", bare)]), "/"),
        "the same in the thread pool": (Starlette(routes=[Route("/", threaded)]), "/"),
        "the page of the inbox": (web_server(kernel, "http://127.0.0.1:8321").config.app, "/"),
    }
    try:
        from fastapi import FastAPI
        from pydantic import BaseModel, ConfigDict
    except ImportError:
        return found

    class Card(BaseModel):
        model_config = ConfigDict(extra="allow")
        fingerprint: str
        id: str
        kind: str
        digest: str
        open: bool
        what: str
        action: dict[str, Any]
        run: dict[str, Any]

    modelled = FastAPI()

    @modelled.get("/", response_model=list[Card])
    async def listed() -> Any:
        return rows()

    found["FastAPI with a response model"] = (modelled, "/")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--cards", type=int, default=60)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Interlock(f"sqlite:///{Path(folder) / 'i.db'}") as il:
        fill(il, asked.cards)
        from interlock.domain.credential import CredentialKind

        session = il.kernel.issue(CredentialKind.SESSION, "ana", by="operator:bench").token
        found = ways(il)
        figures = {
            name: asyncio.run(cpu_ms(app, path, {"interlock-8321": session}, asked.requests))
            for name, (app, path) in found.items()
        }
        query: Callable[[], object] = lambda: il.kernel.inbox(50)  # noqa: E731
        began = time.process_time()
        for _ in range(asked.requests):
            query()
        figures["the query alone"] = 1000 * (time.process_time() - began) / asked.requests
    least = figures["bare Starlette and orjson"]
    print(
        json.dumps(
            {name: {"cpu_ms": round(each, 2), "times_bare": round(each / least, 2)} for name, each in figures.items()},
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
