"""Remembering: the part of a conversation's past that a turn is shown, found without reading the rest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from preceptor.domain.conversations.view import Run, View, count, root, shown, tokens
from preceptor.domain.errors import recorded
from preceptor.domain.history.entry import Entry, question_of
from preceptor.domain.history.limits import Costs, Limits, legal_start
from preceptor.domain.history.segment import State
from preceptor.domain.history.strategy import WholeHistoryMultipleSystemMessages
from preceptor.domain.history.tape import ArrayTape
from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.messages.brought import are_paired
from preceptor.domain.messages.message import Message, Role
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.placed import Placed, interim_in, worth_showing
from preceptor.domain.prompts.prompt import ToolSpec
from preceptor.domain.reasoning.policy import SgrPolicy
from preceptor.domain.turns.calls import LeftOut
from preceptor.domain.turns.facts import Pins
from preceptor.engine.history import reaching
from preceptor.engine.history.fitting import Before, Fit, entry_at
from preceptor.engine.history.history import History
from preceptor.engine.history.reaching import Reach, said_in
from preceptor.engine.means.means import Means
from preceptor.engine.means.recalling import without_gap
from preceptor.engine.ports import ChatModel, TokenCounter
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.voice import Voice, tools_for

ROOM = 0.85
"""The share of a model's window that may be filled before it answers."""
ASSESSMENT = 120
"""Tokens of what the guardian may say of a question, which is shown with it."""
SUMMARISED = 0.5
"""The share of the summariser's window that one summary can stand for."""


HIDES = recorded("the current view hides them")


class Past(NamedTuple):
    """How far a conversation has come: its messages and all their tokens."""

    conversation: ConversationId
    last: int
    total: int
    near: Sequence[Placed] = ()
    """The newest messages, where they are at hand."""


@dataclass(slots=True)
class Asking:
    """A request: what it costs besides history, and what it wants of it."""

    means: Means
    voice: Voice
    model: ChatModel
    counter: TokenCounter
    parameters: RequestParameters
    pins: Pins
    message: Message | None
    summarise: bool = True
    afresh: bool = False
    """Decide as if nothing had been decided before."""
    costs: Costs = field(init=False)
    limits: Limits = field(init=False)

    def __post_init__(self) -> None:
        able, limits = self.model.capabilities, self.parameters.limits
        system = sum(piece.tokens for piece in self.voice.system)
        tools = self._tools() if able.tools else ()
        fixed = system + sum(tool.tokens for tool in tools) + able.message_overhead * bool(self.voice.system)
        spare = ASSESSMENT if self.pins.guard else 0
        window = max(int(able.context_window * ROOM), min(able.context_window, fixed + spare + self.asked))
        self.costs = Costs(system, fixed, window, spare)
        window = int(able.context_window * SUMMARISED)
        if limits.strategy is not None and self.pins.summary_model is not None:
            window = int(self.means.models.find(self.summariser).capabilities.context_window * SUMMARISED)
        least = min(limits.summariser_window, window)
        self.limits = msgspec.structs.replace(limits, summarise=self.summarise, summariser_window=least)

    def _tools(self) -> tuple[ToolSpec, ...]:
        delegates = self.pins.may_delegate
        known = self.means.openings.get((self.pins.voice, delegates))
        if known is not None:
            return known.tools
        longest = self.pins.limits.prompt
        return tools_for(self.voice, None, may_delegate=delegates, counter=self.counter, longest=longest)

    @property
    def cap(self) -> int:
        window, asked = self.costs.window or 0, self.parameters.max_tokens
        return window if asked is None else min(window, asked)

    @property
    def room(self) -> int:
        """How many tokens of history there can be."""
        return self.cap - self.costs.fixed - self.asked

    @property
    def asked(self) -> int:
        return 0 if self.message is None else self.message.tokens + self.overhead

    @property
    def overhead(self) -> int:
        return self.model.capabilities.message_overhead

    @property
    def summariser(self) -> str:
        return self.pins.summary_model or self.pins.model

    @property
    def analyses(self) -> int:
        return SgrPolicy.model_validate(self.pins.sgr).retain_analysis_turns if self.pins.sgr else 1

    def entries(self, placed: Mapping[int, Placed]) -> list[Entry]:
        """In order of their numbers."""
        analyses, again = self.analyses, None if self.parameters.enable_token_caching else self.counter
        numbers = sorted(placed)
        found = [entry_at(placed[number], number, analyses=analyses, counter=again) for number in numbers]
        for at in interim_in([placed[number] for number in numbers], analyses):
            found[at] = msgspec.structs.replace(found[at], interim=True)
        return found


