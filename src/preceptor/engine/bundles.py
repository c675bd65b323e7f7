"""Bundles: a library taken out whole, compared with a file, and brought in. Bringing in is one transaction."""

from collections.abc import Iterator

import msgspec

from preceptor.domain.errors import Conflict
from preceptor.domain.ids import InstructionId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.bundle import Bundle, BundledAssignment, BundledInstruction, BundledVersion
from preceptor.domain.instructions.family import Family
from preceptor.domain.instructions.instruction import InstructionVersion, authored
from preceptor.domain.instructions.planning import Action, Plan, Step, Stored, Task, plan
from preceptor.domain.instructions.version import SemVer
from preceptor.domain.ownership import Permission
from preceptor.engine.arriving import Arrival
from preceptor.engine.instructions import Wanted
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

PAGE = 200


class Bundles(msgspec.Struct, frozen=True):
    session: Session

    async def export(self, *, history: bool = True, assignments: bool = False) -> Bundle:
        """The whole library, always in the same order. Without `history` the newest version of each instruction."""

        async def program(work: Work) -> Bundle:
            stored = sorted(await library(work), key=lambda one: (*one.key, one.family_id))
            given = await _given(work, stored) if assignments else ()
            return Bundle(instructions=tuple(_bundled(one, history=history) for one in stored), assignments=given)

        return await self.session.read(program)

    async def bring_in(self, bundle: Bundle, *, dry_run: bool = False, force: bool = False) -> Plan:
        """Do what the plan says, all of it or nothing. `force` lets a bundle win where both sides have changed."""
        caller = self.session.caller
        size = len(bundle.assignments) + sum(len(one.versions) + 1 for one in bundle.instructions)
        ids = [self.session.world.new_id() for _ in range(0 if dry_run else size)]
        if bundle.assignments:
            caller.require(Permission.AGENT_WRITE)

        async def program(work: Work) -> Plan:
            tasks = plan(bundle, await library(work), force=force)
            if dry_run:
                return Plan(dry_run=True, steps=(*(task.step for task in tasks), *_wished(bundle)))
            _refuse_conflicts(tasks)
            arrival = Arrival(work, caller, iter(ids))
            steps = [await arrival.carry_out(task) for task in tasks]
            await arrival.settle()
            steps += [await arrival.give(one) for one in bundle.assignments]
            return Plan(dry_run=False, steps=tuple(steps))

        return await (self.session.read if dry_run else self.session.write)(program)


async def library(work: Work) -> list[Stored]:
    stored: list[Stored] = []
    after: str | None = None
    while rows := await work.instructions.page(Wanted(), after, PAGE):
        stored += [await _stored(work, family) for family, _, _ in rows]
        after = rows[-1][0].family_id
    return stored


async def _stored(work: Work, family: Family) -> Stored:
    versions = await work.instructions.versions(family.family_id)
    numbers = {version.instruction_id: version.version for version in versions}
    labels = {row.name: numbers[row.instruction_id] for row in await work.labels.of_family(family.family_id)}
    return Stored(family.family_id, versions, labels)


def _bundled(stored: Stored, *, history: bool) -> BundledInstruction:
    ordered = sorted(stored.versions, key=lambda version: version.version)
    return BundledInstruction(
        family_id=stored.family_id,
        versions=tuple(map(_bundled_version, ordered if history else ordered[-1:])),
        labels=dict(sorted(stored.labels.items())),
    )


def _bundled_version(version: InstructionVersion) -> BundledVersion:
    return BundledVersion(
        **dict(authored(version)), version=version.version, status=version.status, changelog=version.changelog
    )


async def _given(work: Work, stored: list[Stored]) -> tuple[BundledAssignment, ...]:
    """Assignments of our own instructions. What others published stays where it is."""
    given: list[BundledAssignment] = []
    for one in stored:
        numbers = {version.instruction_id: version.version for version in one.versions}
        rows = [row for row in await work.assignments.of_family(one.family_id) if row.publisher is None]
        given += [_bundled_assignment(row, numbers) for row in sorted(rows, key=lambda row: row.agent_id)]
    return tuple(given)


def _bundled_assignment(row: Assigned, numbers: dict[InstructionId, SemVer]) -> BundledAssignment:
    return BundledAssignment(
        agent_id=row.agent_id,
        instruction=row.family_id,
        pin=row.pin,
        version=numbers[row.instruction_id] if row.instruction_id else None,
        priority=row.priority,
        is_active=row.is_active,
        customizations=row.customizations,
    )


def _refuse_conflicts(tasks: list[Task]) -> None:
    if torn := [task.step.sentence for task in tasks if task.step.action is Action.CONFLICT]:
        more = f" There are {len(torn) - 1} more." if len(torn) > 1 else ""
        raise Conflict(f"Nothing was brought in. {torn[0]}{more}")


def _wished(bundle: Bundle) -> Iterator[Step]:
    for one in bundle.assignments:
        sentence = f"{one.instruction!r} is assigned to {one.agent_id} ({one.pin}), unless it is already."
        yield Step(action=Action.ASSIGN, name=one.instruction, version=one.version, sentence=sentence)
