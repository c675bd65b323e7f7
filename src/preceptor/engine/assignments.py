"""Assignments: give an instruction to an agent, list, change, take away."""

from collections.abc import Mapping
from typing import Any

import msgspec

from preceptor.domain.errors import Conflict, Invalid, NotFound, phrased
from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.assignment import AgentAssignment, AssignmentChange, NewAssignment, Update
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.version import Exact, Latest, resolve
from preceptor.domain.ownership import Caller
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.value import made, told
from preceptor.engine.agents import found as found_agent
from preceptor.engine.audit import note
from preceptor.engine.library.assigning import assign, customized, facts, leave_for, meant, require_meaning
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


class Assignments(msgspec.Struct, frozen=True):
    session: Session

    async def assign(self, agent_id: AgentId, given: NewAssignment | None = None, **fields: Any) -> AgentAssignment:
        new = made(NewAssignment, given, fields)
        assignment_id = AssignmentId(self.session.world.new_id())

        async def program(work: Work) -> AgentAssignment:
            await found_agent(work, agent_id)
            return await shown(work, await assign(work, self.session.caller, agent_id, new, assignment_id))

        return await self.session.write(program)

    async def get(self, agent_id: AgentId, instruction_id: str) -> AgentAssignment:
        async def program(work: Work) -> AgentAssignment:
            return await shown(work, await found(work, agent_id, instruction_id))

        return await self.session.read(program)

    async def page(self, agent_id: AgentId, cursor: str | None = None, limit: int = 50) -> Page[AgentAssignment]:
        """In the order of their priority."""

        async def program(work: Work) -> Page[AgentAssignment]:
            await found_agent(work, agent_id)
            rows = await work.assignments.of_agent(agent_id)
            after = position_of(cursor)
            place = next((n for n, row in enumerate(rows, 1) if row.assignment_id == after), 0)
            items = [await shown(work, row) for row in rows[place : place + limit + 1]]
            return page_of(items, limit, lambda item: item.assignment_id)

        return await self.session.read(program)

    async def of_instruction(self, any_id: str) -> tuple[AgentAssignment, ...]:
        """Who has an instruction, by the id of its family or of any version."""

        async def program(work: Work) -> tuple[AgentAssignment, ...]:
            family_id = await _family_of(work, InstructionId(any_id)) or FamilyId(any_id)
            return tuple([await shown(work, row) for row in await work.assignments.of_family(family_id)])

        return await self.session.read(program)

    async def reorder(self, agent_id: AgentId, priorities: Mapping[FamilyId, int]) -> None:
        """Give several assignments of an agent other priorities, all at once."""

        async def program(work: Work) -> None:
            for row in await reordered(work, self.session.caller, agent_id, priorities):
                await work.assignments.replace(row)
                await note(work, self.session.caller, "assignment.changed", **facts(row), fields=["priority"])

        await self.session.write(program)

    async def change(
        self,
        agent_id: AgentId,
        instruction_id: str,
        given: AssignmentChange | None = None,
        if_match: IfMatch = None,
        **fields: Any,
    ) -> AgentAssignment:
        """Change an assignment. With `pin` exact and a version's id, it moves to that version."""
        change = made(AssignmentChange, given, fields)

        async def program(work: Work) -> AgentAssignment:
            before = await found(work, agent_id, instruction_id)
            check(if_match, before.etag)
            after = await changed(work, self.session.caller, before, change, instruction_id)
            if _same(before, after):
                return await shown(work, before)
            await work.assignments.replace(after)
            await note(work, self.session.caller, "assignment.changed", **facts(after), fields=sorted(told(change)))
            return await shown(work, after)

        return await self.session.write(program)

    async def remove(self, agent_id: AgentId, instruction_id: str, if_match: IfMatch = None) -> None:
        async def program(work: Work) -> None:
            row = await found(work, agent_id, instruction_id)
            check(if_match, row.etag)
            await work.assignments.remove(row.assignment_id)
            await note(work, self.session.caller, "assignment.removed", **facts(row))

        await self.session.write(program)


async def found(work: Work, agent_id: AgentId, id_: str) -> Assigned:
    """The agent's assignment of the instruction that the id, of its family or of any version, belongs to."""
    row = await work.assignments.find(agent_id, FamilyId(id_))
    if row is None and (family := await _family_of(work, InstructionId(id_))):
        row = await work.assignments.find(agent_id, family)
    if row is None:
        await found_agent(work, agent_id)
        raise NotFound("assignment", id_)
    return row


