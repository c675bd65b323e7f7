"""Proving: nothing is sent that a provider would refuse, or that shows what it must not."""

from preceptor.domain.history.errors import TokenBudgetExceeded
from preceptor.domain.history.proof import Duties
from preceptor.domain.prompts.assemble import Passage
from preceptor.domain.prompts.images import with_images
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.turns.turn import Lane, Turn
from preceptor.engine.turn.run import Run


def proven(run: Run, prompt: Prompt, said: Passage, lane: Lane | None = None) -> Prompt:
    """The same prompt, if it is in order. `said` is what it was made of; a `lane` is given if that is to be answered.

    A cap holds for the first request of a turn: what the turn itself adds is never cut.
    """
    asked = Placed(0, run.turn.main.messages[0])
    pictures = run.images if lane is not None and run.model_of(lane).capabilities.images else {}
    [question] = with_images([asked], pictures) if pictures else [asked]
    first = lane is not None and _is_first(run.turn, lane)
    pinned = run.history.pinned
    if pinned and (lane is None or lane.fallback):
        pinned = pinned & {each.message.id for each in said.said}
    duties = Duties(
        conversation_id=run.journal.conversation_id,
        question=question.message,
        cap=run.history.cap if first else None,
        pinned=pinned,
        system=bool(run.voice.system),
    )
    if duties.cap is not None and prompt.tail_text and prompt.tokens > duties.cap:
        raise TokenBudgetExceeded(prompt.tokens, duties.cap)  # by words on the question, which nobody could foresee
    said.proof.go_on(prompt, duties)
    return prompt


def _is_first(turn: Turn, lane: Lane) -> bool:
    """Whether a request shows nothing that the turn has added to its question: no words, no plan, no news."""
    alone = lane.root is None and lane.speaker is None and len(lane.messages) == 1
    return alone and lane.returned is None and turn.planned is None and turn.retried is None
