"""/api/agents"""

from preceptor.domain.agents import Agent, AgentChange, NewAgent, ShownAgent
from preceptor.domain.ids import AgentId
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.surfaces.rest.parameters import Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, IfMatch, ThePreceptor, needs

router = Api("/api/agents", "agents")


@router.post("", status_code=201)
@needs(Permission.AGENT_WRITE)
async def create(new: NewAgent, preceptor: ThePreceptor) -> ShownAgent:
    """Create an agent."""
    return await preceptor.agents.create(new)


@router.get("")
@needs(Permission.AGENT_READ)
async def page(preceptor: ThePreceptor, cursor: Cursor = None, limit: Limit = 50) -> Page[Agent]:
    """List the agents of your organisation."""
    return await preceptor.agents.page(cursor, limit)


@router.get("/{agent_id}")
@needs(Permission.AGENT_READ)
async def get(agent_id: Name, preceptor: ThePreceptor) -> ShownAgent:
    """Read an agent."""
    return await preceptor.agents.get(AgentId(agent_id))


@router.patch("/{agent_id}")
@needs(Permission.AGENT_WRITE)
async def change(agent_id: Name, change: AgentChange, preceptor: ThePreceptor, if_match: IfMatch) -> ShownAgent:
    """Change an agent; what is left out stays."""
    return await preceptor.agents.change(AgentId(agent_id), change, if_match)