async def remember(work: Work, past: Past, asking: Asking, view: View | None = None) -> History:
    """What a request is shown of the past: all of it, or what its limits and the model's window leave of it."""
    if view is None or not past.last:
        view = await work.views.current(past.conversation) if past.last else None
    if view is None:
        return _nothing_said(asking, past.conversation)
    runs = shown(view, past.last, past.total)
    hidden = tuple(_hidden(past, runs))
    if _has_room(asking, runs):
        every = await said_in(work, past.conversation, runs, past.near)
        said = worth_showing(every, asking.analyses)
        if _in_order(said, view):
            pinned = frozenset([each.message.id for each in said if each.place in view.results] if view.results else ())
            near = without_gap(every, past.last)
            return History(said, hidden, view, near, pinned=pinned, cap=asking.parameters.max_tokens)
    fit = await _fit(work, past, view, runs, asking)
    for message_id in fit.needed:
        there = await work.messages.find(message_id)
        assert there is not None
        assert there[2] is not None
        fit.summaries[message_id] = there[2]
    near = without_gap(list(fit.placed.values()), past.last)
    history = History([], hidden, view, near, cap=asking.parameters.max_tokens, fit=fit)
    show(history)
    return history


def show(history: History) -> None:
    """Let a history be what was decided."""
    fit = history.fit
    assert fit is not None
    history.said, history.altered, history.pinned = fit.said(), fit.altered(), fit.pinned
    hidden = tuple(one for one in history.left_out if one.why == HIDES)
    history.left_out = (*fit.left_out(), *hidden)
    history.invalidated = fit.cut.invalidated


def _in_order(said: Sequence[Placed], view: View) -> bool:
    """Whether all of it can be shown as it is. A view that was restored may part a call from what came of it."""
    begins = not said or said[0].message.role is Role.USER
    return begins and (not view.step or are_paired(each.message for each in said))


def _has_room(asking: Asking, runs: Sequence[Run]) -> bool:
    """Whether everything can be shown, by the sums that are stored."""
    parameters = asking.parameters
    if parameters.compression_strategy is not None or not parameters.enable_token_caching:
        return False
    if parameters.max_history_size is not None and count(runs) + 1 > parameters.max_history_size:
        return False
    return tokens(runs) + asking.overhead * count(runs) <= asking.room - asking.costs.spare


async def _fit(work: Work, of: Past, view: View, runs: tuple[Run, ...], asking: Asking) -> Fit:
    state = State() if asking.afresh else await reaching.state_of(work, view)
    past = reaching.Past(view, runs, state, of.near)
    limits = asking.limits
    if limits.strategy is not None:
        reach = reaching.for_strategy(past, limits.strategy, asking.summariser, limits)
        placed = await reaching.read(work, past, reach)
        sections = isinstance(limits.strategy, WholeHistoryMultipleSystemMessages) and reach.first in placed
        told = await work.turns.told(of.conversation, placed[reach.first].place) if sections else {}
        tape = _tape(asking, placed, past.count, told)
        tape.said += past.count - len(placed)
        return _fitted(asking, past, tape, placed)
    room, size = asking.room, limits.max_history_size
    reach = await reaching.within_limits(work, past, asking.cap, room, size)
    placed = await reaching.read(work, past, reach)
    tape = _tape(asking, placed, past.count)
    while reach.first > 1 and not reach.sticky and not reach.sized and _could_hold_more(tape, asking):
        room *= 2
        reach = await reaching.within_limits(work, past, asking.cap, room, size)
        placed = await reaching.read(work, past, reach)
        tape = _tape(asking, placed, past.count)
    return _fitted(asking, past, tape, placed, reach)


