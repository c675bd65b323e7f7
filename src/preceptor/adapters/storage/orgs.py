"""Organisations in SQL."""

from dataclasses import dataclass

from sqlalchemy import bindparam, select

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.statements import Statement, insert_into, limited
from preceptor.adapters.storage.tables import orgs
from preceptor.domain.ids import OrgId
from preceptor.domain.orgs import Org

# An organisation is looked up by its own id: on PostgreSQL row-level security still hides the others from a tenant.
ADD = insert_into(orgs)
FIND = Statement.of(select(orgs.c.body).where(orgs.c.org == bindparam("id")))
PAGE = Statement.of(limited(select(orgs.c.body).where(orgs.c.org > bindparam("after")).order_by(orgs.c.org)))


@dataclass(frozen=True, slots=True)
class SqlOrgs:
    work: Transaction

    async def add(self, org: Org) -> None:
        await self.work.executor.run(ADD, (org.org_id, org.model_dump_json()))

    async def find(self, org_id: OrgId) -> Org | None:
        row = await self.work.one(FIND, id=org_id)
        return Org.model_validate_json(row[0]) if row else None

    async def page(self, after: str | None, limit: int) -> list[Org]:
        rows = await self.work.all(PAGE, after=after or "", limit=limit)
        return [Org.model_validate_json(row[0]) for row in rows]
