"""Strategies: which messages one summary each will stand for. A strategy decides; it never calls a model."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, runtime_checkable

import msgspec
from pydantic import Field

from preceptor.domain.history.entry import Entry, Row
from preceptor.domain.messages.message import Role
from preceptor.domain.times import Moment
from preceptor.domain.value import AS_TUPLE, FROM_JSON, VISIBLE_TEXT, Text, Value

TLDR = "summary@1.0.0"
FACTS = "facts@1.0.0"
Size = Annotated[int, Field(ge=1, lt=2**31), FROM_JSON]


class Choice(msgspec.Struct, frozen=True):
    """Places in the entries. One summary for each of `spans`; what is in neither is kept word for word."""

    spans: tuple[tuple[int, ...], ...] = ()
    dropped: tuple[int, ...] = ()
    """Left out without a summary. Of ours, only `WindowTLDR` does that."""


@runtime_checkable
class Strategy(Protocol):
    """Your own strategy is a frozen value with these, given to `fit` as `Limits(strategy=…)`."""

    @property
    def type(self) -> str: ...

    @property
    def template(self) -> str:
        """Which of our instructions the summariser is given, with its version: `summary@1.0.0`."""
        ...

    def compress(self, entries: Sequence[Entry], free: Sequence[int]) -> Choice:
        """Choose among `free`, the places in `entries` that may be summarised. What must stay (system messages, the
        first question, memory, other summaries, the running turn, open calls) is not among them. Answers never leave
        their calls, whatever you choose.
        """
        ...


def _named(schema: dict[str, Any]) -> None:
    """Which strategy it is must be said where one is written; in code the class says it."""
    schema["required"] = ["type", *schema.get("required", [])]


class _Plain(Value, json_schema_extra=_named):
    def __init__(self, *given: Any, **named: Any) -> None:
        """What it is about can be given by its place too: `FromLastNMessages(10)`."""
        fields = [name for name in type(self).model_fields if name != "type"]
        if len(given) > len(fields):
            raise TypeError(f"{type(self).__name__} takes {len(fields)} by place, and {len(given)} were given")
        super().__init__(**dict(zip(fields, given, strict=False)), **named)

    __init__.__dict__["__pydantic_base_init__"] = True  # what is read from JSON does not pass through it

    @property
    def template(self) -> str:
        return TLDR


class WholeHistory(_Plain):
    """One summary of everything."""

    type: Literal["whole_history"] = "whole_history"

    def compress(self, entries: Sequence[Entry], free: Sequence[int]) -> Choice:  # noqa: ARG002 - as strategies are asked
        return Choice((tuple(free),))


class FromLastNMessages(_Plain):
    """The last n messages word for word, one summary of all before."""

    type: Literal["from_last_n_messages"] = "from_last_n_messages"
    n: Size

    if TYPE_CHECKING:

        def __init__(self, n: int = ..., **named: Any) -> None: ...

    def compress(self, entries: Sequence[Entry], free: Sequence[int]) -> Choice:
        cut = before_last(entries, self.n)
        return Choice((tuple(at for at in free if at < cut),))


class Chunked(_Plain):
    """One summary for each `chunk_size` messages. The rest waits, word for word, until it is as long."""

    type: Literal["chunked"] = "chunked"
    chunk_size: Size

    if TYPE_CHECKING:

        def __init__(self, chunk_size: int = ..., **named: Any) -> None: ...

    def compress(self, entries: Sequence[Entry], free: Sequence[int]) -> Choice:
        chunks, chunk, size = list[tuple[int, ...]](), list[int](), 0
        for at in free:
            chunk.append(at)
            size += not entries[at].interim
            if size == self.chunk_size:
                chunks.append(tuple(chunk))
                chunk, size = [], 0
        return Choice(tuple(chunks))


class FromTimestamp(_Plain):
    """What was said at or after a moment word for word, one summary of what was said before."""

    type: Literal["from_timestamp"] = "from_timestamp"
    timestamp: Moment

    if TYPE_CHECKING:

        def __init__(self, timestamp: datetime = ..., **named: Any) -> None: ...

    def compress(self, entries: Sequence[Entry], free: Sequence[int]) -> Choice:
        runs = groupby(free, lambda at: entries[at].created_at < self.timestamp)
        return Choice(tuple(tuple(run) for older, run in runs if older))


class WholeHistoryMultipleSystemMessages(_Plain):
    """One summary for each section between system messages, or between changes of what the agent is told."""

    type: Literal["whole_history_multiple_system_messages"] = "whole_history_multiple_system_messages"

    def compress(self, entries: Sequence[Entry], free: Sequence[int]) -> Choice:
        section, told, sections = 0, "", list[int]()
        for entry in entries:
            section += entry.role is Role.SYSTEM or told not in ("", entry.told or told)
            told = entry.told or told
            sections.append(section)
        return Choice(tuple(tuple(run) for _, run in groupby(free, lambda at: sections[at])))


class WindowTLDR(_Plain):
    """One summary of the last n messages. All before is left out without one: nothing of it reaches the model."""

    type: Literal["window_tldr"] = "window_tldr"
    n: Size

    if TYPE_CHECKING:

        def __init__(self, n: int = ..., **named: Any) -> None: ...

    def compress(self, entries: Sequence[Entry], free: Sequence[int]) -> Choice:
        cut = before_last([entries[at] for at in free], self.n)
        return Choice((tuple(free[cut:]),), tuple(free[:cut]))


CONCEPT_TEXT = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"


class Concept(Value):
    """A kind of fact to look for."""

    name: Annotated[str, Field(pattern=CONCEPT_TEXT)]
    description: Annotated[Text, Field(pattern=VISIBLE_TEXT, max_length=1000)]
    many: bool = True


class FactsTLDR(Value, json_schema_extra=_named):
    """In place of everything, the facts that were stated about some concepts, and nothing else."""

    type: Literal["facts_tldr"] = "facts_tldr"
    concepts: Annotated[tuple[Concept, ...], Field(min_length=1, max_length=32), AS_TUPLE]

    @property
    def template(self) -> str:
        return FACTS

    def compress(self, entries: Sequence[Entry], free: Sequence[int]) -> Choice:  # noqa: ARG002 - as strategies are asked
        return Choice((tuple(free),))


CompressionStrategy = Annotated[
    WholeHistory
    | FromLastNMessages
    | Chunked
    | FromTimestamp
    | WholeHistoryMultipleSystemMessages
    | WindowTLDR
    | FactsTLDR,
    Field(discriminator="type"),
]
"""Those that can be sent. In the library any `Strategy` will do."""


def before_last(entries: Row, n: int) -> int:
    """Where the last n messages begin, not counting pinned ones and what no later turn is shown."""
    at = len(entries)
    while at and n:
        at -= 1
        n -= not (entries[at].is_pin or entries[at].interim)
    return at if not n else 0
