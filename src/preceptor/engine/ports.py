"""What the engine needs from the world. Adapters satisfy these by shape; nothing inherits from them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from preceptor.domain.ids import ConversationId
    from preceptor.domain.messages.message import ToolCall, ToolResult
    from preceptor.domain.models import Capabilities
    from preceptor.domain.prompts.prompt import Ask, Prompt, Request, ToolSpec
    from preceptor.domain.prompts.reply import Delta, Reply
    from preceptor.domain.reasoning.verdict import Judged

Result = TypeVar("Result")


class World(Protocol):
    """The things a pure function may not ask for itself."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float:
        """Seconds that never go back, to wait by."""
        ...

    def new_id(self) -> str: ...

    def new_secret(self) -> str: ...

    def new_handle(self) -> str: ...


class Seal(Protocol):
    """Keeps a stored answer unreadable without the installation's secret key."""

    def seal(self, plain: bytes, context: bytes) -> bytes: ...

    def open(self, sealed: bytes, context: bytes) -> bytes: ...

    def sign(self, message: bytes, purpose: str) -> str: ...

    def verify(self, message: bytes, signature: str, purpose: str) -> bool: ...


class TokenCounter(Protocol):
    """Counts as a model would. `estimated` when it can only come near."""

    @property
    def estimated(self) -> bool: ...

    def count(self, text: str) -> int: ...


class ChatModel(Protocol):
    """A model that accepts accounted prompts only: first the bytes are made, then noted down, then sent."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        """The exact request. Pure: the same prompt gives the same bytes."""
        ...

    def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        """Send it once, and wait `deadline` seconds at most.

        Ends with exactly one `Reply`, or raises `ModelFailure`; never tries again by itself.
        """
        ...


class Models(Protocol):
    """The models of this installation, by name."""

    @property
    def default(self) -> str: ...

    def find(self, name: str | None) -> ChatModel:
        """The model of this name, or the default one. One that cannot be had is a typed error."""
        ...

    def counter(self, name: str | None) -> TokenCounter: ...

    def check(self, name: str) -> None:
        """Complain unless this can be the name of a model here. Whether it can be had now is not asked."""
        ...


class Guardian(Protocol):
    """Judges texts. Whatever fails on its side is a `GuardFailure`; it never raises, and never guesses Safe."""

    @property
    def name(self) -> str:
        """What judged, for the record: rules say that they are rules."""
        ...

    async def judge(self, text: str) -> Judged: ...

    async def close(self) -> None: ...


class Tools(Protocol):
    """The tools of this installation."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all there are."""
        ...

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """What a model is told of these tools; names that mean nothing here are left out."""
        ...

    async def run(self, call: ToolCall, key: str, deadline: float) -> ToolResult:
        """Carry out one call, within `deadline` seconds. Whatever goes wrong is in the result.

        `key` is the same whenever this very call is repeated.
        """
        ...


class StartBeside(Protocol):
    """Starts a conversation beside the one that a call was made in."""

    async def __call__(self, parent: ConversationId, call: ToolCall, key: str, deadline: float) -> ToolResult: ...


class Handle(Protocol):
    """Something that goes on by itself."""

    async def wait(self) -> None:
        """Until it has ended. Whoever waits may go away; it goes on."""
        ...

    def stop(self) -> None: ...

    @property
    def ended(self) -> bool: ...


class Runner(Protocol):
    """Lets things go on by themselves, at once, and not for ever."""

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> Handle: ...

    async def together(self, works: Sequence[Awaitable[Result]]) -> list[Result]:
        """The results of all, in the order given."""
        ...

    async def pause(self, seconds: float) -> None: ...

    async def close(self) -> None:
        """Stop what still goes on. It is not over: it is taken up where it was."""
        ...

    def report(self, what: str, error: Exception) -> None:
        """Let those who run the installation know of a mistake of ours."""
        ...

    async def shielded(self, work: Coroutine[Any, Any, None]) -> None:
        """Finish this, even if whoever asked for it is being stopped."""
        ...

    def turnstile(self) -> AbstractAsyncContextManager[None]:
        """Lets one through at a time. Each call makes another."""
        ...

    async def or_at_least(
        self, work: Awaitable[Result], seconds: float, meanwhile: Callable[[], Awaitable[None]]
    ) -> Result:
        """Wait for `work`; if it takes longer than `seconds`, do `meanwhile` once beside it."""
        ...

    async def within(self, work: Awaitable[Result], seconds: float) -> Result:
        """The result of `work`, or `TimeoutError` once it has taken so long."""
        ...


class Called(NamedTuple):
    """What the other side of a webhook answered."""

    status: int
    body: Any
    """Its JSON, else its text."""


class Webhooks(Protocol):
    """Calls that leave the house for someone's own address."""

    def check(self, url: str) -> None:
        """Complain unless this address may be called."""
        ...

    async def call(self, method: str, url: str, headers: dict[str, str], body: bytes | None, seconds: float) -> Called:
        """Call it once. What kept it from being sent is `NotSent`; what came after, `NoAnswer`."""
        ...
