"""Texts kept by their hash, once: the system prompts and tool schemas that manifests refer to."""

from dataclasses import dataclass

from sqlalchemy import Text, bindparam, cast, delete, exists, insert, select

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.statements import Statement, mine
from preceptor.adapters.storage.turn_tables import blobs

_HERE = exists().where(mine(blobs), blobs.c.sha256 == bindparam("sha256"))
PUT = Statement.of(
    insert(blobs).from_select(
        ["org", "sha256", "body"],
        select(cast(bindparam("org"), Text), cast(bindparam("sha256"), Text), cast(bindparam("body"), Text)).where(
            ~_HERE
        ),
    )
)
GET = Statement.of(select(blobs.c.body).where(mine(blobs), blobs.c.sha256 == bindparam("sha256")))
REMOVE = Statement.of(delete(blobs).where(mine(blobs), blobs.c.sha256 == bindparam("sha256")))


@dataclass(frozen=True, slots=True)
class SqlBlobs:
    work: Transaction

    async def put(self, sha256: str, body: str) -> None:
        await self.work.run(PUT, sha256=sha256, body=body)

    async def get(self, sha256: str) -> str | None:
        row = await self.work.one(GET, sha256=sha256)
        return row[0] if row else None

    async def remove(self, sha256: str) -> None:
        await self.work.run(REMOVE, sha256=sha256)
