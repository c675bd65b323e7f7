"""What organisations show to each other, in SQL. Only the owner writes; whoever reads sees published fields alone."""

from typing import Any

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.published import ADD, FIND, HEAD, MINE, PAGE, REPLACE
from preceptor.adapters.storage.searching import tags_kept, tags_wanted, words_kept, words_wanted
from preceptor.adapters.storage.statements import Row
from preceptor.domain.ids import FamilyId, InstructionId, OrgId
from preceptor.domain.instructions.family import Publication, Published
from preceptor.engine.repositories.library import WantedInstructions


class SqlPublished(msgspec.Struct, frozen=True):
    work: Transaction

    async def of_family(self, family_id: FamilyId) -> list[Publication]:
        """What this organisation has ever published of one of its own families."""
        return [_publication(row) for row in await self.work.all(MINE, family=family_id)]

    async def put(self, publication: Publication) -> None:
        columns = _columns(publication)
        if not await self.work.run(REPLACE, **columns):
            await self.work.put(ADD, **columns)

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
