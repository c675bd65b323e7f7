"""Reaching back: which messages of a view a decision about its history has to read. It reads no others."""

from collections.abc import Iterator, Sequence

import msgspec

from preceptor.domain.conversations.view import Change, Run, View, count, part
from preceptor.domain.history.compression import STEP_BY_STEP
from preceptor.domain.history.limits import Limits
from preceptor.domain.history.segment import NOTHING_YET, Segment, State, basis_of
from preceptor.domain.history.strategy import FromLastNMessages, FromTimestamp, Strategy
from preceptor.domain.ids import ConversationId
from preceptor.domain.prompts.placed import Placed
from preceptor.engine.repositories.work import Work

MARGIN = 8
"""Messages that are read before those that may be kept: what is kept begins with a question, a little later."""
HEAD = 4
"""The first question is looked for among so many."""


class Reach(msgspec.Struct, frozen=True):
    """Numbers of messages in a view: all from `first` on, and some before."""

    first: int = 1
    also: tuple[int, ...] = ()
    sticky: bool = False
    """It begins where the request before had cut."""
    sized: bool = False
    """It reaches no further because of a limit on the number of messages."""


class Past(msgspec.Struct, frozen=True):
    """What is there to be read: a view as it is now, and what the request before left behind."""

    view: View
    runs: tuple[Run, ...]
    state: State
    near: Sequence[Placed] = ()
    """The newest messages, where they are at hand."""

    @property
    def count(self) -> int:
        return count(self.runs)

    @property
    def results(self) -> tuple[int, ...]:
        """The numbers of those that stand for others."""
        return tuple(number_of(self.runs, place) for place in self.view.results)


async def state_of(work: Work, view: View) -> State:
    """What the request before left behind. A view that begins like another begins with what is known of that one."""
    conversation = view.conversation_id
    known = await work.histories.find(conversation, view.view_id)
    if known is not None:
        return known
    if view.restored is not None:
        return await work.histories.find(conversation, view.restored) or NOTHING_YET
    if view.parent is None or view.change not in (Change.EDITED, Change.REGENERATED):
        return NOTHING_YET
    left = await work.histories.find(conversation, view.parent) or NOTHING_YET
    return State(segments=tuple(one for one in left.segments if one.last <= count(view.runs)))


async def within_limits(work: Work, past: Past, cap: int, room: int, size: int | None) -> Reach:
    """As far back as there can be room, or as the request before had cut."""
    state, first = past.state, 1
    sticky = state.cap == cap and state.cut > 1
    if sticky:
        first = state.cut - 1
    else:
        first = max(1, await first_within(work, past.view.conversation_id, past.runs, room) - MARGIN)
    last = 1 if size is None else past.count - _at_most(size) + 2 - len(past.results) - MARGIN
    sized = last > first
    first = max(first, last)
    return Reach(first, tuple(number for number in past.results if number < first), sticky, sized)


def _at_most(shown: int) -> int:
    """Among how many messages there are so many that are shown: of three in a planned turn, two are later."""
    return shown + shown // 2


def for_strategy(past: Past, strategy: Strategy, model: str, limits: Limits) -> Reach:
    """Back to the first question; what summaries stand for already is not read again."""
    known = [one for one in past.state.segments if one.basis == basis_of(strategy, model)]
    if not isinstance(strategy, STEP_BY_STEP):
        return Reach()
    certain = list(_certain(past, strategy, known))
    if len(known) >= limits.most_segments:
        certain = _lasting(certain, limits.summariser_window)
    if not certain or certain[-1].last < HEAD:
        return Reach()
    within = (number for segment in certain for number in segment.kept_within)
    first = certain[-1].last + 1
    also = {*range(1, HEAD + 1), *within, *past.results, certain[-1].last}
    return Reach(first, tuple(sorted(number for number in also if number < first)))


def _lasting(segments: list[Segment], window: int) -> list[Segment]:
    """Those that are not written again for being too many: the newest are, as far as one summary can stand for them."""
    lasting, tokens = list(segments), 0
    while lasting and tokens + lasting[-1].source_tokens <= window:
        tokens += lasting.pop().source_tokens
    return lasting


def _certain(past: Past, strategy: Strategy, known: Sequence[Segment]) -> Iterator[Segment]:
    """Summaries that serve again for certain: none of what must be kept word for word is in them."""
    limit = past.count + 1
    if isinstance(strategy, FromLastNMessages):
        limit -= _at_most(strategy.n) + len(past.results)
    for segment in known:
        late = isinstance(strategy, FromTimestamp) and segment.latest >= strategy.timestamp
        if late or segment.last >= limit:
            return
        yield segment


async def first_within(work: Work, conversation: ConversationId, runs: Sequence[Run], room: int) -> int:
    """The first number from which on there are no more tokens than there is room for."""
    number = count(runs)
    for run in reversed(runs):
        if run.tokens > room:
            beyond = await work.messages.first_beyond(conversation, run.through - max(room, 0))
            first = run.last + 1 if beyond is None else max(run.first, beyond + 1)
            return number - run.last + first
        number -= run.count
        room -= run.tokens
    return 1


def number_of(runs: Sequence[Run], place: int) -> int:
    skip = 0
    for run in runs:
        if run.first <= place <= run.last:
            return skip + place - run.first + 1
        skip += run.count
    raise AssertionError(place)


async def read(work: Work, past: Past, reach: Reach) -> dict[int, Placed]:
    """The messages, by their numbers."""
    found: dict[int, Placed] = {}
    wanted = [(number, 1) for number in reach.also] + [(reach.first, past.count - reach.first + 1)]
    for first, most in wanted:
        places = part(past.runs, first - 1, most) if most > 0 else ()
        rows = await said_in(work, past.view.conversation_id, places, past.near)
        found.update(enumerate(rows, first))
    return found


async def said_in(
    work: Work, conversation: ConversationId, runs: Sequence[Run], near: Sequence[Placed] = ()
) -> list[Placed]:
    """What was said in these places. `near` is the end of it all, as far as it is at hand."""
    first = near[0].place if near else None
    found: list[Placed] = []
    for run in runs:
        if first is not None and run.first >= first:
            found += near[run.first - first : run.last - first + 1]
        else:
            found += await work.messages.between(conversation, run.first, run.last)
    return found
