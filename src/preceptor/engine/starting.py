"""Starting a conversation: its first event, and its row."""

from preceptor.domain.conversations.conversation import Conversation, NewConversation, begun, started
from preceptor.domain.ids import ConversationId, StreamId
from preceptor.domain.ownership import Owner
from preceptor.engine.repositories.work import Work


async def start(work: Work, owner: Owner, conversation_id: ConversationId, new: NewConversation) -> Conversation:
    [event] = await work.log.start(StreamId(conversation_id), [started(new, owner)])
    conversation = begun(event, new, owner)
    await work.conversations.add(conversation)
    return conversation
