"""Seeing: whose conversation is whose."""

from preceptor.domain.conversations.conversation import Conversation, Status
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import ConversationId
from preceptor.domain.ownership import Caller, Permission
from preceptor.engine.repositories.work import Work


async def found(work: Work, caller: Caller, conversation_id: ConversationId, *, archived: bool = False) -> Conversation:
    """The conversation, if it is the caller's to see. Someone else's and none at all look the same."""
    return seen(await work.conversations.find(conversation_id), caller, conversation_id, archived=archived)


def seen(
    conversation: Conversation | None, caller: Caller, conversation_id: ConversationId, *, archived: bool = False
) -> Conversation:
    if conversation is None or not _visible(conversation, caller, archived=archived):
        raise NotFound("conversation", conversation_id)
    return conversation


def _visible(conversation: Conversation, caller: Caller, *, archived: bool) -> bool:
    theirs = caller.may(Permission.CONVERSATION_READ_ANY) or conversation.owner.user_id == caller.owner.user_id
    return theirs and (archived or conversation.status is Status.ACTIVE)
