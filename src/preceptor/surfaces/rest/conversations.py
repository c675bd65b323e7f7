"""/api/conversations"""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import Header, Query, Request
from fastapi.responses import StreamingResponse

from preceptor.domain.conversations.conversation import Conversation, ConversationChange, NewConversation, Status
from preceptor.domain.ids import ConversationId
from preceptor.domain.log import Event
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.domain.times import from_micros
from preceptor.engine.conversations import Wanted
from preceptor.surfaces.rest.parameters import Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, IfMatch, ThePreceptor, needs

router = Api("/api/conversations", "conversations")

Position = Annotated[int, Query(description="Only events after this `seq`.", ge=0, le=2**53)]
EVENT_STREAM = "text/event-stream"
_TOLD = {
    "type": "object",
    "required": ["seq", "turnId", "at"],
    "properties": {
        "seq": {"type": "integer"},
        "turnId": {"type": ["string", "null"]},
        "at": {"type": "string", "format": "date-time"},
    },
}
_EVENT = {
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string", "description": "The row's `seq`."},
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": _TOLD},
    },
}
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {EVENT_STREAM: {"itemSchema": _EVENT}}, "description": "Events, as they happen."}
}


@router.post("", status_code=201)
@needs(Permission.CONVERSATION_WRITE)
async def start(new: NewConversation, preceptor: ThePreceptor) -> Conversation:
    """Start a conversation with an agent."""
    return await preceptor.conversations.start(new)


@router.get("")
@needs(Permission.CONVERSATION_READ)
async def page(
    preceptor: ThePreceptor,
    agent_id: Annotated[str | None, Query(alias="agentId", max_length=128, pattern=r"^[^\x00]+$")] = None,
    status: Status | None = None,
    q: Annotated[str | None, Query(description="Words in the title.", max_length=200, pattern=r"^[^\x00]+$")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Conversation]:
    """List conversations, newest first: your own, or all of the organisation with `conversation:read_any`."""
    return await preceptor.conversations.page(Wanted(agent_id, status, q), cursor, limit)


@router.get("/{conversation_id}")
@needs(Permission.CONVERSATION_READ)
async def get(
    conversation_id: Name,
    preceptor: ThePreceptor,
    archived: Annotated[bool, Query(description="Also when it has been archived.")] = False,
) -> Conversation:
    """Read a conversation's title, status and metadata."""
    return await preceptor.conversations.get(ConversationId(conversation_id), archived=archived)


@router.patch("/{conversation_id}")
@needs(Permission.CONVERSATION_WRITE)
async def change(
    conversation_id: Name, change: ConversationChange, preceptor: ThePreceptor, if_match: IfMatch
) -> Conversation:
    """Rename a conversation or change its metadata."""
    return await preceptor.conversations.change(ConversationId(conversation_id), change, if_match)


@router.delete("/{conversation_id}", status_code=204)
@needs(Permission.CONVERSATION_WRITE)
async def archive(conversation_id: Name, preceptor: ThePreceptor) -> None:
    """Archive a conversation: it leaves the lists, and nothing of it is deleted."""
    await preceptor.conversations.archive(ConversationId(conversation_id))


@router.get("/{conversation_id}/events", responses=STREAM, response_class=StreamingResponse)
@needs(Permission.CONVERSATION_READ)
async def events(
    conversation_id: Name,
    preceptor: ThePreceptor,
    request: Request,
    after: Position = 0,
    last_event_id: Annotated[int | None, Header(description="Resume after this event.", ge=0, le=2**53)] = None,
) -> StreamingResponse:
    """Follow the conversation's log: what has happened, then what happens. One event is one committed row."""
    await preceptor.conversations.get(ConversationId(conversation_id))
    position = last_event_id if last_event_id is not None else after
    batches = preceptor.conversations.follow(ConversationId(conversation_id), position)
    frames = request.app.state.streams.until_shutdown(batches)
    return StreamingResponse(_sent(frames), media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})


async def _sent(batches: AsyncIterator[list[Event]]) -> AsyncIterator[bytes]:
    yield b"retry: 500\n\n"
    async for batch in batches:
        yield b"".join(map(_frame, batch)) or b": still here\n\n"


def _frame(event: Event) -> bytes:
    payload = orjson.loads(event.payload) if event.payload is not None else {"erased": True}
    told = payload | {"seq": event.seq, "turnId": event.turn, "at": from_micros(event.at)}
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.seq, event.kind.encode(), orjson.dumps(told))
