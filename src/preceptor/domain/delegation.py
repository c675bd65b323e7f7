"""Delegation: who is speaking, and who gets control back.

A span is one delegation. It is opened by a call of the control tool, and it is always closed: by the specialist, by
what it answers, by a limit, by an error, or by the end of the turn. One that its agent carries over is closed with the
turn as well, and goes on in the next one as another span that says which it was.
"""

from enum import StrEnum

import msgspec

from preceptor.domain.ids import InstructionId, MessageId, SpanId
from preceptor.domain.messages.directive import LONGEST_PROMPT

DELEGATE = "delegate_internal_reasoning"
RETURN = "return_control"
CONTROL_TOOLS = frozenset({DELEGATE, RETURN})


class ClosedBy(StrEnum):
    RETURNED = "returned"
    ANSWERED = "answered"
    """It answered without calling anything: control returns by itself."""
    FINAL = "final"
    """What it answered is the answer of the turn."""
    LIMIT = "limit"
    ERROR = "error"
    TURN_END = "turn_end"
    CARRIED = "carried"
    """The next turn begins with it."""
    CANCELLED = "cancelled"


class Limits(msgspec.Struct, frozen=True, rename="camel"):
    """What one turn may take, with everyone it delegates to."""

    iterations: int = 50
    calls_per_delegation: int = 20
    delegations: int = 8
    depth: int = 3
    seconds: float = 600.0
    tokens: int | None = None
    cost: float | None = None
    prompt: int = LONGEST_PROMPT
    """Characters that a specialist's prompt may have."""


class Span(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One delegation: who asked whom for what."""

    span_id: SpanId
    parent: SpanId | None = None
    depth: int
    agent_prompt: str
    mark_intermediate: bool = True
    tools: tuple[str, ...] = ()
    """What the specialist may call: no more than whoever delegated."""
    reason: str | None = None
    expected_seconds: int | None = None
    """How long whoever delegated thought that it would take."""
    tool_call_id: str
    message_id: MessageId | None = None
    """The tool result that carries the directive."""
    branch: bool = False
    """It works beside others, in a branch of its own, and sees nothing of theirs."""
    instruction_id: InstructionId | None = None
    version: str | None = None
    """Of the instruction it is, when one was named instead of written out."""
    carried_from: SpanId | None = None
    """The span of the turn before that goes on in this one."""
    calls_before: int = 0
    """Calls that it has made in turns before this one: the most that a delegation may make are for all its turns."""


class Asked(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What the control tool was told of one specialist."""

    agent_prompt: str | None = None
    specialist: str | None = None
    reason: str | None = None
    tools: tuple[str, ...] | None = None
    mark_intermediate: bool = True
    expected_seconds: int | None = None


def why_not(
    asked: Asked, ancestors: tuple[Span, ...], delegations: int, limits: Limits, *, permitted: bool
) -> str | None:
    """The sentence that tells a model why it may not delegate; None if it may."""
    if not permitted:
        return "This agent may not delegate. Answer yourself."
    if len(ancestors) >= limits.depth:
        return f"A delegation may be {limits.depth} deep at most. Do it yourself, or return control."
    if delegations >= limits.delegations:
        return f"There may be {limits.delegations} delegations in a turn at most. Go on without."
    if any(span.agent_prompt == asked.agent_prompt for span in ancestors):
        return "This specialist is at work already, above you. Do it yourself, or return control."
    return None


def allowed_tools(parents: tuple[str, ...], asked: tuple[str, ...] | None) -> tuple[str, ...]:
    """A specialist has what it asked for, as far as whoever delegated had it."""
    return parents if asked is None else tuple(name for name in parents if name in asked)
