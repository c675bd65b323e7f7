"""/messages/{id}/context: the exact input behind a message, as a page and as a panel."""

from typing import Annotated

from fastapi import Query, Request, Response

from preceptor.domain.ids import MessageId
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.pages import Pages
from preceptor.surfaces.web.rendering import Call, page
from preceptor.surfaces.web.views.context import inspected, instructions_in
from preceptor.surfaces.web.views.sources import LABELS, PURPOSES

router = Pages("/messages")
Words = Annotated[str, Query(max_length=64)]


@router.get("/{message_id}/context")
@needs(Permission.CONTEXT_READ)
async def show(message_id: Name, request: Request, preceptor: ThePreceptor, kind: Words = "") -> Response:
    """`kind` shows the parts of one kind of source only."""
    named = MessageId(message_id)
    context = await preceptor.contexts.of_message(named)
    earlier = await preceptor.contexts.before(named)
    before = None if earlier is None else await preceptor.contexts.of_message(earlier)
    conversation = await preceptor.contexts.conversation_of(named)
    return page(
        request,
        "context.html",
        here="conversations",
        call=Call(f"/api/messages/{message_id}/context"),
        it=inspected(context, before, conversation, await preceptor.threads.names(instructions_in(context))),
        message_id=message_id,
        conversation_id=conversation,
        earlier=earlier,
        kind=kind if kind in LABELS else "",
        purposes=PURPOSES,
    )
