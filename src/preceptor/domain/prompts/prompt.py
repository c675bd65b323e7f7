"""A prompt is made of pieces with sources, and a model accepts nothing but a prompt: every token is accounted for."""

from collections.abc import Callable
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

import msgspec

from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.source import AnySource
from preceptor.domain.prompts.spelled import Spelled, Write


class Segment(msgspec.Struct, frozen=True, rename="camel"):
    """A piece of text and where it came from."""

    text: str
    source: AnySource
    tokens: int


class Effect(StrEnum):
    """What a tool does to the world, and so what may be done when nobody knows whether it ran."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    ONCE = "once"
    CLIENT = "client"
    """Whoever sent the message carries it out, once the turn has ended with the call."""


TOOL_TEXT = r"^[A-Za-z0-9_-]{1,64}$"
"""How clients may call tools of their own."""


class ToolSpec(msgspec.Struct, frozen=True, rename="camel"):
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: dict[str, Any]
    effect: Effect = Effect.READ
    tokens: int = 0

    @property
    def told(self) -> str:
        """What its tokens are counted of."""
        told = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return msgspec.json.encode(told).decode()


class Prompt(msgspec.Struct, frozen=True, rename="camel", dict=True):
    """Everything of one model call, in the order in which it is shown. What never changes comes first, for caching."""

    system: tuple[Segment, ...]
    """Joined without anything between them: one leading system message."""
    shown: tuple[Placed, ...]
    """Each message as the model is shown it: it may say less than the one that is stored, never more."""
    tail: tuple[Segment, ...] = ()
    """The engine's closing words, joined by blank lines: one user message that is never stored."""
    tools: tuple[ToolSpec, ...] = ()
    overhead: int = 0
    """Tokens that the format itself costs."""

    @property
    def system_text(self) -> str:
        return "".join([segment.text for segment in self.system])

    @property
    def tail_text(self) -> str:
        return "\n\n".join([segment.text for segment in self.tail])

    def spelled(self, form: str, write: Write) -> Spelled:
        """What a format makes of the messages, where that was not begun before."""
        known: Callable[[str, Write], Spelled] | None = vars(self).get("_known")
        return Spelled().go_on(self.shown, form, write) if known is None else known(form, write)

    def know(self, tokens: int, spelled: Callable[[str, Write], Spelled]) -> Self:
        """Take what was worked out before of what is shown: its tokens, and what formats make of it."""
        besides = sum([piece.tokens for piece in (*self.system, *self.tail, *self.tools)])
        vars(self).update(_tokens=tokens + besides + self.overhead, _known=spelled)
        return self

    @property
    def tokens(self) -> int:
        """All of it: the sum of the pieces, and nothing besides."""
        return self._tokens

    @cached_property
    def _tokens(self) -> int:
        pieces = (*self.system, *self.shown, *self.tail, *self.tools)
        return sum([piece.tokens for piece in pieces]) + self.overhead


class Sampling(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is asked of the model besides the prompt. None leaves it to the provider."""

    temperature: float | None = None
    max_completion_tokens: int | None = None
    top_p: float | None = None
    top_k: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    response_format: dict[str, Any] | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    user: str | None = None
    parallel_tool_calls: bool | None = None
    custom_headers: dict[str, str] = {}
    extra: dict[str, Any] = {}


class Force(StrEnum):
    """How strictly a model is held to one tool."""

    NAMED = "named"
    REQUIRED = "required"
    JSON_SCHEMA = "json_schema"


class Ask(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """How a prompt is put to a model."""

    model: str
    sampling: Sampling = Sampling()
    forced_tool: str | None = None
    force: Force | None = None
    stream: bool = True


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """The very bytes that are sent. `format` names the pure function that made them from a prompt, for ever."""

    format: str
    body: bytes
    sha256: str
    headers: dict[str, str] = {}
    tokens: int = 0
    """Of the prompt, as we count them."""
