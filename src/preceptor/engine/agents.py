"""Agents: create, read, change, list."""

from dataclasses import dataclass
from typing import Any

from preceptor.domain.agents import Agent, AgentChange, NewAgent
from preceptor.domain.errors import Conflict, NotFound
from preceptor.domain.ids import AgentId
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.value import made, told
from preceptor.engine.audit import note
from preceptor.engine.ports import Work
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.session import Session


@dataclass(frozen=True, slots=True)
class Agents:
    session: Session

    async def create(self, given: NewAgent | None = None, **fields: Any) -> Agent:
        new = made(NewAgent, given, fields)
        agent_id = AgentId(new.agent_id or self.session.world.new_id())

        async def program(work: Work) -> Agent:
            if await work.agents.find(agent_id):
                raise Conflict(f"There is an agent {agent_id!r} already. Choose another agentId, or change that one.")
            agent = Agent(
                agent_id=agent_id,
                **new.model_dump(exclude={"agent_id"}),
                owner=self.session.caller.owner,
                created_at=work.now,
                updated_at=work.now,
                revision=1,
            )
            await work.agents.add(agent)
            await note(work, self.session.caller, "agent.created", agentId=agent_id)
            return agent

        return await self.session.write(program)

    async def get(self, agent_id: AgentId) -> Agent:
        async def program(work: Work) -> Agent:
            return await found(work, agent_id)

        return await self.session.read(program)

    async def change(
        self, agent_id: AgentId, given: AgentChange | None = None, if_match: IfMatch = None, **fields: Any
    ) -> Agent:
        change = made(AgentChange, given, fields)

        async def program(work: Work) -> Agent:
            agent = await found(work, agent_id)
            check(if_match, agent.etag)
            news = told(change)
            changed = agent.model_copy(update=news | {"updated_at": work.now, "revision": agent.revision + 1})
            await work.agents.replace(changed)
            await note(work, self.session.caller, "agent.changed", agentId=agent_id, fields=sorted(news))
            return changed

        return await self.session.write(program)

    async def page(self, cursor: str | None = None, limit: int = 50) -> Page[Agent]:
        async def program(work: Work) -> Page[Agent]:
            return page_of(await work.agents.page(position_of(cursor), limit + 1), limit, lambda agent: agent.agent_id)

        return await self.session.read(program)


async def found(work: Work, agent_id: AgentId) -> Agent:
    agent = await work.agents.find(agent_id)
    if agent is None:
        raise NotFound("agent", agent_id)
    return agent
