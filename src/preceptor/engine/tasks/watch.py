"""The watch over what goes on by itself: say that we are there, take up what others left, stop what is to stop."""

from preceptor.domain.errors import Unavailable
from preceptor.domain.ownership import SYSTEM
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.taking.orphans import SWEPT
from preceptor.engine.tasks.tasks import Tasks
from preceptor.engine.turns import Turns

SWEEP_EVERY = 10
"""Beats between two looks for turns that no one takes any more; a lease lasts three of them."""
PATIENCE = 1.0
"""Seconds that letting go may take: a database that is away must not keep us."""


async def watching(turns: Turns, tasks: Tasks, *, alone: bool) -> None:
    """Until it is stopped. Where no other process can be at work, everything that is still open was left behind."""
    beat, first, more, means = 0, alone, False, turns.session.means
    others = not alone or means.errands is not None
    while True:
        try:
            if beat % SWEEP_EVERY == 0:
                await turns.keep_alive()
                await tasks.keep_alive()
            if first or more or (beat % SWEEP_EVERY == 0 and others):
                taken = await turns.take_over(alone=first), await tasks.take_over(alone=first)
                more = max(taken) >= SWEPT
                first = first and more
            if others:
                await turns.heed()
                await tasks.heed()
        except Unavailable:
            pass  # the next beat finds it again
        except Exception as error:  # noqa: BLE001 - without a watch, what others left behind would stay there
            means.runner.report("the watch over turns", error)
        beat += 1
        await means.runner.pause(means.beat)


async def let_go(session: Session) -> None:
    """Once nothing goes on here any more: leave what has not ended to others, without their waiting for our lease."""
    worker = session.means.worker

    async def program(work: Work) -> None:
        await work.turns.release(worker)
        await work.tasks.release(worker)

    try:
        await session.means.runner.within(session.acting_as(SYSTEM).write(program), PATIENCE)
    except (Unavailable, TimeoutError):
        return  # they find it when the lease is over
