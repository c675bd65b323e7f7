"""Messages: ordered parts, said by someone, never changed afterwards."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from preceptor.domain.ids import AgentId, CallId, ConversationId, MessageId, SpanId, TurnId
from preceptor.domain.messages.directive import LARGEST_PROMPT, Directive, IntermediateReasoning, read, written
from preceptor.domain.value import is_visible


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Kind(StrEnum):
    """What a message is for. Never guessed from what it says."""

    MESSAGE = "message"
    SYNTHETIC_PLAN = "synthetic_plan"
    SUMMARY = "summary"
    MEMORY = "memory"
    COMPACTION = "compaction"
    TOOL = "tool"


class Outcome(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"
    UNKNOWN = "outcome_unknown"
    """It may have acted or not: the process died in between, and the tool cannot safely be called again."""
    INTERRUPTED = "interrupted"
    """It never ran."""


class Part(msgspec.Struct, frozen=True, gc=False, tag_field="type", rename="camel", omit_defaults=True):
    """One piece of a message."""


class Text(Part, tag="text", frozen=True):
    text: str


class Thinking(Part, tag="thinking", frozen=True):
    text: str
    signature: str | None = None
    """What a provider wants back with it, unread."""


class ToolCall(Part, tag="tool_call", frozen=True):
    id: str
    name: str
    arguments: dict[str, Any]
    malformed: str | None = None
    """What the model wrote instead of a JSON object. Such a call is answered with an error and never runs."""


class ToolResult(Part, tag="tool_result", frozen=True, omit_defaults=False):
    tool_call_id: str
    name: str
    content: str
    is_error: bool = False
    outcome: Outcome = Outcome.OK


class Attachment(Part, tag="attachment", frozen=True):
    attachment_id: str
    media_type: str
    name: str
    data: str | None = None
    """Its bytes in base64, where a model is shown them. No stored message has it."""

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")


AnyPart = Text | Thinking | ToolCall | ToolResult | Attachment


class Message(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """One message as it is stored, sent and shown.

    Nothing in it can refer back to it, so the garbage collector need not look through all that are kept in mind.
    """

    id: MessageId
    conversation_id: ConversationId
    turn_id: TurnId
    role: Role
    kind: Kind
    parts: tuple[AnyPart, ...]
    instructions: tuple[msgspec.Raw, ...]
    """Its directives, as they are stored."""
    tokens: int
    """Counted once, when it was written."""
    created_at: datetime
    span_id: SpanId | None = None
    """The delegation it was said in."""
    agent_id: AgentId | None = None
    call_id: CallId | None = None
    """The model call that it is the answer of."""
    analysis: str | None = None
    """Of a synthetic plan: what the model reads before the response, and no user does."""
    analysis_tokens: int = 0
    """How many of its tokens are the analysis."""
    sources: tuple[MessageId, ...] = ()
    """Of a summary or a compaction: the messages it stands for."""
    incomplete: bool = False
    """It broke off: the provider never said that this was all."""
    from_client: bool = False
    """A client brought it along as something said before. Nobody here heard it."""

    @property
    def directives(self) -> tuple[Directive, ...]:
        return tuple(read(bytes(raw), LARGEST_PROMPT) for raw in self.instructions)

    @property
    def is_intermediate(self) -> bool:
        return bool(self.instructions) and any(isinstance(one, IntermediateReasoning) for one in self.directives)

    @property
    def speaks(self) -> bool:
        """It says something besides its calls and results."""
        if self.is_text:
            return self.text != ""
        return any(isinstance(part, Attachment) or (isinstance(part, Text) and part.text) for part in self.parts)

    @property
    def text(self) -> str:
        """What it says to people: its text parts, one after the other."""
        first = self.parts[0] if self.parts else None
        if len(self.parts) == 1 and type(first) is Text:
            return first.text
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return calls_in(self.parts)

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple([part for part in self.parts if type(part) is ToolResult])

    @property
    def is_text(self) -> bool:
        """One text and nothing else, as almost every message of a long history is."""
        return len(self.parts) == 1 and type(self.parts[0]) is Text


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Message)


def encode(message: Message) -> bytes:
    return _ENCODER.encode(message)


decode: Callable[[str | bytes], Message] = _DECODER.decode


def marked(message: Message, *directives: Directive) -> Message:
    """The message with these directives added, each once."""
    new = [raw for raw in map(written, directives) if raw not in message.instructions]
    return msgspec.structs.replace(message, instructions=(*message.instructions, *new)) if new else message


def says_something(parts: Iterable[AnyPart]) -> bool:
    """Whether there is a text in which something can be seen, or anything besides texts."""
    return any(not isinstance(part, Text) or is_visible(part.text) for part in parts)


def calls_in(parts: Sequence[AnyPart]) -> tuple[ToolCall, ...]:
    return tuple([part for part in parts if type(part) is ToolCall])


def texts(parts: Sequence[AnyPart]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))
