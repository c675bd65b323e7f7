"""Filling an endpoint's parameters from a request.

FastAPI works out what the parameters are, and documents them; filling them in ourselves costs far less than its way.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from inspect import iscoroutinefunction
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from preceptor.domain.spelling import meant
from preceptor.surfaces.rest.values import answer_with

Values = dict[str, Any]
Errors = list[Any]
Reader = Callable[[Request], Mapping[str, Any]]
DOCUMENTS = "__preceptor_documents__"
_NOTHING: Mapping[str, Any] = {}
FIRST = 5
NO_BODY = "This operation needs a body, and there is none"


def only_documents(dependency: Callable[..., None]) -> Callable[..., None]:
    """Mark a dependency whose parameters are there to be described, and are read elsewhere."""
    setattr(dependency, DOCUMENTS, True)
    return dependency


class Parameter(msgspec.Struct, frozen=True):
    """One parameter: where it is read from, under which name, and what it must be."""

    place: str
    alias: str
    name: str
    required: bool
    default: Any
    validate: Callable[..., tuple[Any, Errors]]

    def fill(self, given: Mapping[str, Any], values: Values, errors: Errors) -> None:
        value = given.get(self.alias)
        if value is None and not self.required:
            values[self.name] = self.default
            return
        where = (self.place, self.alias)
        if value is None:
            errors.append({"type": "missing", "loc": where, "msg": "Field required", "input": None})
            return
        values[self.name], wrong = self.validate(value, values, loc=where)
        errors.extend(wrong)


class Filling(msgspec.Struct, frozen=True):
    """How to fill one callable: its parameters by place, what is made for it first, and the request itself."""

    call: Callable[..., Any]
    places: tuple[tuple[Reader, tuple[Parameter, ...]], ...]
    known: tuple[tuple[str, Callable[[Request], Any]], ...]
    """What is there already, and only has to be taken from the request."""
    awaited: tuple[tuple[str | None, "Filling"], ...]
    request: str | None

    def fill(self, request: Request, errors: Errors) -> Values:
        values: Values = {} if self.request is None else {self.request: request}
        for read, parameters in self.places:
            given = read(request)
            for parameter in parameters:
                parameter.fill(given, values, errors)
        for name, take in self.known:
            values[name] = take(request)
        return values

    async def wait(self, request: Request, values: Values, errors: Errors) -> None:
        for name, needed in self.awaited:
            told = needed.fill(request, errors)
            if needed.awaited:
                await needed.wait(request, told, errors)
            if errors:
                continue
            made = await needed.call(**told)
            if name is not None:
                values[name] = made


def carrying_out(
    route: APIRoute, *, strict: bool = False
) -> Callable[[Request, object], Coroutine[Any, Any, Response]]:
    """The route's endpoint as a function of the request and the value that its body tells, None without a body.

    A `strict` one refuses parameters in the query that it does not know, or is told twice: a filter that is misspelled
    would not filter.
    """
    filling, status = _filling(route.dependant), route.status_code or 200
    known = tuple(_asked(route.dependant))
    endpoint: Callable[..., Awaitable[object]] = filling.call
    bodies = route.dependant.body_params
    assert len(bodies) <= 1, "an endpoint takes one body"
    body = bodies[0] if bodies else None

    async def carry_out(request: Request, told: object) -> Response:
        errors: Errors = []
        if strict and request.scope["query_string"]:
            errors += _amiss(request.query_params, known)
        values = filling.fill(request, errors)
        if filling.awaited:
            await filling.wait(request, values, errors)
        if body is not None and told is None and not body.field_info.is_required():
            values[body.name] = body.get_default()
        elif body is not None and told is None:
            errors.append({"type": "missing", "loc": ("body",), "msg": NO_BODY, "input": None})
        elif body is not None:
            values[body.name] = told
        if errors:
            raise RequestValidationError(errors)
        return answer_with(await endpoint(**values), status)

    return carry_out


def refuse_body(route: APIRoute) -> None:
    """What is said to an operation that takes no body would go unheard, and something else be done than was meant."""
    asked = ", ".join(_asked(route.dependant))
    told = f" What it takes stands in the query: {asked}" if asked else ""
    message = f"This operation takes no body.{told}"
    raise RequestValidationError([{"type": "no_body", "loc": ("body",), "msg": message, "input": None}])


def _asked(dependant: Dependant) -> Iterable[str]:
    """The names of all parameters in the query."""
    for parameter in dependant.query_params:
        yield parameter.alias
    for needed in dependant.dependencies:
        yield from _asked(needed)


def _amiss(given: QueryParams, known: tuple[str, ...]) -> Errors:
    """What is wrong with the names in a query, of the first few."""
    counted = Counter(name for name, _ in given.multi_items())
    amiss = [name for name, times in counted.items() if name not in known or times > 1]
    twice = "Say it once: it is here more than once"
    return [_told(name, twice) if name in known else _unknown(name, known) for name in amiss[:FIRST]]


def _unknown(name: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    """With the one that was meant, or else with all there are."""
    alike = meant(name, known)
    told = f"Perhaps {alike} was meant" if alike else f"It takes {', '.join(known) or 'none'}"
    return _told(name, f"This operation has no such parameter. {told}")


def _told(name: str, message: str) -> Mapping[str, Any]:
    return {"type": "query_name", "loc": ("query", name), "msg": message, "input": None}


def _filling(dependant: Dependant) -> Filling:
    assert iscoroutinefunction(dependant.call), f"{dependant.call} is awaited: write it with async def"
    readers: tuple[tuple[Reader, list[Any]], ...] = (
        (lambda request: request.path_params, dependant.path_params),
        (lambda request: request.query_params if request.scope["query_string"] else _NOTHING, dependant.query_params),
        (lambda request: request.headers, dependant.header_params),
        (lambda request: request.cookies, dependant.cookie_params),
    )
    needed = [one for one in dependant.dependencies if not hasattr(one.call, DOCUMENTS)]
    return Filling(
        call=dependant.call,
        places=tuple((read, tuple(map(_parameter, fields))) for read, fields in readers if fields),
        known=tuple(_known(one) for one in needed if not iscoroutinefunction(one.call)),
        awaited=tuple((one.name, _filling(one)) for one in needed if iscoroutinefunction(one.call)),
        request=dependant.request_param_name,
    )


def _known(dependant: Dependant) -> tuple[str, Callable[[Request], Any]]:
    alone = not (dependant.path_params or dependant.query_params or dependant.header_params or dependant.dependencies)
    assert alone, f"{dependant.call} takes more than the request: write it with async def"
    assert dependant.call is not None
    return dependant.name or "", dependant.call


def _parameter(field: Any) -> Parameter:
    info = field.field_info
    return Parameter(
        place=info.in_.value,
        alias=field.alias,
        name=field.name,
        required=info.is_required(),
        default=None if info.is_required() else field.get_default(),
        validate=field.validate,
    )
