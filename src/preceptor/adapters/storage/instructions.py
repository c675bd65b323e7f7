"""Instructions in SQL: families, their immutable versions, and which status each version had when."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.instructions import (
    ADD,
    ADD_STATUS,
    ADD_VERSION,
    CANDIDATES,
    CANDIDATES_AT,
    END_STATUS,
    FIND,
    LAST_STATUS,
    MOVE,
    NAMED,
    PAGE,
    REPLACE,
    VERSION,
    VERSIONS,
)
from preceptor.adapters.storage.searching import tags_kept, tags_wanted, words_kept, words_wanted
from preceptor.adapters.storage.statements import Row
from preceptor.domain.ids import AgentId, FamilyId, InstructionId, UserId
from preceptor.domain.instructions.family import Candidate, Family, Popularity
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.parts import Kept
from preceptor.domain.instructions.version import SemVer
from preceptor.domain.times import from_micros, to_micros
from preceptor.engine.repositories.library import WantedInstructions

STATUSES = {status.value: status for status in Status}
AT_ONCE = len(NAMED.names) - 1  # all but the organisation
"""Versions that are looked up in one statement."""


class SqlInstructions(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, family: Family) -> None:
        await self.work.put(ADD, **_columns(family))

    async def replace(self, family: Family) -> None:
        await self.work.put(REPLACE, **_columns(family))

    async def find(self, family_id: FamilyId) -> tuple[Family, InstructionVersion, Popularity] | None:
        """The family with its head, also when it is deleted."""
        row = await self.work.one(FIND, id=family_id)
        return _with_head(row) if row else None

    async def page(
        self, wanted: WantedInstructions, after: str | None, limit: int
    ) -> list[tuple[Family, InstructionVersion, Popularity]]:
        rows = await self.work.all(
            PAGE,
            after=after,
            type=wanted.type,
            category=wanted.category,
            role=wanted.target_role,
            status=wanted.status,
            words=words_wanted(wanted.words),
            tags=tags_wanted(wanted.tags),
            limit=limit,
        )
        return [_with_head(row) for row in rows]

    async def add_version(self, version: InstructionVersion) -> None:
        await self.work.put(
            ADD_VERSION,
            id=version.instruction_id,
            family=version.family_id,
            version=str(version.version),
            status=version.status.value,
            parent=version.parent_instruction_id,
            updated=to_micros(version.updated_at),
            updated_by=version.updated_by,
            body=version.model_dump_json(),
        )
        await self._open_status(version, version.status, 1)

    async def version(self, instruction_id: InstructionId) -> InstructionVersion | None:
        row = await self.work.one(VERSION, id=instruction_id)
        return _version(row) if row else None

    async def versions(self, family_id: FamilyId) -> list[InstructionVersion]:
        """All versions of a family, the lowest first."""
        rows = await self.work.all(VERSIONS, family=family_id)
        return sorted(map(_version, rows), key=lambda version: version.version)

    async def named(self, ids: Sequence[InstructionId]) -> dict[InstructionId, InstructionVersion]:
        """Several versions by id; those that do not exist are left out."""
        return {one: kept.version for one, kept in (await self.kept(ids)).items()}

    async def kept(self, ids: Sequence[InstructionId]) -> dict[InstructionId, Kept]:
        """Several versions by id, made values of when someone asks for those."""
        if len(ids) == 1:
            rows = await self.work.all(VERSION, id=ids[0])
        else:
            rows = [row for start in range(0, len(ids), AT_ONCE) for row in await self._some(ids[start:][:AT_ONCE])]
        found = map(kept_version, rows)
        return {one.wording.instruction_id: one for one in found}

    async def _some(self, ids: Sequence[InstructionId]) -> list[Row]:
        filled = [*ids, *[ids[0]] * (AT_ONCE - len(ids))]
        return await self.work.all(NAMED, **{f"id_{number}": one for number, one in enumerate(filled)})

    async def move_status(self, version: InstructionVersion, status: Status, by: UserId) -> InstructionVersion:
        now = self.work.now
        at = to_micros(now)
        await self.work.put(MOVE, named=version.instruction_id, to_status=status.value, at=at, by=by)
        last = await self.work.one(LAST_STATUS, id=version.instruction_id)
        await self.work.put(END_STATUS, named=version.instruction_id, at=at)
        await self._open_status(version, status, last[0] + 1 if last else 1)
        return version.model_copy(update={"status": status, "updated_at": now, "updated_by": by})

    async def candidates(self, agent_id: AgentId) -> list[Candidate]:
        """All versions that an agent's present assignments could mean."""
        return [_candidate(row) for row in await self.work.all(CANDIDATES, agent=agent_id)]

    async def candidates_at(self, family_id: FamilyId, moment: datetime) -> list[Candidate]:
        """The versions of a family that there were at a moment, with the status each had."""
        rows = await self.work.all(CANDIDATES_AT, family=family_id, at=to_micros(moment))
        return [_candidate(row) for row in rows]

    async def _open_status(self, version: InstructionVersion, status: Status, step: int) -> None:
        since = to_micros(self.work.now)
        await self.work.put(
            ADD_STATUS,
            id=version.instruction_id,
            family=version.family_id,
            step=step,
            status=status.value,
            since=since,
            until=None,
        )


def _columns(family: Family) -> dict[str, Any]:
    return {
        "id": family.family_id,
        "head": family.head,
        "type": family.type.value,
        "category": family.category,
        "role": family.target_role,
        "status": family.status.value,
        "public": int(family.is_public),
        "deleted": int(family.is_deleted),
        "revision": family.revision,
        "words": words_kept(family.name, family.description),
        "tags": tags_kept(family.tags),
    }


def _version(row: Row) -> InstructionVersion:
    body, status, updated, updated_by = row
    news = {"status": Status(status), "updated_at": from_micros(updated), "updated_by": UserId(updated_by)}
    return InstructionVersion.model_validate_json(body).model_copy(update=news)


def kept_version(row: Row) -> Kept:
    return Kept.read(row[0], partial(_version, row))


def _with_head(row: Row) -> tuple[Family, InstructionVersion, Popularity]:
    version = _version(row[:4])
    _, status, public, deleted, revision, uses, rated, scores = row[4:]
    seen = {"status": Status(status), "is_public": bool(public), "is_deleted": bool(deleted)}
    family = Family.of(version, revision).model_copy(update=seen)
    return family, version, Popularity(uses, round(int(scores) / rated, 2) if rated else None)


def _candidate(row: Row) -> Candidate:
    family, instruction, version, status = row
    return Candidate(FamilyId(family), InstructionId(instruction), numbered(version), STATUSES[status])


@lru_cache(maxsize=4096)
def numbered(text: str) -> SemVer:
    """Most versions have one of few numbers."""
    return SemVer.parse(text)
