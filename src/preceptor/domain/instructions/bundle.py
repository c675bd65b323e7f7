"""A library in a file.

A bundle is plain data. It names nothing that is run or fetched, and the ids in it are only compared with our own: an
instruction that comes from elsewhere gets ids of ours.
"""

from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from preceptor.domain.instructions.documents import handle_of
from preceptor.domain.instructions.effective import Customizations
from preceptor.domain.instructions.instruction import Authored, Changelog, InstructionType
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.version import LABEL_TEXT, Latest, Version, WrittenPin, is_label
from preceptor.domain.value import AnyId, Value

LARGEST = 5_000_000
"""Bytes of a bundle, as JSON or as files."""
FORMAT = "preceptor-library"
LabelName = Annotated[str, StringConstraints(pattern=LABEL_TEXT)]


class BundledVersion(Authored):
    """One version. Without a number it is whatever comes next."""

    version: Version | None = None
    status: Status = Status.ACTIVE
    changelog: Changelog | None = None


class BundledInstruction(Value):
    """One instruction, oldest version first. It is ours if its familyId is, else if ours has its name and type."""

    family_id: AnyId | None = None
    versions: Annotated[tuple[BundledVersion, ...], Field(min_length=1, max_length=1_000)]
    labels: dict[LabelName, Version] = Field(default={}, max_length=100)

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        numbers = [one.version for one in self.versions]
        if len(numbers) > 1 and None in numbers:
            raise ValueError("of several versions each needs its number")
        known = [number for number in numbers if number is not None]
        if known != sorted(set(known)):
            raise ValueError("versions stand in ascending order, each once")
        if wrong := [name for name in self.labels if not is_label(name)]:
            raise ValueError(f"{wrong[0]!r} cannot be a label")
        return self

    @property
    def newest(self) -> BundledVersion:
        return self.versions[-1]

    @property
    def key(self) -> tuple[str, InstructionType]:
        """What it is known by where its id is not."""
        return handle_of(self.newest.name) or self.newest.name, self.newest.type


class BundledAssignment(Value):
    """An instruction of the same bundle, by its familyId or its name, given to an agent."""

    agent_id: AnyId
    instruction: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    pin: WrittenPin = Field(default=Latest(), validate_default=False)
    version: Version | None = Field(default=None, description="Of an exact pin.")
    priority: int = Field(default=100, ge=-(2**31), lt=2**31)
    is_active: bool = True
    customizations: Customizations = Customizations.as_declared()


class Bundle(Value):
    format: Literal["preceptor-library"] = FORMAT
    format_version: Literal[1] = 1
    instructions: Annotated[tuple[BundledInstruction, ...], Field(max_length=2_000)] = ()
    assignments: Annotated[tuple[BundledAssignment, ...], Field(max_length=10_000)] = ()

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        ids = Counter(one.family_id for one in self.instructions if one.family_id is not None)
        if repeated := [family for family, times in ids.items() if times > 1]:
            raise ValueError(f"familyId {repeated[0]!r} occurs twice")
        keys = Counter(one.key for one in self.instructions if one.family_id is None)
        if doubled := [key for key, times in keys.items() if times > 1]:
            raise ValueError(
                f"two instructions of type {doubled[0][1]} are called {doubled[0][0]!r} and have no familyId"
            )
        return self
