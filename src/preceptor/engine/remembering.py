"""Remembering: the part of a conversation's past that a turn is shown, found without reading the rest."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from preceptor.domain.conversations.view import Run, View, count, shown, tokens
from preceptor.domain.ids import ConversationId
from preceptor.domain.messages.message import Message, Role
from preceptor.domain.prompts.assemble import Placed
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.turns.facts import LeftOut
from preceptor.engine.ports import ChatModel, Work
from preceptor.engine.run import History
from preceptor.engine.voice import Voice

ROOM = 0.85
"""The share of a model's window that may be filled before it answers."""
TOOL_ROOM = 400


class Past(NamedTuple):
    """How far a conversation has come: its messages and all their tokens."""

    conversation: ConversationId
    last: int
    total: int


async def remember(
    work: Work, past: Past, voice: Voice, message: Message, model: ChatModel, parameters: RequestParameters
) -> History:
    """As much of the newest as there is room for, beginning with something that a user said."""
    conversation, last, total = past
    if not last:
        return History([])
    cap = int(model.capabilities.context_window * ROOM)
    room = min(cap, parameters.max_tokens or cap) - _fixed(voice, message)
    view = await work.views.current(conversation)
    runs = shown(view, last, total)
    kept = await _newest(work, view, runs, room, model.capabilities.message_overhead)
    return History(kept, tuple(_left_out(past, runs, kept, room)), view.view_id if view.step else None)


async def _newest(work: Work, view: View, runs: Sequence[Run], room: int, overhead: int) -> list[Placed]:
    """What there is room for; what stands for others always is there, where they were."""
    conversation = view.conversation_id
    if tokens(runs) + overhead * count(runs) <= room:
        return await _said(work, conversation, runs)
    pins = await _said(work, conversation, [Run(place, place, 0, 0) for place in view.results])
    room -= sum(pin.message.tokens + overhead for pin in pins)
    newest = await _said(work, conversation, await _last_runs(work, conversation, runs, room))
    kept = within([each for each in newest if each.place not in view.results], room, overhead, cut=True)
    return sorted((*pins, *kept), key=lambda each: _position(runs, each.place)) if pins else kept


def _position(runs: Sequence[Run], place: int) -> tuple[int, int]:
    return next(number for number, run in enumerate(runs) if run.first <= place <= run.last), place


async def _last_runs(work: Work, conversation: ConversationId, runs: Sequence[Run], room: int) -> list[Run]:
    """The last of the runs that together have no more tokens than there is room for."""
    found: list[Run] = []
    for run in reversed(runs):
        if run.tokens > room:
            beyond = await work.messages.first_beyond(conversation, run.through - room)
            first = run.last + 1 if beyond is None else max(run.first, beyond + 1)
            return [Run(first, run.last, 0, 0), *found] if first <= run.last else found
        found.insert(0, run)
        room -= run.tokens
    return found


async def _said(work: Work, conversation: ConversationId, runs: Sequence[Run]) -> list[Placed]:
    return [each for run in runs for each in await work.messages.between(conversation, run.first, run.last)]


def _left_out(past: Past, runs: Sequence[Run], kept: list[Placed], room: int) -> Iterator[LeftOut]:
    if left := count(runs) - len(kept):
        why = f"the model's window has room for {room} tokens of history"
        gone = tokens(runs) - sum(each.message.tokens for each in kept)
        one_run = len(runs) == 1 and runs[0].first == 1
        yield LeftOut(
            what=f"messages 1 to {left}" if one_run else f"{left} messages",
            why=why,
            tokens=gone,
            places=(1, left) if one_run else None,
        )
    if hidden := past.last - count(runs):
        yield LeftOut(what=f"{hidden} messages", why="the current view hides them", tokens=past.total - tokens(runs))


def within(said: list[Placed], room: int, overhead: int, *, cut: bool = False) -> list[Placed]:
    """The newest that fit, from the first of them that a user said: an exchange is shown whole or not at all."""
    used = sum(each.message.tokens + overhead for each in said)
    start = 0
    while start < len(said) and (used > room or ((start or cut) and said[start].message.role is not Role.USER)):
        used -= said[start].message.tokens + overhead
        start += 1
    return said[start:]


def _fixed(voice: Voice, message: Message) -> int:
    pieces = sum(piece.tokens for piece in (*voice.system, *voice.tools))
    return pieces + message.tokens + TOOL_ROOM
