"""Messages in SQL: where each is in its conversation, and how many tokens there are up to it."""

from collections.abc import Sequence

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.messages import ADD, BETWEEN, FIND, LAST, SEQ_AT, SINCE, SUM_AT, WITHHOLD
from preceptor.domain.ids import ConversationId, MessageId
from preceptor.domain.messages.message import Kind, Message, decode
from preceptor.domain.prompts.placed import Placed
from preceptor.engine.repositories.conversations import MessagePlace


def _is_said(placed: Placed) -> bool:
    return placed.place > 0 or placed.message.kind is not Kind.SUMMARY


class SqlMessages(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, conversation: ConversationId, rows: Sequence[tuple[MessagePlace, Message]]) -> None:
        org = self.work.org
        await self.work.executor.many(
            ADD,
            [
                (
                    org,
                    conversation,
                    at.place,
                    message.id,
                    at.seq,
                    message.turn_id,
                    str(message.role),
                    str(message.kind),
                    message.span_id,
                    message.tokens,
                    at.cum,
                    0,
                )
                for at, message in rows
            ],
        )

    async def last(self, conversation: ConversationId) -> tuple[int, int]:
        """The place of the newest message and the tokens of all; (0, 0) where nothing was said."""
        row = await self.work.one(LAST, conversation=conversation, limit=1)
        return (max(row[0], 0), row[1]) if row else (0, 0)

    async def between(self, conversation: ConversationId, first: int, last: int) -> list[Placed]:
        rows = await self.work.all(BETWEEN, conversation=conversation, first=first, until=last)
        return [Placed(place, decode(payload), withheld) for place, payload, withheld in rows if payload is not None]

    async def since(self, conversation: ConversationId, after: int, limit: int) -> list[Placed]:
        """Up to `limit` messages after a place, in the order they were said, with what was said in branches meanwhile.

        A branch's words are placed below zero by their row in the log, so they are found by where they were said.
        So are summaries that turns had written, which no one said.
        """
        rows = await self.work.all(SINCE, conversation=conversation, after=after, limit=limit)
        start = await self.work.one(SEQ_AT, conversation=conversation, at_place=after) if after else None
        until = rows[-1][2] if len(rows) == limit else 2**62
        lowest, highest = -until, -(start[0] if start else 0) - 1
        aside = await self.work.all(BETWEEN, conversation=conversation, first=lowest, until=highest)
        found = [
            (seq, Placed(place, decode(body), withheld)) for place, body, seq, withheld in rows if body is not None
        ]
        found += [(-place, Placed(place, decode(payload))) for place, payload, _ in aside if payload is not None]
        return [placed for _, placed in sorted(found, key=lambda each: each[0]) if _is_said(placed)]

    async def withhold(self, message_id: MessageId, tokens: int) -> None:
        """From now on models are shown something else in its place, of so many tokens."""
        await self.work.put(WITHHOLD, named=message_id, to_tokens=tokens)

    async def sum_at(self, conversation: ConversationId, place: int) -> int:
        row = await self.work.one(SUM_AT, conversation=conversation, at_place=place)
        return row[0] if row else 0

    async def first_beyond(self, conversation: ConversationId, tokens: int) -> int | None:
        """The first place at which the tokens so far are more than this."""
        last, total = await self.last(conversation)
        if total <= tokens:
            return None
        low, high = 0, last  # the sum at `low` is not beyond, the one at `high` is
        below, above = 0, total
        by_share = True
        while high - low > 1:
            guess = low + round((high - low) * (tokens - below) / (above - below)) if by_share else (low + high) // 2
            middle, by_share = min(max(guess, low + 1), high - 1), not by_share
            here = await self.sum_at(conversation, middle)
            if here > tokens:
                high, above = middle, here
            else:
                low, below = middle, here
        return high

    async def find(self, message_id: MessageId) -> tuple[ConversationId, MessagePlace, Message | None] | None:
        row = await self.work.one(FIND, id=message_id)
        if row is None:
            return None
        conversation, place, seq, _, payload = row
        return conversation, MessagePlace(place, seq, 0), None if payload is None else decode(payload)
