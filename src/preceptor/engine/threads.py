"""Threads: a conversation as it is read on a page, with what each of its turns told, in one look."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.conversations.looks import ShownView, look_at
from preceptor.domain.conversations.view import Run, count, part, shown
from preceptor.domain.ids import ConversationId, InstructionId, MessageId, StreamId, TurnId
from preceptor.domain.log import Event
from preceptor.domain.messages.message import Message
from preceptor.domain.ownership import Permission
from preceptor.domain.turns.audience import for_user, user_fact
from preceptor.domain.turns.facts import MessageDelta, TurnStatus, fact_of
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session

WINDOW = 400
"""Messages that are read at once."""
MOST_TURNS = 50
BATCH = 1000
FOREVER = 2**62


class Told(msgspec.Struct, frozen=True):
    """What one event of a turn tells a reader."""

    seq: int
    kind: str
    turn_id: TurnId | None
    at: int
    fact: Any


class ToldTurn(msgspec.Struct, frozen=True):
    turn_id: TurnId
    running: bool
    told: tuple[Told, ...]


class Thread(msgspec.Struct, frozen=True):
    conversation: Conversation
    view: ShownView
    previous: ShownView | None
    """The view before, if there is one to go back to."""
    messages: tuple[Message, ...]
    turns: tuple[ToldTurn, ...]
    gone: frozenset[MessageId]
    """Of what was said among them: what is no longer shown."""
    skipped: int
    """How many messages come before those that are here."""
    order: tuple[TurnId, ...]
    """The turns of the messages after those, one by one, also of those that this reader is not shown."""
    seq: int
    """The newest row of the log that is told here."""


class Threads(msgspec.Struct, frozen=True):
    session: Session

    @property
    def sees_all(self) -> bool:
        return self.session.caller.may(Permission.RECORD_READ)

    def tell(self, event: Event) -> Told | None:
        """What an event tells whoever asks; None if nothing. Those who may read the record are told all of it."""
        if event.payload is None:
            return None
        fact = fact_of(event.kind, event.payload)
        told = fact if self.sees_all else user_fact(event.kind, fact)
        return None if told is None else Told(event.seq, event.kind, event.turn, event.at, told)

    async def names(self, ids: Iterable[InstructionId]) -> dict[InstructionId, str]:
        """What instructions are called, for those who may read them."""
        wanted = tuple(dict.fromkeys(ids))
        if not wanted or not self.session.caller.may(Permission.INSTRUCTION_READ):
            return {}
        found = await self.session.read(lambda work: work.instructions.named(wanted))
        return {instruction_id: version.name for instruction_id, version in found.items()}

    async def read(
        self, conversation_id: ConversationId, before: int | None = None, *, everything: bool = False
    ) -> Thread:
        """The last messages, or those before a number; as they are shown now, or `everything` that was said."""

        async def program(work: Work) -> Thread:
            conversation = await found(work, self.session.caller, conversation_id, archived=True)
            views = await work.views.all(conversation_id)
            last, total = await work.messages.last(conversation_id)
            current = views[0] if everything else views[-1]
            runs = shown(current, last, total)
            end = count(runs) if before is None else min(before, count(runs))
            skip = max(0, end - WINDOW)
            window = part(runs, skip, end - skip)
            messages = await _between(work, conversation_id, window)
            gone = await _hidden(work, conversation_id, window, messages) if current.step else frozenset[MessageId]()
            turns = await self._turns(work, conversation_id, messages, newest=before is None)
            looks = [look_at(views, one, last, total) for one in views[-2:]]
            head = await work.log.head(StreamId(conversation_id))
            seen = [message for message in map(self._seen, messages) if message is not None]
            return Thread(
                conversation,
                looks[-1],
                looks[0] if len(looks) > 1 else None,
                tuple(seen),
                turns,
                gone,
                skip,
                tuple(message.turn_id for message in messages),
                0 if head is None else head.seq,
            )

        return await self.session.read(program)

    async def _turns(
        self, work: Work, conversation: ConversationId, messages: Sequence[Message], *, newest: bool
    ) -> tuple[ToldTurn, ...]:
        ids = dict.fromkeys(message.turn_id for message in messages)
        running = await work.turns.open_in(conversation) if newest else None
        if running is not None:
            ids[running.turn_id] = None
        found = [await work.turns.find(turn_id) for turn_id in list(ids)[-MOST_TURNS:]]
        rows = [row for row in found if row is not None]
        events = await _events(work, conversation, rows)
        return tuple(
            ToldTurn(row.turn_id, row.status is TurnStatus.RUNNING, tuple(self._heard(events[row.turn_id])))
            for row in rows
        )

    def _heard(self, events: Sequence[Event]) -> Iterable[Told]:
        """Without the pieces of what was said as a whole later."""
        told = [each for each in map(self.tell, events) if each is not None]
        whole = {each.fact.id for each in told if isinstance(each.fact, Message)}
        return (each for each in told if not (isinstance(each.fact, MessageDelta) and each.fact.message_id in whole))

    def _seen(self, message: Message) -> Message | None:
        return message if self.sees_all else for_user(message)


async def _events(work: Work, conversation: ConversationId, rows: Sequence[TurnRow]) -> dict[TurnId, list[Event]]:
    """The events of these turns, read in one sweep: turns follow each other in the log."""
    events: dict[TurnId, list[Event]] = {row.turn_id: [] for row in rows}
    if not rows:
        return events
    seq, last = min(row.first for row in rows), max(row.last or FOREVER for row in rows)
    while batch := await work.log.after(StreamId(conversation), seq, BATCH):
        for event in batch:
            if event.turn is not None and event.turn in events:
                events[event.turn].append(event)
        seq = batch[-1].seq
        if len(batch) < BATCH or seq >= last:
            break
    return events


async def _between(work: Work, conversation: ConversationId, runs: Sequence[Run]) -> list[Message]:
    return [each.message for run in runs for each in await work.messages.between(conversation, run.first, run.last)]


async def _hidden(
    work: Work, conversation: ConversationId, runs: Sequence[Run], shown: Sequence[Message]
) -> frozenset[MessageId]:
    if not runs:
        return frozenset()
    first, last = min(run.first for run in runs), max(run.last for run in runs)
    said = {each.message.id for each in await work.messages.between(conversation, first, last)}
    return frozenset(said - {message.id for message in shown})
