"""Written by `make docs` from the values that the API takes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from preceptor.domain.executions.execution import NewStep
from preceptor.domain.experiments.experiment import Guardrail, SettingArms
from preceptor.domain.reasoning.routing import Thresholds
from preceptor.domain.replays.replay import Filter, Overrides


class NewExperimentFields(TypedDict):
    """The fields of `NewExperiment`."""

    name: str
    hypothesis: NotRequired[str | None]
    agent_ids: Sequence[str]
    control_instruction_id: NotRequired[str]
    """Of a version; an instruction means its head."""
    variant_instruction_id: NotRequired[str]
    """Of a version; an instruction means its head."""
    settings: NotRequired[SettingArms | Mapping[str, Any]]
    """Engine settings instead of instructions."""
    split_ratio: NotRequired[float]
    """The share of the variant."""
    duration: NotRequired[float]
    """In days."""
    unit: NotRequired[Literal["conversation", "user"]]
    primary_metric: NotRequired[str]
    """The one that decides."""
    guardrails: NotRequired[Sequence[str | Guardrail | Mapping[str, Any]]]
    minimum_effect: NotRequired[float | None]
    """The smallest difference in the primary metric that would matter."""
    status: NotRequired[Literal["draft", "running"]]


class NewExecutionFields(TypedDict):
    """The fields of `NewExecution`."""

    category: NotRequired[str]
    type: NotRequired[str]
    resource_type: NotRequired[str]
    resource_id: NotRequired[str | None]
    steps: Sequence[NewStep | Mapping[str, Any]]
    timeout_seconds: NotRequired[int]


class NewReplayFields(TypedDict):
    """The fields of `NewReplay`."""

    turn_ids: NotRequired[Sequence[str]]
    filter: NotRequired[Filter | Mapping[str, Any]]
    overrides: NotRequired[Overrides | Mapping[str, Any]]
    mode: NotRequired[Literal["step", "trajectory"]]
    replies: NotRequired[Literal["live", "recorded"]]
    concurrency: NotRequired[int]


class TableTestFields(TypedDict):
    """The fields of `TableTest`."""

    facts: Mapping[str, Any]
    agent_id: NotRequired[str | None]
    thresholds: NotRequired[Thresholds | Mapping[str, Any] | None]


class BackTestFields(TypedDict):
    """The fields of `BackTest`."""

    thresholds: NotRequired[Thresholds | Mapping[str, Any] | None]
    opinions: NotRequired[Literal["table", "max"] | None]
    max_clarifications: NotRequired[int | None]
    mode: NotRequired[Literal["enforce", "report"] | None]
    on_error: NotRequired[Literal["block", "continue"] | None]
    levels: NotRequired[Mapping[str, Any]]
    """What a verdict counts as, such as Controversial: Unsafe."""
    agent_id: NotRequired[str | None]
    from_: NotRequired[datetime | str | None]
    to: NotRequired[datetime | str | None]
