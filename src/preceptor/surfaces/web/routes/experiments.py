"""/experiments: what is compared, what it has shown so far, and making one arm what all are told."""

from typing import Annotated

import msgspec
from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from msgspec.structs import replace

from preceptor.app import Preceptor
from preceptor.domain.errors import Invalid, PreceptorError
from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.experiment import Experiment, Status
from preceptor.domain.experiments.forecast import retold
from preceptor.domain.ids import ExperimentId
from preceptor.domain.ownership import Permission
from preceptor.engine.experiments import Experiments
from preceptor.surfaces.rest.parameters import Cursor, Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.failures import status_of
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Pages, TheForm
from preceptor.surfaces.web.rendering import Call, further, look, page, with_query
from preceptor.surfaces.web.views.charts import cumulative, forest
from preceptor.surfaces.web.views.diff import Block, compared

router = Pages("/experiments")
API = "/api/instructions/experiments"
AT_ONCE, SAMPLES = 25, 5
Words = Annotated[str, Query(max_length=128)]
WORDS = {
    "draft": msg("draft"),
    "running": msg("running"),
    "stopped": msg("stopped"),
    "ended": msg("over"),
    "promoted": msg("promoted"),
    "guardrail_broken": msg("what was guarded was harmed"),
    "control": msg("control"),
    "variant": msg("variant"),
    "conversation": msg("conversation"),
    "user": msg("user"),
    "primary": msg("decides"),
    "guardrail": msg("guarded"),
    "other": msg("also measured"),
}
HUES = {"running": "accent", "promoted": "ok", "stopped": "specialist", "ended": "compression"}
LIGHTS = {
    "green": ("ok", msg("in order")),
    "yellow": ("specialist", msg("to be watched")),
    "red": ("danger", msg("wrong")),
}


class Promotion(msgspec.Struct, frozen=True):
    """What promoting an arm would change for an agent."""

    agent_id: str
    blocks: list[Block]


@router.get("")
@needs(Permission.EXPERIMENT_RUN)
async def show_all(request: Request, preceptor: ThePreceptor, status: Words = "", cursor: Cursor = None) -> Response:
    wanted = Status(status) if status in set(Status) else None
    found = await preceptor.experiments.page(wanted, cursor, AT_ONCE)
    chosen, language = {"status": wanted.value} if wanted else {}, look(request).language
    return page(
        request,
        "experiments.html",
        here="experiments",
        call=Call(with_query(API, chosen)),
        experiments=found.items,
        statuses=tuple(Status),
        wanted=wanted,
        words=WORDS,
        hues=HUES,
        foreseen={one.experiment_id: retold(one.power, one.duration, language).sentence for one in found.items},
        more=further(found, chosen),
    )


@router.get("/{experiment_id}")
@needs(Permission.EXPERIMENT_RUN)
async def show(experiment_id: Name, request: Request, preceptor: ThePreceptor, metric: Words = "") -> Response:
    return await _page(request, preceptor, experiment_id, metric)


@router.post("/{experiment_id}/start")
@needs(Permission.EXPERIMENT_RUN)
async def start(experiment_id: Name, request: Request, preceptor: ThePreceptor) -> Response:
    try:
        await preceptor.experiments.start(ExperimentId(experiment_id))
    except PreceptorError as error:
        return await _page(request, preceptor, experiment_id, problem=error)
    return RedirectResponse(f"/experiments/{experiment_id}", 303)


@router.post("/{experiment_id}/stop")
@needs(Permission.EXPERIMENT_RUN)
async def stop(experiment_id: Name, request: Request, preceptor: ThePreceptor) -> Response:
    try:
        await preceptor.experiments.stop(ExperimentId(experiment_id))
    except PreceptorError as error:
        return await _page(request, preceptor, experiment_id, problem=error)
    return RedirectResponse(f"/experiments/{experiment_id}", 303)


