"""A database in which much was said already."""

from itertools import accumulate
from pathlib import Path

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.domain.ids import ConversationId, MessageId, StreamId, TurnId
from preceptor.domain.log import NewEvent
from preceptor.domain.messages.message import Kind, Message, Role, Text, encode
from preceptor.engine.ports import Work
from preceptor.engine.talk import MessagePlace

WORDS = "word " * 30
TOKENS = 31


async def seeded(folder: Path, messages: int, others: int = 0) -> ConversationId:
    """A conversation of so many messages, and others as long beside it."""
    settings = Settings.load(data_dir=folder, admin_key="benchmark-admin-key", secret_key="s" * 32)
    async with open_preceptor(settings, take_up=False) as preceptor:
        for _ in range(others):
            await _spoken(preceptor, messages)
        return await _spoken(preceptor, messages)


async def _spoken(preceptor: Preceptor, size: int) -> ConversationId:
    conversation = (await preceptor.conversations.start(agent_id="assistant")).conversation_id
    world = preceptor.session.world

    async def program(work: Work) -> None:
        said = [_said(conversation, MessageId(world.new_id()), place, work) for place in range(1, size + 1)]
        new = [NewEvent("message.completed", encode(message).decode()) for message in said]
        events = await work.log.append(StreamId(conversation), new)
        sums = accumulate(message.tokens for message in said)
        places = [MessagePlace(at, event.seq, cum) for at, (event, cum) in enumerate(zip(events, sums, strict=True), 1)]
        await work.messages.add(conversation, list(zip(places, said, strict=True)))

    await preceptor.session.write(program)
    return conversation


def _said(conversation: ConversationId, message: MessageId, place: int, work: Work) -> Message:
    return Message(
        id=message,
        conversation_id=conversation,
        turn_id=TurnId("before"),
        role=Role.USER if place % 2 else Role.ASSISTANT,
        kind=Kind.MESSAGE,
        parts=(Text(WORDS),),
        instructions=(),
        tokens=TOKENS,
        created_at=work.now,
    )
