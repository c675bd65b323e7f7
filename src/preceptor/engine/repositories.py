"""Where people, keys, views, what is left of requests in them, attachments, connections and single uses are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from preceptor.domain.conversations.conversation import Status
    from preceptor.domain.conversations.view import View
    from preceptor.domain.history.segment import State
    from preceptor.domain.ids import AttachmentId, ConversationId, KeyId, OrgId, UserId, ViewId
    from preceptor.domain.keys import ApiKey, StoredKey
    from preceptor.domain.mcp_servers import StoredServer
    from preceptor.domain.orgs import Org
    from preceptor.domain.ownership import Owner
    from preceptor.domain.providers import Provider
    from preceptor.domain.users import User


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


class ProviderRepository(Protocol):
    async def add(self, provider: Provider, sealed: bytes | None) -> None: ...

    async def replace(self, provider: Provider, sealed: bytes | None) -> None: ...

    async def remove(self, provider_id: str) -> None: ...

    async def find(self, provider_id: str) -> tuple[Provider, bytes | None] | None: ...

    async def all(self) -> list[tuple[Provider, bytes | None]]: ...


class McpServerRepository(Protocol):
    async def add(self, server: StoredServer, sealed: bytes | None) -> None: ...

    async def replace(self, server: StoredServer, sealed: bytes | None) -> None: ...

    async def remove(self, server_id: str) -> None: ...

    async def find(self, server_id: str) -> tuple[StoredServer, bytes | None] | None: ...

    async def all(self) -> list[tuple[StoredServer, bytes | None]]: ...


class IdempotencyRepository(Protocol):
    async def find(self, key: str) -> tuple[str, bytes | None] | None: ...

    async def claim(self, key: str, fingerprint: str) -> None: ...

    async def settle(self, key: str, answer: bytes, about: Iterable[str] = ()) -> None: ...

    async def erase(self, about: str) -> None: ...

    async def forget_old(self) -> int: ...


class SignInRepository(Protocol):
    async def add(self, token_hash: str, owner: Owner, expires_at: datetime) -> None: ...

    async def redeem(self, token_hash: str) -> Owner | None: ...

    async def forget_old(self) -> int: ...


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


class ConnectionWork(Protocol):
    """The part of a transaction that is about what an organisation connects."""

    @property
    def providers(self) -> ProviderRepository: ...

    @property
    def mcp_servers(self) -> McpServerRepository: ...


class OrgRepository(Protocol):
    async def add(self, org: Org) -> None: ...

    async def find(self, org_id: OrgId) -> Org | None: ...

    async def page(self, after: str | None, limit: int) -> list[Org]: ...


class UserRepository(Protocol):
    async def add(self, user: User) -> None: ...

    async def find(self, user_id: UserId) -> User | None: ...

    async def page(self, after: str | None, limit: int) -> list[User]: ...


class KeyRepository(Protocol):
    async def add(self, key: StoredKey) -> None: ...

    async def replace(self, key: StoredKey) -> None: ...

    async def find(self, key_id: KeyId) -> StoredKey | None: ...

    async def page(self, after: str | None, limit: int) -> list[ApiKey]: ...
