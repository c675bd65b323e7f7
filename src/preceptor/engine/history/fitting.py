"""Fitting: what a request shows of a past that lies on a tape. Nothing here reads or calls anything."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from preceptor.domain.conversations.view import Run
from preceptor.domain.errors import recorded
from preceptor.domain.history.compression import CompressionSkipped, WhySkipped
from preceptor.domain.history.entry import ELISION_TOKENS, Entry, entry_of
from preceptor.domain.history.limits import Costs, Limits
from preceptor.domain.history.outline import Span
from preceptor.domain.history.plan import Cut, plan
from preceptor.domain.history.segment import Segment, State, basis_of, learned, segment_of
from preceptor.domain.history.tape import ArrayTape
from preceptor.domain.history.view import Alteration, Reason
from preceptor.domain.history.view import LeftOut as Gone
from preceptor.domain.ids import MessageId, ViewId
from preceptor.domain.messages.message import AnyPart, Message
from preceptor.domain.prompts.placed import Placed, as_shown, worth_showing
from preceptor.domain.turns.calls import Altered, LeftOut
from preceptor.engine.history.counting import tokens_of
from preceptor.engine.ports import TokenCounter

LIMITED = frozenset({Reason.MAX_TOKENS, Reason.CONTEXT_WINDOW, Reason.MAX_HISTORY_SIZE})
IN_PART = {
    Reason.EARLIER_ANALYSIS: partial(recorded, "the analyses of %(what)s"),
    Reason.TOOL_ANSWER: partial(recorded, "the tool answers of %(what)s"),
}
WHY = {
    Reason.MAX_TOKENS: partial(recorded, "maxTokens is %(max_tokens)s"),
    Reason.CONTEXT_WINDOW: partial(recorded, "the model's window has room for %(window)s tokens"),
    Reason.MAX_HISTORY_SIZE: partial(recorded, "maxHistorySize is %(size)s"),
    Reason.INTERMEDIATE: partial(recorded, "there is too much, and the steps of delegations go first"),
    Reason.STRATEGY: partial(recorded, "the strategy %(strategy)s leaves it out"),
    Reason.TOOL_ANSWER: partial(recorded, "there is too much, and old tool answers go early"),
    Reason.EARLIER_ANALYSIS: partial(recorded, "an analysis is for its own turn"),
    Reason.UNANSWERED_CALL: partial(recorded, "a call has no answer"),
    Reason.UNASKED_ANSWER: partial(recorded, "an answer has no call"),
    Reason.CANNOT_OPEN: partial(recorded, "a request begins with a user's message"),
}


class Before(msgspec.Struct, frozen=True):
    """What lies before a tape and could not be kept."""

    count: int = 0
    tokens: int = 0
    forced: int = 0
    """Where the tape was cut because a limit on the number of messages reaches no further."""
    restore: int = 0
    """How far it is cut for another request without that limit."""


@dataclass(slots=True)
class Fit:
    tape: ArrayTape
    limits: Limits
    costs: Costs
    state: State
    view_id: ViewId
    summariser: str
    placed: dict[int, Placed]
    """What is on the tape, by its number in the view."""
    runs: tuple[Run, ...]
    counter: TokenCounter
    before: Before = Before()  # noqa: RUF009 - it never changes
    analyses: int = 1
    """Of how many turns the whole analysis is shown, the next one first."""
    summaries: dict[MessageId, Message] = field(default_factory=dict[MessageId, Message])
    learned: bool = False
    """A summary was written for this request: after it there is nothing new, which says nothing."""
    cut: Cut = field(init=False)

    def __post_init__(self) -> None:
        self._plan()

    def _plan(self) -> None:
        self.cut = plan(self.tape, self.limits, self.costs, self.state, self.summariser)

    @property
    def basis(self) -> str:
        assert self.limits.strategy is not None
        return basis_of(self.limits.strategy, self.summariser)

    def learn(self, span: Span, summary: Message) -> None:
        """A span has its summary."""
        self.summaries[summary.id] = summary
        self.state = learned(self.state, [segment_of(span, entry_of(summary, span.seq), self.basis)])
        self.learned = True

    def again(self) -> None:
        """Plan with what was learned."""
        self._plan()

    def trim(self) -> None:
        """Plan without the summaries that could not be had."""
        self.limits = msgspec.structs.replace(self.limits, summarise=False)
        self._plan()

    @property
    def after(self) -> State:
        """What the next request is to know."""
        state, before = self.cut.state, self.before
        if before.forced and state.cut == before.forced:
            state = msgspec.structs.replace(state, cut=before.restore)
        return state

    @property
    def needed(self) -> tuple[MessageId, ...]:
        """The summaries that are shown, as far as they were written before."""
        segments: Sequence[Segment] = self.cut.segments
        return tuple(one.entry.id for one in segments if one.entry.id not in self.summaries)

    def said(self) -> list[Placed]:
        """What is shown, but for the question; what awaits its summary is not there yet."""
        end = self._question
        kept = [entry for entry in self.cut.kept if entry.id and entry.seq != end]
        if self.cut.view.altered or self.summaries:
            return worth_showing([self._shown(entry) for entry in kept], self.analyses)
        return worth_showing([self.placed[entry.seq] for entry in kept], self.analyses)

    @property
    def _question(self) -> int:
        last = len(self.tape) - 1
        return self.tape[last].seq if last >= 0 and self.tape[last].seq not in self.placed else 0

    def altered(self) -> dict[MessageId, Altered]:
        found = (self._altered(entry) for entry in self.cut.kept if entry.id) if self.cut.view.altered else ()
        return {message_id: altered for message_id, altered in found if altered is not None}

    def _shown(self, entry: Entry) -> Placed:
        placed = self._placed(entry)
        _, altered = self._altered(entry)
        return placed if altered is None else Placed(placed.place, altered.of(placed.message), placed.withheld)

    def _placed(self, entry: Entry) -> Placed:
        summary = self.summaries.get(entry.id)
        return self.placed[entry.seq] if summary is None else Placed(0, summary)

    def _altered(self, entry: Entry) -> tuple[MessageId, Altered | None]:
        how = self.cut.view.altered.get(entry.seq)
        if how is None or entry.seq == self._question:
            return entry.id, None
        message = self._placed(entry).message
        return entry.id, altered_by(message, how, self.counter)

    @property
    def pinned(self) -> frozenset[MessageId]:
        if not self.tape.pins and not self.cut.segments:
            return frozenset()
        return frozenset(entry.id for entry in self.cut.kept if entry.id and entry.is_pin)

    def left_out(self) -> tuple[LeftOut, ...]:
        idle = WhySkipped.NOTHING_TO_SUMMARISE if self.learned else None
        return (*self._gone(), *(self._skipped(one) for one in self.cut.skipped if one.why is not idle))

    def _gone(self) -> Iterator[LeftOut]:
        for reason, what in IN_PART.items():
            found = [gone for gone in self.cut.left_out if gone.reason is reason]
            if found:
                said = what(what=_messages(len(found)))
                yield LeftOut(what=said, why=self._why(reason), tokens=sum(gone.tokens for gone in found))
        whole = [gone for gone in self.cut.left_out if gone.reason not in IN_PART]
        for gone in joined(self._from_the_start(whole)):
            span = self._places(gone)
            what = _messages(gone.count) if span is None else _named(*span)
            yield LeftOut(what=what, why=self._why(gone.reason), tokens=gone.tokens, places=span)

    def _from_the_start(self, gone: list[Gone]) -> list[Gone]:
        """With what lies before the tape."""
        before = self.before
        if not before.count:
            return gone
        at = next((at for at, one in enumerate(gone) if one.reason in LIMITED), None)
        if at is None:
            return [Gone(1, before.count, before.count, before.tokens, Reason.MAX_HISTORY_SIZE), *gone]
        one = gone[at]
        reason = Reason.MAX_HISTORY_SIZE if before.forced and self.cut.state.cut == before.forced else one.reason
        whole = Gone(1, one.last, one.count + before.count, one.tokens + before.tokens, reason)
        return [*gone[:at], whole, *gone[at + 1 :]]

    def _why(self, reason: Reason) -> str:
        strategy = self.limits.strategy
        return WHY[reason](
            max_tokens=self.limits.max_tokens,
            window=self.costs.window,
            size=self.limits.max_history_size,
            strategy=strategy and strategy.type,
        )

    def _places(self, gone: Gone) -> tuple[int, int] | None:
        """Where it is in the conversation, if that is one run of places and all of it is meant."""
        skip = 0
        for run in self.runs:
            if skip < gone.first and gone.last <= skip + run.count and gone.last - gone.first + 1 == gone.count:
                return run.first + gone.first - skip - 1, run.first + gone.last - skip - 1
            skip += run.count
        return None

    def _skipped(self, skipped: CompressionSkipped) -> LeftOut:
        facts = {"why": skipped.why, "count": skipped.message_count, "least": skipped.minimum}
        enough = recorded("%(why)s (%(count)s messages)", **facts)
        why = recorded("%(why)s (%(count)s messages, %(least)s needed)", **facts) if skipped.minimum else enough
        return LeftOut(what=recorded("no new summary"), why=why)


def joined(gone: Sequence[Gone]) -> list[Gone]:
    """The same with what follows each other for one reason made one."""
    found: list[Gone] = []
    for one in gone:
        last = found[-1] if found else None
        if last is not None and last.reason is one.reason and last.last + 1 == one.first:
            found[-1] = Gone(last.first, one.last, last.count + one.count, last.tokens + one.tokens, one.reason)
        else:
            found.append(one)
    return found


def entry_at(placed: Placed, seq: int, *, analyses: int = 1, counter: TokenCounter | None = None) -> Entry:
    """A message as later turns are shown it, made once, unless a `counter` is to count it again."""
    known = placed.entry
    if known is not None and counter is None and known[0] == analyses and known[1].seq == seq:
        return known[1]
    entry = _entry(placed, seq, analyses, counter)
    if counter is None:
        placed.entry = analyses, entry
    return entry


def _entry(placed: Placed, seq: int, analyses: int, counter: TokenCounter | None) -> Entry:
    message, shown = placed.message, as_shown(placed)
    entry = entry_of(message, seq)
    if counter is None and not entry.results and shown is placed:
        return entry
    whole = analyses > 1
    tokens = shown.tokens if counter is None else tokens_of(shown.message.parts, counter)
    answers = 0 if placed.withheld or not entry.results else message.tokens
    return msgspec.structs.replace(
        entry,
        tokens=tokens + (message.analysis_tokens if whole else 0),
        analysis=0 if whole else message.analysis_tokens,
        payload=max(0, answers - ELISION_TOKENS * len(entry.results)),
    )


def altered_by(message: Message, how: Alteration, counter: TokenCounter) -> Altered | None:
    """How it is shown, if that is not as it is stored. What becomes of analyses is decided where prompts are made."""
    less = how.elided or how.calls is not None or how.results is not None
    if not less and not how.as_user:
        return None
    altered = Altered(
        tokens=message.tokens,
        elided=how.elided,
        calls=None if how.calls is None else tuple(sorted(how.calls)),
        results=None if how.results is None else tuple(sorted(how.results)),
        as_user=how.as_user,
    )
    if not less:
        return altered
    parts: tuple[AnyPart, ...] = altered.of(message).parts
    return msgspec.structs.replace(altered, tokens=tokens_of(parts, counter) + message.analysis_tokens)


def _messages(count: int) -> str:
    return recorded("1 message") if count == 1 else recorded("%(count)s messages", count=count)


def _named(first: int, last: int) -> str:
    if first == last:
        return recorded("message %(first)s", first=first)
    return recorded("messages %(first)s to %(last)s", first=first, last=last)
