"""An execution, on one screen. What comes next is a function of where it stands, so it goes on after any interruption.

claim → start what waits for nothing → carry it out → note how it ended → start what waited for it → … → settle
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from preceptor.domain.errors import DiskFull, PreceptorError, Unavailable, recorded
from preceptor.domain.executions.execution import Status, StepStatus
from preceptor.domain.executions.facts import Ended, Fact, StepEnded, StepResumed, StepStarted, event
from preceptor.domain.executions.progress import Settle, Skip, Start, State, Stop, fold, next_moves, summary_of
from preceptor.domain.log import Fenced
from preceptor.domain.ownership import Caller, Permission
from preceptor.engine.executing.commands import Doing, carry_out, let_go, new_ids, worth_another_try
from preceptor.engine.replays import Replays
from preceptor.engine.repositories.tasks import TaskRow
from preceptor.engine.session import Session
from preceptor.engine.tasks.tasks import UNEXPECTED, Claim, TaskLog

PAUSES = (0.25, 1.0, 3.0)
TAKEOVERS = 5
"""How often a step is taken up again before it has failed: something in it may be what ends the process."""
EXHAUSTED = recorded("The step was taken up again too often, and ended its process each time.")


class ExecutionRun(msgspec.Struct):
    claim: Claim
    session: Session
    """Acting with the permissions of whoever asked for it."""
    log: TaskLog
    state: State
    replays: Replays
    began: float
    resting: set[int] = set()
    """Steps that wait a little before they are tried again."""

    def note(self, fact: Fact) -> None:
        self.log.waiting.append(event(fact))
        self.state.tell(fact, self.session.world.now())

    def row(self) -> TaskRow:
        state, row = self.state, self.claim.row
        stands = replace(row, open=state.ended is None, status=state.status.value)
        cancel = None if state.cancelled is None else state.cancelled.by
        return replace(stands, cancel=cancel, body=summary_of(state, row.user_id).model_dump_json())

    async def commit(self) -> None:
        await self.log.commit(self.row)

    @property
    def seconds_left(self) -> float:
        assert self.state.new is not None
        return self.state.new.timeout_seconds - (self.session.world.monotonic() - self.began)

    def doing(self, index: int, *, resumed: bool) -> Doing:
        return Doing(self.session, self.state, self.state.steps[index], resumed, self.replays)


def taken_up(claim: Claim, replays: Replays) -> ExecutionRun:
    """A run from what is on the record of an execution."""
    state, world = fold(claim.row.task_id, claim.events), claim.session.world
    permissions = frozenset(Permission(one) for one in state.permissions)
    caller = Caller(claim.session.caller.owner, permissions, "execution")
    session = claim.session.acting_as(caller)
    assert state.began is not None
    age = (world.now() - state.began) / timedelta(seconds=1)
    log = TaskLog(claim.session, claim.row.task_id, claim.epoch)
    acting = replace(replays, session=session)
    return ExecutionRun(claim, session, log, state, acting, world.monotonic() - max(0.0, age))


async def execute(run: ExecutionRun) -> None:
    """Take an execution from where it stands to its end."""
    left = [index for index, step in run.state.steps.items() if step.status is StepStatus.RUNNING]
    if run.state.cancelled is None and run.seconds_left > 0:
        for index in left:
            run.note(StepResumed(index=index))
        await run.commit()
        try:
            await run.session.means.runner.within(_advance(run, left), run.seconds_left)
        except TimeoutError:
            left = [index for index, step in run.state.steps.items() if step.status is StepStatus.RUNNING]
    if run.state.ended is None:
        for index in left:
            await let_go(run.doing(index, resumed=True))
        await _advance(run, (), expired=run.state.cancelled is None)


async def give_up(run: ExecutionRun, code: str, sentence: str) -> None:
    """End it, whatever it was that no one knew how to deal with."""
    for index, step in run.state.steps.items():
        if step.status is StepStatus.RUNNING:
            run.note(StepEnded(index=index, status=StepStatus.FAILED, code=code, sentence=sentence))
    run.note(Ended(status=Status.FAILED, code=code, sentence=sentence))
    await run.commit()


async def _advance(run: ExecutionRun, left: Sequence[int], *, expired: bool = False) -> None:
    """Do what is to be done now, and whatever follows from it. `left` are steps that were begun before."""
    starts: list[int] = []
    for move in next_moves(run.state, expired=expired):
        match move:
            case Start(index=index) if index not in run.resting:
                step = run.state.steps[index]
                ids = new_ids(run.session, step)
                run.note(StepStarted(index=index, attempt=len(step.attempts) + 1, ids=ids))
                starts.append(index)
            case Skip(index=index, because=because):
                sentence = recorded("Step %(step)s, which it needs, did not come off.", step=because)
                run.note(StepEnded(index=index, status=StepStatus.SKIPPED, code="skipped", sentence=sentence))
            case Stop(index=index, status=status):
                run.note(StepEnded(index=index, status=status, sentence=recorded("The execution was over.")))
            case Settle(ended=ended):
                run.note(ended)
            case _:
                pass
    await run.commit()
    works = [_carry(run, index, resumed=True) for index in left]
    works += [_carry(run, index, resumed=False) for index in starts]
    if works:
        await run.session.means.runner.together(works)


async def _carry(run: ExecutionRun, index: int, *, resumed: bool) -> None:
    ended = await _ended(run, index, resumed=resumed)
    run.note(ended)
    await run.commit()
    if ended.again:
        run.resting.add(index)
        tried = len(run.state.steps[index].attempts)
        await run.session.means.runner.pause(PAUSES[min(tried, len(PAUSES)) - 1])
        run.resting.discard(index)
    await _advance(run, ())


async def _ended(run: ExecutionRun, index: int, *, resumed: bool) -> StepEnded:
    """Carry a step out; whatever comes of it is how it ended. Only a storage that is away is no end."""
    step, doing = run.state.steps[index], run.doing(index, resumed=resumed)
    if step.resumed > TAKEOVERS:
        return _failure(index, StepStatus.FAILED, "recovery_exhausted", EXHAUSTED)
    try:
        output: Any = await run.session.means.runner.within(carry_out(doing), step.new.timeout_seconds)
    except TimeoutError:
        await let_go(doing)
        sentence = recorded("It took longer than the %(seconds)s s it had.", seconds=step.new.timeout_seconds)
        return _failure(index, StepStatus.TIMEOUT, "step_timeout", sentence)
    except (Unavailable, DiskFull, Fenced):
        raise
    except PreceptorError as error:
        again = step.left > 0 and worth_another_try(step, error)
        return _failure(index, StepStatus.FAILED, error.code, str(error), again=again)
    except Exception as error:  # noqa: BLE001 - one step must not end all others
        run.session.means.runner.report(f"step {index} of the execution {run.state.task_id}", error)
        return _failure(index, StepStatus.FAILED, "internal", UNEXPECTED)
    return StepEnded(index=index, status=StepStatus.COMPLETED, output=output)


def _failure(index: int, status: StepStatus, code: str, sentence: str, *, again: bool = False) -> StepEnded:
    return StepEnded(index=index, status=status, code=code, sentence=sentence, again=again)
