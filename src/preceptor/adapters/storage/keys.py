"""API keys in SQL."""

from dataclasses import dataclass

from sqlalchemy import bindparam, literal_column, or_, select

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.statements import Statement, bodies_after, insert_into, mine, update_by_key
from preceptor.adapters.storage.tables import api_keys
from preceptor.domain.ids import KeyId, OrgId
from preceptor.domain.keys import ApiKey, StoredKey
from preceptor.domain.ownership import INSTALLATION

ADD = insert_into(api_keys)
REPLACE = update_by_key(api_keys)
PAGE = bodies_after(api_keys)
# The one look-up that may cross organisations: a credential is what tells us the organisation.
FIND = Statement.of(
    select(api_keys.c.org, api_keys.c.secret_hash, api_keys.c.body).where(
        api_keys.c.id == bindparam("id"), or_(mine(api_keys), bindparam("org") == literal_column(f"'{INSTALLATION}'"))
    )
)


@dataclass(frozen=True, slots=True)
class SqlKeys:
    work: Transaction

    async def add(self, key: StoredKey) -> None:
        await self.work.run(ADD, **_columns(key))

    async def replace(self, key: StoredKey) -> None:
        await self.work.run(REPLACE, **_columns(key))

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
