"""Written by `make docs` from the values that the API takes."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from preceptor.domain.agents import Budget, WantedInstructions
from preceptor.domain.instructions.effective import Customizations
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.reasoning.policy import GuardPolicy, SgrPolicy


class NewAgentFields(TypedDict):
    """The fields of `NewAgent`."""

    agent_id: NotRequired[str | None]
    """Chosen by you, unique in your organisation."""
    name: str
    role: NotRequired[str]
    capabilities: NotRequired[Sequence[str]]
    permissions: NotRequired[Sequence[str]]
    model: NotRequired[str | None]
    """The model that answers, unless a message says another."""
    fallback_models: NotRequired[Sequence[str]]
    """Asked in its place, in this order, when it cannot answer: it is down, refuses the key, is too busy or too small. The turn's budget is checked again before each."""
    tools: NotRequired[Sequence[str]]
    """The names of the tools it may use."""
    parameters: NotRequired[RequestParameters | Mapping[str, Any] | None]
    """For all its messages, where a conversation or a message does not say otherwise."""
    guard: NotRequired[GuardPolicy | Mapping[str, Any] | None]
    """How its turns are guarded, if not as all are."""
    sgr: NotRequired[SgrPolicy | Mapping[str, Any] | None]
    """How its turns are planned, if not as all are."""
    language: NotRequired[str | None]
    budget: NotRequired[Budget | Mapping[str, Any] | None]
    """What a turn of it may take, if less than any may."""
    carry_over: NotRequired[bool]
    """Whether a specialist whose words are the answer (`markIntermediate` false) also hears the user's next message first, until it returns control."""
    instructions: NotRequired[WantedInstructions | Mapping[str, Any] | None]
    """Assigned to it at once, each following its latest version."""


class AgentChangeFields(TypedDict):
    """The fields of `AgentChange`."""

    name: NotRequired[str]
    role: NotRequired[str]
    capabilities: NotRequired[Sequence[str]]
    permissions: NotRequired[Sequence[str]]
    model: NotRequired[str | None]
    fallback_models: NotRequired[Sequence[str]]
    tools: NotRequired[Sequence[str]]
    parameters: NotRequired[RequestParameters | Mapping[str, Any] | None]
    guard: NotRequired[GuardPolicy | Mapping[str, Any] | None]
    sgr: NotRequired[SgrPolicy | Mapping[str, Any] | None]
    language: NotRequired[str | None]
    budget: NotRequired[Budget | Mapping[str, Any] | None]
    carry_over: NotRequired[bool]


class NewAssignmentFields(TypedDict):
    """The fields of `NewAssignment`."""

    instruction_id: str
    """Of an instruction, or of one of its versions."""
    pin: NotRequired[str]
    """latest, exact, a range such as ^1.2, or label:NAME. Another organisation's is always exact."""
    priority: NotRequired[int]
    """A lower number speaks first."""
    is_active: NotRequired[bool]
    customizations: NotRequired[Customizations | Mapping[str, Any]]


class AssignmentChangeFields(TypedDict):
    """The fields of `AssignmentChange`."""

    pin: NotRequired[str]
    priority: NotRequired[int]
    is_active: NotRequired[bool]
    customizations: NotRequired[Customizations | Mapping[str, Any]]


class AssignmentQuestionFields(TypedDict):
    """The fields of `AssignmentQuestion`."""

    instruction_id: str
    """Of an instruction, or of one of its versions."""
    pin: NotRequired[str]
    """latest, exact, a range such as ^1.2, or label:NAME. Another organisation's is always exact."""
    priority: NotRequired[int]
    """A lower number speaks first."""
    is_active: NotRequired[bool]
    customizations: NotRequired[Customizations | Mapping[str, Any]]
    remove: NotRequired[bool]
