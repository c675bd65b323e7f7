"""Reading what a request brings: its headers, and its body as strict JSON."""

import asyncio
from contextlib import suppress
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError

from preceptor.adapters.running import limited
from preceptor.domain.errors import TooLarge
from preceptor.surfaces.problems import BODY_PATIENCE, SlowBody, UnsupportedMediaType
from preceptor.surfaces.rest.pointing import pointed
from preceptor.surfaces.rest.values import JSON
from preceptor.wire import strict_json

HEARD_OUT, PATIENCE = 16_000_000, 1.0
"""Bytes and seconds for which a body that is too long is heard out: many clients listen when they have said all."""


def given(request: Request, name: bytes) -> list[bytes]:
    """What every header of that name says, in order."""
    return [value for header, value in request.scope["headers"] if header == name]


def first(request: Request, name: bytes, otherwise: str = "") -> str:
    for header, value in request.scope["headers"]:
        if header == name:
            return value.decode("latin-1")
    return otherwise


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body, given up on as soon as it is too long or too slow."""
    try:
        _refuse_long(request, limit)
        return await limited(_read(request, limit), asyncio.timeout(BODY_PATIENCE))
    except TimeoutError:
        raise SlowBody from None
    except TooLarge:
        if not given(request, b"expect"):  # whoever asks before they send has sent nothing
            with suppress(TimeoutError):
                await limited(_hear_out(request), asyncio.timeout(PATIENCE))
        raise


def _refuse_long(request: Request, limit: int) -> None:
    declared = first(request, b"content-length", "0")
    if declared.isdecimal() and (len(declared) > 18 or int(declared) > limit):
        raise TooLarge(limit)


async def _hear_out(request: Request) -> None:
    left, more = HEARD_OUT, True
    while more and left > 0:
        message = await request.receive()
        left -= len(message.get("body", b""))
        more = message.get("more_body", False)


async def _read(request: Request, limit: int) -> bytes:
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise SlowBody
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        more = message.get("more_body", False)
        if size > limit:
            raise TooLarge(limit)
    return b"".join(chunks)


def parse(request: Request, body: bytes, told: TypeAdapter[Any], kind: object) -> object:
    """Read the JSON, then make the value it tells, strictly: a number is no date, and a field has one name."""
    media = first(request, b"content-type")
    if media != JSON and not _is_json(media.partition(";")[0].strip().lower()):
        raise UnsupportedMediaType
    if first(request, b"content-encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType
    document = strict_json.read(body)
    try:
        return told.validate_json(body, strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        said = pointed(document, error.errors(include_url=False, include_input=False), kind)
        raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in said]) from None


def _is_json(media: str) -> bool:
    return media == JSON or (media.startswith("application/") and media.endswith("+json"))
