"""Agents, and what is assigned to them."""

from datetime import datetime
from typing import Unpack

from preceptor.client.fields.agents import (
    AgentChangeFields,
    AssignmentChangeFields,
    AssignmentQuestionFields,
    NewAgentFields,
    NewAssignmentFields,
)
from preceptor.client.operating import Group, Key, Kind, Tag, operation
from preceptor.domain.agents import Agent, AgentChange, NewAgent, ShownAgent
from preceptor.domain.instructions.assignment import AgentAssignment, AssignmentChange, NewAssignment
from preceptor.domain.instructions.impact import AgentImpact, AssignmentQuestion
from preceptor.domain.instructions.report import EffectiveInstructions
from preceptor.domain.paging import Page


class Agents(Group[Kind]):
    """Who conversations are with."""

    @operation("POST /api/agents", NewAgent)
    def create(self, *, idempotency_key: Key = None, **fields: Unpack[NewAgentFields]) -> ShownAgent:
        """Make an agent."""
        ...

    @operation("GET /api/agents")
    def page(self, *, cursor: str | None = None, limit: int | None = None) -> Page[Agent]:
        """List agents."""
        ...

    @operation("GET /api/agents/{agent_id}")
    def get(self, agent_id: str) -> ShownAgent:
        """Read an agent, with the instructions that speak to it."""
        ...

    @operation("PATCH /api/agents/{agent_id}", AgentChange)
    def change(self, agent_id: str, *, if_match: Tag = None, **fields: Unpack[AgentChangeFields]) -> ShownAgent:
        """Change an agent. What is left out stays."""
        ...


class Assignments(Group[Kind]):
    """Which instructions an agent follows, and what it is told by them."""

    @operation("POST /api/agents/{agent_id}/instructions", NewAssignment)
    def assign(
        self, agent_id: str, *, idempotency_key: Key = None, **fields: Unpack[NewAssignmentFields]
    ) -> AgentAssignment:
        """Give an instruction to an agent."""
        ...

    @operation("GET /api/agents/{agent_id}/instructions")
    def page(self, agent_id: str, *, cursor: str | None = None, limit: int | None = None) -> Page[AgentAssignment]:
        """List what is assigned to an agent, in the order in which it speaks."""
        ...

    @operation("GET /api/agents/{agent_id}/instructions/{family_id}")
    def get(self, agent_id: str, family_id: str) -> AgentAssignment:
        """Read how an agent follows one instruction."""
        ...

    @operation("PUT /api/agents/{agent_id}/instructions/{family_id}", AssignmentChange)
    def change(
        self, agent_id: str, family_id: str, *, if_match: Tag = None, **fields: Unpack[AssignmentChangeFields]
    ) -> AgentAssignment:
        """Change how an agent follows an instruction."""
        ...

    @operation("DELETE /api/agents/{agent_id}/instructions/{family_id}")
    def remove(self, agent_id: str, family_id: str, *, if_match: Tag = None) -> None:
        """Take an instruction away from an agent."""
        ...

    @operation("GET /api/agents/{agent_id}/instructions/effective")
    def effective(self, agent_id: str, *, at: datetime | str | None = None) -> EffectiveInstructions:
        """What an agent is told, now or at a moment that has passed, and where each part comes from."""
        ...

    @operation("POST /api/agents/{agent_id}/instructions/impact", AssignmentQuestion)
    def impact(
        self, agent_id: str, *, idempotency_key: Key = None, **fields: Unpack[AssignmentQuestionFields]
    ) -> AgentImpact:
        """What an agent would be told if an instruction were assigned so, or taken away. Nothing is done."""
        ...
