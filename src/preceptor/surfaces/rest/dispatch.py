"""Finding the operation a request is for: by method and path at once, instead of trying one pattern after another."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from preceptor.adapters.observability.metrics import Metrics
from preceptor.domain.errors import Busy, DiskFull, PreceptorError, PreconditionFailed, Unavailable
from preceptor.domain.log import Fenced
from preceptor.surfaces.rest.errors import answer
from preceptor.surfaces.rest.routing import Operation

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Found(msgspec.Struct, frozen=True):
    operation: Operation
    handle: Handler
    segments: tuple[str, ...]
    """The path's parts; a parameter is written `{name}`."""

    def parameters(self, path: tuple[str, ...]) -> dict[str, str] | None:
        """What the path says for each parameter; None when it is another path."""
        told: dict[str, str] = {}
        for expected, given in zip(self.segments, path, strict=True):
            if expected[:1] == "{":
                if not given:
                    return None
                told[expected[1:-1]] = given
            elif expected != given:
                return None
        return told


class Dispatch:
    """Serves our operations; whatever it does not know (wrong method, unknown path) goes on to `app`."""

    def __init__(self, app: App, operations: Iterable[Operation], metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics
        self.known: dict[tuple[str, int], list[Found]] = {}
        for operation in operations:
            segments = tuple(operation.path_format.split("/"))
            found = Found(operation, operation.get_route_handler(), segments)
            for method in operation.methods or ():
                self.known.setdefault((method, len(segments)), []).append(found)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        handle = self._find(scope) if scope["type"] == "http" else None
        if handle is None:
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive, send)
        try:
            response = await handle(request)
        except (PreceptorError, RequestValidationError) as error:
            self._count(error)
            response = answer(request, error)
        await response(scope, receive, send)

    def _count(self, error: Exception) -> None:
        """What an operator watches for, beside the statuses that are counted anyway."""
        match error:
            case Busy():
                self.metrics.rate_limited(error.code)
            case PreconditionFailed():
                self.metrics.precondition_failed()
            case Fenced():
                self.metrics.fenced_write()
            case Unavailable() | DiskFull():
                self.metrics.storage_error(error.code)
            case _:
                pass

    def _find(self, scope: Scope) -> Handler | None:
        path = tuple(scope["path"].split("/"))
        for found in self.known.get((scope["method"], len(path)), ()):
            told = found.parameters(path)
            if told is not None:
                scope["path_params"], scope["route"] = told, found.operation
                return found.handle
        return None
