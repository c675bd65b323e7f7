"""Which agents an instruction speaks to, and letting go of it."""

from collections.abc import Sequence
from typing import ClassVar

from preceptor.domain.errors import Conflict
from preceptor.domain.ids import FamilyId, InstructionId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.lifecycle import IN_FORCE, Status
from preceptor.domain.instructions.version import resolve
from preceptor.domain.ownership import Caller
from preceptor.engine.audit import note
from preceptor.engine.repositories.experiments import require_no_experiment
from preceptor.engine.repositories.work import Work

_NAMED = 20


class InstructionInUse(Conflict):
    code: ClassVar[str] = "instruction_in_use"
    agents: tuple[str, ...] = ()

    def __str__(self) -> str:
        more = len(self.agents) - _NAMED
        names = ", ".join(self.agents[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"Agents use it: {names}. Take it from them first, or send ?force=true to switch their assignments off."


async def release(work: Work, caller: Caller, family_id: FamilyId, *, force: bool) -> None:
    """Before a family goes."""
    await require_no_experiment(work, family_id)
    await _let_go(work, caller, await work.assignments.of_family(family_id), force=force)


async def release_version(
    work: Work, caller: Caller, version: InstructionVersion, versions: Sequence[InstructionVersion], *, force: bool
) -> None:
    """Before a version is archived: agents for which no other version would speak in its place."""
    await require_no_experiment(work, version.family_id, version.instruction_id)
    labels = {label.name: label.instruction_id for label in await work.labels.of_family(version.family_id)}
    after = [_archived(one) if one.instruction_id == version.instruction_id else one for one in versions]
    assigned = await work.assignments.of_family(version.family_id)
    silenced = [one for one in assigned if _speaks(one, versions, labels) and not _speaks(one, after, labels)]
    await _let_go(work, caller, silenced, force=force)


async def _let_go(work: Work, caller: Caller, assigned: Sequence[Assigned], *, force: bool) -> None:
    active = [one for one in assigned if one.is_active]
    if active and not force:
        raise InstructionInUse(agents=tuple(one.agent_id for one in active))
    for one in active:
        off = {"is_active": False, "updated_at": work.now, "revision": one.revision + 1}
        await work.assignments.replace(one.model_copy(update=off))
        facts = {"agentId": one.agent_id, "familyId": one.family_id, "assignmentId": one.assignment_id}
        await note(work, caller, "assignment.deactivated", **facts)


def _speaks(assigned: Assigned, versions: Sequence[InstructionVersion], labels: dict[str, InstructionId]) -> bool:
    meant = resolve(assigned.pin, versions, named=assigned.instruction_id, labels=labels)
    return meant is not None and meant.status in IN_FORCE


def _archived(version: InstructionVersion) -> InstructionVersion:
    return version.model_copy(update={"status": Status.ARCHIVED})
