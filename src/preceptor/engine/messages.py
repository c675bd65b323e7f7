"""Messages: read what was said, as one audience sees it."""

from collections.abc import Collection
from enum import StrEnum
from typing import Any

import msgspec

from preceptor.domain.conversations.view import View, count, part, shown
from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.messages.message import Message
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import cursor_at, place_of
from preceptor.domain.prompts.placed import Placed, as_shown
from preceptor.domain.turns.audience import Audience, for_user
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session


class Which(StrEnum):
    CURRENT = "current"
    ALL = "all"


class Messages(msgspec.Struct, frozen=True):
    session: Session

    async def page(
        self,
        conversation_id: ConversationId,
        which: Which,
        audience: Audience,
        cursor: str | None,
        limit: int = 50,
        *,
        archived: bool = False,
    ) -> dict[str, Any]:
        """A page of messages, oldest first, and where the next begins."""
        if audience is not Audience.USER:
            needed = Permission.RECORD_READ if audience is Audience.SYSTEM else Permission.CONTEXT_READ
            self.session.caller.require(needed)

        async def program(work: Work) -> tuple[list[Placed], int | None, TurnRow | None]:
            await found(work, self.session.caller, conversation_id, archived=archived)
            newest = await work.turns.newest(conversation_id) if audience is Audience.MODEL else None
            view = await work.views.current(conversation_id)
            if which is Which.CURRENT and view.step:
                return *await _seen(work, view, place_of(cursor) or 0, limit), newest
            return *await _said(work, conversation_id, place_of(cursor) or 0, limit), newest

        page, more, newest = await self.session.read(program)
        analysed = () if newest is None else (newest.turn_id,)
        items = [one for one in (_as_seen(row, audience, analysed) for row in page) if one is not None]
        return {"items": items, "nextCursor": None if more is None else cursor_at(str(more))}


async def _said(work: Work, conversation: ConversationId, after: int, limit: int) -> tuple[list[Placed], int | None]:
    """What was said after a place, and the place to go on after."""
    rows = await work.messages.since(conversation, after, limit + 1)
    said = [row for row in rows if row.place > 0]
    last = said[limit - 1].place if len(said) > limit else None
    return [row for row in rows if last is None or row.place <= last], last


async def _seen(work: Work, view: View, skip: int, limit: int) -> tuple[list[Placed], int | None]:
    """What a view shows but for the first `skip`, with what was said in branches meanwhile; how many to skip next."""
    here = view.conversation_id
    runs = shown(view, *await work.messages.last(here))
    page = part(runs, skip, limit)
    rows = [each for run in page for each in await work.messages.since(here, run.first - 1, run.last - run.first + 1)]
    return rows, skip + limit if count(runs) > skip + limit else None


def _as_seen(row: Placed, audience: Audience, analysed: Collection[TurnId]) -> Message | None:
    """Models are shown an analysis in the turn that it was made in, which is the newest until there is another."""
    match audience:
        case Audience.USER:
            return for_user(row.message)
        case Audience.MODEL:
            return as_shown(row, whole=analysed).message
        case Audience.SYSTEM:
            return row.message
