"""Views: what is shown of a conversation, in which order. Messages are never changed; a view is another look at them.

A view is a few runs over the messages' places and everything that is said from `since` on, so that a turn changes no
view. Each change is a new view, which is then the current one. Nothing before it is lost: any view can be restored.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

import msgspec

from preceptor.domain.conversations.compaction import Compaction
from preceptor.domain.ids import ConversationId, MessageId, UserId, ViewId


class Change(StrEnum):
    """What made a view."""

    STARTED = "started"
    COMPACTED = "compacted"
    RESTORED = "restored"
    EDITED = "edited"
    REGENERATED = "regenerated"


class Run(msgspec.Struct, frozen=True, array_like=True):
    """Places that follow each other, with the tokens of all messages before the first and up to the last."""

    first: int
    last: int
    before: int
    through: int

    @property
    def tokens(self) -> int:
        return self.through - self.before

    @property
    def count(self) -> int:
        return self.last - self.first + 1


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    view_id: ViewId
    conversation_id: ConversationId
    step: int
    """Views are numbered as they come. The last is the current one."""
    change: Change
    line: ViewId
    """Whoever answers again or edits starts another line; what is said on one line is not part of another."""
    at: int = 0
    """How many messages there were before it."""
    total: int = 0
    """And how many tokens."""
    since: int = 1
    """From this place on, everything is shown."""
    base: int = 0
    """The tokens of everything before that."""
    runs: tuple[Run, ...] = ()
    """What is shown of the rest, in this order."""
    results: tuple[int, ...] = ()
    """Places in it that stand for others."""
    parent: ViewId | None = None
    """The one that it took the place of."""
    restored: ViewId | None = None
    by: UserId | None = None
    created_at: datetime | None = None
    compaction: Compaction | None = None

    @property
    def etag(self) -> str:
        return f'"{self.view_id}"'


class ViewChanged(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the event `view.changed` says."""

    view: View
    sources: tuple[MessageId, ...] = ()
    """Of a compaction: what its result stands for, or what was left out."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(View)


def encode(view: View) -> bytes:
    return _ENCODER.encode(view)


def decode(body: str | bytes) -> View:
    return _DECODER.decode(body)


def root(conversation: ConversationId) -> View:
    """Everything: what a conversation shows until something changes that."""
    first = ViewId(conversation)
    return View(view_id=first, conversation_id=conversation, step=0, change=Change.STARTED, line=first)


def shown(view: View, last: int, total: int) -> tuple[Run, ...]:
    """All runs of a view of `last` messages with `total` tokens."""
    if view.since > last:
        return view.runs
    return joined((*view.runs, Run(view.since, last, view.base, total)))


def places(runs: Iterable[Run]) -> Iterator[int]:
    for run in runs:
        yield from range(run.first, run.last + 1)


def tokens(runs: Iterable[Run]) -> int:
    return sum(run.tokens for run in runs)


def count(runs: Iterable[Run]) -> int:
    return sum(run.count for run in runs)


def joined(runs: Iterable[Run]) -> tuple[Run, ...]:
    """The same with runs that continue each other made one."""
    found: list[Run] = []
    for run in runs:
        if found and found[-1].last + 1 == run.first:
            found[-1] = Run(found[-1].first, run.last, found[-1].before, run.through)
        else:
            found.append(run)
    return tuple(found)


def without(
    runs: Sequence[Run], gone: Collection[int], sums: Mapping[int, int], result: Run | None = None
) -> tuple[Run, ...]:
    """The runs without these places, and with the result where the last of them was.

    `sums` has the tokens up to and with each message that is shown.
    """
    order = [place for place in places(runs) if place in gone]
    left: list[Run] = []
    for run in runs:
        cuts = [run.first - 1, *(place for place in range(run.first, run.last + 1) if place in gone), run.last + 1]
        for start, end in pairwise(cuts):
            if end - start > 1:
                before = run.before if start < run.first else sums[start]
                left.append(Run(start + 1, end - 1, before, run.through if end > run.last else sums[end - 1]))
            if result is not None and end <= run.last and end == order[-1]:
                left.append(result)
    return joined(left)


def part(runs: Iterable[Run], skip: int, most: int) -> tuple[Run, ...]:
    """The places from number `skip` on, `most` of them. Their tokens are not told."""
    found: list[Run] = []
    for run in runs:
        first = run.first + min(skip, run.count)
        last = min(run.last, first + most - 1)
        skip -= first - run.first
        if first <= last:
            found.append(Run(first, last, 0, 0))
            most -= last - first + 1
    return tuple(found)


def up_to(runs: Sequence[Run], place: int, before: int) -> tuple[Run, ...] | None:
    """What is shown before a message, given the tokens of all before its place. None if it is not shown."""
    for number, run in enumerate(runs):
        if run.first <= place <= run.last:
            rest = (Run(run.first, place - 1, run.before, before),) if place > run.first else ()
            return (*runs[:number], *rest)
    return None


def as_left(views: Sequence[View], view: View, last: int, total: int) -> tuple[Run, ...]:
    """What a view showed when the next took its place; what it shows now, if none has. `views` are all, by step."""
    if view.step + 1 < len(views):
        after = views[view.step + 1]
        return shown(view, after.at, after.total)
    return shown(view, last, total)


def restored(views: Sequence[View], view: View, last: int, total: int) -> tuple[Run, ...]:
    """What a view shows once it is restored: what it did when it was left, then what was said since on its line.

    Whatever later views hid of that is shown again, and what stood for others is not said by anyone.
    """
    runs = list(as_left(views, view, last, total))
    for later in views[view.step + 1 :]:
        if later.line == view.line:
            runs += as_left(views, msgspec.structs.replace(later, runs=()), last, total)
    return joined(runs)
