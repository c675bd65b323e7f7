"""The past of a conversation, as far as a request shows it."""

from collections.abc import Iterator, Mapping

import msgspec

from preceptor.domain.conversations.view import View
from preceptor.domain.history.segment import State
from preceptor.domain.ids import MessageId, ViewId
from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.turns.calls import Altered, LeftOut
from preceptor.engine.history.fitting import Fit


class History(msgspec.Struct, eq=False):
    """What was said before this turn, as far as it is shown."""

    said: list[Placed]
    left_out: tuple[LeftOut, ...] = ()
    view: View | None = None
    """The view that it is part of; None before anything was said."""
    near: list[Placed] = []
    """The newest messages as they are stored, without a gap."""
    altered: dict[MessageId, Altered] = {}
    """Those of it that are shown in another form."""
    pinned: frozenset[MessageId] = frozenset()
    """Those that must be shown."""
    cap: int | None = None
    """How many tokens the request asked for at most."""
    invalidated: int = 0
    """Tokens that a provider's cache can no longer serve."""
    fit: Fit | None = None
    """How it was decided, where there was something to decide."""

    @property
    def view_id(self) -> ViewId | None:
        """Of the view, unless it is the one that shows everything."""
        return self.view.view_id if self.view is not None and self.view.step else None

    @property
    def to_summarise(self) -> bool:
        return self.fit is not None and bool(self.fit.cut.spans)

    @property
    def fitted(self) -> tuple[ViewId, State] | None:
        """What is to be kept of how it was decided; nothing while it is not decided yet, or was not limited."""
        fit = self.fit
        if fit is None or fit.cut.spans:
            return None
        after = fit.after
        limited = fit.limits.requires_history_management or after.cut or after.spans or after.payloads
        return (fit.view_id, after) if limited else None

    @property
    def messages(self) -> Iterator[Message]:
        """All that may be shown, also if it turns out that they cannot be summarised."""
        said = self.fit.placed.values() if self.fit is not None and self.to_summarise else self.said
        return (each.message for each in said)

    def put(self, instead: Mapping[int, Placed]) -> None:
        """Show these in their places, and make summaries of them."""
        if self.fit is None:
            self.said = [instead.get(each.place, each) for each in self.said]
        else:
            placed = self.fit.placed
            placed.update({number: instead.get(each.place, each) for number, each in placed.items()})
            self.said = self.fit.said()
