"""Instructions that were given to agents, as they are stored."""

from pydantic import AwareDatetime, Field

from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId, OrgId
from preceptor.domain.instructions.effective import Customizations, Override
from preceptor.domain.instructions.version import WrittenPin
from preceptor.domain.ownership import Owner
from preceptor.domain.value import Revised


class Assigned(Revised):
    """Which instruction speaks to which agent, and how. An agent has one of each family."""

    assignment_id: AssignmentId
    agent_id: AgentId
    family_id: FamilyId
    pin: WrittenPin
    instruction_id: InstructionId | None = Field(default=None, description="What an exact pin was set at.")
    publisher: OrgId | None = Field(default=None, description="Whose it is, if another organisation published it.")
    priority: int = 100
    is_active: bool = True
    customizations: Customizations = Customizations.as_declared()
    override: Override | None = None
    owner: Owner
    applied_at: AwareDatetime
    updated_at: AwareDatetime
    seq: int = 0
    """Orders what was applied in the same moment."""
    revision: int = 1
    """Grows by one with every change; the row it stands in says when it held."""
