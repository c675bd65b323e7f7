"""Answers kept for a day, so that a request sent twice is carried out once."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import bindparam, delete, select, update

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.statements import Statement, insert_into, mine
from preceptor.adapters.storage.tables import idempotency
from preceptor.domain.times import to_micros

KEPT = timedelta(hours=24)

ADD = insert_into(idempotency)
FIND = Statement.of(
    select(idempotency.c.fingerprint, idempotency.c.answer).where(
        mine(idempotency), idempotency.c.key == bindparam("key"), idempotency.c.created > bindparam("oldest")
    )
)
SETTLE = Statement.of(
    update(idempotency)
    .where(mine(idempotency), idempotency.c.key == bindparam("named"))
    .values(answer=bindparam("given"))
)
FORGET_ONE = Statement.of(
    delete(idempotency).where(
        mine(idempotency), idempotency.c.key == bindparam("key"), idempotency.c.created <= bindparam("oldest")
    )
)
# A sweep of the installation, over all organisations.
FORGET_OLD = Statement.of(delete(idempotency).where(idempotency.c.created <= bindparam("oldest")))


@dataclass(frozen=True, slots=True)
class SqlIdempotency:
    work: Transaction

    async def find(self, key: str) -> tuple[str, bytes | None] | None:
        """The fingerprint of the request that used `key` in the last day, and its answer if there is one yet."""
        row = await self.work.one(FIND, key=key, oldest=self._oldest())
        return (row[0], None if row[1] is None else bytes(row[1])) if row else None

    async def claim(self, key: str, fingerprint: str) -> None:
        """Take a key for work that begins. What an older day left under it goes; what is newer stands in the way."""
        await self.work.run(FORGET_ONE, key=key, oldest=self._oldest())
        now = to_micros(self.work.now)
        await self.work.run(ADD, key=key, fingerprint=fingerprint, answer=None, created=now)

    async def settle(self, key: str, answer: bytes) -> None:
        await self.work.run(SETTLE, named=key, given=answer)

    async def forget_old(self) -> int:
        return await self.work.run(FORGET_OLD, oldest=self._oldest())

    def _oldest(self) -> int:
        return to_micros(self.work.now - KEPT)
