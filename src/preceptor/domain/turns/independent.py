"""The tool that starts another conversation: for work that has nothing to do with the one it is called in.

Delegation stays inside a conversation and gives control back. This does neither: the other conversation has an agent,
a history and limits of its own, and goes on by itself.
"""

import hashlib
from typing import Any

import msgspec

from preceptor.domain.conversations.conversation import NewConversation
from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.prompts.prompt import Effect, ToolSpec

START = "start_conversation"
DEEPEST = 3
"""How many conversations may have started one another."""
LONGEST_MESSAGE = 100_000

START_SPEC = ToolSpec(
    name=START,
    description=(
        "Start a conversation of its own with another agent, for a task that is independent of this one. It sees "
        "nothing of this conversation: say everything it needs in the first message."
    ),
    parameters={
        "type": "object",
        "properties": {
            "agent_id": {"type": "string", "description": "The id of the agent to talk to."},
            "message": {"type": "string", "description": "The first message.", "maxLength": LONGEST_MESSAGE},
            "title": {"type": "string", "description": "What the conversation is about.", "maxLength": 300},
            "expects_response": {
                "type": "boolean",
                "description": "True to wait for the answer to the first message. Otherwise it goes on by itself.",
            },
        },
        "required": ["agent_id"],
    },
    effect=Effect.IDEMPOTENT,
)


class Independent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the tool was told."""

    agent_id: str
    message: str | None = None
    title: str | None = None
    expects_response: bool = False


def independent(arguments: dict[str, Any]) -> Independent | str:
    """What a call asks for, or the sentence that tells the model what is wrong with it."""
    try:
        told = msgspec.convert(arguments, Independent)
        NewConversation(agent_id=told.agent_id, title=told.title)
    except (msgspec.ValidationError, ValueError):
        return "The arguments cannot be used: give agent_id, and if you like message, title and expects_response."
    if told.message is None and told.expects_response:
        return "There is nothing to respond to: give a message, or do not expect a response."
    if told.message is not None and (not told.message.strip() or "\x00" in told.message):
        return "The message cannot be blank, nor hold the character U+0000."
    if told.message is not None and len(told.message) > LONGEST_MESSAGE:
        return f"The message is too long (max {LONGEST_MESSAGE:,} characters)."
    return told


def ids_for(key: str) -> tuple[ConversationId, TurnId]:
    """The same for the same call, however often it is repeated; among other ids they sort by the turn of that call."""
    digest = hashlib.sha256(f"{START}:{key}".encode()).hexdigest()
    return ConversationId(_id(key, digest[:32])), TurnId(_id(key, digest[32:]))


def _id(key: str, digits: str) -> str:
    """The time of a version 7 UUID, then what makes it this one: a UUID of version 8."""
    return f"{key[:13]}-8{digits[:3]}-8{digits[3:6]}-{digits[6:18]}"
