"""/api/executions"""

from fastapi import Request
from fastapi.responses import StreamingResponse

from preceptor.domain.executions.execution import Execution, NewExecution, Status, Summary
from preceptor.domain.ids import TaskId
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.surfaces.rest.parameters import After, Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs
from preceptor.surfaces.rest.telling import STREAM, everything, followed

router = Api("/api/executions", "executions")


@router.post("", status_code=202)
@needs(Permission.EXECUTION_RUN)
async def create(new: NewExecution, preceptor: ThePreceptor) -> Execution:
    """Have steps carried out, each after those it depends on. They go on by themselves; GET says how far they are."""
    return await preceptor.executions.create(new)


@router.get("")
@needs(Permission.EXECUTION_RUN)
async def page(
    preceptor: ThePreceptor, status: Status | None = None, cursor: Cursor = None, limit: Limit = 50
) -> Page[Summary]:
    """List executions, newest first: your own, or all of the organisation with `conversation:read_any`."""
    return await preceptor.executions.page(status and status.value, cursor, limit)


@router.get("/{execution_id}")
@needs(Permission.EXECUTION_RUN)
async def get(execution_id: Name, preceptor: ThePreceptor) -> Execution:
    """Read an execution: the state of each step, what it put out, and how often it was tried."""
    return await preceptor.executions.get(TaskId(execution_id))


@router.post("/{execution_id}/cancel")
@needs(Permission.EXECUTION_RUN)
async def cancel(execution_id: Name, preceptor: ThePreceptor) -> Execution:
    """Stop it, and the turns it takes. Answers when it has stopped; one that has ended stays as it is."""
    return await preceptor.executions.cancel(TaskId(execution_id))


@router.post("/{execution_id}/retry", status_code=202)
@needs(Permission.EXECUTION_RUN)
async def retry(execution_id: Name, preceptor: ThePreceptor) -> Execution:
    """Try again the steps that did not come off. One that came off, or still goes on, stays as it is."""
    return await preceptor.executions.retry(TaskId(execution_id))


@router.get("/{execution_id}/events", responses=STREAM, response_class=StreamingResponse)
@needs(Permission.EXECUTION_RUN)
async def events(execution_id: Name, preceptor: ThePreceptor, request: Request, after: After) -> StreamingResponse:
    """Follow an execution until it has ended: what has happened, then what happens."""
    await preceptor.executions.get(TaskId(execution_id))
    return followed(request, preceptor.executions.follow(TaskId(execution_id), after), everything)
