"""What a client brings along: words that nobody here heard being said. Kept as such, and never instructions."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from preceptor.domain.messages.message import AnyPart, Message, Outcome, Role, Text, Thinking, ToolCall, ToolResult

NO_RESULT = "The client gave no result for this call."


class Brought(msgspec.Struct, frozen=True):
    """A message as a client tells it: who is to have said what."""

    role: Role
    parts: tuple[AnyPart, ...]

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def settled(brought: Sequence[Brought], waiting: Sequence[ToolCall] = ()) -> list[Brought]:
    """The same as models can be shown it: every call has its results right after it, and a system's words are a user's.

    `waiting` are calls made before, which the first results may answer. Results that answer nothing become words.
    """
    told: list[Brought] = []
    for answers, group in groupby(brought, key=lambda one: bool(one.results)):
        if answers:
            told += _answered([result for one in group for result in one.results], waiting)
            waiting = ()
            continue
        for one in group:
            told += _answered([], waiting)
            said = _said(one)
            told += said
            waiting = calls_of(said[0].parts) if said and said[0].role is Role.ASSISTANT else ()
    return [*told, *_answered([], waiting)]


def open_calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls at the end of what was said that have no result yet."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role is not Role.TOOL:
            return tuple(call for call in message.tool_calls if call.id not in answered)
        answered.update(result.tool_call_id for result in message.tool_results)
    return ()


def are_paired(messages: Iterable[Message]) -> bool:
    """Whether every call has its results right behind it, but for the last, whose results may still come."""
    waiting: set[str] = set()
    for message in messages:
        answered = [result.tool_call_id for result in message.tool_results]
        if (waiting and not answered) or not waiting.issuperset(answered):
            return False
        waiting -= set(answered)
        waiting |= {call.id for call in message.tool_calls}
    return True


def calls_of(parts: Iterable[AnyPart]) -> tuple[ToolCall, ...]:
    return tuple(part for part in parts if isinstance(part, ToolCall))


def _answered(results: Sequence[ToolResult], waiting: Sequence[ToolCall]) -> Iterator[Brought]:
    """One message with a result for each call that waits, then the results that answer none of them."""
    by_id = {result.tool_call_id: result for result in results}
    if waiting:
        yield Brought(Role.TOOL, tuple(_result(call, by_id.get(call.id)) for call in waiting))
    known = {call.id for call in waiting}
    for stray in (result for result in results if result.tool_call_id not in known):
        yield Brought(Role.USER, (Text(f"[tool {stray.name}] {stray.content}"),))


def _result(call: ToolCall, given: ToolResult | None) -> ToolResult:
    if given is None:
        return ToolResult(call.id, call.name, NO_RESULT, is_error=True, outcome=Outcome.INTERRUPTED)
    return ToolResult(call.id, call.name, given.content)


def _said(one: Brought) -> list[Brought]:
    parts = tuple(part for part in one.parts if not isinstance(part, Thinking))
    if one.role is not Role.ASSISTANT:
        parts = tuple(part for part in parts if not isinstance(part, ToolCall))
    if one.role is Role.SYSTEM:
        parts = (Text("[system] " + "".join(part.text for part in parts if isinstance(part, Text))),)
    role = one.role if one.role is Role.ASSISTANT else Role.USER
    return [Brought(role, parts)] if parts else []
