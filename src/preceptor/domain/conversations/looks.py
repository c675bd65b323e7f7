"""Views as people are told of them."""

from collections.abc import Sequence

from pydantic import AwareDatetime, Field

from preceptor.domain.conversations.compaction import Compaction, Strategy
from preceptor.domain.conversations.view import Change, View, as_left, count, tokens
from preceptor.domain.value import Value


class ShownCompaction(Value):
    strategy: Strategy
    origin: str = Field(description="Who asked for it.")
    count: int = Field(description="How many messages it stands for, or leaves out.")
    tokens_before: int
    tokens_after: int
    result: str | None = Field(description="The message in their place, whose `sources` they are.")
    edited: bool = Field(description="A person wrote that message.")
    model: str | None
    prompt_template: str | None


class ShownView(Value):
    """One look at a conversation."""

    view_id: str
    conversation_id: str
    current: bool
    change: Change = Field(description="What made it.")
    parent_view_id: str | None = Field(description="The view that it took the place of.")
    restored_view_id: str | None = Field(description="The view that it shows again.")
    messages: int
    tokens: int
    tokens_freed: int = Field(description="How many fewer than before it was compacted.")
    compaction: ShownCompaction | None
    by: str | None
    created_at: AwareDatetime | None

    @property
    def etag(self) -> str:
        return f'"{self.view_id}"'


class ShownViews(Value):
    """The views of a conversation, newest first. The ETag is that of the current one."""

    items: tuple[ShownView, ...]
    next_cursor: str | None = None
    current_view_id: str

    @property
    def etag(self) -> str:
        return f'"{self.current_view_id}"'


def look_at(views: Sequence[View], view: View, last: int, total: int) -> ShownView:
    """A view among all of its conversation, which has `last` messages with `total` tokens."""
    runs = as_left(views, view, last, total)
    done = view.compaction
    return ShownView(
        view_id=view.view_id,
        conversation_id=view.conversation_id,
        current=view.step + 1 == len(views),
        change=view.change,
        parent_view_id=view.parent,
        restored_view_id=view.restored,
        messages=count(runs),
        tokens=tokens(runs),
        tokens_freed=0 if done is None else done.tokens_before - done.tokens_after,
        compaction=None if done is None else _told(done),
        by=view.by,
        created_at=view.created_at,
    )


def _told(done: Compaction) -> ShownCompaction:
    return ShownCompaction(
        strategy=done.strategy,
        origin=done.origin,
        count=done.count,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        result=done.result,
        edited=done.edited,
        model=done.model,
        prompt_template=done.prompt_template,
    )
