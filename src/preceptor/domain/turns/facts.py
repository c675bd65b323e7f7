"""What the events of a turn say. Each is a row of the log; nothing else is remembered of a turn."""

from enum import StrEnum
from typing import Any

import msgspec

from preceptor.domain.conversations.view import ViewChanged
from preceptor.domain.delegation import ClosedBy, Limits, Span
from preceptor.domain.experiments.exposure import Enrolment
from preceptor.domain.ids import AgentId, AssignmentId, CallId, FamilyId, InstructionId, MessageId, SpanId, TurnId
from preceptor.domain.log import NewEvent
from preceptor.domain.messages.message import Message, Outcome
from preceptor.domain.prompts.prompt import Effect
from preceptor.domain.prompts.reply import Fault, Finish, Usage
from preceptor.domain.reasoning.plan import Action, Plan
from preceptor.domain.reasoning.routing import Flow
from preceptor.domain.reasoning.verdict import Gate, Judged
from preceptor.domain.turns.calls import Call, CallEnded
from preceptor.domain.turns.checks import Checked


class Fact(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The payload of one event."""


class Pin(Fact, frozen=True, kw_only=True):
    """An instruction version that speaks in a turn."""

    family_id: FamilyId
    instruction_id: InstructionId
    version: str
    assignment_id: AssignmentId


class PlanText(Fact, frozen=True, kw_only=True):
    """The instruction whose words a turn uses for plans that end in one action; or why it could not be used."""

    action: Action
    name: str
    instruction_id: InstructionId | None = None
    version: str | None = None
    problem: str | None = None


class Pins(Fact, frozen=True, kw_only=True):
    """What a turn uses, resolved once, at its start. Nothing of it changes under the turn."""

    agent_id: AgentId
    model: str
    fallback_models: tuple[str, ...] = ()
    """What is asked in its place, in this order, when it fails in a way that another model need not share."""
    instructions: tuple[Pin, ...] = ()
    prompt_hash: str = ""
    """Of the system prompt, as `effective` shows it."""
    voice: str = ""
    """The hash that everything of it is kept by: the prompt's pieces, locked constraints, tool schemas."""
    may_delegate: bool = False
    carry_over: bool = False
    """Whether a specialist whose words are the answer speaks first in the next turn as well."""
    limits: Limits = Limits()
    parameters: dict[str, Any] = {}
    guard: dict[str, Any] = {}
    """The guard policy; empty where nothing is judged."""
    sgr: dict[str, Any] = {}
    """The planning policy; empty where nothing is planned."""
    plan_model: str | None = None
    summary_model: str | None = None
    language: str = "en"
    clarifications: int = 0
    """How many turns in a row before this one ended in a question."""
    counter: int = 0
    """Where the library stood."""
    client_tools: tuple[str, ...] = ()
    """Tools that whoever sent the message carries out itself: a call of one ends the turn."""
    forced_tool: str | None = None
    """One of these that the first call must use, where the model can be held to it."""
    must_call: bool = False
    """Whether the first call must use any of these, where the model can be held to it."""
    rules: dict[str, Any] = {}
    """The validation rules that the answer is held to; empty where there are none."""
    experiments: tuple[Enrolment, ...] = ()
    plan_texts: tuple[PlanText, ...] = ()

    def model_at(self, fallback: int) -> str:
        """The agent's own model, or the first, second … in its place."""
        return self.fallback_models[fallback - 1] if fallback else self.model


class Accepted(Fact, frozen=True, kw_only=True):
    pins: Pins
    message_id: MessageId
    view_id: str | None = None
    compress: bool = False
    """Whether older messages are to be summarised before anything is answered."""
    imported: str | None = None
    """From which kind of export, where nothing of it happened here."""


class MessageStarted(Fact, frozen=True, kw_only=True):
    message_id: MessageId
    call_id: CallId
    span_id: SpanId | None = None


class MessageDelta(Fact, frozen=True, kw_only=True):
    message_id: MessageId
    text: str
    thinking: bool = False


class MessageAbandoned(Fact, frozen=True, kw_only=True):
    """What had been streamed of it will not be completed: the stream broke off, and the call is made again."""

    message_id: MessageId
    why: str


class FellBack(Fact, frozen=True, kw_only=True):
    """A model was given up for the next one. One that cannot be had either is `skipped`, and says why."""

    model: str
    """The next one, by the name that the agent gives it."""
    fault: Fault | None = None
    why: str | None = None
    """What the one before had failed with."""
    skipped: str | None = None
    span_id: SpanId | None = None


TURN_ENDED = "The turn ended."
"""Why a message is abandoned that was being said when its turn was over."""


class Judgement(Fact, frozen=True, kw_only=True):
    """What the guardian said of a text, and the row of the table that decided what follows."""

    what: str
    """`question`, `image`, `history`, `summary`, `answer`, `tool_result` or `specialist`."""
    guardian: str
    judged: Judged
    gate: Gate
    table: str
    version: str
    row: str
    milliseconds: int = 0


class Withheld(Fact, frozen=True, kw_only=True):
    """An answer that nobody was shown."""

    text: str


class Planned(Fact, frozen=True, kw_only=True):
    """The plan of a turn, where it led, and what each audience is told of it."""

    plan: Plan
    action: Action
    flow: Flow
    ui: dict[str, Any]
    record: dict[str, Any]
    malformed: tuple[str, ...] = ()
    """What was wrong with what the model wrote first."""


class PlanReady(Fact, frozen=True, kw_only=True):
    """What users are told of a plan."""

    user_intent: str | None = None
    response: str


class Compressed(Fact, frozen=True, kw_only=True):
    """Everything that was to be summarised is, or else is trimmed because the summariser `failed`."""

    summaries: tuple[MessageId, ...] = ()
    failed: str | None = None


class ToolStarted(Fact, frozen=True, kw_only=True):
    """The intent to act, written before acting."""

    tool_call_id: str
    name: str
    effect: Effect
    key: str
    span_id: SpanId | None = None


class ToolCompleted(Fact, frozen=True, kw_only=True):
    tool_call_id: str
    name: str
    outcome: Outcome
    milliseconds: int = 0
    span_id: SpanId | None = None


class SpanClosed(Fact, frozen=True, kw_only=True):
    span_id: SpanId
    depth: int
    closed_by: ClosedBy
    tokens: int = 0
    calls: int = 0
    why: str | None = None


class CancelRequested(Fact, frozen=True, kw_only=True):
    by: str


class TurnStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    CLARIFY = "clarify"
    FAILED = "failed"
    CANCELLED = "cancelled"


GOES_ON = frozenset({TurnStatus.COMPLETED, TurnStatus.CLARIFY})
"""Turns that ended as they should: whoever has control then may keep it for the next."""


class Ended(Fact, frozen=True, kw_only=True):
    """How a turn ended. Every turn ends exactly once."""

    turn_id: TurnId
    status: TurnStatus
    message: Message | None = None
    ui: dict[str, Any] | None = None
    usage: Usage = Usage()
    code: str | None = None
    sentence: str | None = None
    outcome: str | None = None
    """Something to know about how it got there, such as `iteration_limit`."""
    finish: Finish | None = None
    """Why the model stopped, where its words are the answer."""


KINDS: dict[str, type[msgspec.Struct]] = {
    "turn.accepted": Accepted,
    "call.started": Call,
    "call.ended": CallEnded,
    "model.fell_back": FellBack,
    "message.started": MessageStarted,
    "message.delta": MessageDelta,
    "message.abandoned": MessageAbandoned,
    "message.completed": Message,
    "tool.started": ToolStarted,
    "tool.completed": ToolCompleted,
    "delegation.opened": Span,
    "delegation.closed": SpanClosed,
    "guard.judged": Judgement,
    "answer.withheld": Withheld,
    "answer.checked": Checked,
    "summary.written": Message,
    "history.compressed": Compressed,
    "plan.made": Planned,
    "plan.ready": PlanReady,
    "turn.cancel_requested": CancelRequested,
    "view.changed": ViewChanged,
    "turn.completed": Ended,
    "turn.blocked": Ended,
    "turn.clarify": Ended,
    "turn.failed": Ended,
    "turn.cancelled": Ended,
}
"""Every kind of event that a turn is made of, and what it says."""

TERMINAL = frozenset({"turn.completed", "turn.blocked", "turn.clarify", "turn.failed", "turn.cancelled"})

_ENCODER = msgspec.json.Encoder()
_DECODERS = {kind: msgspec.json.Decoder(said) for kind, said in KINDS.items()}


def event(kind: str, fact: msgspec.Struct, turn_id: TurnId) -> NewEvent:
    assert isinstance(fact, KINDS[kind]), kind
    return NewEvent(kind, _ENCODER.encode(fact).decode(), turn_id)


def fact_of(kind: str, payload: str) -> Any:
    """What an event says; None for events that are not about a turn."""
    decoder = _DECODERS.get(kind)
    return None if decoder is None else decoder.decode(payload)
