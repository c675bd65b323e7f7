"""An answer in OpenAI's chat format, streamed or whole. Strict: what the provider did not finish is no answer."""

from typing import Any, cast

import msgspec

from preceptor.domain.messages.message import Text, Thinking, ToolCall
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, Reply, Usage
from preceptor.wire.events import EndlessLine, Frames
from preceptor.wire.openai_pieces import (
    FINISHES,
    Calling,
    complaint_of,
    event_of,
    fault_of,
    fields_of,
    mended,
    plain_words,
    text_of,
    together,
    usage_of,
)

LARGEST_TEXT = 8_000_000
MOST_CALLS = 128
SHORT = 32
"""Bytes: what is longer is not the word that ends a stream."""


class Parser(msgspec.Struct):
    """Reads server-sent events as they come. `ids` begins the id of a tool call that came without one of its own."""

    model: str
    ids: str = "call"
    response_id: str | None = None
    finish_reason: Finish | None = None
    done: bool = False
    """The provider said `[DONE]`: there is nothing left to wait for."""
    usage: Usage | None = None
    _frames: Frames = msgspec.field(default_factory=Frames)
    _text: list[str] = []
    _thinking: list[str] = []
    _half: dict[bool, str] = {}
    _size: int = 0
    _calls: list[tuple[int, Calling]] = []

    @property
    def partial(self) -> str:
        return "".join(self._text)

    def feed(self, chunk: bytes) -> list[Delta]:
        """What these bytes add to the answer's text. A character or a line may be split anywhere."""
        try:
            events = self._frames.feed(chunk)
        except EndlessLine:
            raise self._failure(Fault.BAD_ANSWER, "The model sent one line without end.") from None
        deltas: list[Delta] = []
        words: list[str] = []
        for data in events:
            plain = plain_words(data) if self._goes_on else None
            if plain is not None:
                words.append(plain)
                continue
            deltas += self._say("".join(words), thinking=False)
            words = []
            deltas += self._event(data)
        deltas += self._say("".join(words), thinking=False)
        return deltas if len(deltas) < 2 else together(deltas)

    @property
    def _goes_on(self) -> bool:
        return self.response_id is not None and self.finish_reason is None and not self.done

    def whole(self, body: bytes) -> list[Delta]:
        """An answer that was not streamed."""
        answer = self._read(body)
        self._note(answer)
        choice = self._first_choice(answer)
        if choice is None:
            raise self._failure(Fault.BAD_ANSWER, "The model's answer holds no message.")
        return self._hear_choice(choice | {"delta": choice.get("message"), "index": 0})

    def finish(self) -> Reply:
        """The whole answer, or the failure that it is not whole."""
        if self.finish_reason is None:
            raise self._failure(Fault.BROKEN_STREAM, "The model's answer broke off before its end.")
        calls = self._said_calls(cut=self.finish_reason in {Finish.LENGTH, Finish.CONTENT_FILTER})
        thinking, text = "".join(self._thinking), self.partial
        parts = (*((Thinking(thinking),) if thinking else ()), *((Text(text),) if text else ()), *calls)
        usage = self.usage or Usage(estimated=True)
        return Reply(parts, _fitting(self.finish_reason, calls), usage, self.model, self.response_id)

    def _event(self, data: bytes) -> list[Delta]:
        if self.done:
            return []
        if len(data) < SHORT and data.strip() == b"[DONE]":
            self.done = True
            return []
        event = self._read(data)
        if self.response_id is None or "usage" in event:
            self._note(event)
        choice = self._first_choice(event)
        return [] if choice is None else self._hear_choice(choice)

    def _read(self, data: bytes) -> dict[str, Any]:
        facts = event_of(data)
        if facts is None:
            raise self._failure(Fault.BAD_ANSWER, "The model sent something that is not a JSON object.")
        if error := facts.get("error"):
            raise self._failure(fault_of(error), f"The model's server reports an error: {complaint_of(error)}")
        return facts

    def _note(self, event: dict[str, Any]) -> None:
        if self.response_id is None:
            self.response_id = mended(text_of(event.get("id"))[:200]) or None
            self.model = mended(text_of(event.get("model"))[:200]) or self.model
        if usage := event.get("usage"):
            self.usage = usage_of(usage) or self.usage

    def _first_choice(self, event: dict[str, Any]) -> dict[str, Any] | None:
        choices = event.get("choices")
        first: Any = cast("list[Any]", choices)[0] if isinstance(choices, list) and choices else None
        return cast("dict[str, Any]", first) if isinstance(first, dict) else None

    def _hear_choice(self, choice: dict[str, Any]) -> list[Delta]:
        if choice.get("index", 0) != 0:
            return []
        deltas = self._hear(fields_of(choice.get("delta")))
        match choice.get("finish_reason"):
            case None:
                pass
            case str(reason) if reason in FINISHES:
                self.finish_reason = self.finish_reason or FINISHES[reason]
            case reason:
                raise self._failure(Fault.BAD_ANSWER, f"The model ended for an unknown reason: {complaint_of(reason)}.")
        return deltas

    def _hear(self, message: dict[str, Any]) -> list[Delta]:
        """A piece of the answer, or, when it was not streamed, all of it."""
        thought = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
        text = text_of(message.get("content")) + text_of(message.get("refusal"))
        calls = message.get("tool_calls")
        if self.finish_reason is not None and (thought or text or calls):
            raise self._failure(Fault.BAD_ANSWER, "The model went on after it had said that this was all.")
        deltas = self._say(thought, thinking=True) if thought else []
        if text:
            deltas += self._say(text, thinking=False)
        if isinstance(calls, list):
            for place, call in enumerate(cast("list[Any]", calls)):
                self._call(fields_of(call), place)
        return deltas

    def _say(self, text: str, *, thinking: bool) -> list[Delta]:
        if not text:
            return []
        text = self._half.pop(thinking, "") + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._half[thinking] = text[-1]
            text = text[:-1]
        if not text:
            return []
        self._size += len(text)
        if self._size > LARGEST_TEXT:
            raise self._failure(Fault.BAD_ANSWER, f"The model said more than {LARGEST_TEXT} characters.")
        text = mended(text)
        (self._thinking if thinking else self._text).append(text)
        return [Delta(text, thinking)]

    def _call(self, piece: dict[str, Any], place: int) -> None:
        call_id, index = text_of(piece.get("id")), piece.get("index")
        index = index if isinstance(index, int) else place
        call = self._meant(index, call_id)
        if call is None:
            if len(self._calls) >= MOST_CALLS:
                raise self._failure(Fault.BAD_ANSWER, f"The model called more than {MOST_CALLS} tools at once.")
            call = Calling(call_id)
            self._calls.append((index, call))
        call.hear(fields_of(piece.get("function")))

    def _meant(self, index: int, call_id: str) -> Calling | None:
        """The call that this piece goes on with: the last of its index, unless the piece names another."""
        for known, call in reversed(self._calls):
            if known == index:
                return call if not call_id or call_id == call.id else None
        return None

    def _said_calls(self, *, cut: bool) -> tuple[ToolCall, ...]:
        taken: set[str] = set()
        said: list[ToolCall] = []
        for place, (_, call) in enumerate(sorted(self._calls, key=lambda one: one[0])):
            own = mended(call.id)
            call_id = own if own and own not in taken else f"{self.ids}_{place}"
            taken.add(call_id)
            said.append(call.said(call_id, cut=cut))
        return tuple(said)

    def _failure(self, fault: Fault, sentence: str) -> ModelFailure:
        return ModelFailure(fault, sentence, partial=self.partial, usage=self.usage)


def _fitting(finish: Finish, calls: tuple[ToolCall, ...]) -> Finish:
    """Some servers say `stop` and call a tool, or the other way round."""
    match finish:
        case Finish.STOP if calls:
            return Finish.TOOL_CALLS
        case Finish.TOOL_CALLS if not calls:
            return Finish.STOP
        case _:
            return finish
