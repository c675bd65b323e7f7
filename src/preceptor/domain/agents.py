"""Agents: who a conversation is with."""

from typing import Annotated

from pydantic import AwareDatetime, Field, StringConstraints

from preceptor.domain.ids import AgentId
from preceptor.domain.orgs import Name
from preceptor.domain.ownership import Owner
from preceptor.domain.value import VISIBLE_TEXT, Value, left_out

Handle = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
Word = Annotated[str, StringConstraints(max_length=64, pattern=VISIBLE_TEXT)]
Words = Annotated[tuple[Word, ...], Field(max_length=100)]

DEFAULT_AGENT = AgentId("assistant")


class NewAgent(Value):
    agent_id: Handle | None = Field(default=None, description="Chosen by you, unique in your organisation.")
    name: Name
    role: Word = "assistant"
    capabilities: Words = ()
    permissions: Words = ()


class AgentChange(Value):
    """What to change; what is left out stays."""

    name: Name = left_out()
    role: Word = left_out()
    capabilities: Words = left_out()
    permissions: Words = left_out()


class Agent(Value):
    agent_id: AgentId
    name: str
    role: str
    capabilities: tuple[str, ...]
    permissions: tuple[str, ...]
    owner: Owner
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int

    @property
    def etag(self) -> str:
        return f'"{self.revision}"'
