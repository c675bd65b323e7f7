"""What people send to the library besides instructions, and what they read from it."""

from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Field

from preceptor.domain.ids import FamilyId, InstructionId, UserId
from preceptor.domain.instructions.family import Family, LabelRow, Popularity
from preceptor.domain.instructions.instruction import Authored, InstructionType, InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.version import Version
from preceptor.domain.orgs import Name
from preceptor.domain.value import FROM_JSON, AnyId, Json, Revised, Text, Value

NO_LABEL = '"0"'
"""The ETag of a label that is not there."""


class Instruction(InstructionVersion, Revised):
    """A version of an instruction as it is read, with what is computed about it."""

    is_latest_version: bool = Field(description="The highest version that is not a draft.")
    usage_count: int = Field(description="How many agents it is given to and active for.")
    average_rating: float | None
    is_deleted: bool
    revision: int = Field(description="Of the family: it grows with every change of any version.")
    experiment_id: str | None = Field(default=None, description="The experiment that runs with it, if one does.")
    control_group: bool | None = Field(default=None, description="Whether it is the control there, or the variant.")

    @classmethod
    def of(cls, version: InstructionVersion, family: Family, popularity: Popularity) -> Self:
        return cls(
            **dict(version),
            is_latest_version=version.instruction_id == family.head and version.status is not Status.DRAFT,
            usage_count=popularity.usage_count,
            average_rating=popularity.average_rating,
            is_deleted=family.is_deleted,
            revision=family.revision,
        )


class StatusMove(Value):
    status: Status


class LabelMove(Value):
    instruction_id: AnyId = Field(description="The version that the label is to point at; a family means its head.")


class Label(Revised):
    """A name that points at a version, such as production."""

    name: str
    family_id: FamilyId
    instruction_id: InstructionId
    version: Version
    moved_by: UserId
    moved_at: AwareDatetime
    revision: int

    @classmethod
    def of(cls, row: LabelRow, version: Version) -> Self:
        return cls(
            name=row.name,
            family_id=row.family_id,
            instruction_id=row.instruction_id,
            version=version,
            moved_by=row.moved_by,
            moved_at=row.since,
            revision=row.step,
        )


class NewRating(Value):
    score: Annotated[int, Field(ge=1, le=5), FROM_JSON]


class Rating(Value):
    """What you said, and what everyone says on average."""

    family_id: FamilyId
    score: int
    average_rating: float | None


class Template(Authored):
    """An instruction with gaps. Those that come with the software are there for everyone and cannot be changed."""

    template_id: str
    family_id: FamilyId | None = Field(description="None for one that comes with the software.")
    instruction_id: InstructionId | None = Field(description="This version; none of one that comes with the software.")
    version: Version
    is_built_in: bool


class FromTemplate(Value):
    name: Name | None = Field(default=None, description="The template's unless you say it.")
    type: Literal[InstructionType.SYSTEM, InstructionType.TASK, InstructionType.BEHAVIOR] = InstructionType.SYSTEM
    status: Literal[Status.DRAFT, Status.ACTIVE] = Status.ACTIVE
    customizations: dict[Text, Json] = Field(
        default_factory=dict, description="Values for the variables; language, tone and formality replace the fields."
    )
