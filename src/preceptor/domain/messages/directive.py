"""Directives: what a message tells the engine itself. The engine acts on them; they act on nothing.

A directive of a kind that this version does not know is kept byte for byte, and says nothing.
"""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
import orjson
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError, ValidationInfo, field_validator

from preceptor.domain.value import ANY_TEXT, Value

LONGEST_PROMPT = 50_000
"""Characters of a specialist's prompt, unless the installation allows more."""
LARGEST_PROMPT = 1_000_000
"""What an installation may allow at most, and so what may have been stored."""
PREVIEW = 200


class DelegateReasoning(Value):
    """Hand the conversation to an inline specialist until control returns. The whole prompt is kept."""

    title: ClassVar[str] = "Delegate Reasoning"
    description: ClassVar[str] = "Switch to specialized agent for internal reasoning"

    type: Literal["delegate_reasoning"] = "delegate_reasoning"
    agent_prompt: Annotated[str, StringConstraints(pattern=ANY_TEXT)]
    mark_intermediate: bool = True
    specialist: str | None = None
    """Whose prompt of the library this is, by the id of its version; None for one that was written here."""

    @field_validator("agent_prompt")
    @classmethod
    def _says_something_of_bearable_length(cls, prompt: str, info: ValidationInfo) -> str:
        if wrong := unbearable(prompt, info.context or LONGEST_PROMPT):
            raise ValueError(wrong)
        return prompt

    def serialize_content(self) -> str:
        return f"delegate_reasoning:{len(self.agent_prompt)}:{self.agent_prompt}"

    def preview(self, length: int = PREVIEW) -> str:
        return self.agent_prompt[:length]

    def to_xml_line(self) -> str:
        return f"<delegate-reasoning>Specialist active ({len(self.agent_prompt)} chars)</delegate-reasoning>"


class ReturnControl(Value):
    """Give the conversation back to whoever delegated."""

    title: ClassVar[str] = "Return Control"
    description: ClassVar[str] = "Return control to main agent"

    type: Literal["return_control"] = "return_control"

    def serialize_content(self) -> str:
        return "return_control"

    def to_xml_line(self) -> str:
        return "<return-control>Returning to main agent</return-control>"


class IntermediateReasoning(Value):
    """A step on the way: people see it, it can be cleaned up, and it changes nothing of what a model is told."""

    title: ClassVar[str] = "Intermediate"
    description: ClassVar[str] = "Internal reasoning step (can be cleaned up)"

    type: Literal["intermediate"] = "intermediate"

    def serialize_content(self) -> str:
        return "intermediate"

    def to_xml_line(self) -> str:
        return "<intermediate>Internal reasoning</intermediate>"


class UnknownDirective(msgspec.Struct, frozen=True):
    """Written by a later version. `raw` is what stood there, to the byte."""

    raw: bytes

    @property
    def title(self) -> str:
        return "Unknown"

    @property
    def description(self) -> str:
        return "A directive of a later version"

    def serialize_content(self) -> str:
        return self.raw.decode()

    def to_xml_line(self) -> str:
        return ""


Known = Annotated[DelegateReasoning | ReturnControl | IntermediateReasoning, Field(discriminator="type")]
Directive = DelegateReasoning | ReturnControl | IntermediateReasoning | UnknownDirective

RETURN_CONTROL = ReturnControl()
INTERMEDIATE = IntermediateReasoning()
KINDS = frozenset({"delegate_reasoning", "return_control", "intermediate"})

_KNOWN: TypeAdapter[Any] = TypeAdapter(Known)
_INTERMEDIATE_BYTES = INTERMEDIATE.model_dump_json().encode()


def unbearable(prompt: str, longest: int) -> str | None:
    """What is wrong with a specialist's prompt, if it is."""
    if not prompt.strip():
        return "Agent prompt cannot be blank"
    return f"Agent prompt too long (max {longest:,} chars)" if len(prompt) > longest else None


def written(directive: Directive) -> msgspec.Raw:
    """A directive as it is stored."""
    match directive:
        case UnknownDirective(raw=raw):
            return msgspec.Raw(raw)
        case IntermediateReasoning():
            return msgspec.Raw(_INTERMEDIATE_BYTES)
        case DelegateReasoning() | ReturnControl():
            return msgspec.Raw(directive.model_dump_json(exclude_none=True).encode())


def told_users(raw: msgspec.Raw) -> msgspec.Raw:
    """A stored directive without a text of the library: whoever talks to an agent may not read that."""
    match read(bytes(raw), LARGEST_PROMPT):
        case DelegateReasoning(specialist=str()) as directive:
            return msgspec.Raw(directive.model_dump_json(exclude={"agent_prompt"}).encode())
        case _:
            return raw


def read(raw: bytes, longest: int = LONGEST_PROMPT) -> Directive:
    """A stored directive. What is known is checked again; the rest is kept as it is."""
    if raw == _INTERMEDIATE_BYTES:
        return INTERMEDIATE
    fields: dict[str, Any] = orjson.loads(raw)
    if fields.get("type") not in KINDS:
        return UnknownDirective(bytes(raw))
    try:
        directive: Directive = _KNOWN.validate_python(fields, by_alias=True, by_name=False, context=longest)
    except ValidationError as error:
        if any(one["type"] == "extra_forbidden" for one in error.errors(include_url=False)):
            return UnknownDirective(bytes(raw))
        raise
    return RETURN_CONTROL if isinstance(directive, ReturnControl) else directive
