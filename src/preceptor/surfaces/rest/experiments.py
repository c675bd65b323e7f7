"""/api/instructions/experiments"""

from typing import Annotated

from fastapi import Query

from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.experiment import Experiment, NewExperiment, Status, Winner
from preceptor.domain.experiments.results import Results
from preceptor.domain.experiments.series import Series
from preceptor.domain.experiments.shown import ExposedConversation
from preceptor.domain.ids import ExperimentId
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.surfaces.rest.parameters import Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs

router = Api("/api/instructions/experiments", "experiments")
THE_VARIANT = Winner()


@router.post("", status_code=201)
@needs(Permission.EXPERIMENT_RUN)
async def create(new: NewExperiment, preceptor: ThePreceptor) -> Experiment:
    """Compare two versions, or two settings of the engine, with the agents that you name. It starts at once.

    With `status: draft` it waits for `start`. `power` says what it can show, and how long that takes.
    """
    return await preceptor.experiments.create(new)


@router.get("")
@needs(Permission.EXPERIMENT_RUN)
async def page(
    preceptor: ThePreceptor, status: Status | None = None, cursor: Cursor = None, limit: Limit = 50
) -> Page[Experiment]:
    """List experiments, newest first."""
    return await preceptor.experiments.page(status, cursor, limit)


@router.get("/{experiment_id}")
@needs(Permission.EXPERIMENT_RUN)
async def get(experiment_id: Name, preceptor: ThePreceptor) -> Experiment:
    """Read the design of an experiment, and how it stands."""
    return await preceptor.experiments.get(ExperimentId(experiment_id))


@router.post("/{experiment_id}/start")
@needs(Permission.EXPERIMENT_RUN)
async def start(experiment_id: Name, preceptor: ThePreceptor) -> Experiment:
    """Start a draft: its design is frozen, and its agents are held at the control until one arm is promoted."""
    return await preceptor.experiments.start(ExperimentId(experiment_id))


@router.post("/{experiment_id}/stop")
@needs(Permission.EXPERIMENT_RUN)
async def stop(experiment_id: Name, preceptor: ThePreceptor) -> Experiment:
    """Stop an experiment: from now on the control is served."""
    return await preceptor.experiments.stop(ExperimentId(experiment_id))


@router.post("/{experiment_id}/promote")
@needs(Permission.EXPERIMENT_RUN)
async def promote(
    experiment_id: Name,
    preceptor: ThePreceptor,
    said: Winner = THE_VARIANT,
    arm: Annotated[Arm | None, Query(include_in_schema=False)] = None,
) -> Experiment:
    """Make one arm what all agents of the experiment are told: their assignments, or their labels, move there."""
    return await preceptor.experiments.promote(ExperimentId(experiment_id), said.also(arm))


@router.get("/{experiment_id}/results")
@needs(Permission.EXPERIMENT_RUN)
async def results(experiment_id: Name, preceptor: ThePreceptor) -> Results:
    """What an experiment has shown so far, and whether that can be believed. Looking does no harm."""
    return await preceptor.experiments.results(ExperimentId(experiment_id))


@router.get("/{experiment_id}/series")
@needs(Permission.EXPERIMENT_RUN)
async def series(experiment_id: Name, preceptor: ThePreceptor) -> Series:
    """How the results came about: after each day, the difference of each metric with its interval, to be drawn."""
    return await preceptor.experiments.series(ExperimentId(experiment_id))


@router.get("/{experiment_id}/conversations")
@needs(Permission.EXPERIMENT_RUN)
async def conversations(
    experiment_id: Name,
    preceptor: ThePreceptor,
    arm: Arm | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[ExposedConversation]:
    """List the conversations that the results are made of, each with its arm and what came of it."""
    return await preceptor.experiments.conversations(ExperimentId(experiment_id), arm, cursor, limit)
