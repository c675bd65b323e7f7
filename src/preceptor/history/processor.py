"""A history processor for pydantic-ai, which is only imported when it is used."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.history.fitting import SummariseAsync, fit_async
from preceptor.history.forms import Count

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from preceptor.domain.messages.message import Message


def history_processor(
    parameters: RequestParameters, count: Count | None = None, summarise: SummariseAsync | None = None
) -> "Callable[[list[ModelMessage]], Awaitable[list[ModelMessage]]]":
    """For `ProcessHistory`. What is kept is the very parts that came in; a summary is a response of its own."""
    from preceptor.wire.carried import Origin
    from preceptor.wire.pydantic_ai_messages import Piece, assembled, pieces_of, to_pydantic_ai

    async def process(messages: list[Any]) -> list[Any]:  # pydantic-ai reads the annotations
        pieces = pieces_of(messages, Origin(count=count))
        known = {piece.message.id: piece for piece in pieces}
        fitted = await fit_async([piece.message for piece in pieces], parameters, count, summarise)

        def piece_of(message: "Message") -> Piece:
            same = known.get(message.id)
            if same is not None and same.message is message:
                return same
            (made,) = to_pydantic_ai([message])
            parts: Any = tuple(made.parts)
            return Piece(message, parts, made)

        return assembled(piece_of(message) for message in fitted.messages)

    return process
