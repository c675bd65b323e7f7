"""Bringing along: what a client says was said before is written down as such, in front of its question."""

from collections.abc import Sequence
from typing import Any

import msgspec

from preceptor.domain.delegation import CONTROL_TOOLS
from preceptor.domain.errors import Invalid
from preceptor.domain.ids import ConversationId, MessageId, StreamId, TurnId
from preceptor.domain.log import NewEvent
from preceptor.domain.messages.brought import Brought, open_calls, settled
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role, encode
from preceptor.domain.prompts.prompt import ToolSpec
from preceptor.domain.reasoning.plan import TOOL_NAME
from preceptor.engine.history.counting import tokens_of
from preceptor.engine.history.history import History
from preceptor.engine.means.means import Spoken
from preceptor.engine.ports import ChatModel, TokenCounter
from preceptor.engine.repositories.conversations import MessagePlace
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.voice import counted, keep


class Client(msgspec.Struct, frozen=True):
    """What a client has besides its question."""

    brought: tuple[Brought, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    forced: str | None = None
    must_call: bool = False
    results: bool = False
    """The question is what its tools returned: the turn goes on with what an earlier one asked for."""

    @property
    def pins(self) -> dict[str, Any]:
        """What the turn is pinned to on its behalf. What goes on was planned when it began."""
        told: dict[str, Any] = {"client_tools": tuple(tool.name for tool in self.tools), "forced_tool": self.forced}
        told |= {"must_call": self.must_call}
        return told | ({"sgr": {}} if self.results else {})


class CannotHold(Invalid):
    model: str = ""

    def __str__(self) -> str:
        return (
            f"The model {self.model!r} cannot be made to call a tool. Send `tool_choice: auto`, or ask another agent."
        )


class ReservedTool(Invalid):
    name: str = ""

    def __str__(self) -> str:
        return f"The name {self.name!r} is taken here. Give your tool another name."


async def bring(
    work: Work,
    session: Session,
    conversation: ConversationId,
    brought: Sequence[Brought],
    counter: TokenCounter,
    turn_id: TurnId,
) -> None:
    """Write down what was brought. These rows are of no turn: nothing in them was done here, or is to be done."""
    if not brought:
        return
    place, cum = await work.messages.last(conversation)
    messages = [_message(session, conversation, one, counter, turn_id) for one in brought]
    rows = [NewEvent("message.completed", encode(message).decode()) for message in messages]
    events = await work.log.append(StreamId(conversation), rows)
    placed: list[tuple[MessagePlace, Message]] = []
    for event, message in zip(events, messages, strict=True):
        place, cum = place + 1, cum + message.tokens
        placed.append((MessagePlace(place, event.seq, cum), message))
    await work.messages.add(conversation, placed)


def unanswered(history: History) -> tuple[Brought, ...]:
    """Results for calls that a client was to carry out, and did not before something else was said.

    Also for calls that this request does not show: a later one may.
    """
    said = history.said if history.fit is None else history.fit.placed.values()
    waiting = open_calls([each.message for each in said])
    return tuple(settled((), waiting))


def require_holding(client: Client, model: ChatModel) -> None:
    """Refuse to promise a call that the model can only be asked for."""
    wanted = client.forced is not None or client.must_call
    if wanted and model.capabilities.holding(client.forced) is None:
        raise CannotHold(model=model.name)


def with_tools(spoken: Spoken, tools: Sequence[ToolSpec], counter: TokenCounter) -> Spoken:
    """The agent's voice with the tools of a client beside its own."""
    if not tools:
        return spoken
    taken = {spec.name for spec in spoken.voice.tools} | CONTROL_TOOLS | {TOOL_NAME}
    for tool in tools:
        if tool.name in taken:
            raise ReservedTool(name=tool.name)
        taken.add(tool.name)
    every = (*spoken.voice.tools, *(counted(tool, counter) for tool in tools))
    voice = msgspec.structs.replace(spoken.voice, tools=every)
    return Spoken(spoken.compiled, spoken.revision, voice, keep(voice))


def _message(
    session: Session, conversation: ConversationId, one: Brought, counter: TokenCounter, turn_id: TurnId
) -> Message:
    parts: tuple[AnyPart, ...] = one.parts
    return Message(
        id=MessageId(session.world.new_id()),
        conversation_id=conversation,
        turn_id=turn_id,
        role=one.role,
        kind=Kind.TOOL if one.role is Role.TOOL else Kind.MESSAGE,
        parts=parts,
        instructions=(),
        tokens=tokens_of(parts, counter),
        created_at=session.world.now(),
        from_client=True,
    )
