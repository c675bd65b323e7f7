"""/api/conversations/{id}/outcome and /api/messages/{id}/rating"""

from preceptor.domain.experiments.shown import MessageRating, NewMessageRating, NewOutcome, Outcome
from preceptor.domain.ids import ConversationId, MessageId
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs

router = Api("/api", "outcomes")


@router.post("/conversations/{conversation_id}/outcome", status_code=201)
@needs(Permission.CONVERSATION_WRITE)
async def tell(conversation_id: Name, outcome: NewOutcome, preceptor: ThePreceptor) -> Outcome:
    """Say what became of a conversation, such as whether it was resolved. Your last word on each metric counts."""
    return await preceptor.outcomes.tell(ConversationId(conversation_id), outcome)


@router.post("/messages/{message_id}/rating", status_code=201)
@needs(Permission.CONVERSATION_WRITE)
async def rate(message_id: Name, rating: NewMessageRating, preceptor: ThePreceptor) -> MessageRating:
    """Say what you think of an answer, from 1 to 5. Your last word counts."""
    return await preceptor.outcomes.rate(MessageId(message_id), rating)
