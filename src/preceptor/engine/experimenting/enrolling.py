"""Enrolling: which arms a turn is in, found when it is accepted, and what it is told and taken with there.

For agents without experiments nothing is looked up: which run is kept until the audit trail grows.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from preceptor.domain.agents import Agent
from preceptor.domain.conversations.conversation import Conversation, VersionPolicy
from preceptor.domain.experiments.assigning import PURPOSE, Arm, arm_of
from preceptor.domain.experiments.exposure import Enrolment
from preceptor.domain.ids import AgentId, InstructionId
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.reasoning.policy import SgrPolicy
from preceptor.domain.value import told
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.compiled import Compilations, Compiled, Told
from preceptor.engine.telling.documents import with_documents
from preceptor.engine.telling.effective import Present, effective_now, foreign, present, speaking, unresolved
from preceptor.engine.telling.keeping import held_to
from preceptor.engine.turn.policing import planned_by

if TYPE_CHECKING:
    from preceptor.domain.experiments.experiment import EngineSettings, Experiment, SettingArms, VersionArms


class Placed(NamedTuple):
    """An experiment that runs, and the arm that a unit is in."""

    experiment: "Experiment"
    unit: str
    arm: Arm

    @property
    def settings(self) -> "EngineSettings | None":
        arms = self.experiment.settings
        return None if arms is None else settings_of(arms, self.arm)


class Enrolled(msgspec.Struct, frozen=True):
    """An agent as it is in its arms."""

    agent: Agent
    compiled: Compiled
    enrolments: tuple[Enrolment, ...] = ()
    arms: str = ""
    """Names them, so that what is made for one arm is not used for another."""

    @property
    def pins(self) -> dict[str, Any]:
        return {"experiments": self.enrolments} if self.enrolments else {}


async def enroll(work: Work, session: Session, agent: Agent, conversation: Conversation) -> Enrolled:
    """What the agent is told and taken with in this conversation, with the experiments that it is part of."""
    cache = session.compilations
    usual = await effective_now(work, cache, agent.agent_id)
    if conversation.version_policy is not VersionPolicy.FOLLOW and (held := await held_to(work, usual, conversation)):
        return Enrolled(agent, held, arms=f"as told in {held.told.hash}")
    running = [one for one in await _running(work, cache, usual) if one.is_on(work.now)]
    if not running:
        return Enrolled(agent, usual)
    placed = [_placed(session, one, conversation) for one in running]
    arms = " ".join(f"{one.experiment.experiment_id}:{one.arm}" for one in placed)
    spoken = await _in_arms(work, cache, usual, placed, arms)
    taken = agent
    for one in placed:
        taken = with_settings(taken, one.settings)
    enrolments = tuple(_enrolment(session, taken, one) for one in placed)
    return Enrolled(taken, spoken, enrolments, arms)


def settings_of(arms: "SettingArms", arm: Arm) -> "EngineSettings":
    return arms.variant if arm is Arm.VARIANT else arms.control


def with_settings(agent: Agent, settings: "EngineSettings | None") -> Agent:
    """The agent with another model, way of planning or parameters, as far as the settings name them."""
    if settings is None:
        return agent
    news: dict[str, Any] = {}
    if settings.model is not None:
        news["model"] = settings.model
    if settings.sgr is not None:
        news["sgr"] = SgrPolicy(**((told(agent.sgr) if agent.sgr else {}) | told(settings.sgr)))
    if settings.parameters is not None:
        news["parameters"] = settings.parameters.over(agent.parameters)
    return agent.model_copy(update=news) if news else agent


def in_arm(
    presents: Sequence[Present], arms: "VersionArms", arm: Arm, versions: Mapping[InstructionId, InstructionVersion]
) -> list[Present]:
    """What an agent is given, with the arm's version in the place of whatever its assignment follows."""
    wanted, control = arms.of(arm), arms.control.family_id
    version = versions.get(wanted.instruction_id)
    rest = [one for one in presents if one.assigned.family_id not in {control, wanted.family_id}]
    held = next((one.assigned for one in presents if one.assigned.family_id == control), None)
    if held is None:
        return rest
    row = held.model_copy(update={"family_id": wanted.family_id, "instruction_id": wanted.instruction_id})
    place = next(at for at, one in enumerate(presents) if one.assigned.family_id == control)
    before = [one for one in presents[:place] if one in rest]
    return [*before, Present(row, version), *rest[len(before) :]]


