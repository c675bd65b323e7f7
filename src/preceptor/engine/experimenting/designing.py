"""Designing experiments: what two arms mean, whether they can be told apart, and whether they can ever decide."""

from collections.abc import Iterable
from datetime import timedelta

from preceptor.domain.agents import Agent
from preceptor.domain.errors import Conflict, Invalid, phrased
from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.experiment import (
    Experiment,
    NewExperiment,
    Power,
    Status,
    UnitKind,
    VersionArm,
    VersionArms,
)
from preceptor.domain.experiments.exposure import versions_in
from preceptor.domain.experiments.forecast import forecast
from preceptor.domain.experiments.metrics import metric_of
from preceptor.domain.ids import AgentId, ExperimentId, InstructionId
from preceptor.domain.instructions.lifecycle import IN_FORCE
from preceptor.engine.agents import found as found_agent
from preceptor.engine.connecting import connected
from preceptor.engine.experimenting.enrolling import settings_of, told_in, with_settings
from preceptor.engine.library.shelf import found as found_instruction
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.compiled import Compilations
from preceptor.engine.telling.voice import sources_of

LOOKED_BACK = timedelta(days=14)
"""How far back traffic is counted, to say how long an experiment will take."""


async def drafted(work: Work, session: Session, new: NewExperiment, experiment_id: ExperimentId) -> Experiment:
    agents = [await found_agent(work, AgentId(one)) for one in dict.fromkeys(new.agent_ids)]
    told = new.model_fields_set
    versions = await _versions(work, new) if "control_instruction_id" in told else None
    settings = new.settings if "settings" in told else None
    power = await power_of(work, session, new, [one.agent_id for one in agents])
    return Experiment(
        experiment_id=experiment_id,
        name=new.name,
        hypothesis=new.hypothesis,
        status=Status.DRAFT,
        agent_ids=tuple(one.agent_id for one in agents),
        control_instruction_id=versions and versions.control.instruction_id,
        variant_instruction_id=versions and versions.variant.instruction_id,
        versions=versions,
        settings=settings,
        split_ratio=new.split_ratio,
        duration=new.duration,
        unit=new.unit,
        primary_metric=new.primary_metric,
        guardrails=new.guarded,
        minimum_effect=new.minimum_effect,
        power=power,
        planned_units=power.units_planned or power.units_needed,
        owner=session.caller.owner,
        created_at=work.now,
        updated_at=work.now,
    )


async def power_of(work: Work, session: Session, new: NewExperiment | Experiment, agents: Iterable[AgentId]) -> Power:
    traffic = [await work.exposures.traffic(one, work.now - LOOKED_BACK) for one in agents]
    units = sum(users if new.unit is UnitKind.USER else conversations for conversations, users in traffic)
    return forecast(
        split=new.split_ratio,
        duration=new.duration,
        effect=new.minimum_effect,
        deviation=metric_of(new.primary_metric).deviation,
        per_day=units / LOOKED_BACK.days or None,
        language=session.means.language,
    )


async def _versions(work: Work, new: NewExperiment) -> VersionArms:
    control = (await found_instruction(work, new.control_instruction_id)).meant
    variant = (await found_instruction(work, new.variant_instruction_id)).meant
    if control.instruction_id == variant.instruction_id:
        raise Invalid(phrased("Both arms are the same version, so no manifest could say which one it shows. Name two."))
    arms = [
        VersionArm(instruction_id=one.instruction_id, family_id=one.family_id, version=str(one.version))
        for one in (control, variant)
    ]
    return VersionArms(control=arms[0], variant=arms[1])


async def require_in_force(work: Work, arm: VersionArm) -> None:
    version = (await found_instruction(work, InstructionId(arm.instruction_id))).meant
    if version.status not in IN_FORCE:
        raise Conflict(
            phrased(
                "The version %(version)s is %(status)s, and agents are told active ones. Activate it.",
                version=arm.version,
                status=version.status,
            )
        )


async def require_difference(work: Work, session: Session, experiment: Experiment, agent: Agent) -> None:
    """Each arm must be seen in what models are shown, or no manifest could ever say which one it was."""
    if experiment.settings is not None:
        models = (await connected(work, session)).models
        for arm in Arm:
            models.find(with_settings(agent, settings_of(experiment.settings, arm)).model)
        return
    assert experiment.versions is not None
    for arm in Arm:
        _, told = await told_in(work, Compilations(), agent.agent_id, [(experiment.versions, arm)])
        wanted = experiment.versions.of(arm)
        if wanted.instruction_id not in versions_in(sources_of(told)):
            raise Invalid(
                phrased(
                    "%(agent)s would be told nothing of the version %(version)s: it says nothing, or others say the "
                    "same before it. Give it words of its own.",
                    agent=agent.agent_id,
                    version=wanted.version,
                )
            )
