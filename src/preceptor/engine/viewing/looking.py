"""Looking at a conversation at rest: no turn runs in it, and its view is the one that the caller knows."""

from typing import Any

import msgspec

from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.conversations.view import Run, View, shown
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import ConversationId, StreamId, ViewId
from preceptor.domain.messages.message import Message
from preceptor.domain.ownership import Caller
from preceptor.domain.turns.calls import Call
from preceptor.domain.turns.facts import fact_of
from preceptor.engine.means.queues import TurnInProgress
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session


class Look(msgspec.Struct, frozen=True):
    conversation: Conversation
    view: View
    last: int
    total: int

    @property
    def runs(self) -> tuple[Run, ...]:
        return shown(self.view, self.last, self.total)


async def at_rest(work: Work, caller: Caller, conversation_id: ConversationId, if_match: IfMatch) -> Look:
    conversation = await found(work, caller, conversation_id)
    view = await work.views.current(conversation_id)
    check(if_match, view.etag)
    if open_turn := await work.turns.open_in(conversation_id):
        raise TurnInProgress(turn_id=open_turn.turn_id)
    last, total = await work.messages.last(conversation_id)
    return Look(conversation, view, last, total)


async def call_of_summary(work: Work, message: Message) -> Call:
    """The call in which a message that stands for others was written."""
    views = await work.views.all(message.conversation_id)
    made = (view.compaction for view in views if view.compaction is not None)
    row = next((one.call_seq for one in made if one.result == message.id), None)
    if row is None:
        raise NotFound("model call behind the message", message.id)
    [event] = await work.log.after(StreamId(message.conversation_id), row - 1, 1)
    return fact_of(event.kind, event.payload or "{}")


def next_view(session: Session, look: Look, *, added: Run | None = None, **what: Any) -> View:
    """A view to take the place of the one looked at. `added` is a message that comes with it, in place of others."""
    return View(
        view_id=ViewId(session.world.new_id()),
        conversation_id=look.view.conversation_id,
        step=look.view.step + 1,
        parent=look.view.view_id,
        at=look.last,
        total=look.total,
        since=look.last + 1 if added is None else added.last + 1,
        base=look.total if added is None else added.through,
        by=session.caller.owner.user_id,
        created_at=session.world.now(),
        **what,
    )
