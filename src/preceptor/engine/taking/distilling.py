"""Distilling: once a turn has ended, what its delegations said gives way to what they found, if that is wanted."""

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from preceptor.domain.errors import PreceptorError
from preceptor.domain.ids import ConversationId
from preceptor.domain.turns.facts import TurnStatus
from preceptor.engine.session import Session
from preceptor.engine.turn.run import Run

if TYPE_CHECKING:
    from preceptor.domain.conversations.compaction import Squashing


def distil_later(session: Session, run: Run) -> None:
    """Begin it beside everything else. Nobody waits for it: until it is done, models are shown all that was said."""
    turn = run.turn
    wanted = run.pins.parameters.get("distillDelegations", False)
    spans = tuple(span.span_id for span in turn.spans.values() if span.mark_intermediate)
    if wanted and spans and turn.ended is not None and turn.ended.status is TurnStatus.COMPLETED:
        from preceptor.domain.conversations.compaction import Squashing, Strategy

        chosen = Squashing(strategy=Strategy.DISTILL, spans=spans)
        alone = replace(session, once=None)
        work = _distil(alone, run.journal.conversation_id, chosen, run.pins.summary_model)
        run.means.runner.spawn(f"distil {turn.turn_id}", work)


async def _distil(session: Session, conversation: ConversationId, chosen: "Squashing", model: str | None) -> None:
    """A summary that fails is on the record. Like one that comes too late, it changes nothing."""
    from preceptor.engine.viewing.compacting import Compacting

    with suppress(PreceptorError):
        await Compacting(session, conversation, chosen, None, model).carry_out()