async def told_in(
    work: Work, cache: Compilations, agent_id: AgentId, arms: "Sequence[tuple[VersionArms, Arm]]"
) -> tuple[list[Present], Told]:
    """What an agent is told in these arms."""
    presents = await present(work, cache, agent_id)
    named = [versions.of(arm).instruction_id for versions, arm in arms]
    found = await work.instructions.named(named) if named else {}
    for versions, arm in arms:
        presents = in_arm(presents, versions, arm, found)
    alone = Told.by(agent_id, speaking(presents), unresolved(presents))
    return presents, await with_documents(work, alone, foreign(presents))


async def _running(work: Work, cache: Compilations, usual: Compiled) -> "tuple[Experiment, ...]":
    agent_id = usual.told.agent_id
    key = work.org, agent_id
    known = cache.experiments.get(key)
    if known is None or known[0] != usual.head.hash:
        known = usual.head.hash, tuple(await work.experiments.with_agent(agent_id))
        cache.keep_experiments(key, known)
    return known[1]


async def _in_arms(work: Work, cache: Compilations, usual: Compiled, placed: Sequence[Placed], arms: str) -> Compiled:
    chosen = [(one.experiment.versions, one.arm) for one in placed if one.experiment.versions is not None]
    if not chosen:
        return usual
    agent_id = usual.told.agent_id
    key = work.org, agent_id, arms
    known = cache.arms.get(key)
    if known is not None and known[0] == usual.head.hash:
        return known[1]
    _, told = await told_in(work, cache, agent_id, chosen)
    spoken = Compiled(told, head=usual.head)
    cache.keep_arm(key, (usual.head.hash, spoken))
    return spoken


def _placed(session: Session, experiment: "Experiment", conversation: Conversation) -> Placed:
    from preceptor.domain.experiments.experiment import UnitKind

    by_user = experiment.unit is UnitKind.USER
    unit = conversation.owner.user_id if by_user else conversation.conversation_id
    key = session.seal.sign(b"", PURPOSE).encode()
    return Placed(experiment, unit, arm_of(key, experiment.experiment_id, unit, experiment.split_ratio))


def _enrolment(session: Session, agent: Agent, placed: Placed) -> Enrolment:
    experiment, arm = placed.experiment, placed.arm
    versions, settings = experiment.versions, experiment.settings
    return Enrolment(
        experiment_id=experiment.experiment_id,
        arm=arm,
        unit=placed.unit,
        shows=versions and versions.of(arm).instruction_id,
        instead=versions and versions.of(arm.other).instruction_id,
        settings={} if settings is None else _expected(session, agent, settings),
    )


def _expected(session: Session, agent: Agent, arms: "SettingArms") -> dict[str, Any]:
    """What a turn in this arm is taken with, of all that the two arms may differ in."""
    means, both = session.means, (arms.control, arms.variant)
    expected: dict[str, Any] = {}
    if any(one.model is not None for one in both):
        expected["model"] = agent.model or means.models.default
    control, variant = ({} if one.sgr is None else one.sgr.model_dump(mode="json", exclude_unset=True) for one in both)
    if named := {name for name in control | variant if control.get(name) != variant.get(name)}:
        policy = planned_by(means, agent).model_dump(mode="json")
        expected["sgr"] = {name: policy[name] for name in sorted(named)}
    if named := {name for one in both if one.parameters for name in one.parameters.model_dump(mode="json")}:
        said = {} if agent.parameters is None else agent.parameters.model_dump(mode="json")
        expected["parameters"] = {name: said.get(name) for name in sorted(named)}
    return expected
