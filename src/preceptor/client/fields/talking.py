"""Written by `make docs` from the values that the API takes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.surfaces.rest.shapes import SentDirective


class NewConversationFields(TypedDict):
    """The fields of `NewConversation`."""

    agent_id: str
    title: NotRequired[str | None]
    parameters: NotRequired[RequestParameters | Mapping[str, Any] | None]
    """For all its messages, where a message does not say otherwise."""
    version_policy: NotRequired[Literal["follow", "pin", "drain"]]
    """Whether new versions of instructions are followed. What pins or drains is in no experiment."""
    metadata: NotRequired[Mapping[str, Any]]
    parent_id: NotRequired[str | None]
    """The conversation that this one was started from."""


class ConversationChangeFields(TypedDict):
    """The fields of `ConversationChange`."""

    title: NotRequired[str | None]
    parameters: NotRequired[RequestParameters | Mapping[str, Any] | None]
    version_policy: NotRequired[Literal["follow", "pin", "drain"]]
    """Whether new versions of instructions are followed. What pins or drains is in no experiment."""
    metadata: NotRequired[Mapping[str, Any]]


class NewImportFields(TypedDict):
    """The fields of `NewImport`."""

    agent_id: NotRequired[str]
    """The agent that takes these conversations on."""
    format: NotRequired[Literal["auto", "openai", "langfuse", "langsmith"]]
    records: Sequence[Mapping[str, Any]]


class AnsweredAgainFields(TypedDict):
    """The fields of `AnsweredAgain`."""

    message_id: NotRequired[str | None]
    """The question, or part of its answer. Default: the last question that is shown."""
    parameters: NotRequired[RequestParameters | Mapping[str, Any] | None]
    background: NotRequired[bool]
    """Answer at once, with the turn still running."""
    queue: NotRequired[bool]
    """While another turn runs in this conversation, wait for it instead of being refused: in the order in which messages come, and with at most seven before it. Nothing is kept of a message that waits."""


class MessageFields(TypedDict):
    """The fields of `SentMessage`."""

    parameters: NotRequired[RequestParameters | Mapping[str, Any] | None]
    background: NotRequired[bool]
    """Answer at once, with the turn still running."""
    queue: NotRequired[bool]
    """While another turn runs in this conversation, wait for it instead of being refused: in the order in which messages come, and with at most seven before it. Nothing is kept of a message that waits."""
    instructions: NotRequired[Sequence[SentDirective | Mapping[str, Any]]]
    """Directives; whoever sends one needs the permission `delegate`, and so does the agent."""


class CompactFields(TypedDict):
    """The fields of `Dropping` or `Squashing`."""

    message_ids: NotRequired[Sequence[str]]
    """These messages."""
    spans: NotRequired[Sequence[str]]
    """Everything that was said in these delegations."""
    intermediate: NotRequired[Literal[True]]
    """All intermediate steps."""
    strategy: Literal["drop", "concat", "summarize", "distill"]
    text: NotRequired[str | None]
    """What that message says, instead of what would be made of them."""
