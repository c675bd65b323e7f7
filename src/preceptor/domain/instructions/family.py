"""A family of versions, and what is known about it besides what it says."""

from datetime import datetime
from typing import NamedTuple, Self

from preceptor.domain.ids import FamilyId, InstructionId, UserId
from preceptor.domain.instructions.instruction import Authored, InstructionType, InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.version import SemVer, Version, head
from preceptor.domain.value import Value


class Family(Value):
    """Where the versions of one instruction belong. Its head is what the family's own id means."""

    family_id: FamilyId
    head: InstructionId
    type: InstructionType
    category: str
    target_role: str
    status: Status
    is_public: bool
    is_deleted: bool = False
    revision: int = 1
    name: str
    description: str
    tags: tuple[str, ...]

    @classmethod
    def of(cls, version: InstructionVersion, revision: int) -> Self:
        """The family, seen from its head."""
        return cls(
            family_id=version.family_id,
            head=version.instruction_id,
            type=version.type,
            category=version.category,
            target_role=version.target_role,
            status=version.status,
            is_public=version.is_public,
            revision=revision,
            name=version.name,
            description=version.description,
            tags=version.tags,
        )


def head_of(versions: list[InstructionVersion]) -> InstructionVersion:
    """The highest version that is not a draft; where all are drafts, the newest of them."""
    return head(versions) or newest_of(versions)


def newest_of(versions: list[InstructionVersion]) -> InstructionVersion:
    return max(versions, key=lambda version: version.version)


class Candidate(NamedTuple):
    """A version as far as a pin has to know it."""

    family_id: FamilyId
    instruction_id: InstructionId
    version: SemVer
    status: Status


class LabelRow(NamedTuple):
    """A label at one step of its history. `step` grows with every move, and is never used again."""

    family_id: FamilyId
    name: str
    step: int
    instruction_id: InstructionId
    moved_by: UserId
    since: datetime
    until: datetime | None = None


class Popularity(NamedTuple):
    """How many agents an instruction speaks to, and what people think of it, from 1 to 5."""

    usage_count: int = 0
    average_rating: float | None = None


class Published(Authored):
    """What other organisations see of a version: what it says and which one it is, and nothing about its owner."""

    family_id: FamilyId
    instruction_id: InstructionId
    version: Version
    hash: str


class Publication(NamedTuple):
    """A snapshot that its owner published. Withdrawn, it stays with those who use it, and no one new finds it."""

    org_id: str
    snapshot: Published
    is_head: bool
    is_withdrawn: bool
