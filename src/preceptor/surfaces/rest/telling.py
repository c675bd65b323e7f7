"""Telling: rows of the log as server-sent events, and turns as JSON."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec
import orjson
from fastapi import Request
from fastapi.responses import Response

from preceptor.app import Preceptor
from preceptor.domain.ids import ConversationId
from preceptor.domain.log import Event
from preceptor.domain.times import from_micros
from preceptor.domain.turns.audience import user_fact
from preceptor.domain.turns.facts import TERMINAL, Ended, MessageStarted, TurnStatus, fact_of
from preceptor.engine.turn.failing import failure_of
from preceptor.engine.turns import Taken
from preceptor.surfaces.streams import EVENT_STREAM, Streamed

JSON = "application/json"
_TOLD = {
    "type": "object",
    "required": ["seq", "turnId", "at"],
    "properties": {
        "seq": {"type": "integer"},
        "turnId": {"type": ["string", "null"]},
        "at": {"type": "string", "format": "date-time"},
    },
}
_EVENT = {
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string", "description": "The row's `seq`."},
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": JSON, "contentSchema": _TOLD},
    },
}
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {EVENT_STREAM: {"itemSchema": _EVENT}}, "description": "Events, as they happen."}
}
SAY_THEIR_TURN = TERMINAL | {"message.completed"}
"""Events whose own words name the turn."""
Teller = Callable[[Event], bytes]


def followed(
    request: Request, batches: AsyncGenerator[list[Event]], tell: Teller, headers: Mapping[str, str] | None = None
) -> Streamed:
    """Each row as it is told, until there are no more, the reader leaves or the server stops."""
    return Streamed(_sent(request.app.state.streams.until_shutdown(batches), tell), headers)


async def _sent(batches: AsyncIterator[list[Event]], tell: Teller) -> AsyncIterator[bytes]:
    yield b"retry: 500\n\n"
    async for batch in batches:
        yield b"".join(map(tell, batch)) or b": still here\n\n"


def everything(event: Event) -> bytes:
    """A row as it is, for those who may read the record."""
    return _frame(event, b'{"erased":true}' if event.payload is None else event.payload.encode())


def for_users(event: Event) -> bytes:
    """A row as users are told of it; nothing for what is not theirs to see."""
    if event.payload is None:
        return b""
    if event.kind.startswith("conversation."):
        return everything(event)
    fact = fact_of(event.kind, event.payload)
    if isinstance(fact, Ended):
        return _frame(event, msgspec.json.encode(answer_of(ConversationId(event.stream), fact)))
    told = user_fact(event.kind, fact)
    if isinstance(fact, MessageStarted):
        told |= {"conversationId": event.stream, "createdAt": from_micros(event.at)}
    return b"" if told is None else _frame(event, msgspec.json.encode(told))


def _frame(event: Event, body: bytes) -> bytes:
    label: dict[str, Any] = {"seq": event.seq, "at": from_micros(event.at)}
    if event.kind not in SAY_THEIR_TURN:
        label["turnId"] = event.turn
    written = orjson.dumps(label, option=orjson.OPT_UTC_Z)
    data = written if body == b"{}" else written[:-1] + b"," + body[1:]
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.seq, event.kind.encode(), data)


async def of_turn(preceptor: Preceptor, taken: Taken) -> AsyncGenerator[list[Event]]:
    """The events of one turn, until its last."""
    async with aclosing(preceptor.conversations.go_on(taken.conversation_id, taken.first)) as batches:
        async for batch in batches:
            mine = [event for event in batch if event.turn == taken.turn_id]
            yield mine
            if any(event.kind in TERMINAL for event in mine):
                return


def answer_of(conversation_id: ConversationId, ended: Ended) -> dict[str, Any]:
    """A turn as whoever sent its message is answered."""
    told = {
        "turnId": ended.turn_id,
        "conversationId": conversation_id,
        "status": ended.status,
        "message": user_fact("message.completed", ended.message) if ended.message else None,
        "ui": ended.ui,
        "usage": {"inputTokens": 0, "outputTokens": 0, **msgspec.to_builtins(ended.usage)},
        "outcome": ended.outcome,
        "code": ended.code,
        "sentence": ended.sentence,
    }
    return {name: value for name, value in told.items() if value is not None}


def answered(taken: Taken, ended: Ended) -> Response:
    """The JSON answer to a message. A turn that failed is told as the failure it is."""
    if ended.status is TurnStatus.FAILED:
        raise failure_of(ended, replayed=taken.replayed)
    body = msgspec.json.encode(answer_of(taken.conversation_id, ended))
    return Response(body, 200, replayed(taken), media_type=JSON)


def replayed(taken: Taken) -> dict[str, str]:
    """The header that says: this was asked for before."""
    return {"idempotent-replayed": "true"} if taken.replayed else {}


def accepted(taken: Taken) -> Response:
    body = {"turnId": taken.turn_id, "conversationId": taken.conversation_id, "status": TurnStatus.RUNNING}
    headers = {"Location": f"/api/turns/{taken.turn_id}", **replayed(taken)}
    return Response(msgspec.json.encode(body), 202, headers, media_type=JSON)
