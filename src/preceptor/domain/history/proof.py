"""Proof that what a model is about to be shown is in order, before it is sent. Costs as much as what is shown."""

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, Protocol

import msgspec

from preceptor.domain.errors import PreceptorError
from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages.message import Message, Role, Text


class Obligation(StrEnum):
    """What must hold of every request, in the order in which it is checked."""

    ONE_SYSTEM = "one_system"
    NOTHING_FOREIGN = "nothing_foreign"
    NOTHING_BLOCKED = "nothing_blocked"
    WHOLE_PAIRS = "whole_pairs"
    LEGAL_FIRST = "legal_first"
    LEGAL_LAST = "legal_last"
    QUESTION = "question_verbatim"
    PINS = "pins_present"
    WITHIN_CAP = "within_cap"


class Unproven(PreceptorError):
    """A request that no provider should see. It was not sent."""

    code: ClassVar[str] = "unproven_request"
    obligation: str
    detail: str

    def __str__(self) -> str:
        return (
            f"The request was not sent, because it breaks the rule {self.obligation}: {self.detail}. "
            "Nothing was lost; report this with the request id."
        )


class Placed(Protocol):
    """A message in a request."""

    @property
    def message(self) -> Message: ...


class Assembled(Protocol):
    """A request that is ready to be sent: a `Prompt`."""

    @property
    def system_text(self) -> str: ...

    @property
    def tail_text(self) -> str: ...

    @property
    def shown(self) -> Sequence[Placed]: ...

    @property
    def tokens(self) -> int: ...


class Duties(msgspec.Struct, frozen=True, kw_only=True):
    """What this very request owes."""

    conversation_id: ConversationId | None = None
    question: Message | None = None
    """The message that is being answered, as it is stored."""
    cap: int | None = None
    pinned: frozenset[MessageId] = frozenset()
    blocked: frozenset[TurnId] = frozenset()
    """Turns that a guardian stopped."""
    system: bool = True
    """There must be a system prompt."""


def prove(assembled: Assembled, duties: Duties) -> None:
    """Raise `Unproven`, naming the first obligation that does not hold."""
    messages = [placed.message for placed in assembled.shown]
    _prove_origins(messages, assembled, duties)
    _prove_pairs(messages)
    _prove_ends(messages, has_tail=bool(assembled.tail_text))
    _prove_contents(messages, assembled, duties)


def _prove_origins(messages: Sequence[Message], assembled: Assembled, duties: Duties) -> None:
    if duties.system and not assembled.system_text.strip():
        raise Unproven(Obligation.ONE_SYSTEM, "there is no system prompt")
    system, conversation, blocked = Role.SYSTEM, duties.conversation_id, duties.blocked
    for message in messages:
        if message.role is system:
            raise Unproven(Obligation.ONE_SYSTEM, f"message {message.id} is a second one")
        if conversation is not None and message.conversation_id != conversation:
            raise Unproven(Obligation.NOTHING_FOREIGN, f"message {message.id} is of another conversation")
        if blocked and message.turn_id in blocked:
            raise Unproven(Obligation.NOTHING_BLOCKED, f"message {message.id} is of a turn that was blocked")


def _prove_pairs(messages: Sequence[Message]) -> None:
    waiting: set[str] = set()
    for message in messages:
        parts = message.parts
        if not waiting and len(parts) == 1 and type(parts[0]) is Text:
            continue
        results = message.tool_results
        for result in results:
            if result.tool_call_id not in waiting:
                detail = f"message {message.id} answers {result.tool_call_id}, which was not called right before"
                raise Unproven(Obligation.WHOLE_PAIRS, detail)
            waiting.discard(result.tool_call_id)
        if waiting and not results:
            raise Unproven(Obligation.WHOLE_PAIRS, f"{min(waiting)} has no answer before message {message.id}")
        if calls := message.tool_calls:
            named = {call.id for call in calls}
            if len(named) < len(calls):
                raise Unproven(Obligation.WHOLE_PAIRS, f"message {message.id} makes one call twice")
            waiting |= named
    if waiting:
        raise Unproven(Obligation.WHOLE_PAIRS, f"{min(waiting)} has no answer")


def _prove_ends(messages: Sequence[Message], *, has_tail: bool) -> None:
    if messages and messages[0].role is not Role.USER:
        raise Unproven(Obligation.LEGAL_FIRST, f"it begins with the {messages[0].role} message {messages[0].id}")
    if has_tail:
        return
    if not messages:
        raise Unproven(Obligation.LEGAL_LAST, "it shows no message at all")
    if messages[-1].role not in {Role.USER, Role.TOOL}:
        raise Unproven(Obligation.LEGAL_LAST, f"it ends with the {messages[-1].role} message {messages[-1].id}")


def _prove_contents(messages: Sequence[Message], assembled: Assembled, duties: Duties) -> None:
    question = duties.question
    if question is not None:
        found = next((message for message in messages if message.id == question.id), None)
        if found is None or (found.parts, found.role) != (question.parts, question.role):
            raise Unproven(Obligation.QUESTION, f"message {question.id} is not there word for word")
    missing = duties.pinned.difference(message.id for message in messages) if duties.pinned else ()
    if missing:
        raise Unproven(Obligation.PINS, f"message {min(missing)} must be shown")
    if duties.cap is not None and assembled.tokens > duties.cap:
        raise Unproven(Obligation.WITHIN_CAP, f"it has {assembled.tokens} tokens, and {duties.cap} are allowed")
