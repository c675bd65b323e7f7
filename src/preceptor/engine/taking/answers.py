"""Answers: what came of a message, as whoever sent it is told."""

from typing import Any

import msgspec

from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.reply import Usage
from preceptor.domain.turns.facts import Ended, TurnStatus


class Answer(msgspec.Struct, frozen=True):
    """What came of a message."""

    turn_id: TurnId
    conversation_id: ConversationId
    status: TurnStatus
    response: str
    """What the user is told; empty where there is nothing to tell."""
    message: Message | None
    ui: dict[str, Any] | None
    usage: Usage
    code: str | None = None
    sentence: str | None = None


def answer_of(conversation_id: ConversationId, ended: Ended) -> Answer:
    return Answer(
        turn_id=ended.turn_id,
        conversation_id=conversation_id,
        status=ended.status,
        response=str((ended.ui or {}).get("response", "")),
        message=ended.message,
        ui=ended.ui,
        usage=ended.usage,
        code=ended.code,
        sentence=ended.sentence,
    )
