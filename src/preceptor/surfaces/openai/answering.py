"""Answering clients of OpenAI's API: a turn, told whole or in pieces, in the form that it was asked for."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any, Protocol

import orjson
from fastapi import Header, Request
from fastapi.responses import Response

from preceptor.app import Preceptor
from preceptor.domain.errors import Invalid
from preceptor.domain.turns.facts import Ended, TurnStatus
from preceptor.engine.clients import Asked
from preceptor.engine.turn.failing import failure_of
from preceptor.engine.turns import Taken
from preceptor.surfaces.openai.telling import CONVERSATION, Piece, Words, pieces, spoken
from preceptor.surfaces.rest.telling import JSON, of_turn, replayed
from preceptor.surfaces.streams import EVENT_STREAM, Streamed

ITEM = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {JSON: {}, EVENT_STREAM: {"itemSchema": ITEM}},
        "description": "The answer; with `stream`, pieces of it as they come.",
    }
}
Conversation = Annotated[
    str | None,
    Header(
        alias="X-Preceptor-Conversation",
        description="Go on with this conversation, instead of `metadata.conversation_id`.",
        min_length=1,
        max_length=128,
        pattern=r"^[\x21-\x7e]+$",
    ),
]


class Answer(Protocol):
    """One answer in one of OpenAI's forms."""

    def whole(self, ended: Ended, said: Sequence[Words]) -> dict[str, Any]: ...

    def streamed(self, told: AsyncIterator[list[Piece]]) -> AsyncIterator[bytes]: ...


async def understood(preceptor: Preceptor, model: str, read: Callable[[], Asked]) -> Asked:
    """What is asked. Of a model that is not there, that is said first, whatever else is wrong."""
    try:
        return read()
    except Invalid:
        await preceptor.clients.require(model)
        raise


async def answered(
    request: Request, preceptor: Preceptor, asked: Asked, taken: Taken, answer: Answer, *, stream: bool
) -> Response:
    headers = {CONVERSATION: taken.conversation_id, **replayed(taken)}
    at_once = asked.parameters.response_format is None
    if stream:
        told = answer.streamed(_pieces(request, preceptor, taken, at_once=at_once))
        return Streamed(told, headers)
    ended = await preceptor.turns.settled(taken)
    if ended.status is TurnStatus.FAILED:
        raise failure_of(ended, replayed=taken.replayed)
    said = await spoken(of_turn(preceptor, taken), at_once=at_once)
    return Response(orjson.dumps(answer.whole(ended, said)), 200, headers, media_type=JSON)


def seconds_of(taken: Taken, preceptor: Preceptor) -> int:
    """When it was asked: the same however often the answer is fetched."""
    return int((taken.asked_at or preceptor.session.world.now()).timestamp())


def _pieces(request: Request, preceptor: Preceptor, taken: Taken, *, at_once: bool) -> AsyncIterator[list[Piece]]:
    """The pieces of a turn, read from its log: it goes on when no one reads, and ends when the server stops."""
    batches = request.app.state.streams.until_shutdown(of_turn(preceptor, taken))
    return pieces(batches, at_once=at_once)
