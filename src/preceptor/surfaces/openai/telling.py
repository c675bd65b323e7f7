"""What a client is told of a turn, whatever its format: words as they come, or all of them, and how it ended."""

from collections.abc import AsyncIterable, AsyncIterator, Iterator

import msgspec

from preceptor.domain.delegation import Span
from preceptor.domain.ids import MessageId, SpanId
from preceptor.domain.log import Event
from preceptor.domain.messages.message import ToolCall
from preceptor.domain.prompts.reply import Finish, Usage
from preceptor.domain.turns.facts import (
    TERMINAL,
    Ended,
    MessageAbandoned,
    MessageDelta,
    MessageStarted,
    TurnStatus,
    fact_of,
)
from preceptor.domain.turns.step import CLIENT_TOOLS

CONVERSATION = "x-preceptor-conversation"
ALIVE = b": still here\n\n"
"""Sent while there is nothing to tell."""
_HEARD = TERMINAL | {"message.started", "message.delta", "message.abandoned", "delegation.opened"}


class Words(msgspec.Struct, frozen=True):
    """Some more of a message."""

    message_id: MessageId
    text: str


Piece = Words | Ended


class Telling(msgspec.Struct):
    """What has been told of a turn so far. A specialist's work is not the answer, and is not told."""

    at_once: bool
    """Whether words are told before the answer is whole."""
    spans: dict[SpanId, Span] = {}
    hidden: set[MessageId] = set()
    told: set[MessageId] = set()
    abandoned: set[MessageId] = set()
    """Those that broke off. Who listens has heard their beginnings, and no one else is told them."""

    def hear(self, event: Event) -> Iterator[Piece]:
        if event.kind not in _HEARD or event.payload is None:
            return
        match fact_of(event.kind, event.payload):
            case Span() as span:
                self.spans[span.span_id] = span
            case MessageStarted(span_id=str() as span_id, message_id=message_id):
                if self._hides(span_id):
                    self.hidden.add(message_id)
            case MessageDelta(thinking=False, message_id=message_id, text=text):
                if self.at_once and message_id not in self.hidden:
                    self.told.add(message_id)
                    yield Words(message_id, text)
            case MessageAbandoned(message_id=message_id):
                self.abandoned.add(message_id)
            case Ended() as ended:
                yield from self._rest(ended)
                yield ended
            case _:
                pass

    def _hides(self, span_id: SpanId | None) -> bool:
        """Whether what is said there is for whoever delegated, or for someone further up."""
        if span_id is None:
            return False
        span = self.spans[span_id]
        return span.mark_intermediate or span.branch or self._hides(span.parent)

    def _rest(self, ended: Ended) -> Iterator[Words]:
        message = ended.message
        if message is not None and message.id not in self.told and (response := response_of(ended)):
            yield Words(message.id, response)


async def pieces(batches: AsyncIterator[list[Event]], *, at_once: bool) -> AsyncIterator[list[Piece]]:
    """What there is to tell, as it comes. An empty list says that there is nothing new."""
    telling = Telling(at_once)
    async for batch in batches:
        told = [piece for event in batch for piece in telling.hear(event)]
        if told or not batch:
            yield told


async def spoken(batches: AsyncIterable[list[Event]], *, at_once: bool) -> list[Words]:
    """All that is told of a turn that has ended, message by message: what who listened has heard."""
    telling, said = Telling(at_once), dict[MessageId, str]()
    async for batch in batches:
        for piece in (piece for event in batch for piece in telling.hear(event)):
            if isinstance(piece, Words):
                said[piece.message_id] = said.get(piece.message_id, "") + piece.text
    return [Words(message_id, text) for message_id, text in said.items() if message_id not in telling.abandoned]


def response_of(ended: Ended) -> str:
    return str((ended.ui or {}).get("response", ""))


def finish_of(ended: Ended) -> Finish:
    """Why it ended, in the four words that every provider has."""
    if ended.status is TurnStatus.BLOCKED:
        return Finish.CONTENT_FILTER
    if ended.outcome == CLIENT_TOOLS:
        return Finish.TOOL_CALLS
    return ended.finish if ended.finish and ended.finish is not Finish.TOOL_CALLS else Finish.STOP


def calls_for(ended: Ended, tools: frozenset[str]) -> tuple[ToolCall, ...]:
    """The calls that the client is to carry out: of its own tools, and of no one else's."""
    if ended.outcome != CLIENT_TOOLS or ended.message is None:
        return ()
    return tuple(call for call in ended.message.tool_calls if call.name in tools and call.malformed is None)


def usage_of(usage: Usage) -> tuple[int, int, int]:
    return usage.input_tokens, usage.output_tokens, usage.cached_tokens
