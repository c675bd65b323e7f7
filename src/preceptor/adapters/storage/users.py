"""Users in SQL."""

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.users import ADD, FIND, PAGE
from preceptor.domain.ids import UserId
from preceptor.domain.users import User


class SqlUsers(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, user: User) -> None:
        await self.work.put(ADD, id=user.user_id, body=user.model_dump_json())

    async def find(self, user_id: UserId) -> User | None:
        row = await self.work.one(FIND, id=user_id)
        return User.model_validate_json(row[0]) if row else None

    async def page(self, after: str | None, limit: int) -> list[User]:
        rows = await self.work.all(PAGE, after=after or "", limit=limit)
        return [User.model_validate_json(row[0]) for row in rows]
