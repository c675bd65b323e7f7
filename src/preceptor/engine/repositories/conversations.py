"""Where conversations are kept: their messages, turns and views, and what is attached to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from preceptor.domain.conversations.conversation import Conversation, Status
    from preceptor.domain.conversations.view import View
    from preceptor.domain.history.segment import State
    from preceptor.domain.ids import (
        AgentId,
        AttachmentId,
        ConversationId,
        MessageId,
        OrgId,
        TurnId,
        UserId,
        ViewId,
    )
    from preceptor.domain.messages.message import Message
    from preceptor.domain.prompts.placed import Placed
    from preceptor.domain.turns.facts import TurnStatus


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


class BlobRepository(Protocol):
    async def put(self, sha256: str, body: str) -> None: ...

    async def get(self, sha256: str) -> str | None: ...

    async def remove(self, sha256: str) -> None: ...


class ConversationRepository(Protocol):
    async def add(self, conversation: Conversation) -> None: ...

    async def replace(self, conversation: Conversation) -> None: ...

    async def find(self, conversation_id: ConversationId) -> Conversation | None: ...

    async def standing(self, conversation_id: ConversationId) -> Standing: ...

    async def page(self, wanted: WantedConversations, after: str | None, limit: int) -> list[Conversation]: ...

    async def open_with(self, agent_id: AgentId) -> int: ...

    async def quiet_since(self, before: datetime, limit: int) -> list[tuple[OrgId, ConversationId]]: ...


class ViewRepository(Protocol):
    async def add(self, view: View) -> None: ...

    async def current(self, conversation: ConversationId) -> View: ...

    async def all(self, conversation: ConversationId) -> Sequence[View]: ...


class HistoryRepository(Protocol):
    async def find(self, conversation: ConversationId, view: ViewId) -> State | None: ...

    async def put(self, conversation: ConversationId, view: ViewId, state: State) -> None: ...


class AttachmentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A file that someone sent, without its bytes."""

    attachment_id: AttachmentId
    user_id: UserId
    conversation_id: ConversationId | None = None
    """Where it was said. Until then, only who sent it can."""
    media_type: str
    name: str
    size: int
    text: str | None = None
    created_at: datetime


class AttachmentRepository(Protocol):
    async def add(self, row: AttachmentRow, data: bytes) -> None: ...

    async def find(self, attachment_id: AttachmentId) -> AttachmentRow | None: ...

    async def data(self, attachment_id: AttachmentId) -> bytes | None: ...

    async def say_in(self, attachment_id: AttachmentId, conversation: ConversationId) -> None: ...

    async def said_in(self, conversation: ConversationId) -> list[AttachmentId]: ...

    async def erase(self, conversation: ConversationId) -> int: ...

    async def forget_unsent(self, before: datetime) -> int: ...


class WantedConversations(Protocol):
    """Which conversations a list is about. None means any."""

    @property
    def agent_id(self) -> str | None: ...

    @property
    def status(self) -> Status | None: ...

    @property
    def words(self) -> str | None: ...

    @property
    def user_id(self) -> UserId | None: ...
