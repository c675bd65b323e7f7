"""/api/agents/{agentId}/instructions"""

from enum import StrEnum
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import PlainTextResponse

from preceptor.domain.ids import AgentId
from preceptor.domain.instructions.assignment import AgentAssignment, AssignmentChange, NewAssignment
from preceptor.domain.instructions.impact import AgentImpact, AssignmentQuestion
from preceptor.domain.instructions.report import EffectiveInstructions
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.domain.times import Moment
from preceptor.surfaces.rest.parameters import Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, IfMatch, ThePreceptor, needs

router = Api("/api/agents/{agent_id}/instructions", "assignments")


class Format(StrEnum):
    JSON = "json"
    PROMPT = "prompt"


At = Annotated[Moment | None, Query(description="A moment that has passed, such as 2030-01-31T12:00:00Z.")]
Shape = Annotated[Format, Query(alias="format", description="`prompt` is the text alone.")]
TWO_WAYS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "As JSON, or the prompt alone."}
}


@router.post("", status_code=201)
@needs(Permission.AGENT_WRITE)
async def assign(agent_id: Name, new: NewAssignment, preceptor: ThePreceptor) -> AgentAssignment:
    """Give an instruction to an agent."""
    return await preceptor.assignments.assign(AgentId(agent_id), new)


@router.get("")
@needs(Permission.INSTRUCTION_READ)
async def page(
    agent_id: Name, preceptor: ThePreceptor, cursor: Cursor = None, limit: Limit = 50
) -> Page[AgentAssignment]:
    """List the instructions of an agent, by priority."""
    return await preceptor.assignments.page(AgentId(agent_id), cursor, limit)


@router.get("/effective", responses=TWO_WAYS, response_model=EffectiveInstructions)
@needs(Permission.INSTRUCTION_READ)
async def effective(
    agent_id: Name, preceptor: ThePreceptor, at: At = None, shape: Shape = Format.JSON
) -> EffectiveInstructions | PlainTextResponse:
    """What the agent is told, merged from all its instructions, with the source of every line."""
    told = await preceptor.guidance.effective(AgentId(agent_id), at)
    return told if shape is Format.JSON else PlainTextResponse(told.prompt)


@router.post("/impact")
@needs(Permission.INSTRUCTION_READ)
async def impact(agent_id: Name, question: AssignmentQuestion, preceptor: ThePreceptor) -> AgentImpact:
    """What the agent would be told if an instruction were assigned, changed or removed. Nothing is done."""
    return await preceptor.impacts.of_assignment(AgentId(agent_id), question)


@router.get("/{family_id}")
@needs(Permission.INSTRUCTION_READ)
async def get(agent_id: Name, family_id: Name, preceptor: ThePreceptor) -> AgentAssignment:
    """Read one assignment, by the id of the instruction or of any of its versions."""
    return await preceptor.assignments.get(AgentId(agent_id), family_id)


@router.put("/{family_id}")
@needs(Permission.AGENT_WRITE)
async def change(
    agent_id: Name, family_id: Name, change: AssignmentChange, preceptor: ThePreceptor, if_match: IfMatch
) -> AgentAssignment:
    """Change pin, priority, isActive or customizations; what is left out stays."""
    return await preceptor.assignments.change(AgentId(agent_id), family_id, change, if_match)


@router.delete("/{family_id}", status_code=204)
@needs(Permission.AGENT_WRITE)
async def remove(agent_id: Name, family_id: Name, preceptor: ThePreceptor, if_match: IfMatch) -> None:
    """Take an instruction away from an agent. What it was told before stays known."""
    await preceptor.assignments.remove(AgentId(agent_id), family_id, if_match)
