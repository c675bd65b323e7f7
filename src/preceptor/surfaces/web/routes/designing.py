"""/experiments/new: the design of an experiment, with what it would take to decide."""

from typing import Any

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from pydantic import TypeAdapter, ValidationError

from preceptor.app import Preceptor
from preceptor.domain.errors import Invalid, PreceptorError
from preceptor.domain.experiments.experiment import NewExperiment, UnitKind
from preceptor.domain.experiments.forecast import forecast
from preceptor.domain.experiments.metrics import MetricName, metric_of
from preceptor.domain.instructions.content import checked
from preceptor.domain.ownership import Permission
from preceptor.engine.instructions import Wanted
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.failures import status_of
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Pages, TheForm
from preceptor.surfaces.web.rendering import PART, Call, look, page
from preceptor.surfaces.web.routes.experiments import API, WORDS
from preceptor.surfaces.web.views.editing import number, pointed
from preceptor.surfaces.web.views.measures import MEASURED

router = Pages("/experiments")
MOST = 200
FIELDS = (
    "name",
    "hypothesis",
    "control",
    "variant",
    "controlModel",
    "variantModel",
    "split",
    "days",
    "unit",
    "metric",
    "effect",
    "guardrails",
)
USUAL = {"split": "0.5", "days": "7", "unit": UnitKind.CONVERSATION.value, "metric": "rating"}
NOTHING = msg("Say what is compared: two versions of an instruction, or two models.")
UNREADABLE = msg("One of the numbers cannot be read.")
BEYOND = msg("The share lies between 0 and 1, the days between 0 and 365, and the difference above 0.")
_METRIC: TypeAdapter[str] = TypeAdapter(MetricName)


@router.get("/new")
@needs(Permission.EXPERIMENT_RUN)
async def show_new(request: Request, preceptor: ThePreceptor) -> Response:
    """What is known already is in the address: `control`, `variant`, `agent`, and the other fields."""
    given = {name: request.query_params.get(name, "")[:2000] for name in FIELDS}
    usual = USUAL | {"split": look(request).speaker.fraction(USUAL["split"])}
    fields = {name: value or usual.get(name, "") for name, value in given.items()}
    return await _form(request, preceptor, fields, tuple(request.query_params.getlist("agent")[:100]))


@router.post("")
@needs(Permission.EXPERIMENT_RUN)
async def create(request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """As a draft, or started at once. With `do=preview`: what it would take, and nothing is kept."""
    fields = {name: form.one(name).strip() for name in FIELDS}
    agents = form.all("agent")
    if form.one("do") == "preview" or PART in request.headers:
        return await _form(request, preceptor, fields, agents)
    wish = _wish(fields, agents) | {"status": "running" if form.one("do") == "start" else "draft"}
    if not any(fields[name] for name in ("control", "variant", "controlModel", "variantModel")):
        return await _form(request, preceptor, fields, agents, Invalid(NOTHING))
    try:
        made = await preceptor.experiments.create(checked(NewExperiment, wish))
    except PreceptorError as error:
        return await _form(request, preceptor, fields, agents, error)
    return RedirectResponse(f"/experiments/{made.experiment_id}", 303)


def _wish(fields: dict[str, str], agents: tuple[str, ...]) -> dict[str, Any]:
    wish: dict[str, Any] = {
        "name": fields["name"],
        "agentIds": list(agents),
        "splitRatio": number(fields["split"]),
        "duration": number(fields["days"]),
        "unit": fields["unit"],
        "primaryMetric": fields["metric"],
        "guardrails": fields["guardrails"].replace(",", " ").split(),
    }
    wish |= {"hypothesis": fields["hypothesis"]} if fields["hypothesis"] else {}
    wish |= {"minimumEffect": number(fields["effect"])} if fields["effect"] else {}
    models = {arm: {"model": fields[f"{arm}Model"]} for arm in ("control", "variant") if fields[f"{arm}Model"]}
    if models and not fields["control"] and not fields["variant"]:
        return wish | {"settings": {"variant": {}} | models}
    arms = {f"{arm}InstructionId": fields[arm] for arm in ("control", "variant") if fields[arm]}
    return wish | arms | ({"settings": models} if models else {})


def _needed(fields: dict[str, str], language: str) -> tuple[str, str]:
    """How many units it takes, as a sentence; or what is wrong with the numbers."""
    try:
        split, days = float(pointed(fields["split"])), float(pointed(fields["days"]))
        effect = float(pointed(fields["effect"])) if fields["effect"] else None
        deviation = metric_of(_METRIC.validate_python(fields["metric"])).deviation
    except (ValueError, ValidationError):
        return "", UNREADABLE
    if not 0 < split < 1 or not 0 < days <= 365 or (effect is not None and not 0 < effect <= 1e9):
        return "", BEYOND
    told = forecast(split=split, duration=days, effect=effect, deviation=deviation, per_day=None, language=language)
    return told.sentence, ""


async def _form(
    request: Request,
    preceptor: Preceptor,
    fields: dict[str, str],
    agents: tuple[str, ...],
    problem: PreceptorError | None = None,
) -> Response:
    needed, remark = _needed(fields, look(request).language)
    library = (await preceptor.instructions.page(Wanted(), limit=MOST)).items
    return page(
        request,
        "experiment_new.html",
        status=status_of(problem),
        here="experiments",
        call=Call(API, "POST", _wish(fields, agents)),
        fields=fields,
        chosen=agents,
        agents=(await preceptor.agents.page(limit=MOST)).items,
        versions=await _versions(preceptor, [one.family_id for one in library]),
        measured=MEASURED,
        units=tuple(UnitKind),
        words=WORDS,
        needed=needed,
        remark=remark,
        problem=problem,
    )


async def _versions(preceptor: Preceptor, families: list[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each instruction with its versions, newest first: a name, and the id and number of each."""
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for family in families:
        versions = (await preceptor.instructions.versions(family)).items
        if versions[0].type.value != "template":
            found.append((versions[0].name, [(one.instruction_id, str(one.version)) for one in versions]))
    return found
