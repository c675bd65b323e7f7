"""Segments: summaries that exist, each with what it stands for, and what a conversation's view remembers of them."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
import orjson

from preceptor.domain.history.entry import Entry
from preceptor.domain.history.outline import Span
from preceptor.domain.history.strategy import FromLastNMessages, FromTimestamp, Strategy, before_last
from preceptor.domain.history.tape import Tape
from preceptor.domain.ids import MessageId


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A summary in place of originals. Its entry has the `seq` of the last of them."""

    entry: Entry
    first: int
    last: int
    count: int
    source_tokens: int
    latest: datetime
    """When the newest of its sources was said."""
    kept_within: tuple[int, ...] = ()
    basis: str = ""
    key: str = ""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What one request leaves behind for the next, as places in the conversation, so that the same is shown again."""

    cap: int | None = None
    cut: int = 0
    spans: int = 0
    payloads: int = 0
    first: int = 0
    """Where the kept part began, by whichever limit."""
    last: int = -1
    """Where the previous view ended."""
    segments: tuple[Segment, ...] = ()
    used: tuple[int, ...] = ()
    """The `last` of each segment that the previous view showed."""


NOTHING_YET = State()


def basis_of(strategy: Strategy, model: str) -> str:
    """What must be the same for a summary to serve again. A strategy's numbers only choose the sources."""
    return f"{strategy.type}/{strategy.template}/{model}"


def memo_key(sources: Sequence[MessageId], basis: str) -> str:
    """The same for the same originals, strategy, template with its version, and model."""
    return hashlib.sha256(orjson.dumps([basis, list(sources)])).hexdigest()


def segment_of(span: Span, summary: Entry, basis: str) -> Segment:
    """A summary that was just written, in the place of its span."""
    return Segment(
        entry=msgspec.structs.replace(summary, seq=span.seq),
        first=span.entries[0].seq,
        last=span.seq,
        count=len(span.entries),
        source_tokens=span.tokens,
        latest=span.latest,
        kept_within=span.kept_within,
        basis=basis,
        key=memo_key(span.sources, basis),
    )


def learned(state: State, new: Iterable[Segment]) -> State:
    """The state with these summaries. One that covers others takes their place."""
    segments = list(state.segments)
    for one in new:
        segments = [old for old in segments if old.last < one.first or old.first > one.last or old.basis != one.basis]
        segments.append(one)
    return msgspec.structs.replace(state, segments=tuple(sorted(segments, key=lambda segment: segment.last)))


def usable(strategy: Strategy, basis: str, segments: Iterable[Segment], tape: Tape, question: int) -> list[Segment]:
    """The summaries that serve this request: an unbroken run from the first, none of what must be kept in them."""
    limit = question
    if isinstance(strategy, FromLastNMessages):
        limit = min(question, before_last(tape, strategy.n))
    found: list[Segment] = []
    for segment in segments:
        if segment.basis != basis:
            continue
        if tape.find(segment.last) >= limit:
            break
        if isinstance(strategy, FromTimestamp) and segment.latest >= strategy.timestamp:
            break
        found.append(segment)
    return found
