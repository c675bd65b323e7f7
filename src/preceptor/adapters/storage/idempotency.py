"""Answers kept for a day, so that a request sent twice is carried out once."""

from collections.abc import Iterable
from datetime import timedelta

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.idempotency import (
    ADD,
    ERASE,
    FIND,
    FORGET_OLD,
    FORGET_OLD_ABOUT,
    FORGET_ONE,
    KEPT_ABOUT,
    SETTLE,
    TELL_ABOUT,
)
from preceptor.domain.times import to_micros

KEPT = timedelta(hours=24)
ERASED = b""
"""In the place of an answer. No answer is so short: they are sealed."""
UNKNOWN = ""
"""In the place of a fingerprint: from one, words that are few enough could be guessed."""


class SqlIdempotency(msgspec.Struct, frozen=True):
    work: Transaction

    async def find(self, key: str) -> tuple[str, bytes | None] | None:
        """The fingerprint of the request that used `key` in the last day, and its answer if there is one yet."""
        row = await self.work.one(FIND, key=key, oldest=self._oldest())
        return (row[0], None if row[1] is None else bytes(row[1])) if row else None

    async def claim(self, key: str, fingerprint: str) -> None:
        """Take a key for work that begins. What an older day left under it goes; what is newer stands in the way.

        It is taken at once: whoever comes with the same key meanwhile waits for how this ends.
        """
        await self.work.put(FORGET_ONE, key=key, oldest=self._oldest())
        now = to_micros(self.work.now)
        await self.work.run(ADD, key=key, fingerprint=fingerprint, answer=None, created=now)

    async def settle(self, key: str, answer: bytes, about: Iterable[str] = ()) -> None:
        """Keep the answer until it is a day old, or what it is `about` is erased."""
        await self.work.put(SETTLE, named=key, given=answer)
        for each in about:
            await self.work.put(TELL_ABOUT, about=each, key=key, created=to_micros(self.work.now))

    async def erase(self, about: str) -> None:
        """Erase what is about something: the answers, and what was asked. Their keys stay in use, and nothing is done
        again.
        """
        for key, then in await self.work.all(KEPT_ABOUT, named=about):
            await self.work.put(ERASE, named=key, then=then, given=ERASED, asked=UNKNOWN)

    async def forget_old(self) -> int:
        await self.work.run(FORGET_OLD_ABOUT, oldest=self._oldest())
        return await self.work.run(FORGET_OLD, oldest=self._oldest())

    def _oldest(self) -> int:
        return to_micros(self.work.now - KEPT)
