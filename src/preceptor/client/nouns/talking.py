"""Conversations: what is said in them, what models are shown of it, and what became of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from preceptor.client.fields.talking import (
    AnsweredAgainFields,
    CompactFields,
    ConversationChangeFields,
    MessageFields,
    NewConversationFields,
    NewImportFields,
)
from preceptor.client.operating import Group, Key, Kind, Tag, operation, streaming, upload
from preceptor.client.streams import Event, OfTurn, Tail
from preceptor.domain.conversations.compaction import Dropping, Squashing
from preceptor.domain.conversations.conversation import Conversation, ConversationChange, NewConversation
from preceptor.domain.conversations.imports import Imported, NewImport
from preceptor.domain.conversations.looks import ShownView, ShownViews
from preceptor.domain.experiments.shown import MessageRating, NewMessageRating, NewOutcome, Outcome
from preceptor.domain.paging import Page
from preceptor.engine.attachments import ShownAttachment
from preceptor.engine.erasing import Erased
from preceptor.surfaces.rest.shapes import (
    AnsweredAgain,
    AttachedPart,
    EditedMessage,
    SentMessage,
    ShownContext,
    ShownMessage,
    ShownPlan,
    TextPart,
    TurnAnswer,
    TurnRecord,
)

Content = str | Sequence[TextPart | AttachedPart | Mapping[str, Any]]
"""What a user says: a text, or texts and files."""


class Conversations(Group[Kind]):
    """Conversations with agents."""

    @operation("POST /api/conversations", NewConversation)
    def start(self, *, idempotency_key: Key = None, **fields: Unpack[NewConversationFields]) -> Conversation:
        """Start a conversation with an agent."""
        ...

    @operation("GET /api/conversations")
    def page(
        self,
        *,
        agent_id: str | None = None,
        status: Literal["active", "archived", "erased"] | None = None,
        q: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page[Conversation]:
        """List conversations, newest first. `q` looks for words in them."""
        ...

    @operation("GET /api/conversations/{conversation_id}")
    def get(self, conversation_id: str, *, archived: bool | None = None) -> Conversation:
        """Read a conversation; with `archived` also one that is out of sight."""
        ...

    @operation("PATCH /api/conversations/{conversation_id}", ConversationChange)
    def change(
        self, conversation_id: str, *, if_match: Tag = None, **fields: Unpack[ConversationChangeFields]
    ) -> Conversation:
        """Change its title, its parameters, its metadata, or which versions it keeps to."""
        ...

    @operation("DELETE /api/conversations/{conversation_id}")
    def archive(self, conversation_id: str, *, if_match: Tag = None) -> None:
        """Put a conversation out of sight."""
        ...

    @operation("POST /api/conversations/{conversation_id}/erase")
    def erase(self, conversation_id: str, *, idempotency_key: Key = None) -> Erased:
        """Erase for good what was said in a conversation. Hashes stay, so that the log can still be verified."""
        ...

    @operation("POST /api/conversations/{conversation_id}/cancel")
    def cancel(self, conversation_id: str, *, idempotency_key: Key = None) -> TurnAnswer:
        """Stop the turn that runs."""
        ...

    @operation("GET /api/conversations/{conversation_id}/context/plan")
    def plan(
        self, conversation_id: str, *, max_tokens: int | None = None, max_history_size: int | None = None
    ) -> ShownPlan:
        """What the next message would be answered with: what of the history would be left out, and why."""
        ...

    @streaming("GET /api/conversations/{conversation_id}/events", Tail)
    def events(
        self,
        conversation_id: str,
        *,
        after: int | None = None,
        audience: Literal["user", "system"] | None = None,
        archived: bool | None = None,
    ) -> Event:
        """Follow a conversation: what has happened after `after`, then what happens. It ends when you stop."""
        ...

    @operation("POST /api/conversations/import", NewImport)
    def bring_in(self, *, idempotency_key: Key = None, **fields: Unpack[NewImportFields]) -> Imported:
        """Bring in conversations that were held elsewhere: OpenAI-style messages, Langfuse traces, LangSmith runs."""
        ...


class Messages(Group[Kind]):
    """What is said. Each method that says something has one beside it that tells of the turn as it happens."""

    @operation("POST /api/conversations/{conversation_id}/messages", SentMessage)
    def send(
        self, conversation_id: str, content: Content, *, idempotency_key: Key = None, **fields: Unpack[MessageFields]
    ) -> TurnAnswer:
        """Say something, and wait for the answer. With `queue` it waits for its turn while another is answered."""
        ...

    @streaming("POST /api/conversations/{conversation_id}/messages", OfTurn, SentMessage)
    def stream(
        self, conversation_id: str, content: Content, *, idempotency_key: Key = None, **fields: Unpack[MessageFields]
    ) -> Event:
        """Say something, and hear of each event of the turn."""
        ...

    @operation("POST /api/conversations/{conversation_id}/regenerate", AnsweredAgain)
    def regenerate(
        self, conversation_id: str, *, idempotency_key: Key = None, **fields: Unpack[AnsweredAgainFields]
    ) -> TurnAnswer:
        """Have a question answered again, the last one unless another is named. A new view begins there."""
        ...

    @streaming("POST /api/conversations/{conversation_id}/regenerate", OfTurn, AnsweredAgain)
    def stream_regenerated(
        self, conversation_id: str, *, idempotency_key: Key = None, **fields: Unpack[AnsweredAgainFields]
    ) -> Event:
        """Have a question answered again, and hear of each event of the turn."""
        ...

    @operation("POST /api/conversations/{conversation_id}/edit", EditedMessage)
    def edit(
        self,
        conversation_id: str,
        message_id: str,
        content: Content,
        *,
        idempotency_key: Key = None,
        **fields: Unpack[MessageFields],
    ) -> TurnAnswer:
        """Say something else instead of what a user said, and have it answered. A new view begins there."""
        ...

    @streaming("POST /api/conversations/{conversation_id}/edit", OfTurn, EditedMessage)
    def stream_edited(
        self,
        conversation_id: str,
        message_id: str,
        content: Content,
        *,
        idempotency_key: Key = None,
        **fields: Unpack[MessageFields],
    ) -> Event:
        """Say something else instead of what a user said, and hear of each event of the turn."""
        ...

    @operation("GET /api/conversations/{conversation_id}/messages")
    def page(
        self,
        conversation_id: str,
        *,
        view: Literal["current", "all"] | None = None,
        audience: Literal["user", "model", "system"] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        archived: bool | None = None,
    ) -> Page[ShownMessage]:
        """List the messages of a conversation, oldest first."""
        ...

    @operation("GET /api/messages/{message_id}/context")
    def context(self, message_id: str) -> ShownContext:
        """What the model was shown when it wrote this message: the exact request, and the source of every part."""
        ...


class Turns(Group[Kind]):
    """The record of turns."""

    @operation("GET /api/turns/{turn_id}")
    def get(self, turn_id: str) -> TurnRecord:
        """Everything that is known of a turn: versions, verdict, plan, rows of tables, calls and what they used."""
        ...


class Views(Group[Kind]):
    """What models are shown of a conversation."""

    @operation("GET /api/conversations/{conversation_id}/views")
    def page(
        self,
        conversation_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        archived: bool | None = None,
    ) -> ShownViews:
        """List the views of a conversation, newest first. The first is the current one."""
        ...

    @operation("POST /api/conversations/{conversation_id}/views/{view_id}/restore")
    def restore(
        self, conversation_id: str, view_id: str, *, if_match: Tag = None, idempotency_key: Key = None
    ) -> ShownView:
        """Show again what a view showed, followed by what was said since."""
        ...

    @operation("POST /api/conversations/{conversation_id}/compact", Dropping | Squashing)
    def compact(
        self,
        conversation_id: str,
        *,
        if_match: Tag = None,
        idempotency_key: Key = None,
        **fields: Unpack[CompactFields],
    ) -> ShownView:
        """Show fewer messages: leave some out, or put one in the place of many. None is lost."""
        ...


class Attachments(Group[Kind]):
    """Files to send with messages."""

    @upload("POST /api/attachments")
    def add(
        self,
        data: bytes,
        name: str = "file",
        media_type: str = "application/octet-stream",
        *,
        idempotency_key: Key = None,
    ) -> ShownAttachment:
        """Upload a file: text, a PDF or an image. Its `attachment_id` goes into the `content` of a message."""
        ...


class Outcomes(Group[Kind]):
    """What became of conversations and answers: what experiments measure."""

    @operation("POST /api/conversations/{conversation_id}/outcome", NewOutcome)
    def tell(self, conversation_id: str, metric: str, value: float | bool, *, idempotency_key: Key = None) -> Outcome:
        """Say what became of a conversation, such as whether it was resolved. Your last word on each metric counts."""
        ...

    @operation("POST /api/messages/{message_id}/rating", NewMessageRating)
    def rate(self, message_id: str, score: int, *, idempotency_key: Key = None) -> MessageRating:
        """Say what you think of an answer, from 1 to 5. Your last word counts."""
        ...
