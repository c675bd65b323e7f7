"""The window of another model: history was cut for the agent's own, and who stands in for it may have less room."""

from preceptor.domain.errors import recorded
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.turns.calls import LeftOut
from preceptor.engine.history.remembering import ROOM, within
from preceptor.engine.turn.run import Run

Shown = tuple[list[Placed], tuple[LeftOut, ...]]
"""What is shown, and what is not."""


def narrowed(run: Run, able: Capabilities, now: list[Placed], besides: int, who: str, most: int | None = None) -> Shown:
    """The conversation as the agent is shown it; less, where the window of `who` has not so much room.

    `besides` are the tokens of everything else, `most` what history may have of those that the request allows.
    """
    past = run.history.said
    room = int(able.context_window * ROOM) - sum(each.message.tokens + able.message_overhead for each in now)
    room -= besides
    kept = within(past, room if most is None else min(room, most), able.message_overhead)
    if len(kept) == len(past):
        return [*past, *now], run.history.left_out
    why = recorded("the window of %(name)s has room for %(room)s tokens of history", name=who, room=room)
    if most is not None and most < room:
        why = recorded("maxTokens is %(max_tokens)s", max_tokens=run.history.cap)
    left = LeftOut(what=recorded("%(count)s messages", count=len(past) - len(kept)), why=why)
    return [*kept, *now], (*run.history.left_out, left)
