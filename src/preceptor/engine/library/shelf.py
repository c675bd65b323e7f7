"""Finding instructions: by a family's id or a version's, one's own or what others published."""

from collections.abc import Iterable
from typing import Any

import msgspec

from preceptor.domain.errors import NotFound
from preceptor.domain.ids import FamilyId, InstructionId
from preceptor.domain.instructions.family import Family, Popularity, Published, head_of
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.shown import Instruction
from preceptor.engine.repositories.work import Work

Readable = Instruction | Published
"""One's own, or what another organisation published."""


class Shelf(msgspec.Struct, frozen=True):
    """A family with all its versions, lowest first, and the version that was asked for."""

    family: Family
    versions: list[InstructionVersion]
    popularity: Popularity
    meant: InstructionVersion

    @property
    def etag(self) -> str:
        return f'"{self.family.revision}"'

    def shown(self, version: InstructionVersion) -> Instruction:
        return Instruction.of(version, self.family, self.popularity)

    def version(self, instruction_id: str) -> InstructionVersion:
        for version in self.versions:
            if version.instruction_id == instruction_id:
                return version
        raise NotFound("version", instruction_id)

    def with_versions(self, versions: list[InstructionVersion]) -> "Shelf":
        """After a change: the head is worked out anew, and the revision grows."""
        ordered = sorted(versions, key=lambda version: version.version)
        family = Family.of(head_of(ordered), self.family.revision + 1)
        return Shelf(family, ordered, self.popularity, self.meant)


async def found(work: Work, any_id: str) -> Shelf:
    """The family that an id means, by its own or a version's, if it is the organisation's and not deleted."""
    version = await work.instructions.version(InstructionId(any_id))
    whole = await work.instructions.find(version.family_id if version else FamilyId(any_id))
    if whole is None or whole[0].is_deleted:
        raise NotFound("instruction", any_id)
    family, head, popularity = whole
    return Shelf(family, await work.instructions.versions(family.family_id), popularity, version or head)


async def readable(work: Work, any_id: str) -> Readable:
    """A version of a deleted family can still be read by its own id, so that what it did can be explained."""
    version = await work.instructions.version(InstructionId(any_id))
    whole = await work.instructions.find(version.family_id if version else FamilyId(any_id))
    if whole is not None and (version is not None or not whole[0].is_deleted):
        return Instruction.of(version or whole[1], whole[0], whole[2])
    return await published(work, any_id)


async def published(work: Work, any_id: str) -> Published:
    """What another organisation shows. What it has withdrawn only those who still use it can see."""
    one = await work.published.find(InstructionId(any_id)) or await work.published.head(FamilyId(any_id))
    if one is None:
        raise NotFound("instruction", any_id)
    if one.is_withdrawn:
        used = await work.assignments.of_family(one.snapshot.family_id)
        if not [mine for mine in used if mine.instruction_id == one.snapshot.instruction_id]:
            raise NotFound("instruction", any_id)
    return one.snapshot


async def with_experiments(work: Work, found: Iterable[Instruction]) -> list[Instruction]:
    """Each with the experiment that runs with it: nothing of that is kept with the version itself."""
    arms: dict[str | None, dict[str, Any]] = {}
    for slot in await work.experiments.slots():
        arms[slot.variant] = {"experiment_id": slot.experiment_id, "control_group": False}
        arms[slot.control] = {"experiment_id": slot.experiment_id, "control_group": True}
    return [one.model_copy(update=arms.get(one.instruction_id)) for one in found]
