"""Answering a message: what was said, and the turn that comes of it, now, later or as it happens."""

from collections.abc import Coroutine, Sequence
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from preceptor.app import Preceptor
from preceptor.domain.messages.directive import DelegateReasoning
from preceptor.domain.messages.message import AnyPart, Attachment, Text
from preceptor.engine.turns import Taken
from preceptor.surfaces.accepts import wants
from preceptor.surfaces.rest.shapes import AttachedPart, SentMessage, TextPart, TurnAnswer
from preceptor.surfaces.rest.telling import (
    JSON,
    STREAM,
    accepted,
    answered,
    followed,
    for_users,
    of_turn,
    replayed,
)
from preceptor.surfaces.streams import EVENT_STREAM, Left

ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {JSON: {}, **STREAM[200]["content"]},
        "description": "The turn, once it has settled; with `Accept: text/event-stream`, its events as they happen.",
    },
    202: {"model": TurnAnswer, "description": "Accepted, and running in the background."},
}


async def begun(request: Request, turn: Coroutine[Any, Any, Taken], *, queue: bool) -> Taken:
    """A turn, once it is accepted. One that has to wait for others does so while someone waits for it."""
    if not queue:
        return await turn
    if await request.is_disconnected():  # while their files were taken in
        turn.close()
        raise Left
    return await request.app.state.streams.while_wanted(request.receive, turn)


async def answer(request: Request, preceptor: Preceptor, taken: Taken, *, background: bool) -> Response:
    if background:
        return accepted(taken)
    if wants(request, EVENT_STREAM):
        return followed(request, of_turn(preceptor, taken), for_users, replayed(taken))
    return answered(taken, await preceptor.turns.settled(taken))


def directives_of(said: SentMessage) -> tuple[DelegateReasoning, ...]:
    """Whom a message hands over to. How long a prompt may be depends on the installation, which checks it."""
    return tuple(DelegateReasoning.model_construct(**dict(one)) for one in said.instructions)


def parts_of(content: str | Sequence[TextPart | AttachedPart]) -> tuple[AnyPart, ...]:
    """What was sent, as parts. Of an attachment only the id is believed."""
    if isinstance(content, str):
        return (Text(content),)
    return tuple(
        Text(part.text) if isinstance(part, TextPart) else Attachment(part.attachment_id, "", "") for part in content
    )
