"""Imports: conversations that were held elsewhere become conversations here, turn by turn, to be replayed."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec

from preceptor.domain.agents import Agent
from preceptor.domain.conversations.conversation import NewConversation
from preceptor.domain.conversations.imports import (
    MOST_MESSAGES,
    Exchange,
    Imported,
    ImportedConversation,
    LeftOut,
    NewImport,
    exchanges,
)
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import AgentId, ConversationId, MessageId, StreamId, TurnId
from preceptor.domain.log import Event
from preceptor.domain.messages.brought import Brought
from preceptor.domain.messages.message import Kind, Message, Role
from preceptor.domain.turns.facts import Accepted, Ended, Pins, TurnStatus, event
from preceptor.domain.value import made
from preceptor.engine.connecting import connected
from preceptor.engine.experimenting.enrolling import Enrolled
from preceptor.engine.history.counting import tokens_of
from preceptor.engine.ports import TokenCounter
from preceptor.engine.repositories.conversations import MessagePlace, TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.starting import start
from preceptor.engine.taking.accepting import pins_for
from preceptor.engine.telling.effective import effective_now
from preceptor.engine.telling.voice import keep, voice_of

NOTHING = "no question in it has an answer"
TOO_LONG = f"it has more than {MOST_MESSAGES} messages"


class Told(Protocol):
    """A conversation as an export tells it."""

    @property
    def records(self) -> tuple[int, ...]: ...

    @property
    def name(self) -> str | None: ...

    @property
    def said(self) -> tuple[Brought, ...]: ...

    @property
    def at(self) -> datetime | None: ...


class Missing(Protocol):
    @property
    def record(self) -> int: ...

    @property
    def why(self) -> str: ...


Reader = Callable[[Sequence[Any], str], tuple[Sequence[Told], Sequence[Missing]]]


class Imports(msgspec.Struct, frozen=True):
    session: Session
    format_of: Callable[[Sequence[Any]], str]
    read: Reader

    async def bring_in(self, given: NewImport | None = None, **fields: Any) -> Imported:
        """Write them all down, or none. What holds no answered question is left out, and told."""
        new = made(NewImport, given, fields)
        kind = self.format_of(new.records) if new.format == "auto" else new.format
        told, missing = self.read(new.records, kind)
        left = [LeftOut(record=one.record, why=one.why) for one in missing]
        wanted: list[tuple[Told, list[Exchange]]] = []
        for one in told:
            found = exchanges(one.said)
            why = NOTHING if not found else TOO_LONG if len(one.said) > MOST_MESSAGES else None
            if why is None:
                wanted.append((one, found))
            else:
                left += [LeftOut(record=record, why=why) for record in one.records]

        async def program(work: Work) -> Imported:
            scribe = await self._scribe(work, AgentId(new.agent_id), kind)
            done = [await scribe.write(one, found) for one, found in wanted]
            turns = sum(one.turns for one in done)
            return Imported(format=kind, conversations=tuple(done), turns=turns, left_out=tuple(left))

        return await self.session.write(program)

    async def _scribe(self, work: Work, agent_id: AgentId, kind: str) -> "Scribe":
        agent = await work.agents.find(agent_id)
        if agent is None:
            raise NotFound("agent", agent_id)
        means = await connected(work, self.session)
        name = agent.model or means.models.default
        counter = means.models.counter(name)
        compiled = await effective_now(work, self.session.compilations, agent_id)
        kept = keep(voice_of(agent, compiled.told, means.tools.specs(agent.tools), counter))
        await work.blobs.put(kept.sha256, kept.body)
        pins = pins_for(means, Enrolled(agent, compiled), kept)
        parameters = {} if agent.parameters is None else agent.parameters.model_dump(mode="json")
        return Scribe(work, self.session, agent, msgspec.structs.replace(pins, parameters=parameters), counter, kind)


class Scribe(msgspec.Struct):
    """Writes conversations down as if they had been held with this agent."""

    work: Work
    session: Session
    agent: Agent
    pins: Pins
    counter: TokenCounter
    kind: str

    async def write(self, told: Told, found: Sequence[Exchange]) -> ImportedConversation:
        conversation_id = ConversationId(self.session.world.new_id())
        new = NewConversation(agent_id=self.agent.agent_id, title=told.name, metadata={"importedFrom": self.kind})
        await start(self.work, self._owner, conversation_id, new)
        place, cum = 0, 0
        for exchange in found:
            place, cum = await self._turn(conversation_id, exchange, told.at, (place, cum))
        return ImportedConversation(conversation_id=conversation_id, title=told.name, turns=len(found), messages=place)

    @property
    def _owner(self) -> Any:
        return self.session.caller.owner

    async def _turn(
        self, conversation_id: ConversationId, exchange: Exchange, at: datetime | None, last: tuple[int, int]
    ) -> tuple[int, int]:
        turn_id = TurnId(self.session.world.new_id())
        brought = (exchange.question, *exchange.answers)
        messages = [self._message(conversation_id, turn_id, one, at) for one in brought]
        answer = next(one for one in reversed(messages) if one.role is Role.ASSISTANT)
        ui = {"type": "answer", "response": answer.text}
        ended = Ended(turn_id=turn_id, status=TurnStatus.COMPLETED, message=answer, ui=ui)
        accepted = Accepted(pins=self.pins, message_id=messages[0].id, imported=self.kind)
        events = await self.work.log.append(
            StreamId(conversation_id),
            [
                event("turn.accepted", accepted, turn_id),
                *(event("message.completed", message, turn_id) for message in messages),
                event("turn.completed", ended, turn_id),
            ],
        )
        await self.work.turns.add(self._row(conversation_id, turn_id, events))
        place, cum = last
        rows: list[tuple[MessagePlace, Message]] = []
        for one, message in zip(events[1:-1], messages, strict=True):
            place, cum = place + 1, cum + message.tokens
            rows.append((MessagePlace(place, one.seq, cum), message))
        await self.work.messages.add(conversation_id, rows)
        return place, cum

    def _row(self, conversation_id: ConversationId, turn_id: TurnId, events: Sequence[Event]) -> TurnRow:
        return TurnRow(
            turn_id=turn_id,
            conversation_id=conversation_id,
            agent_id=self.agent.agent_id,
            user_id=self._owner.user_id,
            status=TurnStatus.COMPLETED,
            worker="import",
            epoch=events[0].epoch,
            first=events[0].seq - 1,
            last=events[-1].seq,
            lease=self.work.now,
        )

    def _message(self, conversation_id: ConversationId, turn_id: TurnId, one: Brought, at: datetime | None) -> Message:
        return Message(
            id=MessageId(self.session.world.new_id()),
            conversation_id=conversation_id,
            turn_id=turn_id,
            role=one.role,
            kind=Kind.TOOL if one.role is Role.TOOL else Kind.MESSAGE,
            parts=one.parts,
            instructions=(),
            tokens=tokens_of(one.parts, self.counter),
            created_at=at or self.session.world.now(),
            agent_id=self.agent.agent_id,
            from_client=True,
        )
