"""A replay as it is asked for, and as it is shown."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, Field, model_validator

from preceptor.domain.errors import phrased
from preceptor.domain.ids import TaskId, UserId
from preceptor.domain.instructions.check import RuleCheck
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.reasoning.policy import GuardPolicy, SgrPolicy
from preceptor.domain.value import FROM_JSON, AnyId, Value, left_out

MOST_TURNS = 1000
SHOWN_ITEMS = 200


class Mode(StrEnum):
    STEP = "step"
    """Every call with the very view it had then: always valid."""
    TRAJECTORY = "trajectory"
    """Each call with what the calls before it answered this time, until they call other tools than then."""


class Replies(StrEnum):
    LIVE = "live"
    RECORDED = "recorded"
    """No model is asked: what each call would be shown is compared, and what it answered then is checked."""


VALIDITY = {
    (
        Mode.STEP,
        Replies.LIVE,
    ): "Each call was shown what it was shown then, but for what was changed, and answered anew. "
    "What a user would have said to a different answer is not known.",
    (
        Mode.STEP,
        Replies.RECORDED,
    ): "No model was asked. What each call would be shown is compared with what it was shown; "
    "answers are those of then.",
    (
        Mode.TRAJECTORY,
        Replies.LIVE,
    ): "Each turn was gone through anew, with the tool results of then, and only as far as "
    "the same tools were called. No tool was run.",
    (
        Mode.TRAJECTORY,
        Replies.RECORDED,
    ): "No model was asked, so every turn goes the way it went. What each call would be "
    "shown is compared with what it was shown.",
}


class Filter(Value):
    """Which past turns, the newest first."""

    agent_id: AnyId | None = None
    conversation_id: AnyId | None = None
    instruction_id: AnyId | None = Field(default=None, description="Only turns in which this version spoke.")
    from_: AwareDatetime | None = Field(default=None, alias="from")
    to: AwareDatetime | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_TURNS), FROM_JSON] = 100


class Overrides(Value):
    """What is different. What is left out is as it was for each turn."""

    instructions: dict[AnyId, Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00]+$")]] = Field(
        default={}, max_length=100, description="By family: another version, by its number or its id."
    )
    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")] | None = None
    parameters: RequestParameters | None = Field(default=None, description="Sampling, and the history policy.")
    sgr: SgrPolicy | None = None
    guard: GuardPolicy | None = None


NOTHING_ELSE = Overrides()
TurnIds = Annotated[tuple[AnyId, ...], Field(min_length=1, max_length=MOST_TURNS)]


def _some(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"required": [name]} for name in ("turnIds", "filter")]


class NewReplay(Value, json_schema_extra=_some):
    """Past turns to go through again, and what to change."""

    turn_ids: TurnIds = left_out()
    filter: Filter = left_out()
    overrides: Overrides = NOTHING_ELSE
    mode: Mode = Mode.STEP
    replies: Replies = Replies.RECORDED
    concurrency: Annotated[int, Field(ge=1, le=16), FROM_JSON] = 4

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if not self.model_fields_set & {"turn_ids", "filter"}:
            raise ValueError(phrased("say which turns: turnIds, or filter"))
        return self


class Status(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Difference(Value):
    """Between what was and what is now, line by line."""

    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


class Changed(Value):
    """A part of what a model is shown that is there on one side only."""

    side: str = Field(description="`before` or `after`.")
    role: str
    text: str
    source: dict[str, Any]


class CallItem(Value):
    """One call of a turn."""

    call_id: str | None = Field(description="None where nothing was sent from here: the turn was imported.")
    purpose: str
    model: str
    same_request: bool | None = Field(
        description="Whether the request has the very bytes of then; null where nothing was sent then."
    )
    context_diff: tuple[Changed, ...] = ()
    before: str
    after: str | None = Field(description="What was answered now; null where no one was asked.")
    tokens_before: int
    tokens_after: int


class Fates(Value):
    before: str
    after: str


class Item(Value):
    """What became of one turn."""

    turn_id: str
    conversation_id: str
    agent_id: str
    status: str = Field(description="`done`, `diverged` or `failed`.")
    same: bool = Field(
        description="Whether it came out as it did: the same answer or, where no model was asked, the same requests."
    )
    answer: str | None = None
    answer_diff: Difference = Difference()
    context_diff: tuple[Changed, ...] = ()
    fate: Fates | None = Field(default=None, description="Where the tables led it, and would now, if that differs.")
    rules: tuple[RuleCheck, ...] = ()
    calls: tuple[CallItem, ...] = ()
    diverged: str | None = None
    notes: tuple[str, ...] = ()
    tokens: int = 0
    cost: float = 0.0
    milliseconds: int = 0
    code: str | None = None
    sentence: str | None = None


class Sums(Value):
    turns: int = 0
    same: int = 0
    changed: int = 0
    rule_breaks: int = 0
    diverged: int = 0
    failed: int = 0
    tokens: int = 0
    """That the replay itself used."""
    cost: float = 0.0


class Comparison(Value):
    """One measure, before and after, compared conversation by conversation."""

    metric: str
    units: int = Field(description="Conversations: turns of one conversation are not independent of each other.")
    turns: int
    before: float
    after: float
    difference: float
    low: float | None = Field(default=None, description="Of the 95 % interval of the difference; null below two units.")
    high: float | None = None
    p_value: float | None = None


class Verdict(Value):
    """Of a replay that a label's gate asked for."""

    family_id: str
    label: str
    instruction_id: str
    passed: bool | None = None
    reasons: tuple[str, ...] = ()


class Progress(Value):
    done: int
    total: int


class Summary(Value):
    """A replay, without its items."""

    replay_id: TaskId
    status: Status
    mode: Mode
    replies: Replies
    overrides: Overrides
    validity: str
    progress: Progress
    summary: Sums
    comparison: tuple[Comparison, ...] = ()
    gate: Verdict | None = None
    code: str | None = None
    sentence: str | None = None
    user_id: UserId
    created_at: AwareDatetime
    ended_at: AwareDatetime | None = None


class Replay(Summary):
    items: tuple[Item, ...] = Field(description="The first 200, in order; all of them are in `/items`.")
