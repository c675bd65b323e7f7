"""Gates of labels in SQL, and what replays said of versions that want through."""

from collections.abc import Sequence

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.gates import (
    ADD,
    ADD_VERDICT,
    FIND,
    FORGET_VERDICT,
    FORGET_VERDICTS,
    REMOVE,
    VERDICT,
    VERDICTS,
)
from preceptor.domain.ids import FamilyId, InstructionId


class SqlGates(msgspec.Struct, frozen=True):
    work: Transaction

    async def put(self, family_id: FamilyId, name: str, body: str) -> None:
        """Set a gate. What was found under another one says nothing about it."""
        await self.remove(family_id, name)
        await self.work.put(ADD, family=family_id, name=name, body=body)

    async def find(self, family_id: FamilyId, name: str) -> str | None:
        row = await self.work.one(FIND, of=family_id, named=name)
        return row[0] if row else None

    async def remove(self, family_id: FamilyId, name: str) -> None:
        await self.work.put(REMOVE, of=family_id, named=name)
        await self.work.put(FORGET_VERDICTS, of=family_id, named=name)

    async def judge(self, family_id: FamilyId, name: str, instruction_id: InstructionId, body: str) -> None:
        await self.work.put(FORGET_VERDICT, of=family_id, named=name, about=instruction_id)
        await self.work.put(ADD_VERDICT, family=family_id, name=name, instruction=instruction_id, body=body)

    async def verdict(self, family_id: FamilyId, name: str, instruction_id: InstructionId) -> str | None:
        row = await self.work.one(VERDICT, of=family_id, named=name, about=instruction_id)
        return row[0] if row else None

    async def verdicts(self, family_id: FamilyId, name: str) -> Sequence[str]:
        return [row[0] for row in await self.work.all(VERDICTS, of=family_id, named=name)]
