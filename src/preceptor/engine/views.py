"""Views: which there were, what is shown now, and going back. Each change is a new view; no message is changed."""

from collections.abc import Sequence

import msgspec

from preceptor.domain.conversations.compaction import Dropping, Squashing
from preceptor.domain.conversations.looks import ShownView, ShownViews, look_at
from preceptor.domain.conversations.view import Change, View, restored
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import ConversationId, ViewId
from preceptor.domain.paging import cursor_at, place_of
from preceptor.engine.preconditions import IfMatch
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.viewing.branching import switch
from preceptor.engine.viewing.compacting import Compacting
from preceptor.engine.viewing.looking import at_rest, next_view


class Views(msgspec.Struct, frozen=True):
    session: Session
    summary_model: str | None = None
    """The model that writes summaries; without one, the agent's own."""

    async def page(
        self, conversation_id: ConversationId, cursor: str | None = None, limit: int = 50, *, archived: bool = False
    ) -> ShownViews:
        """The views of a conversation, newest first."""

        async def program(work: Work) -> ShownViews:
            await found(work, self.session.caller, conversation_id, archived=archived)
            views = await work.views.all(conversation_id)
            last, total = await work.messages.last(conversation_id)
            until = _step_at(cursor, views)
            rows = [look_at(views, view, last, total) for view in reversed(views[max(0, until - limit) : until])]
            more = cursor_at(str(until - limit)) if until > limit else None
            return ShownViews(items=tuple(rows), next_cursor=more, current_view_id=views[-1].view_id)

        return await self.session.read(program)

    async def restore(self, conversation_id: ConversationId, view_id: ViewId, if_match: IfMatch = None) -> ShownView:
        """Show what a view showed, and after it what was said since on the same line. That is a new view as well."""

        async def program(work: Work) -> ShownView:
            look = await at_rest(work, self.session.caller, conversation_id, if_match)
            views = await work.views.all(conversation_id)
            wanted = next((view for view in views if view.view_id == view_id), None)
            if wanted is None:
                raise NotFound("view", view_id)
            made = next_view(
                self.session,
                look,
                change=Change.RESTORED,
                runs=restored(views, wanted, look.last, look.total),
                results=wanted.results,
                line=wanted.line,
                restored=wanted.view_id,
            )
            await switch(work, made)
            return look_at([*views, made], made, look.last, look.total)

        return await self.session.write(program)

    async def compact(
        self, conversation_id: ConversationId, wanted: Dropping | Squashing, if_match: IfMatch = None
    ) -> ShownView:
        """Leave messages out of what is shown, or put one message in their place."""
        done = await Compacting(self.session, conversation_id, wanted, if_match, self.summary_model).carry_out()
        return done or await self.session.write(lambda work: self._current(work, conversation_id))

    async def _current(self, work: Work, conversation_id: ConversationId) -> ShownView:
        await found(work, self.session.caller, conversation_id)
        views = await work.views.all(conversation_id)
        return look_at(views, views[-1], *await work.messages.last(conversation_id))


def _step_at(cursor: str | None, views: Sequence[View]) -> int:
    """Before which step a page ends."""
    place = place_of(cursor)
    return len(views) if place is None else min(place, len(views))
