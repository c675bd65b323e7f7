"""The turn, on one screen. What comes next is a function of where it stands, so it can go on after any interruption.

accept → moderate → compress → plan → ask → act → … → settle
"""

from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.turns.step import (
    Act,
    AskModel,
    Close,
    Compress,
    FallBack,
    Forget,
    MakePlan,
    Moderate,
    Rest,
    Settle,
    next_step,
)
from preceptor.domain.turns.turn import Lane
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.act import act, join_branches
from preceptor.engine.turn.stages.ask import ask, forget
from preceptor.engine.turn.stages.compress import compress
from preceptor.engine.turn.stages.control import close, stop_branch
from preceptor.engine.turn.stages.fall_back import fall_back
from preceptor.engine.turn.stages.moderate import moderate
from preceptor.engine.turn.stages.plan import make_plan
from preceptor.engine.turn.stages.settle import settle


async def take_turn(run: Run) -> None:
    """Take a turn from where it stands to its end."""
    main = run.turn.main
    ending = await ask(run, main, AskModel("answer")) if run.prepared else None
    ending = ending or await take_lane(run, main)
    await settle(run, ending or Settle(TurnStatus.COMPLETED))


async def take_lane(run: Run, lane: Lane) -> Settle | None:
    """Go on with one line of speech, until it has said what it had to say or the turn ends."""
    ending: Settle | None = None
    while ending is None:
        match next_step(run.turn, lane, seconds=run.seconds):
            case Forget() as step:
                forget(run, lane, step)
            case Moderate() | Compress() | MakePlan() as step:
                ending = await _before_answering(run, step)
            case AskModel() as step:
                ending = await _ask(run, lane, step)
            case FallBack(after=failed):
                fall_back(run, lane, failed)
            case Act() as step:
                ending = await _act(run, lane, step)
            case Close(span=span, by=by, why=why):
                close(run, span, by, why)
            case Settle() as step:
                ending = step
            case Rest():
                return None
    return ending


async def _before_answering(run: Run, step: Moderate | Compress | MakePlan) -> Settle | None:
    match step:
        case Moderate():
            await moderate(run)
            return None
        case Compress():
            return await compress(run)
        case MakePlan():
            return await make_plan(run)


async def _ask(run: Run, lane: Lane, step: AskModel) -> Settle | None:
    ending = await ask(run, lane, step)
    if ending is not None and lane.root is not None:
        stop_branch(run, lane, ending.sentence)
        return None
    return ending


async def _act(run: Run, lane: Lane, step: Act) -> Settle | None:
    branches = await act(run, lane, step)
    if not branches:
        return None
    await run.journal.commit()
    endings = await run.means.runner.together([take_lane(run, run.turn.branches[one]) for one in branches])
    ending = next((one for one in endings if one is not None), None)
    if ending is None:
        await join_branches(run, lane, branches)
    return ending
