"""HTTP without a network: requests go to the application in this process, and answers come as they are made."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import suppress
from typing import Any

import httpx2
from starlette.types import ASGIApp

Message = MutableMapping[str, Any]


class Inward(httpx2.AsyncBaseTransport):
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = Exchange(await request.aread())
        exchange.begin(self.app, _scope(request))
        try:
            started = await exchange.next()
        except BaseException:
            await exchange.aclose()
            raise
        assert started is not None, "the application ended without an answer"
        return httpx2.Response(started["status"], headers=started["headers"], stream=exchange)


class Exchange(httpx2.AsyncByteStream):
    """One request while it is being answered. Whoever stops reading has hung up."""

    def __init__(self, body: bytes) -> None:
        self.body: bytes | None = body
        self.said: asyncio.Queue[Message | None] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def begin(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        self.task = asyncio.create_task(self._answer(app, scope))

    async def next(self) -> Message | None:
        """What the application says next; None when it has ended."""
        message = await self.said.get()
        if message is None:
            assert self.task is not None
            await self.task  # if it failed, so do we
        return message

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self.next()) is not None:
            if body := message.get("body", b""):
                yield body

    async def aclose(self) -> None:
        self.gone.set()
        if self.task is not None:
            with suppress(Exception):
                await self.task

    async def _answer(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            self.said.put_nowait(None)

    async def _receive(self) -> Message:
        if self.body is not None:
            body, self.body = self.body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.said.put_nowait(message)


def _scope(request: httpx2.Request) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.partition(b"?")[0],
        "query_string": request.url.query,
        "server": (request.url.host, request.url.port),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
