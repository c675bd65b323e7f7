"""/api/conversations"""

from typing import Annotated, Literal

from fastapi import Query, Request
from fastapi.responses import StreamingResponse

from preceptor.domain.conversations.conversation import Conversation, ConversationChange, NewConversation, Status
from preceptor.domain.ids import ConversationId
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.engine.conversations import Wanted
from preceptor.surfaces.rest.parameters import After, Archived, Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, IfMatch, ThePreceptor, needs
from preceptor.surfaces.rest.telling import STREAM, everything, followed, for_users

router = Api("/api/conversations", "conversations")


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
    archived: Archived = False,
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
async def archive(conversation_id: Name, preceptor: ThePreceptor, if_match: IfMatch) -> None:
    """Archive a conversation: it leaves the lists, and nothing of it is deleted."""
    await preceptor.conversations.archive(ConversationId(conversation_id), if_match)


@router.get("/{conversation_id}/events", responses=STREAM, response_class=StreamingResponse)
@needs(Permission.CONVERSATION_READ)
async def events(
    conversation_id: Name,
    preceptor: ThePreceptor,
    request: Request,
    after: After,
    audience: Annotated[
        Literal["user", "system"], Query(description="What users see, or every row (needs `record:read`).")
    ] = "user",
    archived: Archived = False,
) -> StreamingResponse:
    """Follow the conversation's log: what has happened, then what happens. One event is one committed row."""
    await preceptor.conversations.get(ConversationId(conversation_id), archived=archived)
    if audience == "system":
        preceptor.session.caller.require(Permission.RECORD_READ)
    batches = preceptor.conversations.follow(ConversationId(conversation_id), after, archived=archived)
    return followed(request, batches, everything if audience == "system" else for_users)
