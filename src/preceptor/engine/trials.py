"""Dry runs: what an instruction would come to. Nothing is written, and no conversation is begun."""

from dataclasses import dataclass
from typing import Any, ClassVar

from preceptor.domain.errors import Invalid, NotFound
from preceptor.domain.ids import AgentId, InstructionId
from preceptor.domain.instructions.effective import Assignment
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.trial import Mode, NewTrial, Trial, alone, checked_examples, on_trial
from preceptor.domain.value import made
from preceptor.engine.compiled import Compilations, compiled
from preceptor.engine.documents import with_documents
from preceptor.engine.effective import foreign, present, speaking
from preceptor.engine.ports import Work
from preceptor.engine.session import Session
from preceptor.engine.shelf import found

NO_AGENT = AgentId("none")


@dataclass(eq=False)
class NoModel(Invalid):
    code: ClassVar[str] = "invalid"

    def __str__(self) -> str:
        return "There is no model here to run it with. Use mode render, which needs none."


@dataclass(frozen=True, slots=True)
class Trials:
    session: Session

    async def test(self, any_id: str, given: NewTrial | None = None, **fields: Any) -> Trial:
        """Try the version that is named, whatever its status; a family means its head."""
        wish = made(NewTrial, given, fields)
        agent_id = None if wish.agent_id is None else AgentId(wish.agent_id)

        async def program(work: Work) -> Trial:
            version = on_trial((await found(work, any_id)).meant, wish.context)
            merged = compiled(agent_id or NO_AGENT, await _together(work, agent_id, version))
            told = await with_documents(work, merged, await _foreign(work, agent_id))
            return Trial(
                mode=Mode.RENDER,
                instruction_id=version.instruction_id,
                version=version.version,
                agent_id=agent_id,
                prompt=told.rendered.prompt,
                hash=told.rendered.hash,
                sources=told.effective.sources,
                examples=checked_examples(version.content, told.effective.validation_rules),
                warnings=told.shown.warnings,
            )

        trial = await self.session.read(program)
        if wish.mode is Mode.RUN:
            raise NoModel
        return trial


async def _foreign(work: Work, agent_id: AgentId | None) -> frozenset[InstructionId]:
    return foreign(await present(work, Compilations(), agent_id)) if agent_id else frozenset()


async def _together(work: Work, agent_id: AgentId | None, version: InstructionVersion) -> list[Assignment]:
    """What the agent is told, with this version in the place of the one it has, or besides all others."""
    if agent_id is None:
        return [alone(version)]
    if not await work.agents.has(agent_id):
        raise NotFound("agent", agent_id)
    given = speaking(await present(work, Compilations(), agent_id))
    others = [one for one in given if one.version.family_id != version.family_id]
    own = [one for one in given if one.version.family_id == version.family_id]
    news = {"version": version, "is_active": True}
    return [*others, own[0].model_copy(update=news) if own else alone(version)]
