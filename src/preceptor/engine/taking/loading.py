"""Loading: what an agent is told is worked out now, and kept for a turn that is taken later."""

from typing import Any

import msgspec

from preceptor.domain.agents import Agent
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import AgentId
from preceptor.domain.turns.facts import Pin
from preceptor.engine.connecting import connected
from preceptor.engine.means.means import Spoken
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.effective import effective_now
from preceptor.engine.telling.voice import Kept, keep, read_voice, voice_of


class Loaded(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an agent was told at a moment: the versions, and the hash that all of it is kept by."""

    agent_id: AgentId
    instructions: tuple[Pin, ...]
    prompt_hash: str
    voice: str
    counter: int

    @property
    def pins(self) -> dict[str, Any]:
        """What a turn that uses it is pinned to."""
        return {"instructions": self.instructions, "prompt_hash": self.prompt_hash, "counter": self.counter}

    async def spoken(self, work: Work, agent: Agent) -> Spoken:
        body = await work.blobs.get(self.voice)
        if body is None:
            raise NotFound("set of loaded instructions", self.voice)
        return Spoken(None, agent.revision, read_voice(body), Kept(self.voice, body))


async def load(work: Work, session: Session, agent_id: AgentId) -> dict[str, Any]:
    """Work out what an agent is told, keep it, and answer with all of it, as `effective` shows it."""
    agent = await work.agents.find(agent_id)
    if agent is None:
        raise NotFound("agent", agent_id)
    means = await connected(work, session)
    compiled = await effective_now(work, session.compilations, agent_id)
    counter = means.models.counter(agent.model or means.models.default)
    kept = keep(voice_of(agent, compiled.told, means.tools.specs(agent.tools), counter))
    await work.blobs.put(kept.sha256, kept.body)
    pins = [
        Pin(
            family_id=one.family_id,
            instruction_id=one.instruction_id,
            version=one.version,
            assignment_id=one.assignment_id,
        )
        for one in compiled.told.vector
    ]
    loaded = Loaded(
        agent_id=agent_id,
        instructions=tuple(pins),
        prompt_hash=compiled.told.hash,
        voice=kept.sha256,
        counter=compiled.counter,
    )
    return {"effective": compiled.told.shown.model_dump(mode="json"), "loaded": msgspec.to_builtins(loaded)}


def read_loaded(output: Any) -> Loaded:
    return msgspec.convert(output["loaded"], Loaded)
