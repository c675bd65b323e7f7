"""/api/conversations/…/messages and /api/messages"""

from typing import Annotated

import msgspec
from fastapi import Query, Request
from fastapi.responses import Response

from preceptor.domain.ids import ConversationId, MessageId
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.turns.audience import Audience
from preceptor.engine.messages import Which
from preceptor.surfaces.rest.answering import ANSWERS, answer, begun, directives_of, parts_of
from preceptor.surfaces.rest.parameters import Archived, Limit, Name, PlaceCursor
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs
from preceptor.surfaces.rest.shapes import SentMessage, ShownContext, ShownMessage, ShownPlan, TurnAnswer
from preceptor.surfaces.rest.telling import JSON

router = Api("/api", "messages")


@router.post("/conversations/{conversation_id}/messages", response_model=TurnAnswer, responses=ANSWERS)
@needs(Permission.CONVERSATION_WRITE)
async def send(conversation_id: Name, said: SentMessage, preceptor: ThePreceptor, request: Request) -> Response:
    """Say something: one user message, one turn."""
    where, parts = ConversationId(conversation_id), parts_of(said.content)
    directives, later, queue = directives_of(said), said.background, said.queue
    turn = preceptor.turns.begin(where, parts, said.parameters, directives=directives, background=later, queue=queue)
    taken = await begun(request, turn, queue=queue)
    return await answer(request, preceptor, taken, background=said.background)


@router.get("/conversations/{conversation_id}/messages", response_model=Page[ShownMessage])
@needs(Permission.CONVERSATION_READ)
async def page(  # noqa: PLR0913, PLR0917 - what a query can say
    conversation_id: Name,
    preceptor: ThePreceptor,
    view: Annotated[
        Which, Query(description="What models are shown now, or everything that was ever said.")
    ] = Which.CURRENT,
    audience: Annotated[
        Audience,
        Query(description="As users see it, as models do (needs `context:read`), or as it is (needs `record:read`)."),
    ] = Audience.USER,
    cursor: PlaceCursor = None,
    limit: Limit = 50,
    archived: Archived = False,
) -> Response:
    """List the messages of a conversation, oldest first."""
    here = ConversationId(conversation_id)
    found = await preceptor.messages.page(here, view, audience, cursor, limit, archived=archived)
    return Response(msgspec.json.encode(found), media_type=JSON)


@router.get("/conversations/{conversation_id}/context/plan", response_model=ShownPlan)
@needs(Permission.CONTEXT_READ)
async def plan(
    conversation_id: Name,
    preceptor: ThePreceptor,
    max_tokens: Annotated[int | None, Query(alias="maxTokens", ge=1, lt=2**31)] = None,
    max_history_size: Annotated[int | None, Query(alias="maxHistorySize", ge=1, lt=2**31)] = None,
) -> Response:
    """What the next message would be answered with: what of the history would be left out or summarised, and why."""
    limits = {"maxTokens": max_tokens, "maxHistorySize": max_history_size}
    said = {name: value for name, value in limits.items() if value is not None}
    told = await preceptor.foreseeing.plan(ConversationId(conversation_id), RequestParameters.model_validate(said))
    return Response(msgspec.json.encode(told), media_type=JSON)


@router.get("/messages/{message_id}/context", response_model=ShownContext)
@needs(Permission.CONTEXT_READ)
async def context(message_id: Name, preceptor: ThePreceptor) -> Response:
    """What the model was shown when it wrote this message: the exact request, and the source of every part."""
    return Response(msgspec.json.encode(await preceptor.contexts.of_message(MessageId(message_id))), media_type=JSON)
