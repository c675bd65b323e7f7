"""Agents: create, read, change, list."""

from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic.alias_generators import to_camel

from preceptor.domain.agents import (
    Agent,
    AgentChange,
    AgentInstructions,
    NewAgent,
    ShownAgent,
    unguarded,
    unknown_tools,
)
from preceptor.domain.errors import Conflict, Invalid, NotFound, PreceptorError, phrased
from preceptor.domain.ids import AgentId, AssignmentId
from preceptor.domain.instructions.assignment import NewAssignment
from preceptor.domain.instructions.effective import Assignment
from preceptor.domain.instructions.instruction import InstructionType
from preceptor.domain.instructions.merge import speaks, turn
from preceptor.domain.ownership import Caller
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.prompts.prompt import ToolSpec
from preceptor.domain.turns.independent import START, START_SPEC
from preceptor.domain.value import made, told
from preceptor.engine.audit import note
from preceptor.engine.connecting import connected
from preceptor.engine.library.assigning import assign, meant
from preceptor.engine.ports import Tools
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.compiled import Compilations
from preceptor.engine.telling.effective import effective_now, present, speaking
from preceptor.engine.telling.plan_texts import require_usable, unusable


class Agents(msgspec.Struct, frozen=True):
    session: Session

    async def create(self, given: NewAgent | None = None, **fields: Any) -> ShownAgent:
        new = made(NewAgent, given, fields)
        agent_id = AgentId(new.agent_id or self.session.world.new_id())
        wanted = [(kind, id_, AssignmentId(self.session.world.new_id())) for kind, id_ in _wanted(new)]

        async def program(work: Work) -> ShownAgent:
            tools = (await connected(work, self.session)).tools
            await self._check_models(work, new.model, *new.fallback_models)
            await require_usable(work, new.sgr)
            if await work.agents.find(agent_id):
                raise Conflict(
                    phrased(
                        "There is an agent %(id)s already. Choose another agentId, or change that one.",
                        id=repr(agent_id),
                    )
                )
            agent = Agent(
                agent_id=agent_id,
                **new.model_dump(exclude={"agent_id", "instructions", "parameters", "guard", "sgr", "budget"}),
                parameters=new.parameters,
                guard=new.guard,
                sgr=new.sgr,
                budget=new.budget,
                owner=self.session.caller.owner,
                created_at=work.now,
                updated_at=work.now,
                revision=1,
            )
            await work.agents.add(agent)
            await note(work, self.session.caller, "agent.created", agentId=agent_id)
            for kind, id_, assignment_id in wanted:
                await _give(work, self.session.caller, agent_id, kind, NewAssignment(instruction_id=id_), assignment_id)
            return await self._shown(work, agent, tools)

        return await self.session.write(program)

    async def get(self, agent_id: AgentId) -> ShownAgent:
        async def program(work: Work) -> ShownAgent:
            agent = await found(work, agent_id)
            compiled = await effective_now(work, self.session.compilations, agent_id)
            tools = (await connected(work, self.session)).tools
            return self._told(agent, _brief(compiled.told.speakers), tools)

        return await self.session.read(program)

    async def change(
        self, agent_id: AgentId, given: AgentChange | None = None, if_match: IfMatch = None, **fields: Any
    ) -> ShownAgent:
        change = made(AgentChange, given, fields)

        async def program(work: Work) -> ShownAgent:
            agent = await found(work, agent_id)
            check(if_match, agent.etag)
            news = told(change)
            tools = (await connected(work, self.session)).tools
            await self._check_models(work, news.get("model"), *news.get("fallback_models", ()))
            await require_usable(work, news.get("sgr"))
            if agent.model_copy(update=news) == agent:
                return await self._shown(work, agent, tools)
            changed = agent.model_copy(update=news | {"updated_at": work.now, "revision": agent.revision + 1})
            await work.agents.replace(changed)
            await note(work, self.session.caller, "agent.changed", agentId=agent_id, fields=sorted(news))
            return await self._shown(work, changed, tools)

        return await self.session.write(program)

    async def _shown(self, work: Work, agent: Agent, tools: Tools) -> ShownAgent:
        """With its instructions in brief: the first that speaks as system and as behavior, and all the tasks."""
        return self._told(agent, _brief(await _spoken_to(work, agent.agent_id)), tools)

    def _told(self, agent: Agent, instructions: AgentInstructions, tools: Tools) -> ShownAgent:
        warnings = unknown_tools(agent.tools, (*tools.names, START))
        if self.session.means.guardian is None:
            warnings += unguarded(agent.guard)
        return ShownAgent(**dict(agent), instructions=instructions, warnings=warnings)

    async def _check_models(self, work: Work, *names: str | None) -> None:
        """A name that can be no model's is refused when it is written, not when someone waits for an answer."""
        wanted = [name for name in names if name]
        if wanted:
            models = (await connected(work, self.session)).models
            for name in wanted:
                models.check(name)

    async def problems(self, change: AgentChange) -> dict[str, PreceptorError]:
        """What is wrong with a change of models and plans, by the field as the API names it. Nothing is changed."""

        async def program(work: Work) -> dict[str, PreceptorError]:
            found = dict[str, PreceptorError]()
            fallbacks = {f"fallbackModels.{place}": name for place, name in enumerate(change.fallback_models or ())}
            for field, name in {"model": change.model, **fallbacks}.items():
                try:
                    await self._check_models(work, name)
                except Invalid as problem:
                    found[field] = problem
            for action, problem in (await unusable(work, change.sgr)).items():
                found[f"sgr.templateInstructions.{to_camel(action.value)}"] = problem
            return found

        return await self.session.read(program)

    async def tools(self) -> tuple[ToolSpec, ...]:
        """All that an agent of this organisation can be given now. An agent keeps names that mean nothing yet."""

        async def program(work: Work) -> tuple[ToolSpec, ...]:
            tools = (await connected(work, self.session)).tools
            return *tools.specs(tools.names), START_SPEC

        return await self.session.read(program)

    async def page(self, cursor: str | None = None, limit: int = 50) -> Page[Agent]:
        async def program(work: Work) -> Page[Agent]:
            return page_of(await work.agents.page(position_of(cursor), limit + 1), limit, lambda agent: agent.agent_id)

        return await self.session.read(program)


