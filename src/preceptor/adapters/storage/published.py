"""What organisations show to each other, in SQL. Only the owner writes; whoever reads sees published fields alone."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Integer, bindparam, literal_column, select

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.searching import (
    any_or,
    any_or_like,
    before,
    tags_kept,
    tags_wanted,
    words_kept,
    words_wanted,
)
from preceptor.adapters.storage.statements import Row, Statement, insert_into, limited, mine, update_by_key
from preceptor.adapters.storage.tables import published_instructions as published
from preceptor.domain.ids import FamilyId, InstructionId, OrgId
from preceptor.domain.instructions.family import Publication, Published
from preceptor.engine.library import WantedInstructions

ONE = literal_column("1", Integer)
_PUBLICATION = (published.c.org, published.c.body, published.c.head, published.c.withdrawn)

ADD = insert_into(published)
REPLACE = update_by_key(published)
MINE = Statement.of(select(*_PUBLICATION).where(mine(published), published.c.family == bindparam("family")))
# Reading what was published is the purpose of these: they cross organisations.
FIND = Statement.of(select(*_PUBLICATION).where(published.c.id == bindparam("id")))
HEAD = Statement.of(select(*_PUBLICATION).where(published.c.family == bindparam("family"), published.c.head == ONE))
PAGE = Statement.of(
    limited(
        select(*_PUBLICATION)
        .where(
            published.c.head == ONE,
            before(published.c.id),
            any_or(published.c.type, "type"),
            any_or(published.c.category, "category"),
            any_or(published.c.role, "role"),
            any_or_like(published.c.words, "words"),
            any_or_like(published.c.tags, "tags"),
        )
        .order_by(published.c.id.desc())
    )
)


@dataclass(frozen=True, slots=True)
class SqlPublished:
    work: Transaction

    async def of_family(self, family_id: FamilyId) -> list[Publication]:
        """What this organisation has ever published of one of its own families."""
        return [_publication(row) for row in await self.work.all(MINE, family=family_id)]

    async def put(self, publication: Publication) -> None:
        columns = _columns(publication)
        if not await self.work.run(REPLACE, **columns):
            await self.work.run(ADD, **columns)

    async def find(self, instruction_id: InstructionId) -> Publication | None:
        """A version that any organisation published, withdrawn ones too."""
        row = await self.work.one(FIND, id=instruction_id)
        return _publication(row) if row else None

    async def head(self, family_id: FamilyId) -> Publication | None:
        """The newest version of a family that is published now."""
        row = await self.work.one(HEAD, family=family_id)
        return _publication(row) if row else None

    async def page(self, wanted: WantedInstructions, after: str | None, limit: int) -> list[Published]:
        rows = await self.work.all(
            PAGE,
            after=after,
            type=wanted.type,
            category=wanted.category,
            role=wanted.target_role,
            words=words_wanted(wanted.words),
            tags=tags_wanted(wanted.tags),
            limit=limit,
        )
        return [_publication(row).snapshot for row in rows]


def _columns(publication: Publication) -> dict[str, Any]:
    snapshot = publication.snapshot
    return {
        "id": snapshot.instruction_id,
        "family": snapshot.family_id,
        "head": int(publication.is_head),
        "withdrawn": int(publication.is_withdrawn),
        "type": snapshot.type.value,
        "category": snapshot.category,
        "role": snapshot.target_role,
        "words": words_kept(snapshot.name, snapshot.description),
        "tags": tags_kept(snapshot.tags),
        "body": snapshot.model_dump_json(),
    }


def _publication(row: Row) -> Publication:
    org, body, head, withdrawn = row
    return Publication(OrgId(org), Published.model_validate_json(body), bool(head), bool(withdrawn))
