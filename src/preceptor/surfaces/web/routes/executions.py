"""/executions: what was asked for in steps, how far each has come, and trying again what did not come off."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
import orjson
from fastapi import Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from preceptor.app import Preceptor
from preceptor.domain.errors import PreceptorError
from preceptor.domain.executions.execution import NewExecution, Status
from preceptor.domain.ids import TaskId
from preceptor.domain.instructions.content import checked
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.parameters import Cursor, Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.streams import Streamed
from preceptor.surfaces.web.failures import status_of
from preceptor.surfaces.web.pages import Pages, TheForm
from preceptor.surfaces.web.rendering import Call, Look, further, look, page, render, with_query
from preceptor.surfaces.web.telling import DONE, Since, frame, while_signed_in
from preceptor.surfaces.web.views.steps import (
    CAME_OFF,
    COMMANDS,
    DRAWN,
    HUES,
    TYPES,
    WORDS,
    Followed,
    StepView,
    drawn,
    in_order,
)
from preceptor.wire import strict_json

router = Pages("/executions")
AT_ONCE = 25
Words = Annotated[str, Query(max_length=64)]
Chosen = Annotated[int | None, Query(ge=0, le=2**31)]
SAMPLE: dict[str, Any] = {
    "steps": [
        {
            "index": 0,
            "name": "Load instructions",
            "command": {"type": "agent.loadInstructions", "resource": {"type": "agent", "id": "assistant"}},
        },
        {
            "index": 1,
            "name": "Ask",
            "command": {
                "type": "agent.execute",
                "resource": {"type": "agent", "id": "assistant"},
                "data": {"userMessage": "Hello"},
            },
            "dependsOn": [0],
        },
    ]
}


class Asked(msgspec.Struct, frozen=True):
    """How an execution is looked at: at which step, without those that came off, or drawn however many there are."""

    step: int | None
    only: str
    graph: str

    @property
    def kept(self) -> str:
        """What the address goes on saying when another step is looked at."""
        return ("only=failed&" if self.only == "failed" else "") + ("graph=1&" if self.graph else "")


async def _asked(step: Chosen = None, only: Words = "", graph: Words = "") -> Asked:
    return Asked(step, only, graph)


TheAsked = Annotated[Asked, Depends(_asked)]


@router.get("")
@needs(Permission.EXECUTION_RUN)
async def show_all(request: Request, preceptor: ThePreceptor, status: Words = "", cursor: Cursor = None) -> Response:
    wanted = status if status in set(Status) else None
    found = await preceptor.executions.page(wanted, cursor, AT_ONCE)
    chosen = {"status": wanted} if wanted else {}
    return page(
        request,
        "executions.html",
        here="executions",
        call=Call(with_query("/api/executions", chosen)),
        executions=found.items,
        statuses=tuple(Status),
        wanted=wanted,
        words=WORDS,
        types=TYPES,
        hues=HUES,
        more=further(found, chosen),
    )


@router.get("/new")
@needs(Permission.EXECUTION_RUN)
async def show_new(request: Request) -> Response:
    return _form(request, orjson.dumps(SAMPLE, option=orjson.OPT_INDENT_2).decode())


@router.post("")
@needs(Permission.EXECUTION_RUN)
async def create(request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """What cannot be carried out comes back in the form, with the reason."""
    asked = form.one("asked")
    try:
        given: Any = strict_json.read(asked.encode())
        made = await preceptor.executions.create(checked(NewExecution, given))
    except PreceptorError as error:
        return _form(request, asked, error)
    return RedirectResponse(f"/executions/{made.execution_id}", 303)


@router.get("/{execution_id}")
@needs(Permission.EXECUTION_RUN)
async def show(execution_id: Name, request: Request, preceptor: ThePreceptor, asked: TheAsked) -> Response:
    execution = await preceptor.executions.get(TaskId(execution_id))
    rows = in_order(execution.steps, asked.step)
    draws = len(execution.steps) <= DRAWN or bool(asked.graph)
    return page(
        request,
        "execution.html",
        here="executions",
        call=Call(f"/api/executions/{execution_id}"),
        it=execution,
        rows=[row for row in rows if asked.only != "failed" or row.step.status not in CAME_OFF],
        chosen=next((row for row in rows if row.chosen), None),
        views={row.step.index: row for row in rows},
        graph=drawn(execution.steps) if draws else None,
        only=asked.only,
        kept=asked.kept,
        words=WORDS,
        types=TYPES,
        commands=COMMANDS,
        hues=HUES,
    )


@router.post("/{execution_id}/cancel")
@needs(Permission.EXECUTION_RUN)
async def cancel(execution_id: Name, preceptor: ThePreceptor) -> Response:
    await preceptor.executions.cancel(TaskId(execution_id))
    return RedirectResponse(f"/executions/{execution_id}", 303)


@router.post("/{execution_id}/retry")
@needs(Permission.EXECUTION_RUN)
async def retry(execution_id: Name, preceptor: ThePreceptor) -> Response:
    await preceptor.executions.retry(TaskId(execution_id))
    return RedirectResponse(f"/executions/{execution_id}", 303)


@router.get("/{execution_id}/stream")
@needs(Permission.EXECUTION_RUN)
async def stream(
    execution_id: Name,
    request: Request,
    preceptor: ThePreceptor,
    since: Since,
    asked: TheAsked,
) -> Response:
    """What changes on the page of an execution, until it has ended."""
    execution = await preceptor.executions.get(TaskId(execution_id))
    told = _frames(request, preceptor, Followed.of(execution, asked.step), since, asked.kept)
    return Streamed(told)


def _form(request: Request, asked: str, problem: PreceptorError | None = None) -> Response:
    call = Call("/api/executions", "POST", SAMPLE)
    shown = {"asked": asked, "problem": problem}
    return page(request, "execution_new.html", status=status_of(problem), here="executions", call=call, **shown)


async def _frames(
    request: Request, preceptor: Preceptor, followed: Followed, after: int, kept: str
) -> AsyncIterator[bytes]:
    """Everything is read from the beginning on, since a step is all that was told of it; sent is what is new."""
    yield b"retry: 500\n\n"
    looking, named = look(request), followed.state.task_id
    events = request.app.state.streams.until_shutdown(preceptor.executions.follow(named))
    async for batch in while_signed_in(request, events):
        changed = followed.tell(batch)
        if batch and batch[-1].seq > after:
            yield frame(batch[-1].seq, _changes(looking, followed, changed, kept))
        else:
            yield b": still here\n\n"
        if followed.state.ended is not None and (await preceptor.executions.get(named)).ended_at is not None:
            yield DONE
            return


def _changes(looking: Look, followed: Followed, changed: set[int], kept: str) -> list[dict[str, Any]]:
    execution = followed.execution
    head = render(looking, "parts/execution_head.html", it=execution, words=WORDS, hues=HUES)
    told: list[dict[str, Any]] = [{"op": "put", "id": "head", "into": "head", "html": head}]
    for step in execution.steps:
        if step.index in changed:
            row = StepView(step, step.index == followed.chosen)
            html = render(looking, "parts/step_row.html", row=row, it=execution, kept=kept)
            word = looking.speaker.say(row.word)
            told.append({"op": "put", "id": f"step-{step.index}", "into": "steps", "html": html})
            told.append({"op": "mark", "id": f"n-{step.index}", "as": f"node st-{step.status}", "text": word})
    return told
