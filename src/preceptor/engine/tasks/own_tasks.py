"""Tasks of one's own: what executions and replays have in common for whoever asks for one."""

from preceptor.domain.errors import NotFound
from preceptor.domain.ids import StreamId, TaskId
from preceptor.domain.log import NewEvent
from preceptor.domain.ownership import Caller, Permission
from preceptor.engine.repositories.tasks import TaskKind, TaskRow, WantedTasks
from preceptor.engine.repositories.work import Work
from preceptor.engine.tasks.tasks import Tasks


def new_row(work: Work, tasks: Tasks, kind: TaskKind, task_id: TaskId, status: str, body: str) -> TaskRow:
    """The row of a task that someone has just asked for: open, and under a lease."""
    return TaskRow(
        task_id=task_id,
        kind=kind,
        user_id=tasks.session.caller.owner.user_id,
        open=True,
        status=status,
        worker=tasks.first_worker,
        lease=work.now + tasks.session.means.lease,
        body=body,
    )


def wanted_by(caller: Caller, kind: TaskKind, status: str | None) -> WantedTasks:
    """One's own, or all of the organisation with `conversation:read_any`."""
    mine = None if caller.may(Permission.CONVERSATION_READ_ANY) else caller.owner.user_id
    return WantedTasks(kind=kind, status=status, user_id=mine)


async def task_of(work: Work, caller: Caller, kind: TaskKind, task_id: TaskId) -> TaskRow:
    """The task, if it is the caller's to see. Someone else's and none at all look the same."""
    row = await work.tasks.find(task_id)
    theirs = row is not None and (row.user_id == caller.owner.user_id or caller.may(Permission.CONVERSATION_READ_ANY))
    if row is None or row.kind is not kind or not theirs:
        raise NotFound(kind.value, task_id)
    return row


async def ask_to_stop(work: Work, caller: Caller, kind: TaskKind, task_id: TaskId, requested: NewEvent) -> None:
    """Have it on the record that it is to stop, once. One that has ended stays as it is."""
    row = await task_of(work, caller, kind, task_id)
    if row.open and row.cancel is None:
        await work.tasks.request_cancel(task_id, caller.owner.user_id)
        await work.log.append(StreamId(task_id), [requested])
