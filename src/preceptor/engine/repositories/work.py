"""Where all of it is kept: a transaction, and the store that runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from preceptor.engine.repositories.conversations import (
    AttachmentRepository,
    BlobRepository,
    ConversationRepository,
    HistoryRepository,
    MessageRepository,
    TurnRepository,
    ViewRepository,
)
from preceptor.engine.repositories.experiments import Experimenting
from preceptor.engine.repositories.installation import (
    ConnectionWork,
    IdempotencyRepository,
    KeyRepository,
    OrgRepository,
    SignInRepository,
    UserRepository,
)
from preceptor.engine.repositories.log import Log, Tail
from preceptor.engine.repositories.tasks import TaskWork
from preceptor.engine.repositories.webhooks import WebhookWork

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from preceptor.domain.ids import OrgId, StreamId
    from preceptor.domain.log import Event, Head, NewEvent
    from preceptor.domain.ownership import Owner
    from preceptor.engine.repositories.library import (
        AgentRepository,
        AssignmentRepository,
        InstructionRepository,
        LabelRepository,
        PublishedRepository,
        RatingRepository,
    )


Result = TypeVar("Result")


class Work(Experimenting, TaskWork, ConnectionWork, WebhookWork, Protocol):
    """One transaction, opened for one owner: everything in it happens, or nothing does."""

    @property
    def now(self) -> datetime:
        """The database's clock, which decides what has expired."""
        ...

    @property
    def org(self) -> OrgId:
        """The organisation it is opened for."""
        ...

    @property
    def trail(self) -> Head | None:
        """Where the organisation's audit trail ends, if that is known without a look at the database."""
        ...

    def within(self, org_id: OrgId) -> Work:
        """The same transaction, inside one organisation. Only for work of the whole installation."""
        ...

    @property
    def log(self) -> Log: ...

    @property
    def orgs(self) -> OrgRepository: ...

    @property
    def users(self) -> UserRepository: ...

    @property
    def keys(self) -> KeyRepository: ...

    @property
    def agents(self) -> AgentRepository: ...

    @property
    def conversations(self) -> ConversationRepository: ...

    @property
    def instructions(self) -> InstructionRepository: ...

    @property
    def labels(self) -> LabelRepository: ...

    @property
    def ratings(self) -> RatingRepository: ...

    @property
    def published(self) -> PublishedRepository: ...

    @property
    def assignments(self) -> AssignmentRepository: ...

    @property
    def messages(self) -> MessageRepository: ...

    @property
    def turns(self) -> TurnRepository: ...

    @property
    def blobs(self) -> BlobRepository: ...

    @property
    def views(self) -> ViewRepository: ...

    @property
    def histories(self) -> HistoryRepository: ...

    @property
    def attachments(self) -> AttachmentRepository: ...

    @property
    def idempotency(self) -> IdempotencyRepository: ...

    @property
    def sign_ins(self) -> SignInRepository: ...


Program = Callable[[Work], Awaitable[Result]]
"""What is done in one transaction. It may await nothing but its `Work`, and it may be run more than once."""


class Store(Protocol):
    @property
    def closed(self) -> bool: ...

    @property
    def alone(self) -> bool:
        """Whether no other process writes to the same database."""
        ...

    async def read(self, owner: Owner, program: Program[Result]) -> Result: ...

    async def write(self, owner: Owner, program: Program[Result], *, blind: bool = False) -> Result:
        """Run `program` and commit. A `blind` one changes rows without depending on what it read."""
        ...

    async def append(self, owner: Owner, stream: StreamId, new: Sequence[NewEvent], head: Head) -> list[Event]:
        """Only add to a stream, while no other writer has taken it over since `head`: quickest if it ends there."""
        ...

    async def news(self, org: OrgId, stream: StreamId, after: int, patience: float) -> None:
        """Wait until the stream may have grown past `after`, or for `patience` seconds."""
        ...

    def tail(self, org: OrgId, stream: StreamId) -> AbstractContextManager[Tail]:
        """Hear of what this process adds to a stream, as long as the block lasts."""
        ...

    async def close(self) -> None:
        """Finish what is queued. Whatever is asked afterwards is refused."""
        ...
