"""What a model answers, piece by piece and in the end, and the ways in which it can fail to."""

from enum import StrEnum
from typing import ClassVar

import msgspec

from preceptor.domain.errors import Upstream
from preceptor.domain.messages.message import Text, Thinking, ToolCall


class Finish(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"


class Usage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a call cost. `estimated` when the provider did not say and we counted ourselves."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cost + other.cost,
            self.estimated or other.estimated,
        )


class Delta(msgspec.Struct, frozen=True):
    """Some more of the answer's text."""

    text: str
    thinking: bool = False


class Reply(msgspec.Struct, frozen=True):
    """A whole answer: the provider has said that this was all. Anything less is a `ModelFailure`."""

    parts: tuple[Text | Thinking | ToolCall, ...]
    finish: Finish
    usage: Usage
    model: str
    response_id: str | None = None


class Fault(StrEnum):
    """Why a call failed."""

    UNAUTHORIZED = "unauthorized"
    PAYMENT = "payment"
    REJECTED = "rejected"
    """The provider did not accept what was asked."""
    TOO_LONG = "too_long"
    """The prompt does not fit into the model's window."""
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER = "server"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    TIMEOUT = "timeout"
    BROKEN_STREAM = "broken_stream"
    BAD_ANSWER = "bad_answer"


_WORTH_ANOTHER_TRY = frozenset(
    {
        Fault.RATE_LIMITED,
        Fault.OVERLOADED,
        Fault.SERVER,
        Fault.UNREACHABLE,
        Fault.TIMEOUT,
        Fault.BROKEN_STREAM,
        Fault.BAD_ANSWER,
    }
)


class ModelFailure(Upstream):
    """A model call that ended without a whole answer. What had come by then is in `partial`."""

    code: ClassVar[str] = "upstream_failed"
    fault: Fault
    sentence: str
    status: int | None = None
    retry_after: float | None = None
    partial: str = ""
    usage: Usage | None = None

    @property
    def retryable(self) -> bool:
        return self.fault in _WORTH_ANOTHER_TRY

    def __str__(self) -> str:
        return self.sentence


class ModelTimeout(ModelFailure):
    code: ClassVar[str] = "upstream_timeout"
