"""What the engine needs from the world. Adapters satisfy these by shape; nothing inherits from them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from preceptor.engine.experimenting import Experimenting
from preceptor.engine.repositories import (
    AttachmentRepository,
    ConnectionWork,
    HistoryRepository,
    IdempotencyRepository,
    KeyRepository,
    OrgRepository,
    SignInRepository,
    UserRepository,
    ViewRepository,
    WantedConversations,
)
from preceptor.engine.task_rows import TaskWork
from preceptor.engine.webhook_rows import WebhookWork

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from preceptor.domain.agents import Agent
    from preceptor.domain.conversations.conversation import Conversation
    from preceptor.domain.ids import AgentId, ConversationId, OrgId, StreamId
    from preceptor.domain.log import Event, Head, NewEvent, Told
    from preceptor.domain.models import Capabilities
    from preceptor.domain.ownership import Owner
    from preceptor.domain.prompts.prompt import Ask, Prompt, Request
    from preceptor.domain.prompts.reply import Delta, Reply
    from preceptor.domain.reasoning.verdict import Judged
    from preceptor.engine.library import (
        AssignmentRepository,
        InstructionRepository,
        LabelRepository,
        PublishedRepository,
        RatingRepository,
    )
    from preceptor.engine.talk import BlobRepository, MessageRepository, Standing, Tail, TurnRepository

Result = TypeVar("Result")


class Log(Protocol):
    async def start(self, stream: StreamId, new: Sequence[NewEvent]) -> list[Event]: ...

    async def append(
        self, stream: StreamId, new: Sequence[NewEvent], *, epoch: int | None = None, take: bool = False
    ) -> list[Event]: ...

    async def take_over(self, stream: StreamId) -> int: ...

    async def hold(self, stream: StreamId) -> Head | None: ...

    async def head(self, stream: StreamId) -> Head | None: ...

    async def after(self, stream: StreamId, seq: int, limit: int) -> list[Event]: ...

    async def erase(self, stream: StreamId) -> int: ...

    async def grown(self, limit: int) -> list[Told]: ...

    async def tell(self, heads: Sequence[Told]) -> Event: ...

    async def mark_told(self, heads: Sequence[Told]) -> None: ...


class AgentRepository(Protocol):
    async def add(self, agent: Agent) -> None: ...

    async def replace(self, agent: Agent) -> None: ...

    async def find(self, agent_id: AgentId) -> Agent | None: ...

    async def has(self, agent_id: AgentId) -> bool: ...

    async def page(self, after: str | None, limit: int) -> list[Agent]: ...


class ConversationRepository(Protocol):
    async def add(self, conversation: Conversation) -> None: ...

    async def replace(self, conversation: Conversation) -> None: ...

    async def find(self, conversation_id: ConversationId) -> Conversation | None: ...

    async def standing(self, conversation_id: ConversationId) -> Standing: ...

    async def page(self, wanted: WantedConversations, after: str | None, limit: int) -> list[Conversation]: ...

    async def open_with(self, agent_id: AgentId) -> int: ...

    async def quiet_since(self, before: datetime, limit: int) -> list[tuple[OrgId, ConversationId]]: ...


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
