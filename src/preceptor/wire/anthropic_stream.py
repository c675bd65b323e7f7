"""An answer in Anthropic's messages format, streamed or whole. Strict: what was not finished is no answer."""

from typing import Any, cast

import msgspec

from preceptor.domain.messages.message import Text, Thinking, ToolCall
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, ModelTimeout, Reply, Usage
from preceptor.wire.anthropic_request import REDACTED
from preceptor.wire.events import EndlessLine, Frames
from preceptor.wire.openai_pieces import Calling, complaint_of, event_of, fault_of, fields_of, mended, text_of, together

LARGEST_TEXT = 8_000_000
MOST_BLOCKS = 1024

FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "pause_turn": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL_CALLS,
    "refusal": Finish.CONTENT_FILTER,
}


class Block(msgspec.Struct):
    """A part of the answer while it is being said."""

    kind: str
    call: Calling = msgspec.field(default_factory=Calling)
    text: list[str] = []
    half: str = ""
    """The first half of a character whose second is still to come."""
    signature: str = ""
    whole: bool = False


class Parser(msgspec.Struct):
    """Reads the events as they come. `ids` begins the id of a tool call that came without one of its own."""

    model: str
    ids: str = "call"
    response_id: str | None = None
    finish_reason: Finish | None = None
    done: bool = False
    """The provider said `message_stop`: there is nothing left to wait for."""
    usage: Usage | None = None
    _frames: Frames = msgspec.field(default_factory=Frames)
    _blocks: dict[int, Block] = {}
    _counts: dict[str, int] = {}
    _size: int = 0

    @property
    def partial(self) -> str:
        return "".join(piece for block in self._blocks.values() if block.kind == "text" for piece in block.text)

    def feed(self, chunk: bytes) -> list[Delta]:
        """What these bytes add to the answer's text."""
        try:
            events = self._frames.feed(chunk)
        except EndlessLine:
            raise self._failure(Fault.BAD_ANSWER, "The model sent one line without end.") from None
        deltas = [delta for data in events if not self.done for delta in self._event(self._read(data))]
        return deltas if len(deltas) < 2 else together(deltas)

    def whole(self, body: bytes) -> list[Delta]:
        """An answer that was not streamed."""
        answer = self._read(body)
        blocks = answer.get("content")
        if not isinstance(blocks, list):
            raise self._failure(Fault.BAD_ANSWER, "The model's answer holds no message.")
        self._begin(answer)
        deltas: list[Delta] = []
        for index, block in enumerate(cast("list[Any]", blocks)):
            deltas += self._open(index, fields_of(block))
            self._block(index).whole = True
        self._end(answer, {})
        return deltas

    def finish(self) -> Reply:
        """The whole answer, or the failure that it is not whole."""
        if self.finish_reason is None:
            raise self._failure(Fault.BROKEN_STREAM, "The model's answer broke off before its end.")
        cut = self.finish_reason in {Finish.LENGTH, Finish.CONTENT_FILTER}
        parts = [
            part for place, block in enumerate(self._blocks.values()) if (part := self._part(block, place, cut=cut))
        ]
        called = any(isinstance(part, ToolCall) for part in parts)
        finish = self.finish_reason
        if finish in {Finish.STOP, Finish.TOOL_CALLS}:
            finish = Finish.TOOL_CALLS if called else Finish.STOP
        return Reply(tuple(parts), finish, self.usage or Usage(estimated=True), self.model, self.response_id)

    def _read(self, data: bytes) -> dict[str, Any]:
        facts = event_of(data)
        if facts is None:
            raise self._failure(Fault.BAD_ANSWER, "The model sent something that is not a JSON object.")
        if facts.get("type") == "error" or "error" in facts:
            error = facts.get("error")
            raise self._failure(fault_of(error), f"The model's server reports an error: {complaint_of(error)}")
        return facts

    def _event(self, event: dict[str, Any]) -> list[Delta]:
        match event.get("type"):
            case "message_start":
                self._begin(fields_of(event.get("message")))
            case "content_block_start":
                return self._open(event.get("index"), fields_of(event.get("content_block")))
            case "content_block_delta":
                return self._hear(self._block(event.get("index")), fields_of(event.get("delta")))
            case "content_block_stop":
                self._block(event.get("index")).whole = True
            case "message_delta":
                self._end(fields_of(event.get("delta")), event)
            case "message_stop":
                self.done = True
            case _:
                pass  # a ping, or what is not known yet: new kinds may come at any time
        return []

    def _begin(self, message: dict[str, Any]) -> None:
        self.response_id = mended(text_of(message.get("id"))[:200]) or None
        self.model = mended(text_of(message.get("model"))[:200]) or self.model
        self._count(message.get("usage"))

    def _end(self, delta: dict[str, Any], event: dict[str, Any]) -> None:
        self._count(event.get("usage"))
        reason = delta.get("stop_reason")
        if reason is None:
            return
        if not isinstance(reason, str) or reason not in FINISHES:
            raise self._failure(Fault.BAD_ANSWER, f"The model ended for an unknown reason: {complaint_of(reason)}.")
        if any(not block.whole for block in self._blocks.values()):
            raise self._failure(Fault.BAD_ANSWER, "The model said that this was all in the middle of a sentence.")
        self.finish_reason = self.finish_reason or FINISHES[reason]

    def _count(self, usage: Any) -> None:
        """The later counts stand for the earlier ones: they are of the whole answer, not of a piece."""
        if not isinstance(usage, dict):
            return
        for name, value in fields_of(cast("Any", usage)).items():
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
                self._counts[name] = value
        cached = self._counts.get("cache_read_input_tokens", 0)
        written = self._counts.get("cache_creation_input_tokens", 0)
        shown = self._counts.get("input_tokens", 0) + cached + written
        self.usage = Usage(shown, self._counts.get("output_tokens", 0), cached)

    def _open(self, index: Any, given: dict[str, Any]) -> list[Delta]:
        if self.finish_reason is not None:
            raise self._failure(Fault.BAD_ANSWER, "The model went on after it had said that this was all.")
        if not isinstance(index, int) or index in self._blocks or len(self._blocks) >= MOST_BLOCKS:
            raise self._failure(Fault.BAD_ANSWER, "The model sent the parts of its answer in no order.")
        block = self._blocks[index] = Block(text_of(given.get("type")))
        if block.kind == "tool_use":
            block.call.id, block.call.name = text_of(given.get("id")), text_of(given.get("name"))
            if given.get("input"):
                block.call.hear({"arguments": given["input"]})
        if block.kind == "redacted_thinking":
            block.signature = REDACTED + text_of(given.get("data"))
        return self._hear(block, given)

    def _block(self, index: Any) -> Block:
        block = self._blocks.get(index) if isinstance(index, int) else None
        if block is None or block.whole:
            raise self._failure(Fault.BAD_ANSWER, "The model sent the parts of its answer in no order.")
        return block

    def _hear(self, block: Block, delta: dict[str, Any]) -> list[Delta]:
        block.signature += text_of(delta.get("signature"))
        match block.kind:
            case "text":
                return self._say(block, text_of(delta.get("text")))
            case "thinking":
                return self._say(block, text_of(delta.get("thinking")))
            case "tool_use":
                block.call.hear({"arguments": text_of(delta.get("partial_json"))})
                return []
            case _:
                return []

    def _say(self, block: Block, text: str) -> list[Delta]:
        text, block.half = block.half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, block.half = text[:-1], text[-1]
        if not text:
            return []
        self._size += len(text)
        if self._size > LARGEST_TEXT:
            raise self._failure(Fault.BAD_ANSWER, f"The model said more than {LARGEST_TEXT} characters.")
        block.text.append(mended(text))
        return [Delta(block.text[-1], thinking=block.kind == "thinking")]

    def _part(self, block: Block, place: int, *, cut: bool) -> Text | Thinking | ToolCall | None:
        text, signature = "".join(block.text), mended(block.signature) or None
        match block.kind:
            case "text":
                return Text(text) if text else None
            case "thinking" | "redacted_thinking":
                return Thinking(text, signature) if text or signature else None
            case "tool_use":
                return block.call.said(mended(block.call.id) or f"{self.ids}_{place}", cut=cut)
            case _:
                return None

    def _failure(self, fault: Fault, sentence: str) -> ModelFailure:
        kind = ModelTimeout if fault is Fault.TIMEOUT else ModelFailure
        return kind(fault, sentence, partial=self.partial, usage=self.usage)