def _tape(
    asking: Asking, placed: Mapping[int, Placed], last: int, told: Mapping[TurnId, str] | None = None
) -> ArrayTape:
    entries = asking.entries(placed)
    if told:
        of = {number: told.get(each.message.turn_id, "") for number, each in placed.items()}
        entries = [msgspec.structs.replace(entry, told=of[entry.seq]) for entry in entries]
    if asking.message is not None:
        entries += asking.entries({last + 1: Placed(0, asking.message)})
    return ArrayTape(entries, asking.overhead)


def _could_hold_more(tape: ArrayTape, asking: Asking) -> bool:
    """Even with everything that can be left out of it left out there is room."""
    return asking.costs.fixed + tape.pinned + tape.lean[-1] <= asking.cap


def _fitted(
    asking: Asking, past: reaching.Past, tape: ArrayTape, placed: dict[int, Placed], reach: Reach | None = None
) -> Fit:
    state, before = (past.state, Before()) if reach is None else _begun(asking, past, tape, placed, reach)
    return Fit(
        tape=tape,
        limits=asking.limits,
        costs=asking.costs,
        state=state,
        view_id=past.view.view_id,
        summariser=asking.summariser,
        placed=placed,
        runs=past.runs,
        counter=asking.counter,
        before=before,
        analyses=asking.analyses,
    )


def _begun(
    asking: Asking, past: reaching.Past, tape: ArrayTape, placed: Mapping[int, Placed], reach: Reach
) -> tuple[State, Before]:
    """A tape that is only the end of a longer one is cut behind its first entry at least."""
    state = past.state
    if reach.first == 1:
        return state, Before()
    hidden = reach.first - 1 - len(reach.also)
    read = sum([each.message.tokens for each in placed.values()])
    cut = state.cut
    if reach.sized or not reach.sticky:
        at = legal_start(tape, min(tape.find(reach.first) + 1, len(tape)), question_of(tape))
        begins = tape[at].seq if at < len(tape) else past.count + 2
        cut = max(begins, state.cut) if reach.sticky else begins
    forced, restore = (cut, state.cut if reach.sticky else 0) if reach.sized else (0, 0)
    kept = state if reach.sticky else State(segments=state.segments, last=state.last, first=state.first)
    before = Before(hidden, tokens(past.runs) - read, forced, restore)
    return msgspec.structs.replace(kept, cap=asking.cap, cut=cut), before


def _nothing_said(asking: Asking, conversation: ConversationId) -> History:
    """The first message of a conversation: whether it can be asked at all."""
    if asking.room >= 0 and asking.parameters.max_tokens is None:
        return History([])
    _fitted(asking, reaching.Past(root(conversation), (), State()), _tape(asking, {}, 0), {})
    return History([])


def _hidden(past: Past, runs: Sequence[Run]) -> Iterator[LeftOut]:
    if hidden := past.last - count(runs):
        yield LeftOut(what=recorded("%(count)s messages", count=hidden), why=HIDES, tokens=past.total - tokens(runs))


def within(said: list[Placed], room: int, overhead: int) -> list[Placed]:
    """The newest that fit, from the first of them that a user said: an exchange is shown whole or not at all."""
    used = sum(each.message.tokens + overhead for each in said)
    start = 0
    while start < len(said) and (used > room or (start and said[start].message.role is not Role.USER)):
        used -= said[start].message.tokens + overhead
        start += 1
    return said[start:]
