"""Agents in SQL."""

from functools import lru_cache

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.agents import ADD, FIND, PAGE, REPLACE
from preceptor.domain.agents import Agent
from preceptor.domain.ids import AgentId


class SqlAgents(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, agent: Agent) -> None:
        await self.work.put(ADD, id=agent.agent_id, body=agent.model_dump_json(exclude_unset=True))

    async def replace(self, agent: Agent) -> None:
        await self.work.put(REPLACE, id=agent.agent_id, body=agent.model_dump_json(exclude_unset=True))

    async def find(self, agent_id: AgentId) -> Agent | None:
        row = await self.work.one(FIND, id=agent_id)
        return _read(row[0]) if row else None

    async def has(self, agent_id: AgentId) -> bool:
        return bool(await self.work.executor.all(FIND, (self.work.org, agent_id)))

    async def page(self, after: str | None, limit: int) -> list[Agent]:
        rows = await self.work.all(PAGE, after=after or "", limit=limit)
        return [_read(row[0]) for row in rows]


@lru_cache(1024)
def _read(body: str) -> Agent:
    """Once for each text: what it says never changes."""
    return Agent.model_validate_json(body)
