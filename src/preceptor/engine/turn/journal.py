"""The journal of a running turn: what happened is noted, folded at once, and committed before anything is done."""

from collections.abc import Callable
from typing import Any

import msgspec

from preceptor.domain.errors import Unavailable
from preceptor.domain.experiments.metrics import Tally
from preceptor.domain.history.segment import State
from preceptor.domain.ids import ConversationId, ExperimentId, MessageId, OrgId, StreamId, TurnId, ViewId
from preceptor.domain.log import Event, Fenced, Head, NewEvent
from preceptor.domain.messages.message import Kind, Message
from preceptor.domain.ownership import Owner
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.turns.facts import Ended, event
from preceptor.domain.turns.turn import Turn
from preceptor.domain.webhooks import Happening
from preceptor.engine.announcing import announce
from preceptor.engine.ports import Runner
from preceptor.engine.repositories.conversations import MessagePlace
from preceptor.engine.repositories.work import Store, Work


class Said(msgspec.Struct, frozen=True):
    """A message that waits to be written: its event's number among those that wait, and where it goes."""

    index: int
    message: Message
    place: int
    cum: int


class Batch(msgspec.Struct, frozen=True):
    """What is committed together."""

    events: tuple[NewEvent, ...]
    said: tuple[Said, ...]
    blobs: tuple[tuple[str, str], ...]
    ended: Ended | None
    withheld: tuple[tuple[MessageId, int], ...] = ()
    fitted: tuple[ViewId, State] | None = None
    exposed: tuple[tuple[ExperimentId, Tally], ...] = ()
    announced: tuple[tuple[Happening, dict[str, Any]], ...] = ()

    @property
    def adds_only(self) -> bool:
        """Whether it is nothing but events, as most is while a model speaks."""
        besides = self.said or self.blobs or self.ended or self.withheld or self.fitted or self.exposed
        return not (besides or self.announced)


class Torn(Unavailable):
    """Another branch of the same turn lost what waited, and with it perhaps what we noted."""


class Journal(msgspec.Struct, eq=False):
    store: Store
    runner: Runner
    owner: Owner
    conversation_id: ConversationId
    turn: Turn
    epoch: int
    place: int
    """Of the newest message of the conversation."""
    cum: int
    org: OrgId
    known: set[tuple[OrgId, str]]
    """Texts that are kept already, by whoever."""
    here: list[Placed] = []
    """The messages of this turn on its main lane, in order."""
    aside: dict[str, list[Placed]] = {}
    """Those of its branches."""
    waiting: list[NewEvent] = []
    said: list[Said] = []
    blobs: dict[str, str] = {}
    withheld: dict[MessageId, int] = {}
    fitted: tuple[ViewId, State] | None = None
    """What the next request in this view is to know of how history was cut."""
    exposed: tuple[tuple[ExperimentId, Tally], ...] = ()
    """What came of the turn in the experiments that it is part of, once it has ended."""
    announced: tuple[tuple[Happening, dict[str, Any]], ...] = ()
    """What webhooks are told of, once the turn has ended."""
    head: bytes = b""
    """The hash that the log ends in after what was committed last."""
    seq: int = 0
    alone: bool = False
    """From the first of its rows on, nothing happened in the conversation but what is noted here."""
    turnstile: Any = None
    torn: bool = False
    """Something of it never reached the disk, so nothing may follow: whoever goes on begins from the log."""

    def __post_init__(self) -> None:
        self.turnstile = self.runner.turnstile()

    def note(self, kind: str, fact: Any) -> None:
        self.waiting.append(event(kind, fact, self.turn.turn_id))
        if isinstance(fact, Message):
            self._place(fact)
        self.turn.tell(fact)

    def keep(self, sha256: str, body: str) -> None:
        """A text that what is noted refers to by its hash."""
        if (self.org, sha256) not in self.known:
            self.blobs[sha256] = body

    def withhold(self, message_id: MessageId, tokens: int) -> None:
        """Show models something else in place of a message, once what is noted is committed."""
        self.withheld[message_id] = tokens
        self.alone = False  # what is kept in mind would still have its words

    def take(self) -> Batch:
        """All that waits, to be written in one transaction."""
        blobs = tuple(self.blobs.items())
        withheld = tuple(self.withheld.items())
        events, said = tuple(self.waiting), tuple(self.said)
        batch = Batch(events, said, blobs, self.turn.ended, withheld, self.fitted, self.exposed, self.announced)
        self.waiting, self.said, self.blobs, self.withheld, self.fitted = [], [], {}, {}, None
        self.exposed = self.announced = ()
        return batch

    async def commit(self) -> None:
        """Return once everything noted so far is on the disk."""
        async with self.turnstile:
            if self.torn:
                raise Torn("What this turn noted before could not be written.")
            if not self.waiting:
                return
            batch = self.take()
            self.torn = True
            if batch.adds_only:
                head = Head(self.seq, self.head, self.epoch)
                self.follow(await self.store.append(self.owner, StreamId(self.conversation_id), batch.events, head))
            else:
                await self.store.write(self.owner, self._program(batch))
            self.torn = False
            if batch.blobs:
                self.known.update((self.org, sha256) for sha256, _ in batch.blobs)

    def _program(self, batch: Batch) -> Callable[[Work], Any]:
        async def program(work: Work) -> None:
            stream = StreamId(self.conversation_id)
            events = await work.log.append(stream, batch.events, epoch=self.epoch)
            self.follow(events)
            await write_down(work, self.conversation_id, batch, events, self.turn.turn_id)

        return program

    def follow(self, events: list[Event]) -> None:
        """Take note of how far the log has come."""
        self.alone = self.alone and self.seq == events[0].seq - 1
        self.seq, self.head = events[-1].seq, events[-1].hash

    def _place(self, message: Message) -> None:
        span = message.span_id
        branch = None if span is None else self.turn.lanes[span].root
        if message.kind is Kind.SUMMARY:
            self.said.append(Said(len(self.waiting) - 1, message, 0, 0))
        elif branch is None:
            self.place += 1
            self.cum += message.tokens
            self.here.append(Placed(self.place, message))
            self.said.append(Said(len(self.waiting) - 1, message, self.place, self.cum))
        else:
            self.aside.setdefault(branch, []).append(Placed(0, message))
            self.said.append(Said(len(self.waiting) - 1, message, 0, 0))


async def write_down(
    work: Work, conversation_id: ConversationId, batch: Batch, events: list[Event], turn_id: TurnId
) -> None:
    """Everything of a batch but the events themselves. What has no place is placed below zero, by its row."""
    rows = [
        (MessagePlace(said.place or -events[said.index].seq, events[said.index].seq, said.cum), said.message)
        for said in batch.said
    ]
    if rows:
        await work.messages.add(conversation_id, rows)
    for sha256, body in batch.blobs:
        await work.blobs.put(sha256, body)
    for message_id, tokens in batch.withheld:
        await work.messages.withhold(message_id, tokens)
    if batch.fitted is not None:
        await work.histories.put(conversation_id, *batch.fitted)
    for experiment_id, tally in batch.exposed:
        await work.exposures.add(experiment_id, tally)
    for happening, data in batch.announced:
        await announce(work, happening, data, events[-1].hash)
    if batch.ended is not None and not await work.turns.settle(turn_id, batch.ended.status, events[-1].seq):
        raise Fenced(stream=StreamId(conversation_id))
