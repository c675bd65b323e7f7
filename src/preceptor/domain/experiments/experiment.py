"""Experiments: between two versions of instructions, or between two settings of the engine."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from preceptor.domain.agents import ModelName
from preceptor.domain.errors import Invalid, phrased
from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.metrics import RATING, MetricName
from preceptor.domain.ids import AgentId, ExperimentId, FamilyId, InstructionId
from preceptor.domain.instructions.version import WrittenPin
from preceptor.domain.orgs import Name
from preceptor.domain.ownership import Owner
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.reasoning.policy import SgrPolicy
from preceptor.domain.value import ANY_TEXT, AnyId, Revised, Value, left_out

SETTINGS = FamilyId("")
"""Stands for an agent's settings where experiments are told apart by family: one at a time may change them."""


class Status(StrEnum):
    DRAFT = "draft"
    RUNNING = "running"
    STOPPED = "stopped"
    """By someone, or because a guard-rail was broken."""
    ENDED = "ended"
    """Its time was over."""
    PROMOTED = "promoted"


class UnitKind(StrEnum):
    """What is randomised, and what is analysed."""

    CONVERSATION = "conversation"
    USER = "user"


class EngineSettings(Value):
    """How one arm has its turns taken. What is not said stays as the agent has it."""

    model: ModelName | None = None
    sgr: SgrPolicy | None = Field(default=None, description="How turns are planned; `injection` is part of it.")
    parameters: RequestParameters | None = Field(
        default=None, description="How history is cut, and how models are asked; a message's own outrank these."
    )


class SettingArms(Value):
    control: EngineSettings = EngineSettings.as_declared()
    variant: EngineSettings


class Guardrail(Value):
    """A metric that the variant may not harm by more than `limit`, in the metric's own units."""

    metric: MetricName
    limit: Annotated[float, Field(ge=0, le=1e9)] = 0.0


def _as_object(metric: str | Guardrail) -> Guardrail:
    return metric if isinstance(metric, Guardrail) else Guardrail(metric=metric)


_EITHER: dict[str, JsonValue] = {
    "oneOf": [{"required": ["controlInstructionId", "variantInstructionId"]}, {"required": ["settings"]}]
}
AVersion = Annotated[AnyId, Field(description="Of a version; an instruction means its head.")]
Split = Annotated[float, Field(gt=0, lt=1)]
Hypothesis = Annotated[str, StringConstraints(max_length=2000, pattern=ANY_TEXT)]


class NewExperiment(Value):
    """Two versions, or two settings. The design is frozen when it starts."""

    model_config = ConfigDict(json_schema_extra=_EITHER)

    name: Name
    hypothesis: Hypothesis | None = None
    agent_ids: Annotated[tuple[AnyId, ...], Field(min_length=1, max_length=100)]
    control_instruction_id: AVersion = left_out()
    variant_instruction_id: AVersion = left_out()
    settings: Annotated[SettingArms, Field(description="Engine settings instead of instructions.")] = left_out()
    split_ratio: Split = Field(default=0.5, description="The share of the variant.")
    duration: Annotated[float, Field(gt=0, le=365)] = Field(default=7, description="In days.")
    unit: UnitKind = UnitKind.CONVERSATION
    primary_metric: MetricName = Field(default=RATING, description="The one that decides.")
    guardrails: Annotated[tuple[MetricName | Guardrail, ...], Field(max_length=20)] = ()
    minimum_effect: Annotated[float, Field(gt=0, le=1e9)] | None = Field(
        default=None, description="The smallest difference in the primary metric that would matter."
    )
    status: Literal["draft", "running"] = "running"

    @model_validator(mode="after")
    def _has_two_arms(self) -> Self:
        told = self.model_fields_set
        versions = told & {"control_instruction_id", "variant_instruction_id"}
        if len(versions) == 1 or bool(versions) == ("settings" in told):
            raise ValueError(phrased("say controlInstructionId and variantInstructionId, or else settings"))
        return self

    @property
    def guarded(self) -> tuple[Guardrail, ...]:
        return tuple(map(_as_object, self.guardrails))


class VersionArm(Value):
    """A version that one arm is told."""

    instruction_id: InstructionId
    family_id: FamilyId
    version: str


class VersionArms(Value):
    control: VersionArm
    variant: VersionArm

    def of(self, arm: Arm) -> VersionArm:
        return self.variant if arm is Arm.VARIANT else self.control


class Winner(Value):
    """The arm of an experiment that all its agents are to have."""

    arm: Arm | None = Field(default=None, description="The one that is to be served to all. Default: the variant.")

    def also(self, named: Arm | None) -> Arm:
        """The arm, where it may have been named elsewhere as well."""
        if self.arm is not None and named not in (None, self.arm):
            raise Invalid("One arm is in the body and another in the address. Say which of them you mean.")
        return self.arm or named or Arm.VARIANT


class Displaced(Value):
    """How an agent followed the instruction before the experiment held it at the control."""

    agent_id: AgentId
    pin: WrittenPin
    instruction_id: InstructionId | None = None


class Decision(Value):
    """Who ended it, when, and what the results said then."""

    by: str
    at: AwareDatetime
    because: str
    promoted: Arm | None = None
    verdict: str | None = None


class Power(Value):
    """What it can show. `mde` is the smallest difference it will show, with a power of 80 %."""

    mde: float | None
    in_standard_deviations: bool = Field(description="Whether `mde` is told in those, for want of anything better.")
    units_planned: int | None = Field(description="By the end, at the present traffic.")
    units_needed: int = Field(description="For the effect that is looked for.")
    units_per_day: float | None
    days_to_decision: float | None = Field(description="At the present traffic; null while there is too little of it.")
    decides_in_time: bool | None
    sentence: str


class Experiment(Revised):
    experiment_id: ExperimentId
    name: str
    hypothesis: str | None = None
    status: Status
    agent_ids: tuple[AgentId, ...]
    control_instruction_id: InstructionId | None = None
    variant_instruction_id: InstructionId | None = None
    versions: VersionArms | None = None
    settings: SettingArms | None = None
    split_ratio: float
    duration: float
    unit: UnitKind
    primary_metric: str
    guardrails: tuple[Guardrail, ...] = ()
    minimum_effect: float | None = None
    power: Power
    planned_units: int = Field(description="What its intervals are tuned to; frozen at the start.")
    displaced: tuple[Displaced, ...] = ()
    started_at: AwareDatetime | None = None
    ends_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    decision: Decision | None = None
    owner: Owner
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int = 1

    @property
    def families(self) -> tuple[FamilyId, ...]:
        """What no other experiment may change at the same time."""
        if self.versions is None:
            return (SETTINGS,)
        return tuple(dict.fromkeys((self.versions.control.family_id, self.versions.variant.family_id)))

    @property
    def lasts(self) -> timedelta:
        return timedelta(days=self.duration)

    def is_on(self, now: AwareDatetime) -> bool:
        return self.status is Status.RUNNING and (self.ends_at is None or now < self.ends_at)

    def at(self, now: AwareDatetime) -> "Experiment":
        """As it is by the clock: one whose time is over has ended, also before anyone writes that down."""
        if self.status is not Status.RUNNING or self.is_on(now):
            return self
        return self.model_copy(update={"status": Status.ENDED, "ended_at": self.ends_at})
