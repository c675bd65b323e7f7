"""A message in its place in a conversation, and as models are shown it."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from preceptor.domain.ids import TurnId
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role, Text, ToolCall
from preceptor.domain.prompts.source import AnySource, FromMessage, FromPlan, FromSummary
from preceptor.domain.reasoning.synthesis import WITHHELD, ForModel

_RUNNING, _PLAN = TurnId(""), Kind.SYNTHETIC_PLAN


class Placed(msgspec.Struct, gc=False):
    """A message and its number in the conversation. What was worked out of it is kept beside it: it never changes.

    Like the message, it can be passed over by the garbage collector.
    """

    place: int
    message: Message
    withheld: int = 0
    """If the turn it began was blocked: the tokens of what other turns are shown in its place."""
    form: str = ""
    """The format of a provider that it was written in last."""
    written: Any = None
    """What that made of it."""
    entry: Any = None
    """What histories are cut by, of it."""

    @property
    def tokens(self) -> int:
        return self.message.tokens

    @property
    def source(self) -> AnySource:
        message = self.message
        match message.kind:
            case Kind.SUMMARY | Kind.COMPACTION:
                return FromSummary(message.id, self.place, message.kind, message.sources)
            case Kind.SYNTHETIC_PLAN:
                return FromPlan(message.id, self.place)
            case Kind.MESSAGE | Kind.MEMORY | Kind.TOOL:
                return FromMessage(message.id, self.place)


def worth_showing(said: Sequence[Placed], analyses: int = 1) -> list[Placed]:
    """Without what no later turn is shown."""
    interim = interim_in(said, analyses)
    return [each for at, each in enumerate(said) if at not in interim] if interim else list(said)


def interim_in(said: Sequence[Placed], analyses: int = 1) -> frozenset[int]:
    """Where earlier turns said before they answered that they are at work. What followed says more."""
    plans = [at for at, each in enumerate(said[:-1]) if each.message.kind is _PLAN]
    if not plans:
        return frozenset()
    whole = analysed(said, _RUNNING, analyses)
    return frozenset([at for at in plans if _is_interim(said[at].message, said[at + 1].message, whole)])


def _is_interim(message: Message, after: Message, whole: Collection[TurnId]) -> bool:
    if message.analysis is None or message.turn_id in whole:
        return False
    return after.role is Role.ASSISTANT and after.turn_id == message.turn_id


def analysed(said: Sequence[Placed], turn_id: TurnId | None, analyses: int) -> frozenset[TurnId]:
    """The turns whose analyses are shown whole: this one, and the last that were planned before it.

    Not those that were blocked: an analysis says what was withheld in other words.
    """
    found = [turn_id] if turn_id is not None and analyses else []
    blocked = {each.message.turn_id for each in said if each.withheld} if analyses > 1 else set[TurnId]()
    for each in reversed(said) if analyses > 1 else ():
        if each.message.analysis is not None and each.message.turn_id not in (*found, *blocked):
            if len(found) >= analyses:
                break
            found.append(each.message.turn_id)
    return frozenset(found)


def as_shown(placed: Placed, turn_id: TurnId | None = None, whole: Collection[TurnId] = ()) -> Placed:
    """A message as a call of this turn is shown it; most are shown as they are stored.

    Without a turn: as models are shown it from the next turn on, without what was withheld, or meant for one turn.
    """
    message = placed.message
    if message.kind is _PLAN and message.analysis is not None:
        return Placed(placed.place, _plan(message, whole=message.turn_id in whole))
    if placed.withheld and (message.from_client or message.turn_id != turn_id):
        emptied = msgspec.structs.replace(message, parts=_emptied(message), tokens=placed.withheld)
        return Placed(placed.place, emptied)
    return placed


def _emptied(message: Message) -> tuple[AnyPart, ...]:
    """What is shown in place of a message; calls and results stay, without a word in them, as a pair is one."""
    calls = [ToolCall(call.id, call.name, {}) for call in message.tool_calls]
    results = [msgspec.structs.replace(result, content=WITHHELD) for result in message.tool_results]
    return (*calls, *results) or (Text(WITHHELD),)


def _plan(message: Message, *, whole: bool) -> Message:
    """The analysis is for the turn that it was made in, as a rule; of earlier ones only the response is shown."""
    tokens = message.tokens if whole else message.tokens - message.analysis_tokens
    text = ForModel(message.analysis or "", message.text).full if whole else message.text
    return msgspec.structs.replace(message, parts=(Text(text),), analysis=None, tokens=tokens)
