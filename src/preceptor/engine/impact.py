"""Impact: what a change of an instruction or of an assignment would do, before it is made."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from preceptor.domain.errors import NotFound
from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.assignment import AssignmentChange
from preceptor.domain.instructions.family import newest_of
from preceptor.domain.instructions.impact import (
    AgentImpact,
    AssignmentQuestion,
    Impact,
    InstructionQuestion,
    PromptChange,
    prompt_change,
)
from preceptor.domain.instructions.instruction import Authored, InstructionVersion, authored
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.revision import Bump, Revision, bump_for, revised
from preceptor.domain.instructions.version import Part, SemVer, resolve
from preceptor.domain.paging import cursor_at, position_of
from preceptor.domain.value import told
from preceptor.engine.agents import found as found_agent
from preceptor.engine.assignments import changed, reordered
from preceptor.engine.assignments import found as found_assignment
from preceptor.engine.instructions import Shelf, following, succeeding
from preceptor.engine.instructions import found as found_instruction
from preceptor.engine.library.assigning import drafted, look_up, meant
from preceptor.engine.ports import TokenCounter
from preceptor.engine.repositories.experiments import Slot
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.compiled import Told
from preceptor.engine.telling.documents import with_documents
from preceptor.engine.telling.effective import Present, effective_now, foreign, present, speaking, unresolved

NEXT = InstructionId("next")
"""The id of a version that does not exist yet."""
WOULD_BE = AssignmentId("would-be")


class Imagined(NamedTuple):
    """A family as it would be."""

    family_id: FamilyId
    versions: Sequence[InstructionVersion]
    labels: Mapping[str, InstructionId]

    def meant_by(self, row: Assigned) -> InstructionVersion | None:
        return resolve(row.pin, self.versions, named=row.instruction_id, labels=self.labels)


class Impacts(msgspec.Struct, frozen=True):
    session: Session
    counter: TokenCounter

    async def of_instruction(
        self, any_id: str, question: InstructionQuestion, cursor: str | None = None, limit: int = 50
    ) -> Impact:
        """For up to `limit` of the agents that have the instruction, by id: who would be told something else."""

        async def program(work: Work) -> tuple[Imagined, list[Assigned], list[Slot]]:
            imagined = await self._imagined(work, await found_instruction(work, any_id), question)
            running = await work.experiments.with_family(imagined.family_id)
            return imagined, await work.assignments.of_family(imagined.family_id), running

        imagined, rows, running = await self.session.read(program)
        after = position_of(cursor) or ""
        rest = [row for row in rows if row.agent_id > after]
        reached = [await self._of_version(row, imagined) for row in rest[:limit]]
        changing = tuple(one for one in reached if one.prompt.diff)
        return Impact(
            family_id=imagined.family_id,
            agents_using=len(rows),
            agents=changing,
            open_conversations=sum(one.open_conversations for one in changing),
            experiments=tuple(dict.fromkeys(slot.experiment_id for slot in running)),
            next_cursor=cursor_at(rest[limit - 1].agent_id) if len(rest) > limit else None,
        )

    async def of_assignment(self, agent_id: AgentId, question: AssignmentQuestion) -> AgentImpact:
        async def program(work: Work) -> AgentImpact:
            await found_agent(work, agent_id)
            row = await (
                found_assignment(work, agent_id, question.instruction_id)
                if question.remove
                else self._wanted(work, agent_id, question)
            )
            before = await present(work, self.session.compilations, agent_id)
            after = [one for one in before if one.assigned.family_id != row.family_id]
            after += [] if question.remove else [Present(row, await meant(work, row))]
            return await self._compared(work, agent_id, row.family_id, before, after)

        return await self.session.read(program)

    async def of_order(self, agent_id: AgentId, priorities: Mapping[FamilyId, int]) -> PromptChange:
        """What the agent would be told if its instructions spoke in another order."""

        async def program(work: Work) -> PromptChange:
            await found_agent(work, agent_id)
            moved = {row.family_id: row for row in await reordered(work, self.session.caller, agent_id, priorities)}
            before = await present(work, self.session.compilations, agent_id)
            after = [Present(moved.get(row.family_id, row), version) for row, version in before]
            return await self._told(work, agent_id, after)

        return await self.session.read(program)

    async def _told(self, work: Work, agent_id: AgentId, after: Sequence[Present]) -> PromptChange:
        now = (await effective_now(work, self.session.compilations, agent_id)).told
        then = await with_documents(work, Told.by(agent_id, speaking(after), unresolved(after)), foreign(after))
        return prompt_change(now.rendered, then.rendered, self.counter.count)

    async def _imagined(self, work: Work, shelf: Shelf, question: InstructionQuestion) -> Imagined:
        labels = {one.name: one.instruction_id for one in await work.labels.of_family(shelf.family.family_id)}
        versions, target = list(shelf.versions), NEXT
        asked = question.model_fields_set
        if "content" in asked:
            base = newest_of(shelf.versions)
            said = revised(base, Revision(content=question.content))
            bump = bump_for(base, said)
            target = base.instruction_id if bump is None else NEXT
            versions += [self._next(work, base, said, bump, following(base))] if bump else []
        else:
            old = _version(shelf, question.version)
            target = old.instruction_id
            if "label" not in asked:
                step = Bump(Part.PATCH, "imagined")
                versions.append(self._next(work, newest_of(shelf.versions), authored(old), step, Status.ACTIVE))
        moved = {question.label: target} if "label" in asked else {}
        return Imagined(shelf.family.family_id, versions, labels | moved)

    def _next(
        self, work: Work, base: InstructionVersion, said: Authored, step: Bump, status: Status
    ) -> InstructionVersion:
        return succeeding(work, self.session.caller, said, base, NEXT, step, status=status)

    async def _of_version(self, row: Assigned, imagined: Imagined) -> AgentImpact:
        async def program(work: Work) -> AgentImpact:
            before = await present(work, self.session.compilations, row.agent_id)
            after = [
                Present(one.assigned, imagined.meant_by(one.assigned))
                if one.assigned.family_id == imagined.family_id
                else one
                for one in before
            ]
            return await self._compared(work, row.agent_id, row.family_id, before, after)

        return await self.session.read(program)

    async def _wanted(self, work: Work, agent_id: AgentId, question: AssignmentQuestion) -> Assigned:
        """The assignment as it would be: changed, if there is one, or new."""
        caller, id_ = self.session.caller, question.instruction_id
        try:
            row = await found_assignment(work, agent_id, id_)
        except NotFound:
            return await drafted(work, caller, agent_id, question, WOULD_BE, await look_up(work, id_))
        news = {name: value for name, value in told(question).items() if name in AssignmentChange.model_fields}
        return await changed(work, caller, row, AssignmentChange(**news), id_)

    async def _compared(
        self, work: Work, agent_id: AgentId, family_id: FamilyId, before: Sequence[Present], after: Sequence[Present]
    ) -> AgentImpact:
        now = (await effective_now(work, self.session.compilations, agent_id)).told
        told = Told.by(agent_id, speaking(after), unresolved(after))
        then = await with_documents(work, told, foreign(after))
        return AgentImpact(
            agent_id=agent_id,
            family_id=family_id,
            version_before=_number(before, family_id),
            version_after=_number(after, family_id),
            prompt=prompt_change(now.rendered, then.rendered, self.counter.count),
            warnings=tuple(one for one in then.effective.warnings if one not in now.effective.warnings),
            open_conversations=await work.conversations.open_with(agent_id),
        )


def _number(presents: Sequence[Present], family_id: FamilyId) -> SemVer | None:
    versions = [version for row, version in presents if row.family_id == family_id and version is not None]
    return versions[0].version if versions else None


def _version(shelf: Shelf, name: str) -> InstructionVersion:
    """By id, or by number."""
    for version in shelf.versions:
        if name in (version.instruction_id, str(version.version)):
            return version
    raise NotFound("version", name)