async def _family_of(work: Work, instruction_id: InstructionId) -> FamilyId | None:
    if version := await work.instructions.version(instruction_id):
        return version.family_id
    publication = await work.published.find(instruction_id)
    return publication.snapshot.family_id if publication else None


async def changed(work: Work, caller: Caller, before: Assigned, change: AssignmentChange, named: str) -> Assigned:
    """The next revision of an assignment, checked, and not yet written."""
    news = told(change)
    wanted = news.pop("customizations", before.customizations)
    moved = await _pinned(work, before, change, named) if news.pop("pin", None) is not None else {}
    after = before.model_copy(update=news | moved | {"updated_at": work.now, "revision": before.revision + 1})
    version = await meant(work, after)
    if after.is_active and not before.is_active:
        await _require_family(work, after)
    if moved:
        require_meaning(after, version)
    if "customizations" in change.model_fields_set:
        return customized(caller, after, version, wanted)
    if moved and after.publisher is not None:
        return after.model_copy(update={"override": leave_for(caller, after, version, wanted, strict=False)})
    return after


def _same(before: Assigned, after: Assigned) -> bool:
    """Whether nothing but the revision would be new."""
    return before == after.model_copy(update={"updated_at": before.updated_at, "revision": before.revision})


async def reordered(
    work: Work, caller: Caller, agent_id: AgentId, priorities: Mapping[FamilyId, int]
) -> list[Assigned]:
    """The next revisions of those assignments, not yet written."""
    rows = [(await found(work, agent_id, family_id), priority) for family_id, priority in priorities.items()]
    return [
        await changed(work, caller, row, AssignmentChange(priority=priority), row.family_id)
        for row, priority in rows
        if row.priority != priority
    ]


async def _require_family(work: Work, row: Assigned) -> None:
    """What was deleted cannot speak again."""
    family = await work.instructions.find(row.family_id)
    if family is not None and family[0].is_deleted:
        raise Conflict(
            phrased(
                "%(instruction)s was deleted, so it cannot speak again. Create it anew from one of its versions.",
                instruction=row.family_id,
            )
        )


async def _pinned(work: Work, before: Assigned, change: AssignmentChange, named: str) -> dict[str, Any]:
    """The pin as it will be. Exact is the version in the path, or without one the version that speaks now."""
    if before.publisher is None and not isinstance(change.pin, Exact):
        return {"pin": change.pin, "instruction_id": None}
    if named == before.family_id:
        version = await meant(work, before)
        if version is None:
            raise Invalid(
                phrased("No version speaks now that could be pinned. Put the id of the version into the path.")
            )
        return {"pin": Exact(), "instruction_id": version.instruction_id}
    if before.publisher is not None and named != before.instruction_id:
        publication = await work.published.find(InstructionId(named))
        if publication is None or publication.is_withdrawn:
            raise NotFound("instruction", named)
    return {"pin": Exact(), "instruction_id": InstructionId(named)}


async def shown(work: Work, row: Assigned) -> AgentAssignment:
    version = await meant(work, row)
    return AgentAssignment(
        assignment_id=row.assignment_id,
        agent_id=row.agent_id,
        family_id=row.family_id,
        instruction_id=version.instruction_id if version else None,
        resolved_version=version.version if version else None,
        update_available=await _update(work, row, version),
        name=version.name if version else None,
        type=version.type if version else None,
        pin=row.pin,
        priority=row.priority,
        is_active=row.is_active,
        customizations=row.customizations,
        applied_at=row.applied_at,
        updated_at=row.updated_at,
        owner=row.owner,
        revision=row.revision,
    )


async def _update(work: Work, row: Assigned, version: InstructionVersion | None) -> Update | None:
    if version is None:
        return None
    if row.publisher is not None:
        publication = await work.published.head(row.family_id)
        newest = publication.snapshot if publication else None
    elif isinstance(row.pin, Latest):
        return None
    else:
        newest = resolve(Latest(), await work.instructions.versions(row.family_id))
    if newest is None or newest.version <= version.version:
        return None
    return Update(instruction_id=newest.instruction_id, version=newest.version)
