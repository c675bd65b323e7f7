"""The front door: the one middleware every request passes, whatever the surface.

It gives the request an id, refuses foreign hosts and oversized headers, adds security headers, times and counts, and
answers for what nobody expected: beyond it there is no one who would add those headers.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import structlog

from preceptor.adapters.observability.logs import logger
from preceptor.adapters.observability.metrics import Metrics
from preceptor.adapters.observability.tracing import Tracing
from preceptor.adapters.world import RealWorld
from preceptor.surfaces.hosts import host_name
from preceptor.surfaces.problems import MEDIA_TYPE, Problem
from preceptor.surfaces.streams import Streams

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_WORLD = RealWorld()
MOST_HEADERS = 100
LARGEST_HEADERS = 32_768
SECURITY = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        (
            b"default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; "
            b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
    ),
]
SECURED = frozenset(name for name, _ in SECURITY)

UNEXPECTED = Problem(
    title="Internal error",
    status=500,
    code="internal",
    detail="Something went wrong on our side; nothing half-done was kept. Our log tells more under this requestId.",
)
CUT_SHORT = Problem(
    title="Unavailable",
    status=503,
    code="shutting_down",
    detail="Preceptor is stopping before the answer is there. What was accepted goes on when it is back: try again in "
    "1 s, with the same Idempotency-Key.",
)


class Front(msgspec.Struct, frozen=True):
    app: App
    allowed_hosts: frozenset[str]
    metrics: Metrics
    tracing: Tracing
    streams: Streams
    access_log: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _WORLD.new_id()
        scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        began, reply = time.perf_counter(), Reply(send, request_id)
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            told = told_by(scope["headers"])
            with self.tracing.span(scope["method"], parent=told.trace, path=scope["path"]):
                refusal = self._refusal(told)
                if refusal is None:
                    await self.app(scope, receive, reply)
                else:
                    await _refuse(reply, refusal, request_id)
        except asyncio.CancelledError:
            if reply.status or not self.streams.stopping.is_set():
                raise
            await _refuse(reply, CUT_SHORT, request_id)
        except Exception as error:
            logger("preceptor.http").error("unexpected", path=scope["path"], exc_info=error)
            if reply.status:
                raise
            await _refuse(reply, UNEXPECTED, request_id)
        finally:
            self._note(scope, reply.status or 500, time.perf_counter() - began)

    def _refusal(self, told: "Told") -> Problem | None:
        if self.streams.stopping.is_set():
            said = "Preceptor is stopping. Try again in 1 s."
            return Problem(title="Unavailable", status=503, code="shutting_down", detail=said)
        if told.headers > MOST_HEADERS or told.size > LARGEST_HEADERS:
            said = f"More than {MOST_HEADERS} headers or {LARGEST_HEADERS} bytes of them. Send fewer."
            return Problem(title="Headers too large", status=431, code="headers_too_large", detail=said)
        if not (told.host and told.host in self.allowed_hosts) and "*" not in self.allowed_hosts:
            said = "We do not answer to that Host. Use an allowed name, or add it to PRECEPTOR_ALLOWED_HOSTS."
            return Problem(title="Wrong host", status=400, code="wrong_host", detail=said)
        return None

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path_format", None) or "(none)"
        self.metrics.request(scope["method"], route, status, seconds)
        if self.access_log:
            logger("preceptor.http").info(
                "request", method=scope["method"], path=scope["path"], status=status, ms=round(seconds * 1000, 1)
            )


class Told(NamedTuple):
    """What the front door reads in a request's headers."""

    headers: int
    size: int
    host: str
    """The name alone; empty when it is none, or is not given once."""
    trace: str | None


def told_by(headers: list[tuple[bytes, bytes]]) -> Told:
    size, host, trace = 0, None, None
    for name, value in headers:
        size += len(name) + len(value)
        if name == b"host":
            host = value if host is None else b""
        elif name == b"traceparent" and trace is None:
            trace = value.decode("latin-1")
    return Told(len(headers), size, _named(host or b""), trace)


@lru_cache(maxsize=256)
def _named(host: bytes) -> str:
    return host_name(host.decode("latin-1"))


class Reply:
    """Sends the answer, with what every answer has."""

    __slots__ = ("request_id", "send", "status")

    def __init__(self, send: Send, request_id: str) -> None:
        self.send, self.request_id = send, request_id
        self.status = 0
        """0 until the answer has begun."""

    def __call__(self, message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            self.status, headers = message["status"], message["headers"]
            given = {name for name, _ in headers}
            extra = SECURITY if SECURED.isdisjoint(given) else [pair for pair in SECURITY if pair[0] not in given]
            message["headers"] = [*headers, *extra, (b"x-request-id", self.request_id.encode())]
        return self.send(message)


async def _refuse(send: Send, problem: Problem, request_id: str) -> None:
    body = problem.model_copy(update={"request_id": request_id}).model_dump_json(exclude_none=True).encode()
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    if problem.status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
