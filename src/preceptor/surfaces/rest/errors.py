"""Failures as problem documents (RFC 9457)."""

import re
from typing import Any, cast

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from preceptor.domain import agents, orgs, providers, users
from preceptor.domain.errors import Invalid, PreceptorError
from preceptor.domain.executions import commands
from preceptor.domain.experiments.metrics import METRIC_TEXT
from preceptor.domain.history.strategy import CONCEPT_TEXT
from preceptor.domain.instructions.content import ONE_LINE
from preceptor.domain.instructions.instruction import VARIABLE_TEXT
from preceptor.domain.instructions.version import LABEL_TEXT, VERSION_TEXT
from preceptor.domain.prompts.prompt import TOOL_TEXT
from preceptor.domain.reasoning import wording
from preceptor.domain.value import VISIBLE_TEXT
from preceptor.surfaces.problems import MEDIA_TYPE, Complaint, Problem, headers_of, openai_error, problem_of

_SPELLED = {
    VISIBLE_TEXT: "There must be something in it that can be seen",
    agents.HANDLE_TEXT: "Write up to 128 Latin letters, digits and . _ : - without spaces, a letter or digit first",
    users.HANDLE_TEXT: "Write up to 128 Latin letters, digits and @ . _ | - without spaces, a letter or digit first",
    orgs.SLUG_TEXT: "Write up to 63 small Latin letters, digits and - without spaces, a letter or digit first",
    providers.ID_TEXT: "Write up to 32 small Latin letters, digits and - without spaces, a letter first",
    providers.URL_TEXT: "Write an address that begins with http:// or https://, without spaces, at most 490 characters",
    VERSION_TEXT: "Write a version such as 1.2.0",
    LABEL_TEXT: "Write up to 63 small Latin letters, digits and . _ - without spaces, a letter first",
    ONE_LINE: "Write something on one line, without spaces before and after it",
    VARIABLE_TEXT: "Write up to 64 Latin letters, digits and _ without spaces, a letter or _ first",
    METRIC_TEXT: "Write up to 64 Latin letters, digits and . _ - without spaces, a letter first",
    CONCEPT_TEXT: "Write up to 64 Latin letters, digits and _ - without spaces, a letter first",
    TOOL_TEXT: "Write up to 64 Latin letters, digits and _ - without spaces",
    commands.URL_TEXT: "Write an address that begins with http:// or https://, without spaces",
    **wording.SPELLED,
}
"""What a text that people write has to look like, in words."""
_LISTS = re.compile(r"^(?:Tuple|List|Set|Frozenset) should have at (least \d+ items?|most \d+ items?) after validation")
"""A list is one to whoever sends it, whatever it becomes here."""
EVERYWHERE = "/"
"""The request as a whole."""
_STATUS_CODES = {404: "not_found", 405: "method_not_allowed"}


def render(request: Request, problem: Problem, headers: dict[str, str] | None = None) -> Response:
    complaints = problem.errors or (_whole(problem) if problem.code == Invalid.code else None)
    told = problem.model_copy(update={"request_id": getattr(request.state, "request_id", None), "errors": complaints})
    if request.url.path.startswith("/v1/"):
        told = told.model_copy(update={"error": openai_error(problem)})
    body = told.model_dump_json(exclude_none=True)
    return Response(body, problem.status, headers, media_type=MEDIA_TYPE)


def answer(request: Request, error: PreceptorError | RequestValidationError) -> Response:
    """What the caller is told of a failure that was raised on purpose."""
    return render(request, problem_for(error), headers_of(error) if isinstance(error, PreceptorError) else None)


def problem_for(error: PreceptorError | RequestValidationError) -> Problem:
    if isinstance(error, PreceptorError):
        return problem_of(error)
    complaints = tuple(_complaint(said) for said in cast("list[dict[str, Any]]", error.errors()))
    detail = f"{complaints[0].path}: {complaints[0].message}." if complaints else "The request is not as documented."
    return Problem(title="Invalid request", status=422, code="invalid", detail=detail, errors=complaints)


def _complaint(said: dict[str, Any]) -> Complaint:
    place, *path = said["loc"]
    where = pointer(path) if place == "body" else str(path[0])
    message = str(said["msg"]).removeprefix("Value error, ").removesuffix(".")
    message = _LISTS.sub(r"There must be at \1", message)
    message = next((words for pattern, words in _SPELLED.items() if f"'{pattern}'" in message), message)
    return Complaint(path=where or EVERYWHERE, message=message)


def _whole(problem: Problem) -> tuple[Complaint]:
    """What is wrong with a request where no place in it can be named."""
    return (Complaint(path=EVERYWHERE, message=problem.detail.removesuffix(".")),)


def pointer(path: list[str | int]) -> str:
    """A place in a JSON document (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


async def routing(request: Request, error: Exception) -> Response:
    """Unknown path, wrong method: what the router says, in our shape."""
    assert isinstance(error, HTTPException)
    code = _STATUS_CODES.get(error.status_code, "http_error")
    where = f" See {request.app.openapi_url}." if request.app.openapi_url else ""
    detail = f"{request.method} {request.url.path} is not something this server does.{where}"
    problem = Problem(title=error.detail, status=error.status_code, code=code, detail=detail)
    return render(request, problem, {"Allow": allowed(request)} if error.status_code == 405 else None)


def allowed(request: Request) -> str:
    """The methods of a path. The router would name those of the first route that has it.

    What is spelled out comes before what has an id there, and no id is spelled like it.
    """
    found: list[Route] = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    routes = [route for route in found if route.path == found[0].path]
    return ", ".join(sorted({method for route in routes for method in route.methods or ()}))
