"""What is sent for an operation, and what comes of the answer: pure, and the same for both clients."""

import uuid
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar, cast, overload
from urllib.parse import quote

import httpx2
import msgspec
import orjson
from pydantic import BaseModel, SecretStr, TypeAdapter
from pydantic.alias_generators import to_snake

from preceptor.domain.value import Value

Result = TypeVar("Result")
Answer_co = TypeVar("Answer_co", covariant=True)

RETRIED = frozenset({429, 503})
IN_PROGRESS = "idempotency_in_progress"
LONGEST_WAIT = 10.0


class ApiError(Exception):
    """The server said no. `code` is stable; the text is a sentence for people."""

    def __init__(self, status: int, code: str, detail: str, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.problem = dict(problem or {})


class Unreachable(ApiError):
    """No answer came, however often we asked."""


class Asked(msgspec.Struct, frozen=True):
    """One request, as it is sent however often."""

    method: str
    path: str
    query: dict[str, Any] = {}
    body: bytes | None = None
    headers: dict[str, str] = {}


class AsyncCall(Protocol[Answer_co]):
    async def __call__(self, *ids: str, **fields: Any) -> Answer_co: ...


class SyncCall(Protocol[Answer_co]):
    def __call__(self, *ids: str, **fields: Any) -> Answer_co: ...


class AsyncGroup:
    """The operations on one noun."""

    def __init__(self, call: Callable[["Operation[Any]", Asked], Any]) -> None:
        self.call = call


class SyncGroup:
    """The operations on one noun."""

    def __init__(self, call: Callable[["Operation[Any]", Asked], Any]) -> None:
        self.call = call


class Operation(Generic[Result]):
    """An operation of the API. As an attribute it is called with the ids of its path, and its fields by name."""

    def __init__(self, method: str, path: str, answer: Any, body: Any = None, *query: str) -> None:
        self.method = method
        self.path = path
        self.body = body
        self.query = query
        self.answer = answer

    @overload
    def __get__(self, group: AsyncGroup, owner: type | None = None) -> AsyncCall[Result]: ...
    @overload
    def __get__(self, group: SyncGroup, owner: type | None = None) -> SyncCall[Result]: ...
    @overload
    def __get__(self, group: None, owner: type) -> "Operation[Result]": ...
    def __get__(self, group: AsyncGroup | SyncGroup | None, owner: type | None = None) -> Any:
        if group is None:
            return self

        def call(*ids: str, **fields: Any) -> Any:
            return group.call(self, self.asked(ids, fields))

        return call

    def asked(self, ids: tuple[str, ...], fields: dict[str, Any]) -> Asked:
        """`if_match` and `idempotency_key` are headers; what is no query is the body, `given` all of it at once."""
        headers: dict[str, str] = {}
        if (tag := fields.pop("if_match", None)) is not None:
            headers["If-Match"] = str(tag)
        key = fields.pop("idempotency_key", None)
        if self.method == "POST":
            headers["Idempotency-Key"] = str(key or uuid.uuid4())
        told = {name: fields.pop(to_snake(name), None) for name in self.query}
        query = {name: _spelled(value) for name, value in told.items() if value is not None}
        path = self.path.format(*(quote(one, safe="") for one in ids))
        return Asked(self.method, path, query, self._written(fields), headers)

    def read(self, content: bytes) -> Result:
        """The answer as its type. What a newer server adds is passed over."""
        if self._reader is None:
            return cast("Result", None)
        return self._reader.validate_json(content, extra="ignore")

    @cached_property
    def _reader(self) -> TypeAdapter[Any] | None:
        return None if self.answer is None else TypeAdapter(self.answer)

    @cached_property
    def _writer(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.body)

    def _written(self, fields: dict[str, Any]) -> bytes | None:
        if self.body is None:
            if fields:
                raise TypeError(f"{self.method} {self.path} takes no {', '.join(fields)}")
            return None
        given = fields.pop("given", None)
        value: Value = given if given is not None else self._writer.validate_python(fields)
        return orjson.dumps(value.model_dump(mode="json", exclude_unset=True) | _secrets(value))


def _spelled(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _secrets(value: BaseModel) -> dict[str, str]:
    """Secrets hide themselves when they are written; here they are on their way to where they belong."""
    fields = type(value).model_fields
    told = ((fields[name].alias or name, getattr(value, name)) for name in value.model_fields_set)
    return {name: secret.get_secret_value() for name, secret in told if isinstance(secret, SecretStr)}


def wait_before(attempt: int, response: httpx2.Response | None) -> float | None:
    """Seconds to wait before asking again; None if the answer is one, or no better one will come."""
    pause = min(0.2 * 2.0**attempt, LONGEST_WAIT)
    if response is None:
        return pause
    if response.status_code in RETRIED and not _settled(response):
        told = response.headers.get("retry-after", "")
        return min(float(told), LONGEST_WAIT) if told.isdecimal() else pause
    return pause if response.status_code == 409 and problem_of(response).code == IN_PROGRESS else None


def _settled(response: httpx2.Response) -> bool:
    """Whether a turn has failed for good: the same request is answered by the same turn, however often it is sent."""
    return problem_of(response).problem.get("turnId") is not None


def problem_of(response: httpx2.Response) -> ApiError:
    try:
        problem = cast("dict[str, Any]", response.json())
        return ApiError(response.status_code, str(problem["code"]), str(problem["detail"]), problem)
    except (ValueError, TypeError, KeyError):
        return ApiError(response.status_code, "unknown", f"The server answered {response.status_code}.")
