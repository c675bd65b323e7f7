"""An execution as it is asked for, and as it is shown."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AwareDatetime, Field

from preceptor.domain.executions.binding import MOST_STEPS, Index
from preceptor.domain.executions.commands import Command
from preceptor.domain.ids import TaskId, UserId
from preceptor.domain.value import FROM_JSON, VISIBLE_TEXT, AnyId, Value

MOST_RETRIES = 3
Word = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Status(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"


class StepStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    SKIPPED = "skipped"
    """A step that it needs did not come off."""


class NewStep(Value):
    index: Index
    name: Annotated[str, Field(max_length=200, pattern=VISIBLE_TEXT)]
    command: Command
    depends_on: Annotated[tuple[Index, ...], Field(max_length=MOST_STEPS)] = Field(
        default=(), description="The indexes of steps that come first."
    )
    optional: bool = Field(default=False, description="If it fails, the rest goes on as if it had not.")
    retries: Annotated[int, Field(ge=0, le=MOST_RETRIES), FROM_JSON] = Field(
        default=0, description="How often it is tried again after a failure that may pass."
    )
    timeout_seconds: Annotated[int, Field(ge=1, le=86_400), FROM_JSON] = 600


class NewExecution(Value):
    """Steps, and which come before which. Those that wait for nothing run at once."""

    category: Word = "agent"
    type: Word = "agent-chat"
    resource_type: Word = "agent"
    resource_id: AnyId | None = None
    steps: Annotated[tuple[NewStep, ...], Field(min_length=1, max_length=MOST_STEPS)]
    timeout_seconds: Annotated[int, Field(ge=1, le=604_800), FROM_JSON] = 86_400


class Attempt(Value):
    number: int
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    status: StepStatus
    code: str | None = None
    sentence: str | None = None


class Step(Value):
    """A step and where it stands."""

    index: int
    name: str
    command: dict[str, Any]
    depends_on: tuple[int, ...]
    optional: bool
    status: StepStatus
    attempts: tuple[Attempt, ...] = ()
    output: Any = None
    code: str | None = None
    sentence: str | None = None
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None


class Progress(Value):
    done: int
    total: int


class Summary(Value):
    """An execution, without its steps."""

    execution_id: TaskId
    category: str
    type: str
    resource_type: str
    resource_id: str | None
    status: Status
    progress: Progress
    code: str | None = None
    sentence: str | None = None
    user_id: UserId
    created_at: AwareDatetime
    ended_at: AwareDatetime | None = None


class Execution(Summary):
    steps: tuple[Step, ...]
