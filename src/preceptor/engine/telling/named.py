"""Instructions by the names that other texts call them by."""

import msgspec

from preceptor.domain.ids import FamilyId
from preceptor.domain.instructions.documents import handle_of
from preceptor.domain.instructions.family import Family
from preceptor.domain.instructions.instruction import InstructionType
from preceptor.domain.instructions.lifecycle import IN_FORCE, Status
from preceptor.engine.repositories.work import Work

PAGE = 200


class _Named(msgspec.Struct, frozen=True):
    """Instructions with a word in their name or description, whatever else they are."""

    words: str
    type: InstructionType | None = None
    category: str | None = None
    target_role: str | None = None
    status: Status | None = None
    tags: tuple[str, ...] = ()


async def family_named(work: Work, name: str) -> Family | None:
    """By its id, or by its name where only one that is in force has it."""
    found = await work.instructions.find(FamilyId(name))
    family = found[0] if found else await _called(work, name)
    return None if family is None or family.is_deleted else family


async def _called(work: Work, name: str) -> Family | None:
    handle, alike, after = handle_of(name), list[Family](), None
    wanted = _Named(handle.split("-")[0])
    while rows := await work.instructions.page(wanted, after, PAGE):
        alike += [one for one, _, _ in rows if handle_of(one.name) == handle and one.status in IN_FORCE]
        after = rows[-1][0].family_id
    return alike[0] if len(alike) == 1 else None
