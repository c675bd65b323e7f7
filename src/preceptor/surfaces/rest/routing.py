"""Operations: every one names the permission it needs, reads strict JSON, and honours an idempotency key.

request → who is it → too many? → may they → read the body → carry out → answer
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Coroutine
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.routing import APIRoute
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError, WrapValidator
from pydantic.fields import FieldInfo

from preceptor.app import Preceptor
from preceptor.domain.errors import Invalid, PreceptorError, PreconditionRequired, TooLarge
from preceptor.domain.ownership import Caller, Permission
from preceptor.engine.attachments import FileTooLarge
from preceptor.engine.session import Once, Replayed
from preceptor.surfaces.auth import Gatekeeper
from preceptor.surfaces.limits import Limits
from preceptor.surfaces.rest import files
from preceptor.surfaces.rest.binding import carrying_out, only_documents, refuse_body
from preceptor.surfaces.rest.bodies import given, parse, read_body
from preceptor.surfaces.rest.values import again, encode

Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Any]])
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
NEEDS = "__preceptor_needs__"
ROOM = "__preceptor_room__"
FILE = "__preceptor_file__"
FORM = 10_000
"""Bytes that a form needs around its file."""
STRICT = "/api/"
"""What is below it says which parameters it takes, and takes no others. OpenAI's clients send what they please."""
WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
NOTHING = frozenset({b"", b"{}", b"null"})
"""Bodies that say nothing: clients send them with operations that take none."""
_TAG = r'(W/)?"[\x21\x23-\x7e]*"'


def _as_it_was_read(given: Any, check: Callable[[Any], Any]) -> Any:
    try:
        return check(given)
    except ValidationError:
        raise ValueError('Send the ETag as you read it, such as "1" with its quotes, or *') from None


Tags = Annotated[
    Literal["*"] | Annotated[str, StringConstraints(pattern=rf"^{_TAG}( *, *{_TAG})*$")], WrapValidator(_as_it_was_read)
]
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def needs(permission: Permission) -> Callable[[Endpoint], Endpoint]:
    """Mark an endpoint with the permission its callers need."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, NEEDS, permission)
        return endpoint

    return mark


def open_to_anyone(endpoint: Endpoint) -> Endpoint:
    """Mark an endpoint as needing no credential. For what a health check or a browser must reach, and nothing else."""
    setattr(endpoint, NEEDS, None)
    return endpoint


def with_room(size: int) -> Callable[[Endpoint], Endpoint]:
    """Let an endpoint take a body of that many bytes, where that is more than others may take."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, ROOM, size)
        return endpoint

    return mark


def takes_file(endpoint: Endpoint) -> Endpoint:
    """Mark an endpoint whose body is a form with one file, instead of JSON."""
    setattr(endpoint, FILE, True)
    return endpoint


class WithoutPermission(PreceptorError):
    path: str

    def __str__(self) -> str:
        return f"{self.path} does not say which permission it needs; mark its endpoint with @needs or @open_to_anyone."


IdempotencyKey = Annotated[
    str | None,
    Header(
        description="Carry this request out once, however often it is sent within 24 hours.",
        json_schema_extra={"pattern": f"^{_KEY.pattern}$"},
    ),
]


@only_documents
def _documented(idempotency_key: IdempotencyKey = None) -> None:
    """`Operation` checks the header and acts on it."""


