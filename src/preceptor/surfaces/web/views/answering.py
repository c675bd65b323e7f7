"""How an agent answers, as a form: the models in place of its own, and who words its plans."""

from collections.abc import Mapping, Sequence

import msgspec

from preceptor.domain.agents import Agent, AgentChange
from preceptor.domain.errors import PreceptorError
from preceptor.domain.reasoning.policy import SgrPolicy
from preceptor.surfaces.web.languages import msg
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


class Answering(msgspec.Struct, frozen=True):
    """What stands in the form, and by the name of a field what is wrong with it."""

    fallbacks: tuple[str, ...]
    templates: Mapping[str, str]
    wrong: Mapping[str, PreceptorError] = {}

    @property
    def models(self) -> tuple[str, ...]:
        """With room for one more."""
        return (*self.fallbacks, "")[:MOST_FALLBACKS]


def answering_of(agent: Agent, everyones: SgrPolicy) -> Answering:
    names = in_force(agent.sgr, everyones).template_instructions.model_dump(mode="json")
    return Answering(agent.fallback_models, names)


def answers_in(fields: Sequence[tuple[str, str]]) -> Answering:
    said = [(name, value.strip()) for name, value in fields]
    return Answering(
        tuple(value for name, value in said if name == FALLBACKS and value),
        {end: value for name, value in said for end in ENDS if value and name == f"{TEMPLATES}.{end}"},
    )


def change_of(form: Answering, agent: Agent, everyones: SgrPolicy) -> AgentChange:
    """Where plans are worded as for everyone, its policy says nothing of that; one that says nothing is none."""
    named = {"templateInstructions": dict(form.templates)}
    usual = everyones.template_instructions.model_dump(mode="json")
    policy = said_by(agent.sgr) | named
    if named["templateInstructions"] == usual:
        del policy["templateInstructions"]
    return AgentChange.model_validate({"fallbackModels": list(form.fallbacks), "sgr": policy or None})
