"""Showing instructions to other organisations: snapshots that their owner makes and withdraws."""

import hashlib

from preceptor.domain.instructions.family import Family, Publication, Published
from preceptor.domain.instructions.instruction import InstructionVersion, authored
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.ownership import Owner
from preceptor.engine.repositories.work import Work


async def publish(work: Work, owner: Owner, family: Family, versions: list[InstructionVersion]) -> None:
    """Bring what others see in line with the family: its public, active versions, and nothing that was taken back."""
    known = {one.snapshot.instruction_id: one for one in await work.published.of_family(family.family_id)}
    open_to_all = family.is_public and not family.is_deleted
    shown = [one for one in versions if open_to_all and one.is_public and one.status is Status.ACTIVE]
    newest = max(shown, key=lambda version: version.version, default=None)
    wanted = {
        version.instruction_id: Publication(owner.org_id, snapshot_of(version), version is newest, is_withdrawn=False)
        for version in shown
    }
    for instruction_id, old in known.items():
        if instruction_id not in wanted:
            wanted[instruction_id] = old._replace(is_head=False, is_withdrawn=True)
    for instruction_id, publication in wanted.items():
        if known.get(instruction_id) != publication:
            await work.published.put(publication)


def snapshot_of(version: InstructionVersion) -> Published:
    said = authored(version)
    return Published(
        **dict(said),
        family_id=version.family_id,
        instruction_id=version.instruction_id,
        version=version.version,
        hash=hashlib.sha256(said.model_dump_json().encode()).hexdigest(),
    )
