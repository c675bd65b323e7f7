"""One answer in the form of OpenAI's responses: whole, or as the events it is made of."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import msgspec
import orjson

from preceptor.domain.errors import PreceptorError, ShuttingDown
from preceptor.domain.messages.message import ToolCall
from preceptor.domain.prompts.reply import Finish
from preceptor.domain.turns.facts import Ended, TurnStatus
from preceptor.engine.turn.failing import failure_of
from preceptor.engine.turns import Taken
from preceptor.surfaces.openai.telling import (
    ALIVE,
    Piece,
    Words,
    calls_for,
    finish_of,
    usage_of,
)
from preceptor.surfaces.problems import openai_error_of
from preceptor.wire.openai_chat import arguments_of

ID = "resp_"
_WHY = {Finish.LENGTH: "max_output_tokens", Finish.CONTENT_FILTER: "content_filter"}
Json = dict[str, Any]


class Responding(msgspec.Struct):
    model: str
    taken: Taken
    created: int
    tools: frozenset[str]
    number: int = 0
    """Of the next event."""
    output: list[Json] = []
    """The items that are complete."""
    spoken: str = ""
    """What has been said of the item that is not."""
    item: str | None = None

    def whole(self, ended: Ended, said: Sequence[Words]) -> Json:
        self.output += [_message(f"msg_{words.message_id}", words.text) for words in said]
        self.output += [_called(call) for call in calls_for(ended, self.tools)]
        return self._response(ended)

    async def streamed(self, told: AsyncIterator[list[Piece]]) -> AsyncIterator[bytes]:
        for kind in ("response.created", "response.in_progress"):
            yield self._event(kind, response=self._response(None))
        async for batch in told:
            yield b"".join(event for piece in batch for event in self._told(piece)) or ALIVE
            if batch and isinstance(batch[-1], Ended):
                return
        yield self._failed(ShuttingDown("The server stops; the turn goes on when it is back."))

    def _told(self, piece: Piece) -> Iterator[bytes]:
        return self._words(piece) if isinstance(piece, Words) else self._ending(piece)

    def _words(self, words: Words) -> Iterator[bytes]:
        item = f"msg_{words.message_id}"
        if self.item != item:
            yield from self._close()
            self.item = item
            yield self._event("response.output_item.added", item=_message(item, None), output_index=len(self.output))
            yield self._part("response.content_part.added", part=_text(""))
        self.spoken += words.text
        yield self._part("response.output_text.delta", delta=words.text, logprobs=[])

    def _close(self) -> Iterator[bytes]:
        """End the item that is open."""
        if self.item is None:
            return
        done = _message(self.item, self.spoken)
        yield self._part("response.output_text.done", text=self.spoken, logprobs=[])
        yield self._part("response.content_part.done", part=_text(self.spoken))
        yield self._event("response.output_item.done", item=done, output_index=len(self.output))
        self.output.append(done)
        self.item, self.spoken = None, ""

    def _ending(self, ended: Ended) -> Iterator[bytes]:
        yield from self._close()
        if ended.status is TurnStatus.FAILED:
            yield self._failed(failure_of(ended))
            return
        for call in calls_for(ended, self.tools):
            yield from self._call(call)
        response = self._response(ended)
        kind = "response.incomplete" if response["status"] == "incomplete" else "response.completed"
        yield self._event(kind, response=response)

    def _call(self, call: ToolCall) -> Iterator[bytes]:
        item, place = _called(call), len(self.output)
        arguments = item["arguments"]
        about = {"item_id": item["id"], "output_index": place}
        begun = item | {"arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", item=begun, output_index=place)
        yield self._event("response.function_call_arguments.delta", delta=arguments, **about)
        yield self._event("response.function_call_arguments.done", arguments=arguments, name=call.name, **about)
        yield self._event("response.output_item.done", item=item, output_index=place)
        self.output.append(item)

    def _failed(self, error: PreceptorError) -> bytes:
        told = openai_error_of(error)
        failed = self._response(None) | {
            "status": "failed",
            "error": {"code": told["code"], "message": told["message"]},
        }
        return self._event("response.failed", response=failed)

    def _part(self, kind: str, **said: Any) -> bytes:
        return self._event(kind, item_id=self.item, output_index=len(self.output), content_index=0, **said)

    def _event(self, kind: str, **said: Any) -> bytes:
        data = orjson.dumps({"type": kind, "sequence_number": self.number, **said})
        self.number += 1
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)

    def _response(self, ended: Ended | None) -> Json:
        """The whole response as it stands; while the turn runs, without what it costs."""
        why = None if ended is None else _WHY.get(finish_of(ended))
        status = "in_progress" if ended is None else "incomplete" if why else "completed"
        if ended is not None and ended.status is TurnStatus.CANCELLED:
            status = "cancelled"
        return {
            "id": f"{ID}{self.taken.turn_id}",
            "object": "response",
            "created_at": self.created,
            "status": status,
            "model": self.model,
            "output": list(self.output),
            "usage": None if ended is None else _usage(ended),
            "error": None,
            "incomplete_details": {"reason": why} if why else None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "temperature": None,
            "top_p": None,
            "conversation": {"id": self.taken.conversation_id},
        }


def _message(item: str, text: str | None) -> Json:
    status, content = ("in_progress", []) if text is None else ("completed", [_text(text)])
    return {"id": item, "type": "message", "role": "assistant", "status": status, "content": content}


def _text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _called(call: ToolCall) -> Json:
    return {
        "id": f"fc_{call.id}",
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments_of(call),
        "status": "completed",
    }


def _usage(ended: Ended) -> Json:
    read, written, cached = usage_of(ended.usage)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
    }
