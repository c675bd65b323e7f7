"""Sources: where a piece of what a model is shown came from. There is no piece without one."""

import msgspec

from preceptor.domain.ids import AssignmentId, InstructionId, MessageId, SpanId


class Source(msgspec.Struct, frozen=True, gc=False, tag_field="kind", rename="camel", omit_defaults=True):
    """One of the kinds below."""


class FromInstruction(Source, tag="instruction", frozen=True):
    """A line of an instruction version, or of an assignment's customizations."""

    instruction_id: InstructionId
    version: str
    field: str
    index: int | None = None
    assignment: AssignmentId | None = None
    rule: str | None = None


class FromEngine(Source, tag="engine", frozen=True):
    """Words of Preceptor's own: a heading, a frame, the closing directive. `what` names which."""

    what: str


class FromMessage(Source, tag="message", frozen=True):
    """A message of the conversation; `place` is its number there."""

    message_id: MessageId
    place: int


class FromSummary(Source, tag="summary", frozen=True):
    """A message that stands for others."""

    message_id: MessageId
    place: int
    strategy: str
    of: tuple[MessageId, ...] = ()


class FromPlan(Source, tag="plan", frozen=True):
    message_id: MessageId
    place: int


class FromGuardian(Source, tag="guardian", frozen=True):
    turn_id: str


class FromSpecialist(Source, tag="specialist", frozen=True):
    """The inline prompt of a delegation; of an instruction when a reusable specialist was named."""

    span_id: SpanId
    instruction_id: InstructionId | None = None
    version: str | None = None


class FromDirective(Source, tag="directive", frozen=True):
    """The line that tells the model who is speaking."""

    span_id: SpanId
    directive: str


class FromTool(Source, tag="tool", frozen=True):
    """The schema of a tool."""

    name: str


class FromFormat(Source, tag="format", frozen=True):
    """What the provider's format itself costs: role marks and the like."""

    what: str = "message_overhead"


AnySource = (
    FromInstruction
    | FromEngine
    | FromMessage
    | FromSummary
    | FromPlan
    | FromGuardian
    | FromSpecialist
    | FromDirective
    | FromTool
    | FromFormat
)
