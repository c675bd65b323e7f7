"""Prompts and messages for the tests of formats and models."""

from typing import Any

from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role, Text
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Ask, Prompt, Sampling, Segment, ToolSpec
from preceptor.domain.prompts.source import FromEngine
from preceptor.testing import EPOCH

ASK = Ask("some-model")
WEATHER = ToolSpec("weather", "Tells the weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
CLOCK = ToolSpec("clock", "Tells the time.", {"type": "object", "properties": {}})


def message(role: Role, *parts: AnyPart, **more: Any) -> Message:
    return Message(
        id=MessageId("m"),
        conversation_id=ConversationId("c"),
        turn_id=TurnId("t"),
        role=role,
        kind=Kind.MESSAGE,
        parts=parts,
        instructions=(),
        tokens=1,
        created_at=EPOCH,
        **more,
    )


def user(text: str) -> Message:
    return message(Role.USER, Text(text))


def prompt(
    *messages: Message, system: str = "Be kind.", tail: tuple[str, ...] = (), tools: tuple[ToolSpec, ...] = ()
) -> Prompt:
    return Prompt(
        system=(Segment(system, FromEngine("system"), 2),) if system else (),
        shown=tuple(Placed(place, one) for place, one in enumerate(messages)),
        tail=tuple(Segment(text, FromEngine("tail"), 1) for text in tail),
        tools=tools,
        overhead=3,
    )


def ask(**sampling: Any) -> Ask:
    return Ask("some-model", Sampling(**sampling))
