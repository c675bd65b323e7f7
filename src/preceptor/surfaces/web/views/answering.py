"""How an agent answers, as a form: the models in place of its own, and who words its plans."""

from collections.abc import Mapping, Sequence

from preceptor.domain.agents import Agent, AgentChange
from preceptor.domain.reasoning.policy import SgrPolicy
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.views.filled import Filled
from preceptor.surfaces.web.views.profiles import in_force, said_by

FALLBACKS, TEMPLATES = "fallbackModels", "sgr.templateInstructions"
MOST_FALLBACKS = 5
ENDS = {
    "normal": msg("It answers"),
    "clarify": msg("It asks back"),
    "block": msg("It declines"),
    "guardianBlock": msg("The guardian steps in"),
}
"""What a plan can come to, as the API names it."""


def answering_of(agent: Agent, everyones: SgrPolicy) -> Filled:
    return _filled(agent.fallback_models, in_force(agent.sgr, everyones).template_instructions.model_dump(mode="json"))


def answers_in(fields: Sequence[tuple[str, str]]) -> Filled:
    said = [(name, value.strip()) for name, value in fields]
    models = [value for name, value in said if name == FALLBACKS and value]
    return _filled(models, {name.removeprefix(f"{TEMPLATES}."): value for name, value in said})


def _filled(fallbacks: Sequence[str], templates: Mapping[str, str | None]) -> Filled:
    """With room for one more model, if there may be one."""
    rows = (*fallbacks, "") if len(fallbacks) < MOST_FALLBACKS else fallbacks
    models = {f"{FALLBACKS}.{place}": name for place, name in enumerate(rows)}
    return Filled(models | {f"{TEMPLATES}.{end}": templates.get(end) or "" for end in ENDS})


def change_of(form: Filled, agent: Agent, everyones: SgrPolicy) -> AgentChange:
    """Where plans are worded as for everyone, its policy says nothing of that; one that says nothing is none."""
    fallbacks = [value for name, value in form.fields.items() if name.startswith(FALLBACKS) and value]
    templates = {end: form.fields[f"{TEMPLATES}.{end}"] for end in ENDS if form.fields[f"{TEMPLATES}.{end}"]}
    named = {"templateInstructions": templates}
    usual = everyones.template_instructions.model_dump(mode="json")
    policy = said_by(agent.sgr) | named
    if named["templateInstructions"] == usual:
        del policy["templateInstructions"]
    return AgentChange.model_validate({"fallbackModels": fallbacks, "sgr": policy or None})
