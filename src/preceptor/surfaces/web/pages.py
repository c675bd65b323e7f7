"""Pages: like operations, each names the permission it needs; unlike them, a browser asks, with a session and forms.

request → signed in? → from our own pages? → too many? → may they → read the form → carry out → a page
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, ClassVar
from urllib.parse import parse_qsl

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError

from preceptor.adapters.observability.logs import logger
from preceptor.domain.errors import Invalid, PreceptorError, Refused, Unauthenticated
from preceptor.domain.ownership import Caller, installation_admin
from preceptor.settings import Auth
from preceptor.surfaces.hosts import from_elsewhere
from preceptor.surfaces.rest.binding import carrying_out
from preceptor.surfaces.rest.bodies import given, read_body
from preceptor.surfaces.rest.files import Upload, read_page
from preceptor.surfaces.rest.routing import WITH_BODY, Gate, Handler, Operation
from preceptor.surfaces.web.failures import failure_page, unexpected_page
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.rendering import look_of

COOKIE = "preceptor_session"
MOST_FIELDS = 2000
MOST_PARTS = 40
FORM = "application/x-www-form-urlencoded"
WITH_FILES = "multipart/form-data"


class CrossSite(Refused):
    code: ClassVar[str] = "cross_site"
    needs: str = "same-origin"

    def __str__(self) -> str:
        return msg("This form was sent from another site, so nothing was done. Open the page here and send it again.")


class Form(msgspec.Struct, frozen=True):
    """The fields of a form, in order. A field may be there more than once."""

    fields: tuple[tuple[str, str], ...] = ()
    files: tuple[Upload, ...] = ()

    def one(self, name: str, default: str = "") -> str:
        return next((value for field, value in self.fields if field == name), default)

    def all(self, name: str) -> tuple[str, ...]:
        return tuple(value for field, value in self.fields if field == name)

    def has(self, name: str) -> bool:
        return any(field == name for field, _ in self.fields)


class Page(Operation):
    """A route for browsers."""

    @cached_property
    def handler(self) -> Handler:
        carry_out = carrying_out(self)

        async def handle(request: Request) -> Response:
            try:
                await self._admit(request)
                return await carry_out(request, None)
            except (PreceptorError, RequestValidationError) as error:
                return failure_page(request, error)
            except Exception as error:  # noqa: BLE001 - nobody who looks at a page can read what programs are told
                logger("preceptor.http").error("unexpected", path=request.url.path, exc_info=error)
                return unexpected_page(request)

        return handle

    async def _admit(self, request: Request) -> None:
        gate: Gate = request.app.state.gate
        if request.method in WITH_BODY:
            refuse_cross_site(request.headers)
        caller = await signed_in(request)
        request.state.look = look_of(request, caller)
        if self.needs is not None:
            if caller is None:
                raise Unauthenticated
            gate.limits.check(caller)
            caller.require(self.needs)
            request.state.preceptor = gate.preceptor.acting_as(caller)
        request.state.form = await self._form(request, gate) if request.method in WITH_BODY else Form()

    async def _form(self, request: Request, gate: Gate) -> Form:
        kind = request.headers.get("content-type", "")
        if not self.file or kind.partition(";")[0].strip().lower() != WITH_FILES:
            return await _form(request, gate)
        fields, files = read_page(kind, await read_body(request, gate.max_body + gate.max_file), MOST_PARTS)
        return Form(tuple((name, value.replace("\r\n", "\n")) for name, value in fields), tuple(files))


class Pages(APIRouter):
    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix=prefix, tags=["web"], route_class=Page, include_in_schema=False)


def _given(request: Request) -> Form:
    return request.state.form


TheForm = Annotated[Form, Depends(_given)]
"""What was filled in."""


async def signed_in(request: Request) -> Caller | None:
    """Who looks: by a bearer token where a proxy in front of us sends one, else by the session cookie."""
    gate: Gate = request.app.state.gate
    if gate.preceptor.settings.auth is Auth.OFF:
        return installation_admin()
    try:
        if authorization := given(request, b"authorization"):
            return (await gate.keeper.admit(authorization, request.headers)).session.caller
        cookie = request.cookies.get(COOKIE)
        if not cookie or request.app.state.sessions.is_over(cookie):
            return None
        return await gate.preceptor.access.by_session(cookie)
    except Unauthenticated:
        return None


def refuse_cross_site(headers: Mapping[str, str]) -> None:
    """What changes something comes from our own pages."""
    if from_elsewhere(headers):
        raise CrossSite


async def _form(request: Request, gate: Gate) -> Form:
    body = await read_body(request, gate.max_body)
    if not body:
        return Form()
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Invalid(f"This is a page: send its form as {FORM}, or use the API.")
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise Invalid(msg("The form could not be read. Open the page again and repeat the change.")) from None
    return Form(tuple((name, value.replace("\r\n", "\n")) for name, value in fields))


def own_path(path: str, otherwise: str) -> str:
    """A path of ours, and of no other site: browsers read more than one spelling as an address elsewhere."""
    ours = path.startswith("/") and path.isprintable() and not path.startswith("//") and "\\" not in path
    return path if ours else otherwise
