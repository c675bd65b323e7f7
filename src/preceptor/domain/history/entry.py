"""Entries: of each message, just what decisions need. No decision about history reads a message's body."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import msgspec

from preceptor.domain.ids import MessageId, SpanId
from preceptor.domain.messages.message import Kind, Message, Role

STANDS_FOR_OTHERS = frozenset({Kind.SUMMARY, Kind.COMPACTION})
_PINNED = STANDS_FOR_OTHERS | {Kind.MEMORY}
_SYSTEM, _USER, _ASSISTANT, _SAID = Role.SYSTEM, Role.USER, Role.ASSISTANT, Kind.MESSAGE
ELISION_TOKENS = 24
"""No note in place of a tool's answer costs more."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message, as far as history cares."""

    seq: int
    """Its place. Order is never taken from a clock."""
    id: MessageId
    role: Role
    kind: Kind = Kind.MESSAGE
    tokens: int
    """What it costs once its turn is over: without a plan's analysis."""
    created_at: datetime
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    """The calls that it answers."""
    span: SpanId | None = None
    intermediate: bool = False
    speaks: bool = True
    """It says something besides its calls and results."""
    analysis: int = 0
    """What the analysis of a plan costs on top, while its turn runs."""
    payload: int = 0
    """What would be freed if its tool answers were left out."""
    pinned: bool = False
    told: str = ""
    """The hash of what the agent was told when it was said, where that is known."""
    interim: bool = False
    """No later turn is shown it, so it is none of the messages that a limit counts."""

    @property
    def is_pin(self) -> bool:
        """No limit ever drops it. Calls and answers cannot be pinned: they would stand there without their question."""
        wanted = self.pinned or self.role is _SYSTEM or self.kind in _PINNED
        return wanted and not self.calls and not self.results

    @property
    def counts(self) -> bool:
        """It is one of the messages that there must be so many of before anything is summarised."""
        return self.role is not _SYSTEM and not self.interim

    @property
    def opens(self) -> bool:
        """A conversation may begin with it."""
        return self.role is _USER and not self.results


def entry_of(message: Message, seq: int, count: Callable[[str], int] | None = None, *, pinned: bool = False) -> Entry:
    """`message.tokens` counts all of it, analysis included. Without `count` no part of it can be left out by itself."""
    analysis = count(message.analysis) if count and message.analysis else 0
    calls, results = message.tool_calls, message.tool_results
    answers = sum(count(result.content) for result in results) if count else 0
    return Entry(
        seq=seq,
        id=message.id,
        role=message.role,
        kind=message.kind,
        tokens=max(0, message.tokens - analysis),
        created_at=message.created_at,
        calls=tuple([call.id for call in calls]),
        results=tuple([result.tool_call_id for result in results]),
        span=message.span_id,
        intermediate=message.is_intermediate,
        speaks=message.speaks,
        analysis=analysis,
        payload=max(0, answers - ELISION_TOKENS * len(results)),
        pinned=pinned,
    )


class Row(Protocol):
    """Entries in a row."""

    def __len__(self) -> int: ...

    def __getitem__(self, at: int, /) -> Entry: ...


def question_of(entries: Row) -> int:
    """Where the running turn begins: its question. The length, when the last turn is over."""
    at = len(entries) - 1
    if at < 0 or (entries[at].role is _ASSISTANT and not entries[at].calls):
        return len(entries)
    while at >= 0:
        entry = entries[at]
        if entry.role is _USER and not entry.results and entry.kind is _SAID and not entry.intermediate:
            return at
        at -= 1
    return len(entries)
