"""How each kind of failure looks to each kind of caller. One table, used by every surface."""

from typing import Any

import msgspec

from preceptor.domain import errors
from preceptor.domain.errors import Malformed, PreceptorError
from preceptor.domain.prompts.reply import ModelTimeout
from preceptor.domain.value import Value
from preceptor.engine.means.queues import TurnInProgress
from preceptor.engine.turn.failing import TurnFailed, TurnOverBudget, TurnTimeout, TurnUnguarded

MEDIA_TYPE = "application/problem+json"
BODY_PATIENCE = 30.0


class UnsupportedMediaType(Malformed):
    code = "unsupported_media_type"

    def __str__(self) -> str:
        return "The body must be JSON: send `Content-Type: application/json`, without compression."


class SlowBody(Malformed):
    code = "body_timeout"

    def __str__(self) -> str:
        return f"The request body did not arrive within {BODY_PATIENCE:.0f} s. Send it again, faster."


class Face(msgspec.Struct, frozen=True):
    http: int
    title: str
    exit_code: int = 1


FACES: dict[type[PreceptorError], Face] = {
    errors.Malformed: Face(400, "Malformed request", exit_code=2),
    UnsupportedMediaType: Face(415, "Unsupported media type"),
    SlowBody: Face(408, "Body too slow"),
    errors.Unauthenticated: Face(401, "Not authenticated"),
    errors.Refused: Face(403, "Not allowed"),
    errors.NotFound: Face(404, "Not found"),
    errors.Conflict: Face(409, "Conflict"),
    errors.PreconditionFailed: Face(412, "Changed meanwhile"),
    errors.TooLarge: Face(413, "Too large"),
    errors.Invalid: Face(422, "Invalid request", exit_code=2),
    errors.PreconditionRequired: Face(428, "If-Match required"),
    errors.Busy: Face(429, "Too many requests"),
    TurnOverBudget: Face(429, "Over budget"),
    TurnUnguarded: Face(503, "Guard unavailable"),
    TurnTimeout: Face(504, "Upstream timeout"),
    ModelTimeout: Face(504, "Upstream timeout"),
    errors.Upstream: Face(502, "Upstream failed"),
    errors.Unavailable: Face(503, "Unavailable"),
    errors.DiskFull: Face(507, "Disk full"),
    errors.CannotStart: Face(500, "Cannot start"),
    PreceptorError: Face(500, "Internal error"),
}


class Complaint(Value):
    """One thing that is wrong with a request."""

    path: str
    """A JSON pointer into the body, or the name of a parameter."""
    message: str


class Problem(Value):
    """The body of every error answer (RFC 9457). `code` is stable; `detail` is for people."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    errors: tuple[Complaint, ...] | None = None
    request_id: str | None = None
    turn_id: str | None = None
    error: dict[str, str | None] | None = None
    """The same in OpenAI's shape, for its clients."""


def face_of(error: PreceptorError) -> Face:
    return next(FACES[kind] for kind in type(error).__mro__ if kind in FACES)


def problem_of(error: PreceptorError) -> Problem:
    face = face_of(error)
    turn_id = error.turn_id if isinstance(error, TurnFailed | TurnInProgress) else None
    return Problem(title=face.title, status=face.http, code=error.code, detail=str(error), turn_id=turn_id)


def openai_error(problem: Problem) -> dict[str, str | None]:
    """A problem in OpenAI's shape, with our code."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = "server_error" if problem.status >= 500 else kinds.get(problem.status, "invalid_request_error")
    param = problem.errors[0].path if problem.errors else None
    return {"message": problem.detail, "type": kind, "param": param, "code": problem.code}


def openai_error_of(error: PreceptorError) -> dict[str, str | None]:
    return openai_error(problem_of(error))


def headers_of(error: PreceptorError) -> dict[str, str]:
    """What a client needs to know before it reads the body."""
    headers: dict[str, str] = {}
    retry_after: Any = getattr(error, "retry_after", None)
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    if isinstance(error, TurnFailed) and error.replayed:
        headers["Idempotent-Replayed"] = "true"
    if isinstance(error, errors.PreconditionFailed):
        headers["ETag"] = error.current
    if isinstance(error, errors.Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="preceptor"'
    if isinstance(error, errors.Unauthenticated | errors.TooLarge | SlowBody):
        headers["Connection"] = "close"  # the rest of the body is not read
    return headers
