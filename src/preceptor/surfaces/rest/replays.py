"""/api/replays, and the gates of labels"""

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import StreamingResponse

from preceptor.domain.ids import TaskId
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.domain.replays.gate import Gate, GateRun, NewGate
from preceptor.domain.replays.replay import Item, NewReplay, Replay, Status, Summary
from preceptor.surfaces.rest.parameters import After, Cursor, LabelName, Limit, Name, PlaceCursor
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs
from preceptor.surfaces.rest.telling import STREAM, everything, followed

router = Api("/api", "replays")
GATE = "/instructions/{instruction_id}/labels/{label}/gate"


@router.post("/replays", status_code=202)
@needs(Permission.REPLAY_RUN)
async def create(new: NewReplay, preceptor: ThePreceptor) -> Replay:
    """Go through past turns again with something changed. It goes on by itself, writes to no conversation and runs no
    tool.
    """
    return await preceptor.replays.create(new)


@router.get("/replays")
@needs(Permission.REPLAY_RUN)
async def page(
    preceptor: ThePreceptor, status: Status | None = None, cursor: Cursor = None, limit: Limit = 50
) -> Page[Summary]:
    """List replays, newest first: your own, or all of the organisation with `conversation:read_any`."""
    return await preceptor.replays.page(status, cursor, limit)


@router.get("/replays/{replay_id}")
@needs(Permission.REPLAY_RUN)
async def get(replay_id: Name, preceptor: ThePreceptor) -> Replay:
    """Read a replay: how far it is, its sums, each measure before and after with its interval, and its first items."""
    return await preceptor.replays.get(TaskId(replay_id))


@router.get("/replays/{replay_id}/items")
@needs(Permission.REPLAY_RUN)
async def items(
    replay_id: Name,
    preceptor: ThePreceptor,
    changed: Annotated[bool, Query(description="Only turns that came out otherwise.")] = False,
    cursor: PlaceCursor = None,
    limit: Limit = 50,
) -> Page[Item]:
    """List what became of each turn."""
    return await preceptor.replays.items(TaskId(replay_id), changed=changed, cursor=cursor, limit=limit)


@router.post("/replays/{replay_id}/cancel")
@needs(Permission.REPLAY_RUN)
async def cancel(replay_id: Name, preceptor: ThePreceptor) -> Replay:
    """Stop it. Answers when it has stopped; what it found by then stays."""
    return await preceptor.replays.cancel(TaskId(replay_id))


@router.get("/replays/{replay_id}/events", responses=STREAM, response_class=StreamingResponse)
@needs(Permission.REPLAY_RUN)
async def events(replay_id: Name, preceptor: ThePreceptor, request: Request, after: After) -> StreamingResponse:
    """Follow a replay until it has ended."""
    await preceptor.replays.summary(TaskId(replay_id))
    return followed(request, preceptor.replays.follow(TaskId(replay_id), after), everything)


@router.put(GATE)
@needs(Permission.INSTRUCTION_WRITE)
async def set_gate(instruction_id: Name, label: LabelName, new: NewGate, preceptor: ThePreceptor) -> Gate:
    """Let a label move only to versions that a replay of the newest turns has let through."""
    return await preceptor.gates.put(instruction_id, label, new)


@router.get(GATE)
@needs(Permission.INSTRUCTION_READ)
async def gate(instruction_id: Name, label: LabelName, preceptor: ThePreceptor) -> Gate:
    """Read a label's gate, and which versions have passed it."""
    return await preceptor.gates.get(instruction_id, label)


@router.delete(GATE, status_code=204)
@needs(Permission.INSTRUCTION_WRITE)
async def remove_gate(instruction_id: Name, label: LabelName, preceptor: ThePreceptor) -> None:
    """Let a label move freely again."""
    await preceptor.gates.remove(instruction_id, label)


@router.post(f"{GATE}/run", status_code=202)
@needs(Permission.REPLAY_RUN)
async def run_gate(instruction_id: Name, label: LabelName, wanted: GateRun, preceptor: ThePreceptor) -> Replay:
    """Have a version tried at a label's gate: a replay whose verdict decides whether the label may move to it."""
    return await preceptor.gates.run(instruction_id, label, wanted)
