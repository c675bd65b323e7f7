"""Assembling a prompt: system, history, the running turn, the closing words; always in this order."""

from collections.abc import Collection, Sequence

import msgspec

from preceptor.domain.ids import TurnId
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role, Text, ToolCall
from preceptor.domain.once import once
from preceptor.domain.prompts.prompt import Prompt, Segment, Shown, ToolSpec
from preceptor.domain.prompts.source import AnySource, FromEngine, FromMessage, FromPlan, FromSummary
from preceptor.domain.reasoning.synthesis import WITHHELD, ForModel

GO_ON = Segment(text="Go on.", source=FromEngine("go_on"), tokens=3)
"""A request may not end with words of the assistant: providers stop early there, or refuse."""


_RUNNING, _PLAN, _SAID = TurnId(""), Kind.SYNTHETIC_PLAN, Kind.MESSAGE


class Placed(msgspec.Struct, frozen=True, dict=True):
    """A message and its number in the conversation."""

    place: int
    message: Message
    withheld: int = 0
    """If the turn it began was blocked: the tokens of what other turns are shown in its place."""

    @once
    def always(self) -> Shown | None:
        """As every call is shown it; a history is shown again and again. None if that depends."""
        message = self.message
        if self.withheld or (message.kind is _PLAN and message.analysis is not None):
            return None
        source = FromMessage(message.id, self.place) if message.kind is _SAID else source_of(self)
        return Shown(message, source, message.tokens)


def assemble(  # noqa: PLR0913 - the last by name
    system: tuple[Segment, ...],
    said: Sequence[Placed],
    tail: tuple[Segment, ...],
    tools: tuple[ToolSpec, ...],
    *,
    overhead: int,
    turn_id: TurnId | None = None,
    analyses: int = 1,
) -> Prompt:
    """`overhead` is what the format costs for each message; `turn_id` is the turn whose call it is.

    Whole analyses are shown of so many turns, that one first.
    """
    shown = all_shown(said, turn_id, analyses)
    if not tail and (not shown or shown[-1].message.role is Role.ASSISTANT):
        tail = (GO_ON,)
    messages = len(shown) + bool(system) + bool(tail)
    return Prompt(system=system, shown=shown, tail=tail, tools=tools, overhead=overhead * messages)


def all_shown(said: Sequence[Placed], turn_id: TurnId | None, analyses: int = 1) -> tuple[Shown, ...]:
    """What was said, as a call of this turn is shown it."""
    whole = _analysed(said, turn_id, analyses)
    return tuple([each.always or as_shown(each, turn_id, whole) for each in said])


def worth_showing(said: Sequence[Placed], analyses: int = 1) -> list[Placed]:
    """Without what earlier turns said before they answered: that they are at work. What followed says more."""
    plans = [at for at, each in enumerate(said[:-1]) if each.message.kind is _PLAN]
    if not plans:
        return list(said)
    whole = _analysed(said, _RUNNING, analyses)
    interim = {at for at in plans if _is_interim(said[at].message, said[at + 1].message, whole)}
    return [each for at, each in enumerate(said) if at not in interim]


def _is_interim(message: Message, after: Message, whole: Collection[TurnId]) -> bool:
    if message.analysis is None or message.turn_id in whole:
        return False
    return after.role is Role.ASSISTANT and after.turn_id == message.turn_id


def _analysed(said: Sequence[Placed], turn_id: TurnId | None, analyses: int) -> frozenset[TurnId]:
    """The turns whose analyses are shown whole: this one, and the last that were planned before it."""
    found = [turn_id] if turn_id is not None and analyses else []
    for each in reversed(said) if analyses > 1 else ():
        if each.message.analysis is not None and each.message.turn_id not in found:
            if len(found) >= analyses:
                break
            found.append(each.message.turn_id)
    return frozenset(found)


def for_models(placed: Placed) -> Placed:
    """A message as models are shown it from the next turn on: without what was withheld, or meant for one turn."""
    shown = as_shown(placed, None)
    return placed if shown.message is placed.message else Placed(placed.place, shown.message)


def as_shown(placed: Placed, turn_id: TurnId | None, whole: Collection[TurnId] = ()) -> Shown:
    """A message as a call of this turn is shown it: most are shown as they are stored."""
    message = placed.message
    if message.kind is Kind.SYNTHETIC_PLAN and message.analysis is not None:
        return _plan(placed, message, whole=message.turn_id in whole)
    if placed.withheld and (message.from_client or message.turn_id != turn_id):
        instead = msgspec.structs.replace(message, parts=_emptied(message))
        return Shown(instead, source_of(placed), placed.withheld)
    return Shown(message, source_of(placed), message.tokens)


def _emptied(message: Message) -> tuple[AnyPart, ...]:
    """What is shown in place of a message; calls and results stay, without a word in them, as a pair is one."""
    calls = [ToolCall(call.id, call.name, {}) for call in message.tool_calls]
    results = [msgspec.structs.replace(result, content=WITHHELD) for result in message.tool_results]
    return (*calls, *results) or (Text(WITHHELD),)


def _plan(placed: Placed, message: Message, *, whole: bool) -> Shown:
    """The analysis is for the turn that it was made in, as a rule; of earlier ones only the response is shown."""
    tokens = message.tokens if whole else message.tokens - message.analysis_tokens
    text = ForModel(message.analysis or "", message.text).full if whole else message.text
    return Shown(msgspec.structs.replace(message, parts=(Text(text),), analysis=None), source_of(placed), tokens)


def source_of(placed: Placed) -> AnySource:
    message = placed.message
    match message.kind:
        case Kind.SUMMARY | Kind.COMPACTION:
            return FromSummary(message.id, placed.place, message.kind, message.sources)
        case Kind.SYNTHETIC_PLAN:
            return FromPlan(message.id, placed.place)
        case Kind.MESSAGE | Kind.MEMORY | Kind.TOOL:
            return FromMessage(message.id, placed.place)


def runs(places: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Numbers that follow each other, as first and last: a long history is a short record."""
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1] = (found[-1][0], place)
        else:
            found.append((place, place))
    return tuple(found)
