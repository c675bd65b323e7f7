"""How a turn that failed looks to whoever waited for it. It is settled and on the record; this is its sentence."""

from typing import ClassVar

from preceptor.domain.errors import Invalid, PreceptorError, Upstream
from preceptor.domain.turns.facts import Ended
from preceptor.domain.turns.step import ITERATION_LIMIT


class TurnFailed(PreceptorError):
    """Something that no stage knew how to deal with."""

    code: ClassVar[str] = "internal"
    turn_id: str = ""
    sentence: str = "The turn failed."
    replayed: bool = False
    """Whether this was told before: whoever sends the same request again is told no other thing."""

    def __str__(self) -> str:
        return f"{self.sentence.rstrip('.')}. The turn {self.turn_id} is on the record; send the message again."


class TurnOverBudget(TurnFailed):
    code: ClassVar[str] = "budget_exceeded"
    retry_after: int = 60

    def __str__(self) -> str:
        return f"{self.sentence} Raise the budget (PRECEPTOR_TURN_BUDGET_…, or that of the agent), or ask for less."


class TurnEndless(TurnOverBudget):
    """Asked to answer with what it had, the model called tools again."""

    def __str__(self) -> str:
        return f"{self.sentence} Raise PRECEPTOR_MAX_ITERATIONS, or ask for less."


class TurnUpstream(TurnFailed, Upstream):
    code: ClassVar[str] = "upstream_failed"


class TurnTimeout(TurnFailed, Upstream):
    code: ClassVar[str] = "upstream_timeout"


class TurnUncompressed(TurnFailed, Upstream):
    code: ClassVar[str] = "compression_failed"


class TurnUnguarded(TurnFailed):
    code: ClassVar[str] = "guard_unavailable"
    retry_after: int = 5


class TurnMisasked(TurnFailed, Invalid):
    """What was asked for is something that its model cannot be asked, such as a parameter that it does not know."""

    code: ClassVar[str] = "invalid"

    def __str__(self) -> str:
        return f"{self.sentence} The turn {self.turn_id} is on the record; correct that and send the message again."


class TurnTooLong(TurnMisasked):
    """What its summaries or the guardian said was too much for what a request may have."""

    code: ClassVar[str] = "token_budget_exceeded"


_BY_CODE: dict[str, type[TurnFailed]] = {
    kind.code: kind
    for kind in (TurnOverBudget, TurnUpstream, TurnTimeout, TurnUncompressed, TurnUnguarded, TurnMisasked, TurnTooLong)
}


def failure_of(ended: Ended, *, replayed: bool = False) -> TurnFailed:
    kind = TurnEndless if ended.outcome == ITERATION_LIMIT else _BY_CODE.get(ended.code or "", TurnFailed)
    return kind(turn_id=ended.turn_id, sentence=ended.sentence or "The turn failed.", replayed=replayed)