class Operation(APIRoute):
    """A route that does not exist without a permission."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not hasattr(endpoint, NEEDS):
            raise WithoutPermission(path)
        self.needs: Permission | None = getattr(endpoint, NEEDS)
        self.room: int = getattr(endpoint, ROOM, 0)
        self.file: bool = getattr(endpoint, FILE, False)
        tag = str((options.get("tags") or ["web"])[0])
        options["operation_id"] = f"{tag}_{endpoint.__name__}"
        if "POST" in (options.get("methods") or ()) and self.needs is not None:
            options["dependencies"] = [*(options.get("dependencies") or ()), Depends(_documented)]
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Handler:
        return self.handler

    @cached_property
    def handler(self) -> Handler:
        """Made once, for FastAPI and for every application that serves the operation."""
        strict, needed = self.path.startswith(STRICT), self.needs
        carry_out = carrying_out(self, strict=strict)
        told = None if self.body_field is None else _reader(self.body_field.field_info)

        async def handle(request: Request) -> Response:
            if needed is None:
                return await carry_out(request, None)
            gate: Gate = request.app.state.gate
            acting = await gate.keeper.admit(given(request, b"authorization"), request.headers)
            caller = acting.session.caller
            gate.limits.check(caller)
            caller.require(needed)
            reads = request.scope["method"] in WITH_BODY
            body = await self._body(request, gate) if reads else b""
            parsed = self._parsed(request, body, told) if body and told is not None else None
            if told is None and strict and body.strip() not in NOTHING:
                refuse_body(self)
            once = _once(request, parsed.asked if isinstance(parsed, files.Upload) else body, caller) if reads else None
            request.scope["state"]["preceptor"] = acting if once is None else acting.acting_as(caller, once)
            try:
                return await carry_out(request, parsed)
            except Replayed as replay:
                return again(replay.answer, self.status_code or 200)

        return handle

    async def _body(self, request: Request, gate: "Gate") -> bytes:
        if not self.file:
            return await read_body(request, max(gate.max_body, self.room))
        try:
            return await read_body(request, gate.max_file + FORM)
        except TooLarge:
            raise FileTooLarge(gate.max_file) from None

    def _parsed(self, request: Request, body: bytes, told: TypeAdapter[Any]) -> object:
        if self.file or self.body_field is None:
            return files.read(request.headers.get("content-type", ""), body)
        return parse(request, body, told, self.body_field.field_info.annotation)


def _reader(body: FieldInfo) -> TypeAdapter[Any]:
    """FastAPI keeps what tells shapes apart beside their type."""
    kind: Any = body.annotation
    marked: Any = Annotated
    return TypeAdapter(marked[kind, Field(discriminator=body.discriminator)] if body.discriminator else kind)


class Api(APIRouter):
    def __init__(self, prefix: str, tag: str) -> None:
        super().__init__(prefix=prefix, tags=[tag], route_class=Operation)


class Gate(msgspec.Struct, frozen=True):
    """What every operation passes through, made once for the app."""

    preceptor: Preceptor
    keeper: Gatekeeper
    limits: Limits
    max_body: int
    max_file: int


def _acting(request: Request) -> Preceptor:
    return request.scope["state"]["preceptor"]


ThePreceptor = Annotated[Preceptor, Depends(_acting)]
"""Preceptor, acting for this request's caller."""


async def _if_match(
    request: Request,
    if_match: Annotated[
        Tags | None,
        Header(description="The ETag you read, or several: a change of something else is refused. `*` is any."),
    ] = None,
) -> str | None:
    if if_match is None and request.state.preceptor.settings.require_if_match:
        raise PreconditionRequired
    return None if if_match is None else ",".join(request.headers.getlist("if-match"))


IfMatch = Annotated[str | None, Depends(_if_match)]


def _once(request: Request, body: bytes, caller: Caller) -> Once | None:
    keys = given(request, b"idempotency-key")
    if not keys or request.method != "POST":
        return None
    key = keys[0].decode("latin-1")
    if len(keys) > 1 or not _KEY.fullmatch(key):
        raise Invalid("Idempotency-Key must be given once, as 1 to 255 visible ASCII characters.")
    # The user is part of the question: an answer is never given to someone who did not ask for it.
    asked = f"{caller.owner.user_id}\n{request.method} {request.url.path}?{request.url.query}\n".encode()
    return Once(key, hashlib.sha256(asked + body).hexdigest(), encode)
