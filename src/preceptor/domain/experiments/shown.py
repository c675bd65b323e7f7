"""What people send about conversations, and what they read of experiments besides results."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field, ValidationError, WrapValidator

from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.metrics import COMPUTED, MetricName, Tally, metric_of
from preceptor.domain.ids import ConversationId, MessageId
from preceptor.domain.value import FROM_JSON, Value

LARGEST = 1_000_000_000


def _said(given: Any, check: Callable[[Any], Any]) -> Any:
    try:
        return check(given)
    except ValidationError:
        raise ValueError(f"Say true or false, or a number from -{LARGEST} to {LARGEST}") from None


class NewOutcome(Value):
    """What became of a conversation: `{"metric": "resolution", "value": true}`, or a number by a name of your own."""

    metric: MetricName
    value: Annotated[bool | Annotated[float, Field(ge=-LARGEST, le=LARGEST)], WrapValidator(_said)]


class Outcome(NewOutcome):
    conversation_id: ConversationId


class NewMessageRating(Value):
    score: Annotated[int, Field(ge=1, le=5), FROM_JSON]


class MessageRating(NewMessageRating):
    message_id: MessageId
    conversation_id: ConversationId


class ExposedConversation(Value):
    """A conversation in an experiment: its arm, the turns that were shown each arm, and what came of it."""

    conversation_id: str
    unit: str
    arm: Arm
    turns: int
    shown_control: int
    shown_variant: int
    mismatches: int
    metrics: dict[str, float]


def exposed(tally: Tally) -> ExposedConversation:
    found: dict[str, float] = {}
    for name in (*COMPUTED, *sorted(tally.signals)):
        above, below = metric_of(name).parts(tally)
        if below:
            found[name] = above / below
    return ExposedConversation(
        conversation_id=tally.conversation,
        unit=tally.unit,
        arm=tally.arm,
        turns=tally.turns,
        shown_control=tally.control,
        shown_variant=tally.variant,
        mismatches=tally.mismatches,
        metrics=found,
    )
