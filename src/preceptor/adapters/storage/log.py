"""The log in SQL: append, read on, take over, checkpoint."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
import orjson

from preceptor.adapters.randomness import random_bytes
from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.log import (
    ADD,
    AFTER,
    ANCHOR,
    ERASE,
    GROWN,
    LOCK_HEAD,
    MARK,
    MOVE,
    MOVE_TAKING,
    READ_HEAD,
    START,
    TAKE,
)
from preceptor.adapters.storage.statements import Row
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.log import ORG_STREAM, Event, Fenced, Head, NewEvent, Told, seal
from preceptor.domain.times import to_micros

SALT = 16
CHECKPOINT = "log.checkpoint"


def sealed_after(head: Head, org: OrgId, stream: StreamId, new: Sequence[NewEvent], now: datetime) -> list[Event]:
    return seal(org, stream, head, new, at=to_micros(now), salts=[random_bytes(SALT) for _ in new])


def _row(event: Event) -> Row:
    """An event as it is added. `sqlite3` takes a bytearray as it is; for bytes it first looks for an adapter."""
    return (
        event.org,
        event.stream,
        event.seq,
        event.turn,
        event.kind,
        event.at,
        event.epoch,
        event.payload,
        event.salt and bytearray(event.salt),
        bytearray(event.commitment),
        bytearray(event.prev_hash),
        bytearray(event.hash),
    )


class SqlLog(msgspec.Struct):
    work: Transaction

    async def start(self, stream: StreamId, new: Sequence[NewEvent]) -> list[Event]:
        """Begin a stream that does not exist yet."""
        sealed = await self._write(stream, Head(), new)
        last, work = sealed[-1], self.work
        await work.executor.put(START, (work.org, stream, last.seq, last.hash, last.epoch, 0, 1))
        return sealed

    async def append(
        self, stream: StreamId, new: Sequence[NewEvent], *, epoch: int | None = None, take: bool = False
    ) -> list[Event]:
        """Add to a stream. With an `epoch`, only while no other writer has taken the stream over.

        With `take`, become its one writer in the same step: what is added has the epoch that others are fenced off by.
        """
        org, executor = self.work.org, self.work.executor
        found = executor.heads.get((org, stream)) or await self._held(stream)
        if found is None and stream == ORG_STREAM:
            return await self.start(stream, new)
        if found is None:
            raise NotFound("stream", stream)
        seq, before, current, grown = found
        if epoch is not None and epoch != current:
            raise Fenced(stream=stream)
        sealed = await self._write(stream, Head(seq, before, current + take), new)
        last = sealed[-1]
        if take:
            await executor.put(MOVE_TAKING, (last.seq, bytearray(last.hash), last.epoch, org, stream))
        else:
            await executor.put(MOVE, (last.seq, bytearray(last.hash), org, stream))
        if not grown:
            await executor.put(MARK, (org, stream))
        return sealed

    async def take_over(self, stream: StreamId) -> int:
        """Become the one writer of a stream: whoever held an older epoch is fenced off from now on."""
        if not await self.work.run(TAKE, named=stream):
            raise NotFound("stream", stream)
        self.work.executor.heads.pop((self.work.org, stream), None)
        if stream == ORG_STREAM:
            self._moved()
        head = await self.head(stream)
        assert head is not None
        return head.epoch

    async def hold(self, stream: StreamId) -> Head | None:
        """Its head, which nobody else moves before this transaction ends."""
        found = await self._held(stream)
        return None if found is None else Head(*found[:3])

    async def head(self, stream: StreamId) -> Head | None:
        if stream == ORG_STREAM and (known := self.work.trail) is not None:
            return known
        rows = await self.work.all(READ_HEAD, id=stream)
        head = Head(*rows[0]) if rows else None
        if head is not None and stream == ORG_STREAM:
            self.work.executor.trails[self.work.org] = head
        return head

    async def after(self, stream: StreamId, seq: int, limit: int) -> list[Event]:
        rows = await self.work.all(AFTER, stream=stream, after=seq, limit=limit)
        return [Event(*row) for row in rows]

    async def erase(self, stream: StreamId) -> int:
        """Erase what every event of a stream says, for good. That it happened, when, and its hash stay."""
        return await self.work.run(ERASE, of=stream)

    async def grown(self, limit: int) -> list[Told]:
        """Up to `limit` streams that have grown since a checkpoint told of them; our own is not among them."""
        rows = await self.work.all(GROWN, limit=limit)
        return [(org, stream, seq, bytes(head).hex()) for org, stream, seq, head in rows]

    async def tell(self, heads: Sequence[Told]) -> Event:
        """Write a checkpoint of other streams into our own."""
        [event] = await self.append(ORG_STREAM, [NewEvent(CHECKPOINT, orjson.dumps({"heads": heads}).decode())])
        return event

    async def mark_told(self, heads: Sequence[Told]) -> None:
        """Take note that a checkpoint has told of these heads. A stream that has grown meanwhile stays marked."""
        for org, stream, seq, _ in heads:
            await self.work.put(ANCHOR, of_org=org, named=stream, up_to=seq)
            self.work.executor.heads.pop((org, stream), None)

    async def _held(self, stream: StreamId) -> tuple[int, bytes, int, int] | None:
        org, executor = self.work.org, self.work.executor
        known = executor.heads.get((org, stream))
        if known is None and (rows := await executor.all(LOCK_HEAD, (org, stream))):
            seq, digest, epoch, grown = rows[0]
            known = executor.heads[org, stream] = (seq, bytes(digest), epoch, grown)
        return known

    async def _write(self, stream: StreamId, head: Head, new: Sequence[NewEvent]) -> list[Event]:
        work, org = self.work, self.work.org
        executor, place = work.executor, (org, stream)
        sealed = sealed_after(head, org, stream, new, work.now)
        await executor.many(ADD, [_row(event) for event in sealed])
        if stream == ORG_STREAM:
            self._moved()
        last = sealed[-1]
        executor.heads[place] = (last.seq, last.hash, last.epoch, 1)
        work.grown.append((place, sealed))
        return sealed

    def _moved(self) -> None:
        """Where the audit trail ends is not known any more."""
        self.work.executor.trails.pop(self.work.org, None)
