"""Written by `make docs` from the values that the API takes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from preceptor.domain.instructions.content import Content, ContentPatch, ValidationRules
from preceptor.domain.instructions.instruction import Variable


class NewInstructionFields(TypedDict):
    """The fields of `NewInstruction`."""

    name: str
    description: NotRequired[str]
    type: Literal["system", "task", "behavior", "template"]
    category: NotRequired[str]
    target_role: NotRequired[str]
    content: NotRequired[Content | Mapping[str, Any]]
    variables: NotRequired[Sequence[Variable | Mapping[str, Any]]]
    validation_rules: NotRequired[ValidationRules | Mapping[str, Any] | None]
    tags: NotRequired[Sequence[str]]
    is_public: NotRequired[bool]
    status: NotRequired[Literal["draft", "active", "deprecated", "archived"]]
    changelog: NotRequired[str | None]


class RevisionFields(TypedDict):
    """The fields of `Revision`."""

    name: NotRequired[str]
    description: NotRequired[str]
    type: NotRequired[Literal["system", "task", "behavior", "template"]]
    category: NotRequired[str]
    target_role: NotRequired[str]
    content: NotRequired[ContentPatch | Mapping[str, Any]]
    variables: NotRequired[Sequence[Variable | Mapping[str, Any]]]
    validation_rules: NotRequired[ValidationRules | Mapping[str, Any] | None]
    tags: NotRequired[Sequence[str]]
    is_public: NotRequired[bool]
    changelog: NotRequired[str | None]
    bump: NotRequired[Literal["major", "minor", "patch"] | None]
    """Computed from what changes unless you say it."""
    status: NotRequired[Literal["draft", "active"] | None]
    """Of the new version. Unless you say it: active, or a draft where a draft is changed."""


class FromTemplateFields(TypedDict):
    """The fields of `FromTemplate`."""

    name: NotRequired[str | None]
    """The template's unless you say it."""
    type: NotRequired[Literal["system", "task", "behavior"]]
    status: NotRequired[Literal["draft", "active"]]
    customizations: NotRequired[Mapping[str, Any]]
    """Values for the variables; language, tone and formality replace the fields."""


class NewTrialFields(TypedDict):
    """The fields of `NewTrial`."""

    input: str
    """What a user would say."""
    context: NotRequired[Mapping[str, Any]]
    """What else the model is to know; for a template, values for its variables."""
    mode: NotRequired[Literal["render", "run"] | None]
    """Left out: render, also where there is a model: it asks none."""
    agent_id: NotRequired[str | None]
    """Together with all that this agent is told."""


class InstructionQuestionFields(TypedDict):
    """The fields of `InstructionQuestion`."""

    content: NotRequired[ContentPatch | Mapping[str, Any]]
    version: NotRequired[str]
    label: NotRequired[str]


class NewGateFields(TypedDict):
    """The fields of `NewGate`."""

    turns: NotRequired[int]
    """How many of the newest turns in which the instruction spoke."""
    at_least: NotRequired[int]
    """With fewer turns than that it does not open."""
    agent_id: NotRequired[str | None]
    mode: NotRequired[Literal["step", "trajectory"]]
    replies: NotRequired[Literal["live", "recorded"]]
    max_rule_breaks: NotRequired[float]
    """The share of answers that may break a validation rule."""
    max_changed: NotRequired[float | None]
    """The share of turns that may come out otherwise."""
    max_failed: NotRequired[float]
