"""Carrying out the plan of a bundle, inside one transaction."""

from collections.abc import Iterator
from typing import Any

import msgspec

from preceptor.domain.errors import recorded
from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId
from preceptor.domain.instructions.assignment import NewAssignment
from preceptor.domain.instructions.bundle import BundledAssignment, BundledInstruction, BundledVersion
from preceptor.domain.instructions.documents import handle_of
from preceptor.domain.instructions.family import Family, LabelRow, Popularity, newest_of
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.planning import Action, Step, Task
from preceptor.domain.instructions.remarks import require_sound
from preceptor.domain.instructions.version import FIRST, Exact, SemVer
from preceptor.domain.ownership import Caller
from preceptor.engine.audit import note
from preceptor.engine.instructions import drafted, facts
from preceptor.engine.library.assigning import assign
from preceptor.engine.library.gatekeeping import require_open
from preceptor.engine.library.publishing import publish
from preceptor.engine.library.shelf import Shelf, found
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.documents import require_mentions

BROUGHT_IN = recorded("brought in with a bundle")


class Book(msgspec.Struct, frozen=True):
    """A family that is being added to: it is written once, when all of it has arrived."""

    shelf: Shelf
    versions: dict[InstructionId, InstructionVersion]

    def numbered(self, number: SemVer | None) -> InstructionVersion:
        """A version by its number; without one, the newest."""
        versions = list(self.versions.values())
        return next((one for one in versions if one.version == number), newest_of(versions))


class Arrival(msgspec.Struct, frozen=True):
    """A bundle on its way in. `ids` are given to what is new; `homes` is where each instruction of the bundle went."""

    work: Work
    caller: Caller
    ids: Iterator[str]
    homes: dict[str | int, FamilyId] = {}
    books: dict[FamilyId, Book] = {}

    async def carry_out(self, task: Task) -> Step:
        home = task.step.family_id or self.homes.get(id(task.bundled))
        match task.step.action, task.version, home:
            case Action.CREATE, BundledVersion() as version, _:
                home = await self._create(version)
            case ((Action.ADD | Action.REVISE), BundledVersion() as version, str()):
                await self._append(home, version, task.step.version or FIRST)
            case Action.STATUS, BundledVersion() as version, str():
                await self._move_status(home, version)
            case Action.LABEL, _, str():
                await self._move_label(home, str(task.label), task.step.version)
            case _:
                pass
        self._remember(task.bundled, home)
        return task.step.model_copy(update={"family_id": home})

    async def give(self, wish: BundledAssignment) -> Step:
        """Assign, unless the agent has the instruction already: what someone set up here is not changed from afar."""
        agent_id = AgentId(wish.agent_id)
        home = self.homes.get(wish.instruction) or self.homes.get(handle_of(wish.instruction))
        if home is None:
            return _step(wish, Action.SKIP, "is not in the bundle, so it cannot be assigned.")
        if not await self.work.agents.has(agent_id):
            return _step(wish, Action.SKIP, f"is not assigned: there is no agent {agent_id!r}.", home)
        if await self.work.assignments.find(agent_id, home):
            return _step(wish, Action.UNCHANGED, f"is assigned to {agent_id} already.", home)
        exact = isinstance(wish.pin, Exact)
        named = (await self._book(home)).numbered(wish.version).instruction_id if exact else home
        new = NewAssignment(
            instruction_id=named,
            pin=wish.pin,
            priority=wish.priority,
            is_active=wish.is_active,
            customizations=wish.customizations,
        )
        await assign(self.work, self.caller, agent_id, new, AssignmentId(next(self.ids)))
        return _step(wish, Action.ASSIGN, f"is assigned to {agent_id} ({wish.pin}).", home)

    async def settle(self) -> None:
        """Bring every family that was added to in line with its versions, and what others see of it."""
        for book in self.books.values():
            versions = list(book.versions.values())
            if versions == book.shelf.versions:
                continue
            moved = book.shelf.with_versions(versions)
            await self.work.instructions.replace(moved.family)
            await publish(self.work, self.caller.owner, moved.family, moved.versions)

    async def _create(self, said: BundledVersion) -> FamilyId:
        family_id = FamilyId(next(self.ids))
        await require_mentions(self.work, said)
        version = self._drafted(said, family_id, said.version or FIRST)
        family = Family.of(version, 0)
        await self.work.instructions.add_version(version)
        await self.work.instructions.add(family)
        await note(self.work, self.caller, "instruction.created", **facts(version), how=BROUGHT_IN)
        shelf = Shelf(family, [], Popularity(), version)
        self.books[family_id] = Book(shelf, {version.instruction_id: version})
        return family_id

    async def _append(self, home: FamilyId, said: BundledVersion, number: SemVer) -> None:
        book = await self._book(home)
        await require_mentions(self.work, said, home)
        parent = book.numbered(None).instruction_id
        version = self._drafted(said, home, number, parent_instruction_id=parent)
        await self.work.instructions.add_version(version)
        book.versions[version.instruction_id] = version
        await note(self.work, self.caller, "instruction.revised", **facts(version), how=BROUGHT_IN)

    async def _move_status(self, home: FamilyId, said: BundledVersion) -> None:
        book = await self._book(home)
        before = book.numbered(said.version)
        after = await self.work.instructions.move_status(before, said.status, self.caller.owner.user_id)
        book.versions[after.instruction_id] = after
        moved = {"before": before.status, "after": after.status, "how": BROUGHT_IN}
        await note(self.work, self.caller, "instruction.status_moved", **facts(after), **moved)

    async def _move_label(self, home: FamilyId, name: str, number: SemVer | None) -> None:
        last = await self.work.labels.last(home, name)
        target = (await self._book(home)).numbered(number).instruction_id
        await require_open(self.work, home, name, target)
        row = LabelRow(
            family_id=home,
            name=name,
            step=last.step + 1 if last else 1,
            instruction_id=target,
            moved_by=self.caller.owner.user_id,
            since=self.work.now,
        )
        await self.work.labels.move(row)
        before = last.instruction_id if last is not None and last.until is None else None
        moved = {"familyId": home, "label": name, "before": before, "after": target, "how": BROUGHT_IN}
        await note(self.work, self.caller, "instruction.label_moved", **moved)

    async def _book(self, home: FamilyId) -> Book:
        if home not in self.books:
            shelf = await found(self.work, home)
            self.books[home] = Book(shelf, {version.instruction_id: version for version in shelf.versions})
        return self.books[home]

    def _drafted(self, said: BundledVersion, family_id: FamilyId, number: SemVer, **about: Any) -> InstructionVersion:
        require_sound(said)
        about |= {"status": said.status, "changelog": said.changelog, "bump_reason": BROUGHT_IN}
        instruction_id = InstructionId(next(self.ids))
        return drafted(self.work, self.caller, said, family_id, instruction_id, number, **about)

    def _remember(self, bundled: BundledInstruction, home: FamilyId | None) -> None:
        names = (id(bundled), bundled.family_id, handle_of(bundled.newest.name))
        for name in names:
            if name and home is not None:
                self.homes.setdefault(name, home)


def _step(wish: BundledAssignment, action: Action, sentence: str, home: FamilyId | None = None) -> Step:
    said = f"{wish.instruction!r} {sentence}"
    return Step(action=action, name=wish.instruction, family_id=home, version=wish.version, sentence=said)
