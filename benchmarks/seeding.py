"""Conversations in which much was said already, written as their turns would have written it."""

from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from preceptor import Preceptor
from preceptor.adapters.storage.sqlite import SqliteStore
from preceptor.domain.ids import ConversationId, MessageId, StreamId, TurnId
from preceptor.domain.log import NewEvent
from preceptor.domain.messages.message import Kind, Message, Role, Text, encode
from preceptor.engine.repositories.conversations import MessagePlace
from preceptor.engine.repositories.work import Work


async def at_rest(preceptor: Preceptor) -> None:
    """Once what was prepared is no longer folded into the file beside what is measured."""
    store = preceptor.session.store
    assert isinstance(store, SqliteStore)
    while store.folding.goes_on:
        await preceptor.session.write(_nothing)


async def _nothing(_: Work) -> None: ...


class Said(NamedTuple):
    text: str
    tokens: int


async def fill(preceptor: Preceptor, conversation: ConversationId, size: int, said: Callable[[int], Said]) -> None:
    """With so many messages, by the user and the assistant in turn; `said` is what is at each place, from 1."""
    world = preceptor.session.world

    async def program(work: Work) -> None:
        messages = [
            Message(
                id=MessageId(world.new_id()),
                conversation_id=conversation,
                turn_id=TurnId("before"),
                role=Role.USER if place % 2 else Role.ASSISTANT,
                kind=Kind.MESSAGE,
                parts=(Text(said(place).text),),
                instructions=(),
                tokens=said(place).tokens,
                created_at=work.now,
            )
            for place in range(1, size + 1)
        ]
        new = [NewEvent("message.completed", encode(message).decode()) for message in messages]
        events = await work.log.append(StreamId(conversation), new)
        sums = accumulate(message.tokens for message in messages)
        places = [MessagePlace(at, event.seq, cum) for at, (event, cum) in enumerate(zip(events, sums, strict=True), 1)]
        await work.messages.add(conversation, list(zip(places, messages, strict=True)))

    if size:
        await preceptor.session.write(program)
