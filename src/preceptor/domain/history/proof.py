"""Proof that what a model is about to be shown is in order, before it is sent. It costs as much as what is new."""

from collections.abc import Mapping, Sequence
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


class Proof:
    """Goes along with what is shown as it grows. A message that was gone through is not gone through again."""

    __slots__ = ("_heard", "_messages", "_waiting")

    def __init__(self) -> None:
        self._heard = 0
        self._messages: dict[MessageId, Message] = {}
        self._waiting: set[str] = set()
        """Calls that have no answer yet."""

    def go_on(self, assembled: Assembled, duties: Duties) -> None:
        """Raise `Unproven` if a request may not be sent: one that shows what the last one did, and more."""
        if duties.system and not assembled.system_text.strip():
            raise Unproven(Obligation.ONE_SYSTEM, "there is no system prompt")
        self._hear(assembled.shown[self._heard :], duties)
        if self._waiting:
            raise Unproven(Obligation.WHOLE_PAIRS, f"{min(self._waiting)} has no answer")
        _prove_ends(assembled)
        _prove_contents(self._messages, assembled, duties)

    def _hear(self, shown: Sequence[Placed], duties: Duties) -> None:
        """Go through what is new; what almost every message is, is told by one look."""
        system, conversation, blocked = Role.SYSTEM, duties.conversation_id, duties.blocked
        messages, waiting = self._messages, self._waiting
        for placed in shown:
            message = placed.message
            if message.role is system or message.conversation_id != conversation or blocked:
                _prove_origin(message, duties)
            parts = message.parts
            if waiting or len(parts) != 1 or type(parts[0]) is not Text:
                self._pair(message)
            messages[message.id] = message
        self._heard += len(shown)

    def _pair(self, message: Message) -> None:
        waiting, results = self._waiting, message.tool_results
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


def _prove_origin(message: Message, duties: Duties) -> None:
    conversation, blocked = duties.conversation_id, duties.blocked
    if message.role is Role.SYSTEM:
        raise Unproven(Obligation.ONE_SYSTEM, f"message {message.id} is a second one")
    if conversation is not None and message.conversation_id != conversation:
        raise Unproven(Obligation.NOTHING_FOREIGN, f"message {message.id} is of another conversation")
    if blocked and message.turn_id in blocked:
        raise Unproven(Obligation.NOTHING_BLOCKED, f"message {message.id} is of a turn that was blocked")


def _prove_ends(assembled: Assembled) -> None:
    shown = assembled.shown
    if shown and shown[0].message.role is not Role.USER:
        first = shown[0].message
        raise Unproven(Obligation.LEGAL_FIRST, f"it begins with the {first.role} message {first.id}")
    if assembled.tail_text:
        return
    if not shown:
        raise Unproven(Obligation.LEGAL_LAST, "it shows no message at all")
    last = shown[-1].message
    if last.role not in {Role.USER, Role.TOOL}:
        raise Unproven(Obligation.LEGAL_LAST, f"it ends with the {last.role} message {last.id}")


def _prove_contents(messages: Mapping[MessageId, Message], assembled: Assembled, duties: Duties) -> None:
    question = duties.question
    if question is not None:
        found = messages.get(question.id)
        if found is None or (found.parts, found.role) != (question.parts, question.role):
            raise Unproven(Obligation.QUESTION, f"message {question.id} is not there word for word")
    if missing := duties.pinned - messages.keys():
        raise Unproven(Obligation.PINS, f"message {min(missing)} must be shown")
    if duties.cap is not None and assembled.tokens > duties.cap:
        raise Unproven(Obligation.WITHIN_CAP, f"it has {assembled.tokens} tokens, and {duties.cap} are allowed")
