"""Starting a conversation: its first event, and its row."""

from preceptor.domain.conversations.conversation import Conversation, NewConversation, fold, started
from preceptor.domain.ids import ConversationId, StreamId
from preceptor.domain.ownership import Owner
from preceptor.engine.ports import Work


async def start(work: Work, owner: Owner, conversation_id: ConversationId, new: NewConversation) -> Conversation:
    conversation = fold(await work.log.start(StreamId(conversation_id), [started(new, owner)]))
    assert conversation is not None
    await work.conversations.add(conversation)
    return conversation
