"""Trying an instruction out before anyone is told it."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from preceptor.domain.ids import AgentId, AssignmentId, InstructionId
from preceptor.domain.instructions.check import RuleCheck, check
from preceptor.domain.instructions.content import Content, ValidationRules
from preceptor.domain.instructions.effective import Assignment, Notice, Source
from preceptor.domain.instructions.instruction import InstructionType, InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.template import fill
from preceptor.domain.instructions.version import Version
from preceptor.domain.value import ANY_TEXT, Json, Text, Value

ON_TRIAL = AssignmentId("trial")
"""Stands where an assignment would, for an instruction that the agent does not have."""


class Mode(StrEnum):
    RENDER = "render"
    """The prompt and where it comes from. No model is asked."""
    RUN = "run"
    """The model's answer too, and whether it keeps the rules."""


class NewTrial(Value):
    input: Annotated[str, StringConstraints(max_length=50_000, pattern=ANY_TEXT)] = Field(
        description="What a user would say."
    )
    context: dict[Text, Json] = Field(
        default_factory=dict, description="What else the model is to know; for a template, values for its variables."
    )
    mode: Mode | None = Field(default=None, description="Left out: render, also where there is a model: it asks none.")
    agent_id: Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=ANY_TEXT)] | None = Field(
        default=None, description="Together with all that this agent is told."
    )


class ExampleCheck(Value):
    """Whether the answer that an example holds up keeps the rules itself; in a run, how near the model came to it."""

    index: int
    rules: tuple[RuleCheck, ...]
    answer: str | None = None
    score: float | None = Field(default=None, description="chrF against the expected output, from 0 to 1.")


class Usage(Value):
    input_tokens: int
    output_tokens: int


class Trial(Value):
    mode: Mode
    instruction_id: InstructionId
    version: Version
    agent_id: AgentId | None
    prompt: str
    hash: str
    sources: tuple[Source, ...]
    examples: tuple[ExampleCheck, ...]
    warnings: tuple[Notice, ...]
    answer: str | None = None
    rules: tuple[RuleCheck, ...] | None = None
    usage: Usage | None = None


def on_trial(version: InstructionVersion, context: dict[str, Json]) -> InstructionVersion:
    """The version as if it were in force: drafts speak, and a template's gaps are filled from the context."""
    news: dict[str, object] = {"status": Status.ACTIVE}
    if version.type is InstructionType.TEMPLATE:
        content = fill(version.content, version.variables, context)
        news |= {"type": InstructionType.SYSTEM, "content": content, "variables": ()}
    return version.model_copy(update=news)


def alone(version: InstructionVersion) -> Assignment:
    return Assignment(assignment_id=ON_TRIAL, version=version, applied_at=version.created_at)


def checked_examples(content: Content, rules: ValidationRules | None) -> tuple[ExampleCheck, ...]:
    return tuple(
        ExampleCheck(index=index, rules=() if rules is None else check(example.expected_output, rules))
        for index, example in enumerate(content.examples)
    )
