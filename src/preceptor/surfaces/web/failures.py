"""What people are told when something did not work: one page, with a sentence and where to go from here."""

from typing import cast

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from preceptor.domain.errors import PreceptorError, Unauthenticated
from preceptor.domain.instructions.content import misfit
from preceptor.surfaces.accepts import wants
from preceptor.surfaces.problems import Problem, headers_of, problem_of
from preceptor.surfaces.rest import errors
from preceptor.surfaces.web.failing_words import BY_CODE
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.rendering import PART, look, page
from preceptor.surfaces.web.sentences import failure

PROGRAMS = ("/api", "/v1", "/mcp", "/metrics", "/healthz", "/readyz", "/openapi.json")
"""Where no browser looks for a page."""
OVER = msg("You are not signed in any more. Copy what you have written, then reload the page to sign in.")


def status_of(problem: PreceptorError | None) -> int:
    """The status of a page that comes back with what is wrong, or of one with nothing wrong."""
    return problem_of(problem).status if problem else 200


def failure_page(request: Request, error: PreceptorError | RequestValidationError) -> Response:
    problem = _in_words(request, error)
    if PART in request.headers:  # a script asks: it shows the sentence where it is
        over = isinstance(error, Unauthenticated)
        detail = look(request).speaker.say(OVER) if over else problem.detail
        return JSONResponse({"detail": detail, "code": problem.code}, problem.status)
    if isinstance(error, Unauthenticated):
        return page(request, "sign_in.html", status=401)
    response = _told(request, problem)
    response.headers.update(headers_of(error) if isinstance(error, PreceptorError) else {})
    return response


def unexpected_page(request: Request) -> Response:
    """For what no one had thought of: the server's log says more, and the page says where to look there."""
    detail = look(request).speaker.say(BY_CODE["internal"])
    if PART in request.headers:
        return JSONResponse({"detail": detail, "code": "internal"}, 500)
    return _told(request, Problem(title="Internal error", status=500, code="internal", detail=detail))


async def unknown_path(request: Request, error: Exception) -> Response:
    """What the router does not know: for browsers a page, for programs a problem document."""
    assert isinstance(error, HTTPException)
    answer = await errors.routing(request, error)
    if not wants_page(request):
        return answer
    told = Problem(title=error.detail, status=error.status_code, code="not_found", detail="")
    response = _told(request, told)
    if "allow" in answer.headers:
        response.headers["allow"] = answer.headers["allow"]
    return response


def wants_page(request: Request) -> bool:
    path = request.url.path
    known = any(path == program or path.startswith(program + "/") for program in PROGRAMS)
    return not known and wants(request, "text/html")


def _in_words(request: Request, error: PreceptorError | RequestValidationError) -> Problem:
    """What the API would say, in the language of whoever looks."""
    problem, speaker = errors.problem_for(error), look(request).speaker
    if isinstance(error, PreceptorError):
        return problem.model_copy(update={"detail": failure(speaker, error)})
    found = [misfit({**one, "loc": one["loc"][1:]}) for one in cast("list[ErrorDetails]", error.errors())]
    return problem.model_copy(update={"detail": " ".join(failure(speaker, one) for one in found) or problem.detail})


def _told(request: Request, problem: Problem) -> Response:
    request_id = getattr(request.state, "request_id", None)
    return page(request, "failure.html", status=problem.status, problem=problem, request_id=request_id)
