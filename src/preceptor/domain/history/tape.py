"""Tapes: the entries of a conversation with their running sums, so that a cut costs the same at any length."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Protocol, overload

from preceptor.domain.history.entry import Entry

_SEQ = attrgetter("seq")


def _sums(values: Iterable[int]) -> "array[int]":
    return array("q", accumulate(values, initial=0))


class Tape(Protocol):
    """Entries in order of `seq`. Sums leave pinned entries out, and include what the format costs per message.

    It may be the end of a longer one, as long as nothing before it could be kept.
    """

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, at: int, /) -> Entry: ...

    @overload
    def __getitem__(self, at: slice, /) -> Sequence[Entry]: ...

    @property
    def overhead(self) -> int:
        """Tokens that the format costs per message."""
        ...

    @property
    def pins(self) -> Sequence[int]:
        """Where the pinned entries are."""
        ...

    @property
    def pinned(self) -> int:
        """Tokens of the pinned entries."""
        ...

    @property
    def said(self) -> int:
        """How many messages there are besides system messages and what no later turn is shown."""
        ...

    @property
    def loose(self) -> Sequence[int]:
        """Tokens of what comes before each place, and in the end of everything."""
        ...

    @property
    def counts(self) -> Sequence[int]:
        """How many come before."""
        ...

    @property
    def spans(self) -> Sequence[int]:
        """Tokens of delegations before, which go first."""
        ...

    @property
    def payloads(self) -> Sequence[int]:
        """Tokens that leaving out tool answers before would free, delegations not counted."""
        ...

    @property
    def lean(self) -> Sequence[int]:
        """Tokens of what comes before when delegations and tool answers are left out."""
        ...

    @property
    def analyses(self) -> Sequence[int]:
        """Tokens of analyses before, pinned or not."""
        ...

    @property
    def tools(self) -> Sequence[int]:
        """How many before call tools, or answer."""
        ...

    def find(self, seq: int) -> int:
        """The first place at or after `seq`."""
        ...


class ArrayTape(list[Entry]):
    """A tape in memory. It only grows."""

    __slots__ = (
        "analyses",
        "counts",
        "lean",
        "loose",
        "overhead",
        "payloads",
        "pinned",
        "pins",
        "said",
        "spans",
        "tools",
    )

    def __init__(self, entries: Iterable[Entry] = (), overhead: int = 0) -> None:
        super().__init__(entries)
        self.overhead = overhead
        pinned = [entry.is_pin for entry in self]
        costs = [entry.tokens + overhead for entry in self]
        loose = [0 if pin else cost for pin, cost in zip(pinned, costs, strict=True)]
        spans = [cost if entry.intermediate else 0 for entry, cost in zip(self, loose, strict=True)]
        payloads = [0 if pin or span else entry.payload for entry, pin, span in zip(self, pinned, spans, strict=True)]
        self.pins = [at for at, pin in enumerate(pinned) if pin]
        self.pinned = sum([costs[at] for at in self.pins])
        self.said = sum([entry.counts for entry in self])
        self.loose, self.spans, self.payloads = _sums(loose), _sums(spans), _sums(payloads)
        self.counts = _sums([not pin for pin in pinned])
        self.lean = _sums([cost - span - freed for cost, span, freed in zip(loose, spans, payloads, strict=True)])
        self.analyses = _sums([entry.analysis for entry in self])
        self.tools = _sums([1 if entry.calls or entry.results else 0 for entry in self])

    def append(self, entry: Entry, /) -> None:
        cost, pin = entry.tokens + self.overhead, entry.is_pin
        if pin:
            self.pins.append(len(self))
            self.pinned += cost
        self.said += entry.counts
        super().append(entry)
        loose = 0 if pin else cost
        span = loose if entry.intermediate else 0
        payload = 0 if pin or span else entry.payload
        self.loose.append(self.loose[-1] + loose)
        self.counts.append(self.counts[-1] + (not pin))
        self.spans.append(self.spans[-1] + span)
        self.payloads.append(self.payloads[-1] + payload)
        self.lean.append(self.lean[-1] + loose - span - payload)
        self.analyses.append(self.analyses[-1] + entry.analysis)
        self.tools.append(self.tools[-1] + (1 if entry.calls or entry.results else 0))

    def find(self, seq: int) -> int:
        at = seq - self[0].seq if self else 0  # where it is, if no number is missing
        if 0 <= at < len(self) and self[at].seq == seq:
            return at
        return bisect_left(self, seq, key=_SEQ)
