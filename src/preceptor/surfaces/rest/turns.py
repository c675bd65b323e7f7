"""/api/turns, and stopping one"""

import msgspec
from fastapi.responses import Response

from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs
from preceptor.surfaces.rest.shapes import TurnAnswer, TurnRecord
from preceptor.surfaces.rest.telling import JSON, answer_of, replayed

router = Api("/api", "turns")


@router.get("/turns/{turn_id}", response_model=TurnRecord)
@needs(Permission.RECORD_READ)
async def get(turn_id: Name, preceptor: ThePreceptor) -> Response:
    """Read everything that is known of a turn: what it was pinned to, its calls, delegations, decisions and usage."""
    return Response(msgspec.json.encode(await preceptor.turns.record(TurnId(turn_id))), media_type=JSON)


@router.post("/conversations/{conversation_id}/cancel", response_model=TurnAnswer)
@needs(Permission.CONVERSATION_WRITE)
async def cancel(conversation_id: Name, preceptor: ThePreceptor) -> Response:
    """Stop the running turn of a conversation. What was said stays; what was about to be done is not done."""
    taken = await preceptor.turns.cancel(ConversationId(conversation_id))
    assert taken.ended is not None
    told = answer_of(taken.conversation_id, taken.ended)
    return Response(msgspec.json.encode(told), 200, replayed(taken), media_type=JSON)
