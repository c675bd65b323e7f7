"""Effective instructions: what an agent is told now, and what it was told at a moment in the past."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from preceptor.domain.errors import Invalid, NotFound
from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.effective import Assignment, Notice
from preceptor.domain.instructions.family import Candidate, LabelRow, Published
from preceptor.domain.instructions.instruction import Authored, InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.references import mentions
from preceptor.domain.instructions.report import EffectiveInstructions
from preceptor.domain.instructions.version import Labelled, Latest, resolve
from preceptor.domain.log import ORG_STREAM, Head
from preceptor.domain.times import from_micros, to_micros
from preceptor.engine.compiled import Compilations, Compiled, Input, compiled
from preceptor.engine.documents import with_documents
from preceptor.engine.ports import Work
from preceptor.engine.session import Session


class Present(NamedTuple):
    """An assignment and the version that its pin means, if it means one."""

    assigned: Assigned
    version: InstructionVersion | None


class Choice(NamedTuple):
    """What there is to choose from: the versions of each family, and where its labels point."""

    candidates: Mapping[FamilyId, Sequence[Candidate]]
    labels: Mapping[FamilyId, Mapping[str, InstructionId]]

    def chosen(self, assigned: Assigned) -> Candidate | None:
        family = assigned.family_id
        return resolve(
            assigned.pin,
            self.candidates.get(family, ()),
            named=assigned.instruction_id,
            labels=self.labels.get(family),
        )


@dataclass(frozen=True, slots=True)
class Guidance:
    session: Session

    async def effective(self, agent_id: AgentId, at: datetime | None = None) -> EffectiveInstructions:
        """What the agent is told, with the source of every line; `at` a moment in the past, if it is given."""
        return (await self.compiled(agent_id, at)).shown

    async def compiled(self, agent_id: AgentId, at: datetime | None = None) -> Compiled:
        async def program(work: Work) -> Compiled:
            if at is None:
                return await effective_now(work, self.session.compilations, agent_id)
            return await effective_at(work, agent_id, at)

        return await self.session.read(program)


async def effective_now(work: Work, cache: Compilations, agent_id: AgentId) -> Compiled:
    """What the agent is told at this very moment: one look at the audit trail where nothing has changed since."""
    head = await work.log.head(ORG_STREAM) or Head()
    before = cache.results.get((work.org, agent_id))
    if before is not None and before.head.hash == head.hash:
        return before
    if before is None and not await work.agents.has(agent_id):
        raise NotFound("agent", agent_id)
    presents = await present(work, cache, agent_id)
    inputs = tuple(map(_input, presents))
    known: Mapping[Input, Assignment | None] = before.inputs if before is not None else {}
    if before is not None and set(known) == set(inputs) and not mentions(before.effective):
        after = replace(before, head=head)
    else:
        made = {one: known.get(one) or _assignment(present) for one, present in zip(inputs, presents, strict=True)}
        given = [one for one in made.values() if one is not None]
        alone = compiled(agent_id, given, unresolved(presents), inputs=made, head=head)
        after = await with_documents(work, alone, foreign(presents))
    cache.keep(work.org, after)
    return after


async def effective_at(work: Work, agent_id: AgentId, at: datetime) -> Compiled:
    """What the agent was told at a moment in the past."""
    if at > work.now:
        raise Invalid("at is in the future, and no one knows what will be told then. Name a moment that has passed.")
    if not await work.agents.has(agent_id):
        raise NotFound("agent", agent_id)
    moment = from_micros(to_micros(at))
    rows = await work.assignments.of_agent_at(agent_id, moment)
    families = [row.family_id for row in rows if row.publisher is None]
    candidates = [one for family in families for one in await work.instructions.candidates_at(family, moment)]
    labels = [one for family in families for one in await work.labels.of_family_at(family, moment)]
    choice = choice_of(candidates, labels)
    meant = {row.assignment_id: choice.chosen(row) for row in rows if row.publisher is None}
    presents = await with_versions(work, Compilations(), rows, meant)
    told = compiled(agent_id, speaking(presents), unresolved(presents))
    return await with_documents(work, told, foreign(presents), moment)


async def present(work: Work, cache: Compilations, agent_id: AgentId) -> list[Present]:
    """The present assignments of an agent, active or not, each with its version.

    Most follow the latest version, and most often that is the head of its family, which comes with the assignment.
    """
    pairs = await work.assignments.of_agent_with_heads(agent_id)
    meant = {row.assignment_id: head for row, head in pairs if follows(row, head)}
    rest = [row for row, _ in pairs if row.assignment_id not in meant and row.publisher is None]
    if rest:
        labelled = any(isinstance(row.pin, Labelled) for row in rest)
        labels = await work.labels.of_agent(agent_id) if labelled else []
        choice = choice_of(await work.instructions.candidates(agent_id), labels)
        meant |= {row.assignment_id: choice.chosen(row) for row in rest}
    return await with_versions(work, cache, [row for row, _ in pairs], meant)


def follows(row: Assigned, head: Candidate | None) -> bool:
    """Whether the newest active version is known without a look at the others: above the head there are only drafts."""
    return head is not None and head.status is Status.ACTIVE and isinstance(row.pin, Latest)


def choice_of(candidates: Iterable[Candidate], labels: Iterable[LabelRow]) -> Choice:
    by_family: defaultdict[FamilyId, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_family[candidate.family_id].append(candidate)
    pointing: defaultdict[FamilyId, dict[str, InstructionId]] = defaultdict(dict)
    for label in labels:
        pointing[label.family_id][label.name] = label.instruction_id
    return Choice(by_family, pointing)


async def with_versions(
    work: Work, cache: Compilations, rows: Sequence[Assigned], meant: Mapping[AssignmentId, Candidate | None]
) -> list[Present]:
    """The versions that were chosen for one's own instructions, and the snapshots that others published."""
    versions = await versions_of(work, cache, {one.instruction_id for one in meant.values() if one is not None})
    presents: list[Present] = []
    for row in rows:
        if row.publisher is not None:
            presents.append(Present(row, await _published(work, cache, row)))
        elif chosen := meant.get(row.assignment_id):
            presents.append(Present(row, _in_status(versions.get(chosen.instruction_id), chosen.status)))
        else:
            presents.append(Present(row, None))
    return presents


