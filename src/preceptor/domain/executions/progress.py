"""Where an execution stands: a fold over its events. What comes next is a function of that."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from preceptor.domain.errors import recorded
from preceptor.domain.executions.execution import (
    Attempt,
    Execution,
    NewExecution,
    NewStep,
    Progress,
    Status,
    Step,
    StepStatus,
    Summary,
)
from preceptor.domain.executions.facts import (
    Accepted,
    CancelRequested,
    Ended,
    Retried,
    StepEnded,
    StepResumed,
    StepStarted,
    fact_of,
)
from preceptor.domain.ids import TaskId, UserId
from preceptor.domain.log import Event
from preceptor.domain.times import from_micros

AT_ONCE = 10
"""Steps of one execution that run beside each other."""
DONE = frozenset(StepStatus) - {StepStatus.PENDING, StepStatus.RUNNING}
CAME_TO_NOTHING = frozenset({StepStatus.FAILED, StepStatus.TIMEOUT})


class StepState(msgspec.Struct):
    new: NewStep
    status: StepStatus = StepStatus.PENDING
    attempts: list[Attempt] = []
    left: int = 0
    """How often it may still be tried."""
    resumed: int = 0
    """How often the process that carried it out has ended, in this attempt."""
    started: StepStarted | None = None
    """The last time, or this time."""
    ended: StepEnded | None = None

    @property
    def satisfies(self) -> bool:
        """Whether what depends on it can begin."""
        return self.status is StepStatus.COMPLETED or (self.new.optional and self.status in CAME_TO_NOTHING)


class State(msgspec.Struct):
    task_id: TaskId
    new: NewExecution | None = None
    permissions: tuple[str, ...] = ()
    steps: dict[int, StepState] = {}
    created: datetime | None = None
    began: datetime | None = None
    """When it was asked for, or asked for again."""
    last: datetime | None = None
    cancelled: CancelRequested | None = None
    ended: Ended | None = None

    def tell(self, fact: Any, at: datetime) -> None:
        """One step of the fold."""
        match fact:
            case Accepted():
                self._accept(fact, at)
            case StepStarted():
                self._start(fact, at)
            case StepResumed():
                self.steps[fact.index].resumed += 1
            case StepEnded():
                self._end(fact, at)
            case CancelRequested():
                self.cancelled = fact
            case Retried():
                self._retry(fact, at)
            case Ended():
                self.ended, self.last = fact, at
            case _:
                raise AssertionError(fact)

    def _accept(self, fact: Accepted, at: datetime) -> None:
        self.new = NewExecution.model_validate(fact.asked)
        self.permissions, self.created, self.began = fact.permissions, at, at
        self.steps = {one.index: StepState(one, left=1 + one.retries) for one in self.new.steps}

    def _start(self, fact: StepStarted, at: datetime) -> None:
        step = self.steps[fact.index]
        step.status, step.started, step.ended, step.resumed = StepStatus.RUNNING, fact, None, 0
        step.left -= 1
        step.attempts.append(Attempt(number=fact.attempt, started_at=at, status=StepStatus.RUNNING))

    def _end(self, fact: StepEnded, at: datetime) -> None:
        step = self.steps[fact.index]
        step.status, step.ended = (StepStatus.PENDING if fact.again else fact.status), fact
        if step.attempts and step.attempts[-1].ended_at is None:
            news = {"ended_at": at, "status": fact.status, "code": fact.code, "sentence": fact.sentence}
            step.attempts[-1] = step.attempts[-1].model_copy(update=news)

    def _retry(self, fact: Retried, at: datetime) -> None:
        self.ended = self.cancelled = None
        self.began = at
        for index in fact.steps:
            step = self.steps[index]
            step.status, step.ended, step.left = StepStatus.PENDING, None, 1 + step.new.retries

    @property
    def outputs(self) -> dict[int, Any]:
        done = ((index, step.ended) for index, step in self.steps.items() if step.status is StepStatus.COMPLETED)
        return {index: ended.output for index, ended in done if ended is not None}

    @property
    def failed_steps(self) -> tuple[int, ...]:
        """Those that did not come off."""
        return tuple(index for index, step in self.steps.items() if step.status is not StepStatus.COMPLETED)

    @property
    def status(self) -> Status:
        if self.ended is not None:
            return self.ended.status
        begun = any(step.attempts for step in self.steps.values())
        return Status.RUNNING if begun else Status.PENDING


def fold(task_id: TaskId, events: Iterable[Event]) -> State:
    state = State(task_id)
    for event in events:
        if event.payload is not None:
            state.tell(fact_of(event.kind, event.payload), from_micros(event.at))
    return state


class Start(msgspec.Struct, frozen=True):
    index: int


class Skip(msgspec.Struct, frozen=True):
    index: int
    because: int
    """The step that did not come off."""


class Stop(msgspec.Struct, frozen=True):
    """A step that is not finished, because the execution is over."""

    index: int
    status: StepStatus


class Settle(msgspec.Struct, frozen=True):
    ended: Ended


Move = Start | Skip | Stop | Settle


def next_moves(state: State, *, expired: bool = False) -> list[Move]:
    """What is to be done now. None while all that can be done is being done."""
    if state.ended is not None:
        return []
    if state.cancelled is not None:
        return [*_stopped(state, StepStatus.CANCELLED), Settle(Ended(status=Status.CANCELLED))]
    if expired:
        assert state.new is not None
        sentence = recorded("It took longer than the %(seconds)s s it had.", seconds=state.new.timeout_seconds)
        over = Ended(status=Status.TIMEOUT, code="execution_timeout", sentence=sentence)
        return [*_stopped(state, StepStatus.TIMEOUT), Settle(over)]
    skips = list(_skipped(state))
    gone = {skip.index for skip in skips}
    pending = [index for index, step in state.steps.items() if step.status is StepStatus.PENDING and index not in gone]
    running = sum(step.status is StepStatus.RUNNING for step in state.steps.values())
    ready = [index for index in pending if all(state.steps[one].satisfies for one in state.steps[index].new.depends_on)]
    starts = [Start(index) for index in ready[: AT_ONCE - running]]
    if not pending and not running:
        return [*skips, Settle(_verdict(state))]
    return [*skips, *starts]


def _stopped(state: State, status: StepStatus) -> Iterator[Stop]:
    for index, step in state.steps.items():
        if step.status is StepStatus.RUNNING:
            yield Stop(index, status)
        elif step.status is StepStatus.PENDING:
            yield Stop(index, StepStatus.CANCELLED if status is StepStatus.CANCELLED else StepStatus.SKIPPED)


def _skipped(state: State) -> Iterator[Skip]:
    """Steps that wait for something that will not come, however far away."""
    lost = {
        index
        for index, step in state.steps.items()
        if step.status is StepStatus.SKIPPED or (step.status in CAME_TO_NOTHING and not step.new.optional)
    }
    found = True
    while found:
        found = False
        for index, step in state.steps.items():
            because = [one for one in step.new.depends_on if one in lost]
            if step.status is StepStatus.PENDING and index not in lost and because:
                lost.add(index)
                found = True
                yield Skip(index, because[0])


def _verdict(state: State) -> Ended:
    for index, step in state.steps.items():
        if step.status in CAME_TO_NOTHING and not step.new.optional:
            ended = step.ended
            sentence = recorded(
                "Step %(step)s (%(name)s) %(status)s: %(why)s",
                step=index,
                name=step.new.name,
                status=step.status,
                why=ended and ended.sentence,
            )
            return Ended(status=Status.FAILED, code=ended and ended.code, sentence=sentence)
    return Ended(status=Status.COMPLETED)


def summary_of(state: State, user_id: UserId) -> Summary:
    return Summary(**_head(state, user_id))


def shown(state: State, user_id: UserId) -> Execution:
    return Execution(**_head(state, user_id), steps=tuple(map(_step, state.steps.values())))


def _head(state: State, user_id: UserId) -> dict[str, Any]:
    assert state.new is not None
    ended = state.ended
    return {
        "execution_id": state.task_id,
        "category": state.new.category,
        "type": state.new.type,
        "resource_type": state.new.resource_type,
        "resource_id": state.new.resource_id,
        "status": state.status,
        "progress": Progress(done=sum(step.status in DONE for step in state.steps.values()), total=len(state.steps)),
        "code": ended and ended.code,
        "sentence": ended and ended.sentence,
        "user_id": user_id,
        "created_at": state.created,
        "ended_at": state.last if ended is not None else None,
    }


def _step(step: StepState) -> Step:
    ended = step.ended if step.status in DONE else None
    return Step(
        index=step.new.index,
        name=step.new.name,
        command=step.new.command.model_dump(mode="json", exclude_unset=True),
        depends_on=step.new.depends_on,
        optional=step.new.optional,
        status=step.status,
        attempts=tuple(step.attempts),
        output=ended and ended.output,
        code=ended and ended.code,
        sentence=ended and ended.sentence,
        started_at=step.attempts[0].started_at if step.attempts else None,
        ended_at=step.attempts[-1].ended_at if step.attempts and ended is not None else None,
    )