@router.post("/{experiment_id}/promote")
@needs(Permission.EXPERIMENT_RUN)
async def promote(experiment_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Show what it would change or, with `do=save`, make it so."""
    try:
        if form.one("arm") not in set(Arm):
            raise Invalid(msg("Say which arm is to be promoted: control or variant."))
        if form.one("do") != "save":
            return await _page(request, preceptor, experiment_id, promoting=Arm(form.one("arm")))
        await preceptor.experiments.promote(ExperimentId(experiment_id), Arm(form.one("arm")))
    except PreceptorError as error:
        return await _page(request, preceptor, experiment_id, problem=error)
    return RedirectResponse(f"/experiments/{experiment_id}", 303)


@router.get("/{experiment_id}/conversations")
@needs(Permission.EXPERIMENT_RUN)
async def show_conversations(
    experiment_id: Name,
    request: Request,
    preceptor: ThePreceptor,
    arm: Words = "",
    metric: Words = "",
    cursor: Cursor = None,
) -> Response:
    """What a number is made of."""
    named = ExperimentId(experiment_id)
    experiment = await preceptor.experiments.get(named)
    chosen = Arm(arm) if arm in set(Arm) else None
    found = await preceptor.experiments.conversations(named, chosen, cursor, AT_ONCE)
    kept = {name: value for name, value in (("arm", chosen and chosen.value), ("metric", metric)) if value}
    asked = {"arm": chosen.value} if chosen else {}
    return page(
        request,
        "experiment_conversations.html",
        here="experiments",
        call=Call(with_query(f"{API}/{experiment_id}/conversations", asked)),
        it=experiment,
        conversations=found.items,
        names=await preceptor.glances.names(one.conversation_id for one in found.items),
        arm=chosen,
        arms=tuple(Arm),
        metric=metric or experiment.primary_metric,
        words=WORDS,
        more=further(found, kept),
    )


async def _page(
    request: Request,
    preceptor: Preceptor,
    experiment_id: str,
    metric: str = "",
    *,
    promoting: Arm | None = None,
    problem: PreceptorError | None = None,
) -> Response:
    named = ExperimentId(experiment_id)
    experiment = await preceptor.experiments.get(named)
    results = await _speaking(preceptor, look(request).language).results(named)
    samples = {arm: (await preceptor.experiments.conversations(named, arm, None, SAMPLES)).items for arm in Arm}
    series = {one.metric: one for one in (await preceptor.experiments.series(named)).metrics}
    chosen = metric if metric in series else experiment.primary_metric
    return page(
        request,
        "experiment.html",
        status=status_of(problem),
        here="experiments",
        call=Call(f"{API}/{experiment_id}/results"),
        it=experiment,
        results=results,
        reached=sum(arm.units for arm in results.arms),
        forest=forest(results),
        metric=chosen,
        metrics=tuple(series),
        drawn=cumulative(series[chosen]) if chosen in series else None,
        samples=samples,
        names=await preceptor.glances.names(one.conversation_id for arm in Arm for one in samples[arm]),
        promoting=promoting,
        promotions=await _promotions(preceptor, experiment, promoting) if promoting else (),
        problem=problem,
        words=WORDS,
        hues=HUES,
        lights=LIGHTS,
    )


def _speaking(preceptor: Preceptor, language: str) -> Experiments:
    """What it came to, told in the language of the page instead of the installation's."""
    session = preceptor.session
    return replace(preceptor.experiments, session=replace(session, given=replace(session.means, language=language)))


async def _promotions(preceptor: Preceptor, experiment: Experiment, arm: Arm) -> tuple[Promotion, ...]:
    found: list[Promotion] = []
    for agent_id in experiment.agent_ids if experiment.versions else ():
        now = await preceptor.guidance.told(agent_id, None)
        then = await preceptor.experiments.told(experiment.experiment_id, agent_id, arm)
        blocks = compared(now.rendered.prompt.splitlines(), then.rendered.prompt.splitlines())
        found.append(Promotion(agent_id, blocks))
    return tuple(found)
