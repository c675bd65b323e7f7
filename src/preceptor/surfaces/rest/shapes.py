"""The shapes of messages and turns on the wire, for the document that describes the API.

The records themselves are written out by their own, much quicker serialiser; tests hold the two together.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, Field, JsonValue, field_validator, model_validator

from preceptor.domain.messages.directive import LARGEST_PROMPT, unbearable
from preceptor.domain.messages.message import Kind, Outcome, Role
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.turns.decisions import GuardStatus
from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.value import ANY_TEXT, VISIBLE_TEXT, AnyId, Value, is_visible

LONGEST_TEXT = 500_000
Text = Annotated[str, Field(max_length=LONGEST_TEXT, pattern=ANY_TEXT)]


class TextPart(Value):
    type: Literal["text"]
    text: Text


class ThinkingPart(Value):
    type: Literal["thinking"]
    text: str
    signature: str | None = None


class ToolCallPart(Value):
    type: Literal["tool_call"]
    id: str
    name: str
    arguments: dict[str, JsonValue]
    malformed: str | None = None


class ToolResultPart(Value):
    type: Literal["tool_result"]
    tool_call_id: str
    name: str
    content: str
    is_error: bool
    outcome: Outcome


class AttachmentPart(Value):
    type: Literal["attachment"]
    attachment_id: str = Field(min_length=1, max_length=128, pattern=ANY_TEXT)
    media_type: str
    name: str


class AttachedPart(Value):
    """A file that was sent before. The rest is known from then: it may be said again, and is not believed."""

    type: Literal["attachment"]
    attachment_id: str = Field(min_length=1, max_length=128, pattern=ANY_TEXT)
    media_type: Annotated[str, Field(max_length=256)] | None = None
    name: Annotated[str, Field(max_length=1024)] | None = None


ShownPart = Annotated[
    TextPart | ThinkingPart | ToolCallPart | ToolResultPart | AttachmentPart, Field(discriminator="type")
]
_SOMETHING: dict[str, JsonValue] = {"contains": {"properties": {"text": {"pattern": VISIBLE_TEXT}}}}
"""One of the parts, in a schema: a file, or a text in which something can be seen."""
SentPart = Annotated[TextPart | AttachedPart, Field(discriminator="type")]


class SentDirective(Value):
    """Begin with a specialist: it answers first, then gives control back to the agent."""

    type: Literal["delegate_reasoning"]
    agent_prompt: str = Field(min_length=1, max_length=LARGEST_PROMPT, pattern=VISIBLE_TEXT)
    mark_intermediate: bool = Field(default=True, description="False: what the specialist answers is the answer.")

    @field_validator("agent_prompt", mode="before")
    @classmethod
    def _is_bearable(cls, prompt: object) -> object:
        if isinstance(prompt, str) and (wrong := unbearable(prompt, LARGEST_PROMPT)):
            raise ValueError(wrong)
        return prompt


Queue = Annotated[
    bool,
    Field(
        description="While another turn runs in this conversation, wait for it instead of being refused: in the order "
        "in which messages come, and with at most seven before it. Nothing is kept of a message that waits."
    ),
]


class SentMessage(Value):
    """What a user says."""

    content: (
        Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, pattern=VISIBLE_TEXT)]
        | Annotated[tuple[SentPart, ...], Field(min_length=1, max_length=50, json_schema_extra=_SOMETHING)]
    )
    parameters: RequestParameters | None = None
    background: bool = Field(default=False, description="Answer at once, with the turn still running.")
    queue: Queue = False
    instructions: Annotated[tuple[SentDirective, ...], Field(max_length=1)] = Field(
        default=(), description="Directives; whoever sends one needs the permission `delegate`, and so does the agent."
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        parts = () if isinstance(self.content, str) else self.content
        if parts and all(isinstance(part, TextPart) and not is_visible(part.text) for part in parts):
            raise ValueError("say something: there is neither text nor a file")
        return self


class AnsweredAgain(Value):
    """Which answer to give again, and how."""

    message_id: AnyId | None = Field(
        default=None, description="The question, or part of its answer. Default: the last question that is shown."
    )
    parameters: RequestParameters | None = None
    background: bool = Field(default=False, description="Answer at once, with the turn still running.")
    queue: Queue = False


class EditedMessage(SentMessage):
    """What a user says instead of something that was said before."""

    message_id: AnyId


class ShownMessage(Value):
    id: str
    conversation_id: str
    turn_id: str
    role: Role
    kind: Kind
    parts: tuple[ShownPart, ...]
    instructions: tuple[dict[str, JsonValue], ...]
    tokens: int
    created_at: AwareDatetime
    span_id: str | None = None
    agent_id: str | None = None
    call_id: str | None = None
    analysis: str | None = None
    sources: tuple[str, ...] = ()
    incomplete: bool = False
    from_client: bool = False


class ShownUsage(Value):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    estimated: bool = False


class Ui(Value):
    type: Literal["answer", "sgr_response", "guardian_block"]
    user_intent: str | None = None
    response: str


class TurnAnswer(Value):
    """What came of a message."""

    turn_id: str
    conversation_id: str
    status: TurnStatus
    message: ShownMessage | None = None
    ui: Ui | None = None
    usage: ShownUsage | None = None
    outcome: str | None = None
    code: str | None = None
    sentence: str | None = None


class ShownPiece(Value):
    role: str
    text: str
    tokens: int
    source: dict[str, JsonValue]


class ShownLeftOut(Value):
    what: str
    why: str
    tokens: int = 0
    places: tuple[int, int] | None = None


class ShownContext(Value):
    """What one call of a model was shown."""

    call_id: str
    model: str
    purpose: str
    format: str
    request: dict[str, JsonValue] = Field(description="The request, to the byte.")
    sha256: str
    intact: bool = Field(description="Whether the request that was rebuilt has the hash of the one that was sent.")
    tokens: int
    unattributed_tokens: int
    segments: tuple[ShownPiece, ...]
    left_out: tuple[ShownLeftOut, ...]


class WantedSummary(Value):
    messages: int
    tokens: int


class ShownPlan(Value):
    """What the next request of a conversation would show of its past."""

    conversation_id: str
    model: str
    cap: int = Field(description="How many tokens the request may have.")
    fixed: int = Field(description="Tokens besides history: system prompt, tools and format.")
    messages: int
    tokens: int
    shown: int
    shown_tokens: int
    left_out: tuple[ShownLeftOut, ...]
    summaries: tuple[WantedSummary, ...] = Field(description="Those that would be written first.")
    invalidated: int = Field(description="Tokens that a provider's cache could no longer serve.")


class TurnRecord(Value):
    """Everything that is known of a turn."""

    turn_id: str
    conversation_id: str
    agent_id: str
    status: TurnStatus
    pins: dict[str, Any]
    usage: ShownUsage
    calls: tuple[dict[str, JsonValue], ...]
    fallbacks: tuple[dict[str, JsonValue], ...] = Field(
        description="Each time another model was asked in the place of one that failed: which, and why."
    )
    spans: tuple[dict[str, JsonValue], ...]
    guard_status: GuardStatus = Field(description="Whether the guardian judged: `unavailable` if it gave no verdict.")
    guardian_result: dict[str, JsonValue] | None = Field(description="Its verdict on the user's message, if any.")
    sgr_plan: dict[str, JsonValue] | None = Field(description="The plan of the turn, if it was planned.")
    blocked: bool
    block_reason: str | None
    withheld: str | None = Field(description="An answer that nobody was shown.")
    checks: tuple[dict[str, JsonValue], ...] | None = Field(
        description="Which validation rules the answer keeps; of one that was asked for again as well. Null: no rules."
    )
    decisions: tuple[dict[str, JsonValue], ...] = Field(
        description="Each judgement, the route of the plan and the patience: with the table, its version and its row."
    )
    metrics: dict[str, JsonValue] = Field(description="What the plan was worth, and what it cost.")
    code: str | None = None
    sentence: str | None = None
    outcome: str | None = None
    takeovers: int = 0
