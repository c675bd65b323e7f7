"""Audiences: what of a conversation each kind of reader is shown. The log holds all of it; this is who sees what."""

from enum import StrEnum
from typing import Any

import msgspec

from preceptor.domain.conversations.view import ViewChanged
from preceptor.domain.messages.directive import told_users
from preceptor.domain.messages.message import Kind, Message, Role, Thinking
from preceptor.domain.turns.facts import Ended, MessageDelta, MessageStarted, Span, ToolStarted


class Audience(StrEnum):
    USER = "user"
    MODEL = "model"
    SYSTEM = "system"


USERS_SEE = frozenset(
    {
        "turn.accepted",
        "plan.ready",
        "message.started",
        "message.delta",
        "message.completed",
        "message.abandoned",
        "tool.started",
        "tool.completed",
        "delegation.opened",
        "delegation.closed",
        "turn.completed",
        "turn.blocked",
        "turn.clarify",
        "turn.failed",
        "turn.cancelled",
        "view.changed",
    }
)
"""The kinds of events that a user's stream carries."""


def for_user(message: Message) -> Message | None:
    """A message without the model's private reasoning and the library's texts; None for one that no user sees."""
    if message.role is Role.SYSTEM or (message.kind is Kind.SYNTHETIC_PLAN and message.analysis is None):
        return None
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    marks = tuple(map(told_users, message.instructions))
    if message.analysis is None and len(parts) == len(message.parts) and marks == message.instructions:
        return message
    tokens = message.tokens - message.analysis_tokens
    return msgspec.structs.replace(
        message, parts=parts, instructions=marks, tokens=tokens, analysis=None, analysis_tokens=0
    )


def user_fact(kind: str, fact: Any) -> Any:
    """What a user is told of an event; None if nothing."""
    if kind not in USERS_SEE or (isinstance(fact, MessageDelta) and fact.thinking):
        return None
    match fact:
        case Message():
            return for_user(fact)
        case Ended(message=message) if message is not None:
            return msgspec.structs.replace(fact, message=for_user(message))
        case Span():
            before = {} if fact.carried_from is None else {"carriedFrom": fact.carried_from}
            told = {"spanId": fact.span_id, "depth": fact.depth, "reason": fact.reason, "parent": fact.parent}
            return told | before
        case ToolStarted():
            return {"toolCallId": fact.tool_call_id, "name": fact.name, "spanId": fact.span_id}
        case ViewChanged(view=view):
            return {"viewId": view.view_id, "change": view.change}
        case MessageStarted():
            begun = {"id": fact.message_id, "role": Role.ASSISTANT, "kind": Kind.MESSAGE, "parts": ()}
            empty = {"instructions": (), "tokens": 0}
            return {"messageId": fact.message_id, **begun, **empty, "spanId": fact.span_id}
        case _:
            return {} if kind == "turn.accepted" else fact
