"""What an agent is told by its assignments: at this very moment, or at one in the past."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from preceptor.domain.errors import Invalid, NotFound, phrased, recorded
from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.effective import Assignment, Notice
from preceptor.domain.instructions.family import Candidate, LabelRow, Published
from preceptor.domain.instructions.instruction import Authored, InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.parts import Given, Kept, as_assignment, part_of
from preceptor.domain.instructions.version import Labelled, resolve
from preceptor.domain.log import ORG_STREAM, Head
from preceptor.domain.times import from_micros, to_micros
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.compiled import Compilations, Compiled, Told
from preceptor.engine.telling.documents import with_documents


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


async def effective_now(work: Work, cache: Compilations, agent_id: AgentId) -> Compiled:
    """What the agent is told at this very moment: where nothing has changed since, what was worked out before."""
    head = work.trail or await work.log.head(ORG_STREAM) or Head()
    before = cache.results.get((work.org, agent_id))
    if before is not None and before.head.hash == head.hash:
        return before
    if before is None and not await work.agents.has(agent_id):
        raise NotFound("agent", agent_id)
    after = await _anew(work, cache, before or Compiled(Told.of(agent_id, ())), head)
    cache.keep(work.org, after)
    return after


async def _anew(work: Work, cache: Compilations, before: Compiled, head: Head) -> Compiled:
    """Only what is not as it was before is read and cut into parts."""
    agent_id, known = before.told.agent_id, before.inputs
    heads, news = await work.assignments.of_agent_with_heads(agent_id, before.newest)
    rest = [one.row for one in heads if not one.is_settled]
    given = await _resolved(work, cache, agent_id, heads, rest) if rest else heads
    inputs = {one.key: known.get(one.key) for one in given}
    if inputs.keys() == known.keys() and not before.told.mentions:
        return Compiled(before.told, known, head, before.newest)
    unsaid = [one for one in given if inputs[one.key] is None]
    meant = [one.meant.instruction_id for one in unsaid if one.meant is not None]
    versions = await versions_of(work, cache, meant, news)
    for row, one, key, _ in unsaid:
        if one is not None and one.instruction_id in versions:
            inputs[key] = part_of(row, versions[one.instruction_id], one.status)
    silent = [one.row for one in unsaid if inputs[one.key] is None]
    notices = unresolved([Present(row, None) for row in sorted(silent, key=_when)]) if silent else ()
    told = Told.of(agent_id, inputs.values(), notices)
    if told.mentions:
        theirs = (one.meant.instruction_id for one in given if one.row.publisher and one.meant)
        told = await with_documents(work, told, frozenset(theirs))
    return Compiled(told, inputs, head, max(before.newest, *meant, ""))


async def effective_at(work: Work, agent_id: AgentId, at: datetime) -> Told:
    """What the agent was told at a moment in the past."""
    if at > work.now:
        raise Invalid(
            phrased("at is in the future, and no one knows what will be told then. Name a moment that has passed.")
        )
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
    told = Told.by(agent_id, speaking(presents), unresolved(presents))
    return await with_documents(work, told, foreign(presents), moment)


async def present(work: Work, cache: Compilations, agent_id: AgentId) -> list[Present]:
    """The present assignments of an agent, active or not, each with its version."""
    heads, _ = await work.assignments.of_agent_with_heads(agent_id)
    given = await _resolved(work, cache, agent_id, heads, [one.row for one in heads if not one.is_settled])
    own = {one.row.assignment_id: one.meant for one in given if one.row.publisher is None}
    return await with_versions(work, cache, sorted([one.row for one in given], key=_when), own)


async def _resolved(
    work: Work, cache: Compilations, agent_id: AgentId, given: list[Given], rest: list[Assigned]
) -> list[Given]:
    """What the pins of the `rest` mean. Most follow the latest version, which most often came with the assignment."""
    meant: dict[AssignmentId, Candidate | None] = {}
    own = [row for row in rest if row.publisher is None]
    if own:
        labelled = any(isinstance(row.pin, Labelled) for row in own)
        labels = await work.labels.of_agent(agent_id) if labelled else []
        choice = choice_of(await work.instructions.candidates(agent_id), labels)
        meant = {row.assignment_id: choice.chosen(row) for row in own}
    for row in rest:
        if row.publisher is not None:
            meant[row.assignment_id] = await _shown(work, cache, row)
    return [one if one.is_settled else Given.of(one.row, meant[one.row.assignment_id]) for one in given]


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
        kept, status = None, Status.ACTIVE
        if row.publisher is not None:
            kept = await _published(work, cache, row)
        elif chosen := meant.get(row.assignment_id):
            kept, status = versions.get(chosen.instruction_id), chosen.status
        presents.append(Present(row, kept and kept.in_status(status)))
    return presents


async def versions_of(
    work: Work, cache: Compilations, wanted: Iterable[InstructionId], news: Mapping[InstructionId, Kept] | None = None
) -> dict[InstructionId, Kept]:
    """From memory, from `news` that were read already, and the rest from where they are kept."""
    found: dict[InstructionId, Kept] = {}
    unread: list[InstructionId] = []
    for one in wanted:
        if kept := cache.versions.get((work.org, one)):
            found[one] = kept
        elif news and (kept := news.get(one)):
            found[one] = kept
            cache.keep_version(work.org, kept)
        else:
            unread.append(one)
    for one, kept in (await work.instructions.kept(sorted(unread))).items() if unread else ():
        found[one] = kept
        cache.keep_version(work.org, kept)
    return found


async def _published(work: Work, cache: Compilations, row: Assigned) -> Kept | None:
    """The snapshot that another organisation published, which stays as it was when it was assigned."""
    if row.instruction_id is None:
        return None
    known = cache.versions.get((work.org, row.instruction_id))
    if known is None and (publication := await work.published.find(row.instruction_id)):
        known = Kept.of(foreign_version(publication.snapshot, row))
        cache.keep_version(work.org, known)
    return known


async def _shown(work: Work, cache: Compilations, row: Assigned) -> Candidate | None:
    kept = await _published(work, cache, row)
    return kept and Candidate(row.family_id, kept.wording.instruction_id, kept.version.version, Status.ACTIVE)


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


def unresolved(presents: Iterable[Present]) -> list[Notice]:
    return [
        Notice(
            code="unresolved",
            sentence=recorded(
                "The pin %(pin)s of %(id)s means no version now, so nothing of it is told. "
                "Activate a version, set the label, or change the pin.",
                pin=row.pin,
                id=row.family_id,
            ),
            assignment=row.assignment_id,
        )
        for row, version in presents
        if version is None and row.is_active
    ]


def _when(row: Assigned) -> tuple[int, int, str]:
    """In which order assignments are listed."""
    return row.priority, row.seq, row.assignment_id
