"""A conversation, folded from its events."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from functools import reduce
from typing import Annotated, Any

import orjson
from pydantic import AwareDatetime, Field, StringConstraints

from preceptor.domain.ids import AgentId, ConversationId, StreamId
from preceptor.domain.log import Event, NewEvent
from preceptor.domain.ownership import Owner
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.times import from_micros
from preceptor.domain.value import ANY_TEXT, Json, Revised, Value, left_out, told

Title = Annotated[str, StringConstraints(max_length=300, pattern=ANY_TEXT)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=ANY_TEXT)]
Metadata = Annotated[dict[Label, Json], Field(max_length=50)]


class Status(StrEnum):
    ACTIVE = "active"
    ARCHIVED = "archived"
    ERASED = "erased"
    """Nothing of what was said is left, only that something was."""


class VersionPolicy(StrEnum):
    """Which versions of its agent's instructions speak in a conversation."""

    FOLLOW = "follow"
    """Those that hold when a turn begins."""
    PIN = "pin"
    """Those that held when it was started, or was told to pin, for good."""
    DRAIN = "drain"
    """The same, until one of them is archived, or taken from the agent. From then on it follows."""


Policy = Annotated[
    VersionPolicy,
    Field(description="Whether new versions of instructions are followed. What pins or drains is in no experiment."),
]


class NewConversation(Value):
    agent_id: str = Field(min_length=1, max_length=128, pattern=ANY_TEXT)
    title: Title | None = None
    parameters: RequestParameters | None = Field(
        default=None, description="For all its messages, where a message does not say otherwise."
    )
    version_policy: Policy = VersionPolicy.FOLLOW
    metadata: Metadata = Field(default_factory=dict)
    parent_id: ConversationId | None = Field(
        default=None, max_length=128, pattern=ANY_TEXT, description="The conversation that this one was started from."
    )


class ConversationChange(Value):
    """What to change; what is left out stays."""

    title: Title | None = None
    parameters: RequestParameters | None = None
    version_policy: Policy = left_out()
    metadata: Metadata = left_out()


class Conversation(Revised):
    conversation_id: ConversationId
    agent_id: AgentId
    title: str | None
    status: Status
    parameters: RequestParameters | None = None
    version_policy: VersionPolicy = VersionPolicy.FOLLOW
    pinned_at: AwareDatetime | None = Field(
        default=None, description="The moment whose versions speak, where newer ones are not followed."
    )
    metadata: dict[str, Any]
    parent_id: ConversationId | None = None
    owner: Owner
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int


def started(new: NewConversation, owner: Owner) -> NewEvent:
    facts, whose = new.to_json().decode(), owner.to_json().decode()
    return NewEvent("conversation.started", f'{facts[:-1]},"owner":{whose}}}')


def begun(event: Event, new: NewConversation, owner: Owner) -> Conversation:
    """The conversation that `event` started, without reading there what is known here."""
    return _begun(
        event,
        agent_id=new.agent_id,
        title=new.title,
        parameters=new.parameters,
        version_policy=new.version_policy,
        metadata=new.metadata,
        parent_id=new.parent_id,
        owner=owner,
    )


def changed(change: ConversationChange) -> NewEvent:
    return NewEvent("conversation.changed", change.model_dump_json(exclude_unset=True))


def archived() -> NewEvent:
    return NewEvent("conversation.archived", "{}")


def erased(conversation: Conversation) -> NewEvent:
    """Whose it was and with whom is all that is kept; the event that said so is erased with the rest."""
    facts = {"agentId": conversation.agent_id, "owner": conversation.owner.model_dump(mode="json")}
    kept = facts | {"createdAt": conversation.created_at.isoformat(), "revision": conversation.revision + 1}
    return NewEvent("conversation.erased", orjson.dumps(kept).decode())


def fold(events: Iterable[Event], state: Conversation | None = None) -> Conversation | None:
    """The conversation after `events`; None while it has not started."""
    return reduce(after, events, state)


def after(state: Conversation | None, event: Event) -> Conversation | None:
    """One step of the fold. Events of other kinds (turns, messages) are not about the conversation itself."""
    if event.payload is None:
        return state  # it was erased, and the event that erased it says what is left
    at = from_micros(event.at)
    match event.kind:
        case "conversation.started":
            facts = orjson.loads(event.payload)
            return _begun(
                event,
                agent_id=facts["agentId"],
                title=facts["title"],
                parameters=_parameters(facts.get("parameters")),
                version_policy=VersionPolicy(facts.get("versionPolicy", VersionPolicy.FOLLOW)),
                metadata=facts["metadata"],
                parent_id=facts.get("parentId"),
                owner=Owner.model_validate(facts["owner"]),
            )
        case "conversation.changed":
            change = ConversationChange.model_validate_json(event.payload)
            return _stepped(state, at, **told(change), **_held(state, change, at))
        case "conversation.archived":
            return _stepped(state, at, status=Status.ARCHIVED)
        case "conversation.erased":
            return _erased(event.stream, orjson.loads(event.payload), at)
        case _:
            return state


def _begun(event: Event, **facts: Any) -> Conversation:
    at, conversation_id = from_micros(event.at), ConversationId(event.stream)
    return Conversation(
        conversation_id=conversation_id,
        status=Status.ACTIVE,
        pinned_at=None if facts["version_policy"] is VersionPolicy.FOLLOW else at,
        created_at=at,
        updated_at=at,
        revision=1,
        **facts,
    )


def _held(state: Conversation | None, change: ConversationChange, at: datetime) -> dict[str, Any]:
    """From when on newer versions are not followed: now, unless they were not before."""
    if "version_policy" not in change.model_fields_set:
        return {}
    follows = change.version_policy is VersionPolicy.FOLLOW
    return {"pinned_at": None if follows else (state and state.pinned_at) or at}


def _erased(stream: StreamId, facts: Any, at: datetime) -> Conversation:
    return Conversation(
        conversation_id=ConversationId(stream),
        agent_id=facts["agentId"],
        title=None,
        status=Status.ERASED,
        metadata={},
        owner=Owner.model_validate(facts["owner"]),
        created_at=datetime.fromisoformat(facts["createdAt"]),
        updated_at=at,
        revision=facts["revision"],
    )


def _parameters(facts: Any) -> RequestParameters | None:
    return None if facts is None else RequestParameters.model_validate(facts)


def _stepped(state: Conversation | None, at: AwareDatetime, **news: object) -> Conversation | None:
    if state is None:
        return None
    return state.model_copy(update=news | {"updated_at": at, "revision": state.revision + 1})
