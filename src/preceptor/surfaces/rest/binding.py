"""Filling an endpoint's parameters from a request.

FastAPI works out what the parameters are, and documents them; filling them in ourselves costs far less than its way.
"""

from collections.abc import Callable, Coroutine, Mapping
from inspect import iscoroutinefunction
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

Values = dict[str, Any]
Errors = list[Any]
Reader = Callable[[Request], Mapping[str, Any]]


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
    """How to fill one callable: its parameters by place, what it depends on, and the request itself."""

    call: Callable[..., Any]
    places: tuple[tuple[Reader, tuple[Parameter, ...]], ...]
    depends: tuple[tuple[str | None, "Filling"], ...]
    request: str | None

    async def fill(self, request: Request, errors: Errors) -> Values:
        values: Values = {} if self.request is None else {self.request: request}
        for read, parameters in self.places:
            given = read(request)
            for parameter in parameters:
                parameter.fill(given, values, errors)
        for name, needed in self.depends:
            told = await needed.fill(request, errors)
            if errors:
                continue
            made = await needed.call(**told)
            if name is not None:
                values[name] = made
        return values


def carrying_out(route: APIRoute) -> Callable[[Request, object], Coroutine[Any, Any, Response]]:
    """The route's endpoint as a function of the request and the value that its body tells, None without a body."""
    filling = _filling(route.dependant)
    bodies = route.dependant.body_params
    assert len(bodies) <= 1, "an endpoint takes one body"
    body = bodies[0] if bodies else None

    async def carry_out(request: Request, told: object) -> Response:
        errors: Errors = []
        values = await filling.fill(request, errors)
        if body is not None and told is None and not body.field_info.is_required():
            values[body.name] = body.get_default()
        elif body is not None and told is None:
            errors.append({"type": "missing", "loc": ("body",), "msg": "Field required", "input": None})
        elif body is not None:
            values[body.name] = told
        if errors:
            raise RequestValidationError(errors)
        return await filling.call(**values)

    return carry_out


def _filling(dependant: Dependant) -> Filling:
    assert iscoroutinefunction(dependant.call), f"{dependant.call} is awaited: write it with async def"
    readers: tuple[tuple[Reader, list[Any]], ...] = (
        (lambda request: request.path_params, dependant.path_params),
        (lambda request: request.query_params, dependant.query_params),
        (lambda request: request.headers, dependant.header_params),
        (lambda request: request.cookies, dependant.cookie_params),
    )
    return Filling(
        call=dependant.call,
        places=tuple((read, tuple(map(_parameter, fields))) for read, fields in readers if fields),
        depends=tuple((needed.name, _filling(needed)) for needed in dependant.dependencies),
        request=dependant.request_param_name,
    )


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
