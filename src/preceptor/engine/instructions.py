"""Instructions: create, read, list, revise, restore, move through their life, rate, copy, delete."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from preceptor.domain.errors import Conflict, recorded
from preceptor.domain.ids import FamilyId, InstructionId
from preceptor.domain.instructions.family import Family, Popularity, newest_of
from preceptor.domain.instructions.instruction import (
    Authored,
    InstructionType,
    InstructionVersion,
    NewInstruction,
    authored,
)
from preceptor.domain.instructions.lifecycle import IN_FORCE, Status, require_move
from preceptor.domain.instructions.remarks import remarks_on, require_sound
from preceptor.domain.instructions.revision import Bump, Revision, bump_for, revised
from preceptor.domain.instructions.shown import Instruction, NewRating, Rating
from preceptor.domain.instructions.version import FIRST, Part, SemVer
from preceptor.domain.ownership import Caller
from preceptor.domain.paging import Page, page_of, part_of, position_of
from preceptor.domain.value import made
from preceptor.engine.audit import note
from preceptor.engine.library.publishing import publish
from preceptor.engine.library.shelf import Readable, Shelf, found, readable, with_experiments
from preceptor.engine.library.usage import release, release_version
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.repositories.experiments import require_no_experiment
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.documents import require_mentions

Composition = tuple[Authored, dict[str, Any]]
"""What a new instruction says, and what is known about it besides."""


class Wanted(msgspec.Struct, frozen=True):
    """Which instructions a list is about. None means any."""

    type: InstructionType | None = None
    category: str | None = None
    target_role: str | None = None
    status: Status | None = None
    words: str | None = None
    tags: Sequence[str] = ()


class Instructions(msgspec.Struct, frozen=True):
    session: Session

    async def create(self, given: NewInstruction | None = None, **fields: Any) -> Instruction:
        new = made(NewInstruction, given, fields)
        require_sound(new)

        async def compose(_: Work) -> Composition:
            return new, {"status": new.status, "changelog": new.changelog}

        return await self.begin(compose)

    async def begin(self, compose: Callable[[Work], Awaitable[Composition]]) -> Instruction:
        """The first version of a new family, as it is composed in the same transaction."""
        family_id, instruction_id = FamilyId(self.session.world.new_id()), InstructionId(self.session.world.new_id())

        async def program(work: Work) -> Instruction:
            said, about = await compose(work)
            await require_mentions(work, said)
            first = drafted(work, self.session.caller, said, family_id, instruction_id, FIRST, **about)
            family = Family.of(first, 1)
            await work.instructions.add_version(first)
            await work.instructions.add(family)
            await publish(work, self.session.caller.owner, family, [first])
            await note(work, self.session.caller, "instruction.created", **facts(first))
            return Instruction.of(first, family, Popularity())

        return await self.session.write(program)

    async def get(self, any_id: str) -> Readable:
        """The head of a family, or the version whose id is given: one's own, or a published one."""

        async def program(work: Work) -> Readable:
            one = await readable(work, any_id)
            return (await with_experiments(work, [one]))[0] if isinstance(one, Instruction) else one

        return await self.session.read(program)

    async def page(self, wanted: Wanted, cursor: str | None = None, limit: int = 50) -> Page[Readable]:
        """The heads of all families, newest first."""

        async def program(work: Work) -> Page[Readable]:
            rows = await work.instructions.page(wanted, position_of(cursor), limit + 1)
            found = [Instruction.of(version, family, popularity) for family, version, popularity in rows]
            return page_of(await with_experiments(work, found), limit, lambda instruction: instruction.family_id)

        return await self.session.read(program)

    async def page_of_published(self, wanted: Wanted, cursor: str | None = None, limit: int = 50) -> Page[Readable]:
        """What all organisations publish, newest first."""

        async def program(work: Work) -> Page[Readable]:
            rows = await work.published.page(wanted, position_of(cursor), limit + 1)
            return page_of(rows, limit, lambda published: published.instruction_id)

        return await self.session.read(program)

    async def versions(self, any_id: str, cursor: str | None = None, limit: int | None = None) -> Page[Instruction]:
        """The versions of a family, newest first; all of them without a limit."""

        async def program(work: Work) -> Page[Instruction]:
            shelf = await found(work, any_id)
            shown = [shelf.shown(version) for version in reversed(shelf.versions)]
            page = part_of(shown, cursor, limit, lambda version: version.instruction_id)
            return Page(items=tuple(await with_experiments(work, page.items)), next_cursor=page.next_cursor)

        return await self.session.read(program)

    async def revise(
        self, any_id: str, given: Revision | None = None, if_match: IfMatch = None, **fields: Any
    ) -> Instruction:
        """Append a version that says what the newest one says, changed. What changes nothing appends nothing."""
        revision = made(Revision, given, fields)
        instruction_id = InstructionId(self.session.world.new_id())

        async def program(work: Work) -> Instruction:
            shelf = await found(work, any_id)
            check(if_match, shelf.etag)
            base = newest_of(shelf.versions)
            after = revised(base, revision)
            require_sound(after)
            bump = bump_for(base, after)
            await require_mentions(work, after, base.family_id)
            if bump is None:
                return unchanged(shelf, base, revision)
            step = bump.asked(revision.bump)
            about = {"changelog": revision.changelog, "status": revision.status or following(base)}
            version = succeeding(work, self.session.caller, after, base, instruction_id, step, **about)
            return await self._append(work, shelf, version, "instruction.revised")

        return await self.session.write(program)

    async def restore(self, any_id: str, version_id: str, if_match: IfMatch = None) -> Instruction:
        """Append a version that says what an older one said. Nothing is moved back."""
        instruction_id = InstructionId(self.session.world.new_id())

        async def program(work: Work) -> Instruction:
            shelf = await found(work, any_id)
            check(if_match, shelf.etag)
            old = shelf.version(version_id)
            base = newest_of(shelf.versions)
            step = Bump(Part.PATCH, recorded("%(version)s was restored", version=old.version))
            about = {
                "status": following(old),
                "restored_from": old.instruction_id,
                "changelog": recorded("Restored %(version)s.", version=old.version),
            }
            version = succeeding(work, self.session.caller, authored(old), base, instruction_id, step, **about)
            return await self._append(work, shelf, version, "instruction.restored")

        return await self.session.write(program)

    async def set_status(self, any_id: str, status: Status, if_match: IfMatch = None) -> Instruction:
        """Move a version one step through its life; a family means its head. Where it is already, nothing happens."""

        async def program(work: Work) -> Instruction:
            shelf = await found(work, any_id)
            check(if_match, shelf.etag)
            version = shelf.meant
            if version.status is status:
                return shelf.shown(version)
            require_move(version.status, status)
            return await self._move(work, shelf, version, status)

        return await self.session.write(program)

    async def delete(self, any_id: str, *, force: bool = False, if_match: IfMatch = None) -> None:
        """Hide a family, or archive the one version whose id is given. Agents that would fall silent stand in the way.

        With `force` their assignments are switched off. Nothing is erased: every version can still be read by its id.
        """
        caller = self.session.caller

        async def program(work: Work) -> None:
            shelf = await found(work, any_id)
            check(if_match, shelf.etag)
            if any_id != shelf.family.family_id:
                await release_version(work, caller, shelf.meant, shelf.versions, force=force)
                if shelf.meant.status is not Status.ARCHIVED:
                    await self._move(work, shelf, shelf.meant, Status.ARCHIVED)
                return
            await release(work, caller, shelf.family.family_id, force=force)
            gone = shelf.family.model_copy(update={"is_deleted": True, "revision": shelf.family.revision + 1})
            await work.instructions.replace(gone)
            await publish(work, caller.owner, gone, shelf.versions)
            await note(work, caller, "instruction.deleted", familyId=gone.family_id)

        await self.session.write(program)

    async def rate(self, any_id: str, given: NewRating | None = None, **fields: Any) -> Rating:
        """One score per user; a new one takes the place of the old."""
        rating = made(NewRating, given, fields)
        caller = self.session.caller

        async def program(work: Work) -> Rating:
            family_id = (await found(work, any_id)).family.family_id
            await work.ratings.give(family_id, caller.owner.user_id, rating.score)
            await note(work, caller, "instruction.rated", familyId=family_id, score=rating.score)
            rated = await work.instructions.find(family_id)
            average = rated[2].average_rating if rated else None
            return Rating(family_id=family_id, score=rating.score, average_rating=average)

        return await self.session.write(program)

    async def copy(self, any_id: str) -> Instruction:
        """A family of one's own that begins with what a version says: one's own, or one that others published."""

        async def compose(work: Work) -> Composition:
            original = await readable(work, any_id)
            said = authored(original).model_copy(update={"is_public": False})
            status = following(original) if isinstance(original, Instruction) else Status.ACTIVE
            return said, {"status": status, "copied_from": f"{original.instruction_id}@{original.version}"}

        return await self.begin(compose)

    async def _append(self, work: Work, shelf: Shelf, version: InstructionVersion, kind: str) -> Instruction:
        await work.instructions.add_version(version)
        moved = shelf.with_versions([*shelf.versions, version])
        await self._keep(work, moved)
        await note(work, self.session.caller, kind, **facts(version))
        return moved.shown(version)

    async def _move(self, work: Work, shelf: Shelf, version: InstructionVersion, status: Status) -> Instruction:
        caller = self.session.caller
        if status not in IN_FORCE:
            await require_no_experiment(work, version.family_id, version.instruction_id)
        after = await work.instructions.move_status(version, status, caller.owner.user_id)
        others = [one for one in shelf.versions if one.instruction_id != version.instruction_id]
        moved = shelf.with_versions([*others, after])
        await self._keep(work, moved)
        await note(work, caller, "instruction.status_moved", **facts(after), before=version.status, after=status)
        return moved.shown(after)

    async def _keep(self, work: Work, shelf: Shelf) -> None:
        await work.instructions.replace(shelf.family)
        await publish(work, self.session.caller.owner, shelf.family, shelf.versions)


