"""Finding the operation a request is for: by method and path at once, instead of trying one pattern after another."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import msgspec
from fastapi import Request
from fastapi.exceptions import RequestValidationError

from preceptor.adapters.observability.metrics import Metrics
from preceptor.domain.errors import Busy, DiskFull, PreceptorError, PreconditionFailed, Unavailable
from preceptor.domain.log import Fenced
from preceptor.surfaces.rest.errors import answer
from preceptor.surfaces.rest.routing import Handler, Operation

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


class Found(msgspec.Struct, frozen=True):
    operation: Operation
    handle: Handler
    names: tuple[str, ...]
    """Of the path's parameters."""


Match = tuple[Found, tuple[str, ...]]
"""An operation, and what the path has for its parameters."""


class Place:
    """A place in the tree of paths: what ends here, by method, and what goes on from here."""

    __slots__ = ("anything", "ends", "spelled")

    def __init__(self) -> None:
        self.ends: dict[str, Found] = {}
        self.spelled: dict[str, Place] = {}
        self.anything: Place | None = None

    def then(self, segment: str) -> "Place":
        if segment[:1] != "{":
            return self.spelled.setdefault(segment, Place())
        self.anything = self.anything or Place()
        return self.anything

    def find(self, method: str, path: list[str], at: int = 0, told: tuple[str, ...] = ()) -> "Match | None":
        """What is spelled out comes before what has an id there."""
        if at == len(path):
            end = self.ends.get(method)
            return None if end is None else (end, told)
        given = path[at]
        spelled = self.spelled.get(given)
        found = None if spelled is None else spelled.find(method, path, at + 1, told)
        if found is None and self.anything is not None and given:
            return self.anything.find(method, path, at + 1, (*told, given))
        return found


class Dispatch:
    """Serves our operations; whatever it does not know (wrong method, unknown path) goes on to `app`."""

    def __init__(self, app: App, serving: object, operations: Iterable[Operation], metrics: Metrics) -> None:
        self.app = app
        self.serving = serving
        self.metrics = metrics
        self.paths = Place()
        self.spelled: dict[tuple[str, str], Match] = {}
        """By method and path, where that has no parameters."""
        for operation in operations:
            place, segments = self.paths, operation.path_format.split("/")
            for segment in segments:
                place = place.then(segment)
            names = tuple(segment[1:-1] for segment in segments if segment[:1] == "{")
            found = Found(operation, operation.handler, names)
            for method in operation.methods or ():
                place.ends.setdefault(method, found)
                if not names:
                    self.spelled.setdefault((method, operation.path_format), (found, ()))

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        found = self._found(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self.app(scope, receive, send)
            return
        end, told = found
        scope["app"], scope["route"] = self.serving, end.operation
        scope["path_params"] = dict(zip(end.names, told, strict=True))
        request = Request(scope, receive, send)
        try:
            response = await end.handle(request)
        except (PreceptorError, RequestValidationError) as error:
            self._count(error)
            response = answer(request, error)
        await response(scope, receive, send)

    def _found(self, method: str, path: str) -> Match | None:
        return self.spelled.get((method, path)) or self.paths.find(method, path.split("/"))

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
