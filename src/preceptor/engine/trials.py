"""Dry runs: what an instruction would come to. Nothing is written, and no conversation is begun."""

from typing import Any

import msgspec

from preceptor.domain.errors import NotFound
from preceptor.domain.ids import AgentId, FamilyId, InstructionId
from preceptor.domain.instructions.check import check
from preceptor.domain.instructions.content import Content
from preceptor.domain.instructions.effective import Assignment
from preceptor.domain.instructions.family import newest_of
from preceptor.domain.instructions.instruction import Authored, InstructionType, InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.revision import bump_for
from preceptor.domain.instructions.trial import (
    ExampleCheck,
    Mode,
    NewTrial,
    Trial,
    Usage,
    alone,
    checked_examples,
    on_trial,
)
from preceptor.domain.instructions.version import FIRST, Part
from preceptor.domain.reasoning.metrics import chrf
from preceptor.domain.value import made
from preceptor.engine.connecting import connected
from preceptor.engine.impact import NEXT
from preceptor.engine.instructions import drafted
from preceptor.engine.library.shelf import found
from preceptor.engine.means.means import Means
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.compiled import Compilations, Told
from preceptor.engine.telling.documents import with_documents
from preceptor.engine.telling.effective import foreign, present, speaking
from preceptor.engine.turn.trying import Heard, Tried

NO_AGENT = AgentId("none")
MOST_EXAMPLES = 5
"""How many examples are put to the model in one run."""


class Trials(msgspec.Struct, frozen=True):
    session: Session

    async def test(
        self, any_id: str, given: NewTrial | None = None, heard: Heard | None = None, **fields: Any
    ) -> Trial:
        """Try the version that is named, whatever its status; a family means its head.

        `heard` is called with every piece of the answer to the input, as it comes.
        """
        wish = made(NewTrial, given, fields)
        agent_id = None if wish.agent_id is None else AgentId(wish.agent_id)

        async def program(work: Work) -> tuple[Trial, Told, Content]:
            version = on_trial((await found(work, any_id)).meant, wish.context)
            merged = Told.by(agent_id or NO_AGENT, await _together(work, agent_id, version))
            told = await with_documents(work, merged, await _foreign(work, agent_id))
            trial = Trial(
                mode=Mode.RENDER,
                instruction_id=version.instruction_id,
                version=version.version,
                agent_id=agent_id,
                prompt=told.prompt,
                hash=told.hash,
                sources=told.effective.sources,
                examples=checked_examples(version.content, told.effective.validation_rules),
                warnings=told.shown.warnings,
            )
            return trial, told, version.content

        trial, told, content = await self.session.read(program)
        return await self._run(wish, trial, told, content, heard) if wish.mode is Mode.RUN else trial

    async def preview(self, said: Authored, any_id: str | None = None, agent_id: AgentId | None = None) -> Told:
        """What would be told if an instruction said this: alone, or with all that an agent is told.

        `any_id` is the instruction in whose place it would speak. The gaps of a template stay as they are written.
        """
        kind = InstructionType.SYSTEM if said.type is InstructionType.TEMPLATE else said.type
        spoken = said.model_copy(update={"type": kind, "variables": ()})

        async def program(work: Work) -> Told:
            base = None if any_id is None else newest_of((await found(work, any_id)).versions)
            number = FIRST if base is None else base.version.bump(step_from(base, said))
            family_id = FamilyId(NEXT) if base is None else base.family_id
            next_ = drafted(work, self.session.caller, spoken, family_id, NEXT, number, status=Status.ACTIVE)
            merged = Told.by(agent_id or NO_AGENT, await _together(work, agent_id, next_))
            return await with_documents(work, merged, await _foreign(work, agent_id))

        return await self.session.read(program)

    async def _run(self, wish: NewTrial, trial: Trial, told: Told, content: Content, heard: Heard | None) -> Trial:
        """Put it to the model: the input, and each example. The guardian is heard first, as in any turn."""
        name, means = await self._model(trial.agent_id)
        tried = Tried(self.session, means.models.find(name), means.models.counter(name), told)
        answered = await tried.answer(wish.input, heard)
        rules = told.effective.validation_rules
        usage, scored = answered.usage, list[ExampleCheck]()
        for checked, example in zip(trial.examples[:MOST_EXAMPLES], content.examples, strict=False):
            reply = await tried.answer(example.input)
            usage += reply.usage
            score = chrf(reply.text, example.expected_output)
            scored.append(checked.model_copy(update={"answer": reply.text, "score": score}))
        return trial.model_copy(
            update={
                "mode": Mode.RUN,
                "answer": answered.text,
                "rules": () if rules is None else check(answered.text, rules),
                "usage": Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens),
                "examples": (*scored, *trial.examples[MOST_EXAMPLES:]),
            }
        )

    async def _model(self, agent_id: AgentId | None) -> tuple[str | None, Means]:
        async def program(work: Work) -> tuple[str | None, Means]:
            agent = None if agent_id is None else await work.agents.find(agent_id)
            return agent and agent.model, await connected(work, self.session)

        return await self.session.read(program)


def step_from(base: InstructionVersion, said: Authored) -> Part:
    bump = bump_for(base, said)
    return Part.PATCH if bump is None else bump.part


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
