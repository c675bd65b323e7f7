"""API keys in SQL."""

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.keys import ADD, FIND, PAGE, REPLACE
from preceptor.domain.ids import KeyId, OrgId
from preceptor.domain.keys import ApiKey, StoredKey


class SqlKeys(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, key: StoredKey) -> None:
        await self.work.put(ADD, **_columns(key))

    async def replace(self, key: StoredKey) -> None:
        await self.work.put(REPLACE, **_columns(key))

    async def find(self, key_id: KeyId) -> StoredKey | None:
        row = await self.work.one(FIND, id=key_id)
        if row is None:
            return None
        return StoredKey(org_id=OrgId(row[0]), secret_hash=row[1], shown=ApiKey.model_validate_json(row[2]))

    async def page(self, after: str | None, limit: int) -> list[ApiKey]:
        rows = await self.work.all(PAGE, after=after or "", limit=limit)
        return [ApiKey.model_validate_json(row[0]) for row in rows]


def _columns(key: StoredKey) -> dict[str, str]:
    return {"id": key.shown.key_id, "secret_hash": key.secret_hash, "body": key.shown.model_dump_json()}
