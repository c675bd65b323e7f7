"""What the engine needs to hold conversations: where messages and turns are kept, tools, and a way to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from preceptor.domain.conversations.view import View
    from preceptor.domain.ids import AgentId, ConversationId, MessageId, OrgId, TurnId, UserId
    from preceptor.domain.log import Event
    from preceptor.domain.messages.message import Message, ToolCall, ToolResult
    from preceptor.domain.prompts.placed import Placed
    from preceptor.domain.prompts.prompt import ToolSpec
    from preceptor.domain.turns.facts import TurnStatus

Result = TypeVar("Result")


class MessagePlace(NamedTuple):
    """Where a message is: its number in the conversation, its row in the log, the tokens up to and with it."""

    place: int
    seq: int
    cum: int


class MessageRepository(Protocol):
    async def add(self, conversation: ConversationId, rows: Sequence[tuple[MessagePlace, Message]]) -> None: ...

    async def last(self, conversation: ConversationId) -> tuple[int, int]: ...

    async def between(self, conversation: ConversationId, first: int, last: int) -> list[Placed]: ...

    async def since(self, conversation: ConversationId, after: int, limit: int) -> list[Placed]: ...

    async def withhold(self, message_id: MessageId, tokens: int) -> None: ...

    async def sum_at(self, conversation: ConversationId, place: int) -> int: ...

    async def first_beyond(self, conversation: ConversationId, tokens: int) -> int | None: ...

    async def find(self, message_id: MessageId) -> tuple[ConversationId, MessagePlace, Message | None] | None: ...


class TurnRow(msgspec.Struct, frozen=True, kw_only=True):
    """A turn as it is found: who runs it, and from where in the log to read it."""

    turn_id: TurnId
    conversation_id: ConversationId
    agent_id: AgentId
    user_id: UserId
    status: TurnStatus
    worker: str
    epoch: int
    first: int
    """The row before its first."""
    last: int | None = None
    lease: datetime
    takeovers: int = 0
    cancel: str | None = None


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How far a conversation has come."""

    running: TurnId | None
    """The turn that is taken in it now."""
    last: int
    total: int
    """The place of the newest message, and the tokens of all; 0 where nothing was said."""
    newest: TurnStatus | None
    """How its newest turn ended, or that it runs."""
    view: View


class TurnRepository(Protocol):
    async def add(self, turn: TurnRow) -> None: ...

    async def find(self, turn_id: TurnId) -> TurnRow | None: ...

    async def open_in(self, conversation_id: ConversationId) -> TurnRow | None: ...

    async def newest(self, conversation_id: ConversationId) -> TurnRow | None: ...

    async def told(self, conversation_id: ConversationId, since: int) -> dict[TurnId, str]:
        """The hash of what the agent was told in each turn of a conversation that was asked at a place or after it."""
        ...

    async def ended(self, agent: AgentId | None, before: TurnId | None, limit: int) -> list[TurnRow]: ...

    async def settle(self, turn_id: TurnId, status: TurnStatus, last: int) -> bool: ...

    async def take(self, turn: TurnRow) -> bool: ...

    async def wait(self, turn: TurnRow, until: datetime) -> bool: ...

    async def release(self, worker: str) -> int: ...

    async def request_cancel(self, turn_id: TurnId, by: str) -> bool: ...

    async def extend(self, worker: str, until: datetime) -> int: ...

    async def expired(self, before: datetime, but: str, limit: int) -> list[tuple[OrgId, TurnRow]]: ...

    async def to_cancel(self, worker: str) -> list[tuple[OrgId, TurnId]]: ...


class Tail(Protocol):
    """A reader of a stream that was read up to some row."""

    def take(self, after: int) -> list[Event]:
        """What has been added after that row, as far as it is known here; nothing where it must be read."""
        ...

    async def wait(self, after: int, patience: float) -> None:
        """Wait until there may be more, or for `patience` seconds."""
        ...

    async def heard(self, patience: float) -> None:
        """The same, for more of this process only."""
        ...


class BlobRepository(Protocol):
    async def put(self, sha256: str, body: str) -> None: ...

    async def get(self, sha256: str) -> str | None: ...

    async def remove(self, sha256: str) -> None: ...


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
