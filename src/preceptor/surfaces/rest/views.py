"""/api/conversations/…/views, and what makes new ones: compact, restore, edit, regenerate"""

from fastapi import Request
from fastapi.responses import Response

from preceptor.domain.conversations.compaction import Wanted
from preceptor.domain.conversations.looks import ShownView, ShownViews
from preceptor.domain.conversations.view import Change
from preceptor.domain.ids import ConversationId, MessageId, ViewId
from preceptor.domain.ownership import Permission
from preceptor.engine.viewing.branching import Again
from preceptor.surfaces.rest.answering import ANSWERS, answer, begun, directives_of, parts_of
from preceptor.surfaces.rest.parameters import Archived, Limit, Name, PlaceCursor
from preceptor.surfaces.rest.routing import Api, IfMatch, ThePreceptor, needs
from preceptor.surfaces.rest.shapes import AnsweredAgain, EditedMessage, TurnAnswer

router = Api("/api/conversations/{conversation_id}", "views")
LAST = AnsweredAgain()


@router.get("/views")
@needs(Permission.CONVERSATION_READ)
async def page(
    conversation_id: Name,
    preceptor: ThePreceptor,
    cursor: PlaceCursor = None,
    limit: Limit = 50,
    archived: Archived = False,
) -> ShownViews:
    """List the views of a conversation, newest first. The first is the current one."""
    return await preceptor.views.page(ConversationId(conversation_id), cursor, limit, archived=archived)


@router.post("/views/{view_id}/restore", status_code=201)
@needs(Permission.CONVERSATION_WRITE)
async def restore(conversation_id: Name, view_id: Name, preceptor: ThePreceptor, if_match: IfMatch) -> ShownView:
    """Show again what a view showed, followed by what was said since on the same line. It becomes a new view."""
    return await preceptor.views.restore(ConversationId(conversation_id), ViewId(view_id), if_match)


@router.post("/compact")
@needs(Permission.CONVERSATION_WRITE)
async def compact(conversation_id: Name, wanted: Wanted, preceptor: ThePreceptor, if_match: IfMatch) -> ShownView:
    """Show fewer messages: leave some out, or put one in the place of many. It becomes a new view; none is lost.

    Where nothing of what was chosen is shown, the current view stays, and is the answer.
    """
    return await preceptor.views.compact(ConversationId(conversation_id), wanted, if_match)


@router.post("/regenerate", response_model=TurnAnswer, responses=ANSWERS)
@needs(Permission.CONVERSATION_WRITE)
async def regenerate(
    conversation_id: Name, preceptor: ThePreceptor, request: Request, again: AnsweredAgain = LAST
) -> Response:
    """Answer a question again, the last one unless another is named. A new view begins there; the old one stays."""
    named = None if again.message_id is None else MessageId(again.message_id)
    where = Again(Change.REGENERATED, named)
    here, later, queue = ConversationId(conversation_id), again.background, again.queue
    turn = preceptor.turns.begin(here, (), again.parameters, where, background=later, queue=queue)
    return await answer(request, preceptor, await begun(request, turn, queue=queue), background=later)


@router.post("/edit", response_model=TurnAnswer, responses=ANSWERS)
@needs(Permission.CONVERSATION_WRITE)
async def edit(conversation_id: Name, edited: EditedMessage, preceptor: ThePreceptor, request: Request) -> Response:
    """Say something else instead of what a user said, and have it answered. A new view begins there; the old stays."""
    where = Again(Change.EDITED, MessageId(edited.message_id))
    here, parts, told = ConversationId(conversation_id), parts_of(edited.content), edited.parameters
    directives, later, queue = directives_of(edited), edited.background, edited.queue
    turn = preceptor.turns.begin(here, parts, told, where, directives=directives, background=later, queue=queue)
    taken = await begun(request, turn, queue=queue)
    return await answer(request, preceptor, taken, background=later)
