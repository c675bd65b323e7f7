"""Policing: which guard and planning policies a turn is pinned to."""

from typing import Any

from preceptor.domain.agents import Agent
from preceptor.domain.errors import Invalid, phrased
from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.images import images_of
from preceptor.domain.reasoning.policy import GuardPolicy, SgrPolicy
from preceptor.domain.reasoning.verdict import Mode
from preceptor.domain.turns.facts import Pins
from preceptor.domain.value import told
from preceptor.engine.means.means import Means
from preceptor.engine.ports import ChatModel

PICTURES = phrased(
    "The safety check reads words only, so it lets no picture through. Describe it in words, or have an administrator "
    "allow pictures for this agent (`guard.images`)."
)


def guarded(means: Means, agent: Agent, model: ChatModel) -> dict[str, Any]:
    """The pins that say how a turn is guarded and planned: as all are, where the agent has no other policy."""
    guard = guard_of(means, agent)
    sgr = planned_by(means, agent)
    plan_model = means.plan_model
    capable = (means.models.find(plan_model) if plan_model else model).capabilities.plans
    return {
        "guard": guard.model_dump(mode="json") if guard.enabled and means.guardian is not None else {},
        "sgr": sgr.model_dump(mode="json") if sgr.plans_with(capable=capable) else {},
        "plan_model": plan_model or agent.model or means.models.default,
        "language": agent.language or means.language,
    }


def planned_by(means: Means, agent: Agent) -> SgrPolicy:
    return means.sgr.model_copy(update=told(agent.sgr) if agent.sgr else {})


def guard_of(means: Means, agent: Agent) -> GuardPolicy:
    return means.guard.model_copy(update=told(agent.guard) if agent.guard else {})


def refuse_unjudged(pins: Pins, message: Message) -> None:
    """A guardian reads words. In enforce a picture, which nobody judges, comes no further unless the policy says so."""
    policy = GuardPolicy.model_validate(pins.guard) if pins.guard else None
    if policy is None or policy.mode is not Mode.ENFORCE or policy.images:
        return
    if any(images_of([message])):
        raise Invalid(PICTURES)
