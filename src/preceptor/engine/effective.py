"""Effective instructions: what an agent is told now, and what it was told at a moment in the past."""

from datetime import datetime

import msgspec

from preceptor.domain.ids import AgentId
from preceptor.domain.instructions.report import EffectiveInstructions
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.compiled import Told
from preceptor.engine.telling.effective import effective_at, effective_now


class Guidance(msgspec.Struct, frozen=True):
    session: Session

    async def effective(self, agent_id: AgentId, at: datetime | None = None) -> EffectiveInstructions:
        """What the agent is told, with the source of every line; `at` a moment in the past, if it is given."""
        return (await self.told(agent_id, at)).shown

    async def told(self, agent_id: AgentId, at: datetime | None = None) -> Told:
        async def program(work: Work) -> Told:
            if at is None:
                return (await effective_now(work, self.session.compilations, agent_id)).told
            return await effective_at(work, agent_id, at)

        return await self.session.read(program)
