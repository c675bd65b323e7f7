"""Carry over: where an agent wants that, the next turn begins with the specialist whose words ended the last one."""

import msgspec

from preceptor.domain.conversations.view import View
from preceptor.domain.delegation import ClosedBy, Span, allowed_tools
from preceptor.domain.ids import ConversationId, SpanId, TurnId, ViewId
from preceptor.domain.messages.directive import unbearable
from preceptor.domain.turns.carry_over import carried, taken_over
from preceptor.domain.turns.facts import GOES_ON, Pins, SpanClosed
from preceptor.domain.turns.turn import Turn, fold
from preceptor.engine.following import events_of
from preceptor.engine.means.recalling import Recollection
from preceptor.engine.ports import World
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.voice import Voice, own_names
from preceptor.engine.turn.journal import Journal

NOT_ANY_MORE = "the agent may not delegate any more"


async def carried_into(work: Work, recalled: Recollection) -> tuple[Span, ...]:
    """The delegations that the next turn of a conversation begins with, the outermost first."""
    if recalled.carried is not None:
        return recalled.carried
    conversation_id = recalled.conversation.conversation_id
    row = await work.turns.newest(conversation_id)
    if row is None or row.status not in GOES_ON:
        return ()
    turn = await _folded(work, row)
    spans = carried(turn)
    return spans if spans and await _on_line(work, turn, recalled.view) else ()


async def carried_again(work: Work, turn_id: TurnId) -> tuple[Span, ...]:
    """Those that a turn began with, for one that is to answer the same question."""
    row = await work.turns.find(turn_id)
    return () if row is None else taken_over(await _folded(work, row))


def take_over(journal: Journal, world: World, voice: Voice, pins: Pins, spans: tuple[Span, ...]) -> None:
    """Open them again, each with no more than its agent and whoever delegated to it have now."""
    parent: SpanId | None = None
    tools, opened = own_names(voice), list[Span]()
    for before in spans:
        tools = allowed_tools(tools, before.tools)
        again = {"span_id": SpanId(world.new_id()), "parent": parent, "tools": tools, "tool_call_id": ""}
        opened.append(msgspec.structs.replace(before, **again))
        parent = opened[-1].span_id
        journal.note("delegation.opened", opened[-1])
    if why := _why_not(pins, spans):
        for span in reversed(opened):
            closed = SpanClosed(span_id=span.span_id, depth=span.depth, closed_by=ClosedBy.LIMIT, why=why)
            journal.note("delegation.closed", closed)


def first_to_speak(voice: Voice, pins: Pins, spans: tuple[Span, ...]) -> Span | None:
    """Whom the next turn's first call is for, with what it may call then; None where that is the agent itself."""
    if _why_not(pins, spans):
        return None
    while spans and spans[-1].calls_before >= pins.limits.calls_per_delegation:
        spans = spans[:-1]
    if not spans:
        return None
    tools = own_names(voice)
    for span in spans:
        tools = allowed_tools(tools, span.tools)
    return msgspec.structs.replace(spans[-1], tools=tools)


def _why_not(pins: Pins, spans: tuple[Span, ...]) -> str | None:
    """What has changed since, so that control returns at once."""
    if not pins.may_delegate:
        return NOT_ANY_MORE
    if len(spans) > pins.limits.depth:
        return f"a delegation may be {pins.limits.depth} deep at most now"
    return next((wrong for span in spans if (wrong := unbearable(span.agent_prompt, pins.limits.prompt))), None)


async def _folded(work: Work, row: TurnRow) -> Turn:
    return fold(row.turn_id, await events_of(work, row))


async def _on_line(work: Work, turn: Turn, view: View) -> bool:
    """Whether what is shown now goes on where a turn ended: compacted perhaps, but not gone back behind it."""
    assert turn.accepted is not None
    known = ViewId(turn.accepted.view_id or view.conversation_id)
    if known == view.view_id:
        return True
    then = (one.line for one in await work.views.all(ConversationId(view.conversation_id)) if one.view_id == known)
    return view.line in then