def following(version: InstructionVersion) -> Status:
    """The status of what is made from a version: what is a draft or put away does not come into force by itself."""
    return Status.DRAFT if version.status in (Status.DRAFT, Status.ARCHIVED) else Status.ACTIVE


def unchanged(shelf: Shelf, base: InstructionVersion, revision: Revision) -> Instruction:
    if revision.status is not None and revision.status is not base.status:
        raise Conflict("Nothing changes but the status. Move it with POST …/status instead.")
    return shelf.shown(base)


def succeeding(
    work: Work,
    caller: Caller,
    said: Authored,
    base: InstructionVersion,
    instruction_id: InstructionId,
    step: Bump,
    **about: Any,
) -> InstructionVersion:
    number = base.version.bump(step.part)
    about |= {"bump_reason": step.reason, "parent_instruction_id": base.instruction_id}
    return drafted(work, caller, said, base.family_id, instruction_id, number, **about)


def drafted(
    work: Work,
    caller: Caller,
    said: Authored,
    family_id: FamilyId,
    instruction_id: InstructionId,
    number: SemVer,
    **about: Any,
) -> InstructionVersion:
    return InstructionVersion(
        **dict(authored(said)),
        family_id=family_id,
        instruction_id=instruction_id,
        version=number,
        warnings=remarks_on(said),
        owner=caller.owner,
        created_by=caller.owner.user_id,
        updated_by=caller.owner.user_id,
        created_at=work.now,
        updated_at=work.now,
        **about,
    )


def facts(version: InstructionVersion) -> dict[str, Any]:
    return {
        "familyId": version.family_id,
        "instructionId": version.instruction_id,
        "version": str(version.version),
        "status": version.status,
    }
