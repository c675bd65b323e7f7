"""/agents/{id}/effective: what an agent is told, line by line, now or then, and beside another."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import Depends, Query, Request, Response

from preceptor.app import Preceptor
from preceptor.domain.errors import Invalid
from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.experiment import Experiment, Status
from preceptor.domain.ids import AgentId, ExperimentId
from preceptor.domain.ownership import Permission
from preceptor.engine.telling.compiled import Told
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Pages
from preceptor.surfaces.web.rendering import Call, look, page, with_query
from preceptor.surfaces.web.views.diff import changes_in, compared
from preceptor.surfaces.web.views.told import sections

router = Pages("/agents")
Words = Annotated[str, Query(max_length=128)]
MOST = 200
Against = Annotated[str, Query(alias="with", max_length=128)]


class Asked(msgspec.Struct, frozen=True):
    """`with_` and `then` name another agent and another moment to compare with, `arm` an experiment: `ID:variant`."""

    at: str
    with_: str
    then: str
    arm: str


async def _asked(at: Words = "", with_: Against = "", then: Words = "", arm: Words = "") -> Asked:
    return Asked(at, with_, then, arm)


TheAsked = Annotated[Asked, Depends(_asked)]


@router.get("/{agent_id}/effective")
@needs(Permission.INSTRUCTION_READ)
async def show(agent_id: Name, request: Request, preceptor: ThePreceptor, asked: TheAsked) -> Response:
    agent = await preceptor.agents.get(AgentId(agent_id))
    moment = moment_of(asked.at)
    told = await preceptor.guidance.told(agent.agent_id, moment)
    count = preceptor.session.means.models.counter(agent.model).count
    other = await _other(preceptor, agent.agent_id, asked)
    blocks = compared(told.rendered.prompt.splitlines(), other.rendered.prompt.splitlines()) if other else []
    when = {"at": moment.isoformat().replace("+00:00", "Z")} if moment else {}
    return page(
        request,
        "agent_effective.html",
        here="agents",
        call=Call(with_query(f"/api/agents/{agent_id}/instructions/effective", when)),
        agent=agent,
        against=await preceptor.agents.get(AgentId(asked.with_)) if asked.with_ and not asked.arm else agent,
        at=asked.at,
        then=asked.then,
        with_=asked.with_,
        arm=asked.arm,
        experiments=await _experiments(request, preceptor, agent.agent_id),
        told=sections(told),
        remark="",
        shown=told.shown,
        tokens=count(told.rendered.prompt),
        speakers=told.speakers,
        other=other,
        other_tokens=count(other.rendered.prompt) if other else 0,
        blocks=blocks,
        changes=changes_in(blocks),
        agents=(await preceptor.agents.page(limit=200)).items,
    )


async def _experiments(request: Request, preceptor: Preceptor, agent_id: AgentId) -> list[Experiment]:
    """Those that this agent takes part in, for whoever may see them."""
    if not look(request).may(Permission.EXPERIMENT_RUN):
        return []
    found = (await preceptor.experiments.page(Status.RUNNING, limit=MOST)).items
    return [one for one in found if agent_id in one.agent_ids and one.versions is not None]


async def _other(preceptor: Preceptor, agent_id: AgentId, asked: Asked) -> Told | None:
    if asked.arm:
        return await _in_arm(preceptor, agent_id, asked.arm)
    if asked.with_ or asked.then:
        return await preceptor.guidance.told(AgentId(asked.with_ or agent_id), moment_of(asked.then))
    return None


async def _in_arm(preceptor: Preceptor, agent_id: AgentId, arm: str) -> Told:
    preceptor.session.caller.require(Permission.EXPERIMENT_RUN)
    experiment_id, _, named = arm.partition(":")
    if named not in set(Arm):
        raise Invalid(msg("That is not an arm. Write it as EXPERIMENT:control or EXPERIMENT:variant."))
    return await preceptor.experiments.told(ExperimentId(experiment_id), agent_id, Arm(named))


def moment_of(text: str) -> datetime | None:
    """As a browser's field writes it, or as the API does; without a zone it is UTC."""
    if not text.strip():
        return None
    try:
        found = datetime.fromisoformat(text.strip().replace(" ", "T"))
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid(msg("That is not a moment. Write it as 2030-01-31T12:00.")) from None
