"""Fall back: the agent's model cannot answer, so the next one is asked. The log says which, and why."""

from preceptor.domain.errors import PreceptorError
from preceptor.domain.turns.calls import CallEnded
from preceptor.domain.turns.facts import FellBack
from preceptor.domain.turns.step import falls_back
from preceptor.domain.turns.turn import Lane
from preceptor.engine.ports import ChatModel
from preceptor.engine.turn.run import Run


def fall_back(run: Run, lane: Lane, after: CallEnded) -> None:
    """Take note that another model speaks from here on. What it would cost is looked at when it is asked."""
    name, skipped = run.pins.model_at(lane.fallback + 1), None
    try:
        run.means.models.find(name)
    except PreceptorError as gone:
        skipped = str(gone)
    fell = FellBack(model=name, fault=after.fault, why=after.sentence, skipped=skipped, span_id=lane.span_id)
    run.journal.note("model.fell_back", fell)


def stand_in(run: Run) -> ChatModel | None:
    """Who is asked in the place of the agent's model, after the last call failed beside the conversation."""
    main, failed = run.turn.main, next(reversed(run.turn.endings.values()), None)
    while failed is not None and falls_back(run.turn, main, failed):
        fall_back(run, main, failed)
        if run.turn.fell_back[-1].skipped is None:
            return run.model_of(main)
    return None
