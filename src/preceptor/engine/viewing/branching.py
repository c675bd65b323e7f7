"""Branching: answer again, or edit what was asked. A new view ends before that question, and the old one stays."""

import msgspec

from preceptor.domain.conversations.view import Change, Run, View, ViewChanged, places, shown, up_to
from preceptor.domain.errors import Conflict, Invalid, NotFound, phrased
from preceptor.domain.history.entry import STANDS_FOR_OTHERS
from preceptor.domain.ids import ConversationId, MessageId, StreamId, ViewId
from preceptor.domain.log import NewEvent
from preceptor.domain.messages.message import Kind, Message, Role
from preceptor.domain.prompts.placed import Placed
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

STEP = 50
NOT_AN_ANSWER = phrased(
    "That message is not part of a turn, so there is nothing to answer again. Name an answer or a question."
)
NOT_A_QUESTION = phrased("Only what a user said can be edited. Name a message with the role `user`.")


class Again(msgspec.Struct, frozen=True):
    """Where to go back to: to a question, or to the one that a message is part of the answer to. None: the last."""

    change: Change
    message_id: MessageId | None = None


class NothingToAnswer(Conflict):
    sentence: str = "Nothing that a user said is shown in this conversation, so there is nothing to answer again."


async def branch(work: Work, session: Session, conversation: ConversationId, again: Again) -> Message:
    """Begin a new view before the question that `again` is about; answers with that question."""
    view = await work.views.current(conversation)
    last, total = await work.messages.last(conversation)
    runs = shown(view, last, total)
    question = await _question(work, conversation, again, runs)
    before = await work.messages.sum_at(conversation, question.place - 1)
    kept = up_to(runs, question.place, before)
    if kept is None:
        raise NotFound("message in the current view", question.message.id)
    view_id = ViewId(session.world.new_id())
    left = frozenset(places(kept))
    made = View(
        view_id=view_id,
        conversation_id=conversation,
        step=view.step + 1,
        change=again.change,
        line=view_id,
        parent=view.view_id,
        at=last,
        total=total,
        since=last + 1,
        base=total,
        runs=kept,
        results=tuple(place for place in view.results if place in left),
        by=session.caller.owner.user_id,
        created_at=session.world.now(),
    )
    await switch(work, made)
    return question.message


async def switch(work: Work, view: View, sources: tuple[MessageId, ...] = ()) -> None:
    """Make a view the current one, and note that in the log."""
    await work.log.append(StreamId(view.conversation_id), [changed(view, sources)])
    await work.views.add(view)


def changed(view: View, sources: tuple[MessageId, ...]) -> NewEvent:
    return NewEvent("view.changed", msgspec.json.encode(ViewChanged(view, sources)).decode())


async def _question(work: Work, conversation: ConversationId, again: Again, runs: tuple[Run, ...]) -> Placed:
    if again.message_id is None:
        return await _last_question(work, conversation, runs)
    there = await work.messages.find(again.message_id)
    if there is None or there[0] != conversation or there[2] is None or there[1].place < 1:
        raise NotFound("message in the current view", again.message_id)
    placed = Placed(there[1].place, there[2])
    if _is_question(placed.message):
        return placed
    if again.change is Change.EDITED:
        raise Invalid(NOT_A_QUESTION)
    return await _asked_before(work, conversation, placed, runs)


async def _asked_before(work: Work, conversation: ConversationId, answer: Placed, runs: tuple[Run, ...]) -> Placed:
    """The question of the turn that an answer belongs to: the messages of a turn follow each other.

    A turn that begins with what a client's tool returned goes on with the one shown before it, which had called it.
    """
    earliest, last = answer.message, answer.place
    if earliest.kind in STANDS_FOR_OTHERS:
        raise Invalid(NOT_AN_ANSWER)
    while last > 0:
        for each in reversed(await work.messages.between(conversation, last - STEP + 1, last)):
            if each.message.kind in STANDS_FOR_OTHERS:
                continue
            if each.message.turn_id != earliest.turn_id:
                if earliest.role is not Role.TOOL:
                    raise Invalid(NOT_AN_ANSWER)
                if not any(run.first <= each.place <= run.last for run in runs):
                    continue
            earliest = each.message
            if _is_question(earliest):
                return each
        last -= STEP
    raise Invalid(NOT_AN_ANSWER)


async def _last_question(work: Work, conversation: ConversationId, runs: tuple[Run, ...]) -> Placed:
    for run in reversed(runs):
        last = run.last
        while last >= run.first:
            first = max(run.first, last - STEP + 1)
            for each in reversed(await work.messages.between(conversation, first, last)):
                if _is_question(each.message):
                    return each
            last = first - 1
    raise NothingToAnswer


def _is_question(message: Message) -> bool:
    return message.role is Role.USER and message.kind is Kind.MESSAGE