async def versions_of(
    work: Work, cache: Compilations, wanted: Iterable[InstructionId]
) -> dict[InstructionId, InstructionVersion]:
    known = {one: cache.versions.get((work.org, one)) for one in wanted}
    found = {one: version for one, version in known.items() if version is not None}
    unread = sorted(known.keys() - found.keys())
    for one, version in (await work.instructions.named(unread)).items() if unread else ():
        cache.keep_version(work.org, version)
        found[one] = version
    return found


def _in_status(version: InstructionVersion | None, status: Status) -> InstructionVersion | None:
    """What a version says never changes; its status does, and is read each time."""
    if version is None or version.status is status:
        return version
    return version.model_copy(update={"status": status})


async def _published(work: Work, cache: Compilations, row: Assigned) -> InstructionVersion | None:
    """The snapshot that another organisation published, which stays as it was when it was assigned."""
    if row.instruction_id is None:
        return None
    known = cache.versions.get((work.org, row.instruction_id))
    if known is None and (publication := await work.published.find(row.instruction_id)):
        known = foreign_version(publication.snapshot, row)
        cache.keep_version(work.org, known)
    return known


def foreign_version(snapshot: Published, row: Assigned) -> InstructionVersion:
    """A snapshot as a version that speaks. Of its owner nothing is known here, so whoever assigned it stands there."""
    told = {name: getattr(snapshot, name) for name in Authored.model_fields}
    return InstructionVersion(
        **told,
        family_id=snapshot.family_id,
        instruction_id=snapshot.instruction_id,
        version=snapshot.version,
        status=Status.ACTIVE,
        owner=row.owner,
        created_by=row.owner.user_id,
        updated_by=row.owner.user_id,
        created_at=row.applied_at,
        updated_at=row.applied_at,
    )


def foreign(presents: Iterable[Present]) -> frozenset[InstructionId]:
    """Versions that another organisation wrote."""
    return frozenset(version.instruction_id for row, version in presents if row.publisher and version is not None)


def speaking(presents: Iterable[Present]) -> list[Assignment]:
    return [as_assignment(row, version) for row, version in presents if version is not None]


def as_assignment(row: Assigned, version: InstructionVersion) -> Assignment:
    return Assignment.model_construct(
        assignment_id=row.assignment_id,
        version=version,
        priority=row.priority,
        applied_at=row.applied_at,
        seq=row.seq,
        is_active=row.is_active,
        customizations=row.customizations,
        override=row.override,
    )


def unresolved(presents: Iterable[Present]) -> list[Notice]:
    return [
        Notice(
            code="unresolved",
            sentence=f"The pin {row.pin} of {row.family_id} means no version now, so nothing of it is told. "
            "Activate a version, set the label, or change the pin.",
            assignment=row.assignment_id,
        )
        for row, version in presents
        if version is None and row.is_active
    ]


def _assignment(one: Present) -> Assignment | None:
    return None if one.version is None else as_assignment(one.assigned, one.version)


def _input(one: Present) -> Input:
    row, version = one
    return (
        (row.assignment_id, row.revision, None, None)
        if version is None
        else (row.assignment_id, row.revision, version.instruction_id, version.status)
    )
