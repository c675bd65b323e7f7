"""What is sent, how often, and what comes of the answer: pure, and the same for both clients."""

from collections.abc import Mapping
from typing import Any, cast

import httpx2
import msgspec

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

    @property
    def options(self) -> dict[str, Any]:
        kind = {} if self.body is None else {"Content-Type": "application/json"}
        return {"params": self.query, "content": self.body, "headers": kind | self.headers}


class Tries(msgspec.Struct):
    """How often one request has been sent, and whether it is sent again."""

    retries: int
    made: int = 0

    def judge(self, outcome: httpx2.Response | httpx2.TransportError) -> httpx2.Response | float:
        """The answer, or how long to wait before asking again. What is no better later is raised."""
        response = outcome if isinstance(outcome, httpx2.Response) else None
        pause = wait_before(self.made, response)
        self.made += 1
        if pause is not None and self.made <= self.retries:
            return pause
        if response is None:
            raise unreachable(cast("httpx2.TransportError", outcome)) from cast("httpx2.TransportError", outcome)
        if response.is_error:
            raise problem_of(response)
        return response


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


def unreachable(error: httpx2.TransportError) -> Unreachable:
    return Unreachable(0, "unreachable", f"The server gave no answer ({type(error).__name__}). Check its address.")
