"""Organisations in SQL."""

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.orgs import ADD, FIND, PAGE
from preceptor.domain.ids import OrgId
from preceptor.domain.orgs import Org


class SqlOrgs(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, org: Org) -> None:
        await self.work.executor.put(ADD, (org.org_id, org.model_dump_json()))

    async def find(self, org_id: OrgId) -> Org | None:
        row = await self.work.one(FIND, id=org_id)
        return Org.model_validate_json(row[0]) if row else None

    async def page(self, after: str | None, limit: int) -> list[Org]:
        rows = await self.work.all(PAGE, after=after or "", limit=limit)
        return [Org.model_validate_json(row[0]) for row in rows]