async def found(work: Work, agent_id: AgentId) -> Agent:
    agent = await work.agents.find(agent_id)
    if agent is None:
        raise NotFound("agent", agent_id)
    return agent


def _wanted(new: NewAgent) -> list[tuple[InstructionType, str]]:
    brief = new.instructions or AgentInstructions()
    by_type = {
        InstructionType.SYSTEM: (brief.system_instruction_id,),
        InstructionType.TASK: brief.task_instruction_ids,
        InstructionType.BEHAVIOR: (brief.behavior_instruction_id,),
    }
    return [(kind, id_) for kind, ids in by_type.items() for id_ in ids if id_ is not None]


async def _give(
    work: Work,
    caller: Caller,
    agent_id: AgentId,
    kind: InstructionType,
    new: NewAssignment,
    assignment_id: AssignmentId,
) -> None:
    version = await meant(work, await assign(work, caller, agent_id, new, assignment_id))
    if version is not None and version.type is not kind:
        raise Invalid(f"{new.instruction_id} is a {version.type} instruction, and here one of type {kind} is wanted.")


async def _spoken_to(work: Work, agent_id: AgentId) -> list[Assignment]:
    presents = await present(work, Compilations(), agent_id)
    return sorted((one for one in speaking(presents) if one.is_active and speaks(one)), key=turn)


def _brief(speakers: Sequence[Assignment]) -> AgentInstructions:
    ids = {
        kind: [one.version.instruction_id for one in speakers if one.version.type is kind] for kind in InstructionType
    }
    return AgentInstructions(
        system_instruction_id=next(iter(ids[InstructionType.SYSTEM]), None),
        task_instruction_ids=tuple(ids[InstructionType.TASK]),
        behavior_instruction_id=next(iter(ids[InstructionType.BEHAVIOR]), None),
    )
