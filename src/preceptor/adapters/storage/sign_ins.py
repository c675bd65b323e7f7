"""One-time sign-in tokens, kept as hashes."""

from datetime import datetime

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.sign_ins import ADD, FIND, FORGET_OLD, REMOVE
from preceptor.domain.ownership import Owner
from preceptor.domain.times import to_micros


class SqlSignIns(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, token_hash: str, owner: Owner, expires_at: datetime) -> None:
        row = {"token_hash": token_hash, "owner": owner.model_dump_json(), "expires": to_micros(expires_at)}
        await self.work.put(ADD, **row)

    async def redeem(self, token_hash: str) -> Owner | None:
        """Use a token up. Of two who try at once, the delete lets one win."""
        row = await self.work.one(FIND, token_hash=token_hash)
        won = await self.work.run(REMOVE, token_hash=token_hash)
        if row is None or not won or row[1] <= to_micros(self.work.now):
            return None
        return Owner.model_validate_json(row[0])

    async def forget_old(self) -> int:
        return await self.work.run(FORGET_OLD, now=to_micros(self.work.now))
