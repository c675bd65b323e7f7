"""Assignments: which instructions an agent follows, at which version, and with which departures."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId
from preceptor.domain.instructions.effective import Customizations
from preceptor.domain.instructions.instruction import InstructionType
from preceptor.domain.instructions.version import Latest, Version, WrittenPin
from preceptor.domain.ownership import Owner
from preceptor.domain.value import FROM_JSON, AnyId, Revised, Value, left_out

Priority = Annotated[int, Field(ge=-(2**31), lt=2**31), FROM_JSON]
USUAL_PRIORITY = 100


class NewAssignment(Value):
    instruction_id: AnyId = Field(description="Of an instruction, or of one of its versions.")
    pin: WrittenPin = Field(
        default=Latest(),
        validate_default=False,
        description="latest, exact, a range such as ^1.2, or label:NAME. Another organisation's is always exact.",
    )
    priority: Priority = Field(default=USUAL_PRIORITY, description="A lower number speaks first.")
    is_active: bool = True
    customizations: Customizations = Customizations.as_declared()


class AssignmentChange(Value):
    """What to change; what is left out stays. `customizations` are replaced whole."""

    pin: WrittenPin = left_out()
    priority: Priority = left_out()
    is_active: bool = left_out()
    customizations: Customizations = left_out()


class Update(Value):
    instruction_id: InstructionId
    version: Version


class AgentAssignment(Revised):
    """An assignment as it is read: what it says, and what it means now."""

    assignment_id: AssignmentId
    agent_id: AgentId
    family_id: FamilyId
    instruction_id: InstructionId | None = Field(description="The version that the pin means now, if there is one.")
    resolved_version: Version | None
    update_available: Update | None = Field(description="A newer version, which the pin does not follow.")
    name: str | None
    type: InstructionType | None
    pin: WrittenPin
    priority: int
    is_active: bool
    customizations: Customizations
    applied_at: AwareDatetime
    updated_at: AwareDatetime
    owner: Owner
    revision: int
