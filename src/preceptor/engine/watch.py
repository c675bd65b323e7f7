"""The watch over what goes on by itself: say that we are there, take up what others left, stop what is to stop."""

from preceptor.domain.errors import Unavailable
from preceptor.engine.tasks import Tasks
from preceptor.engine.turns import SWEPT, Turns

SWEEP_EVERY = 10
"""Beats between two looks for turns that no one takes any more; a lease lasts three of them."""


async def watching(turns: Turns, tasks: Tasks, *, alone: bool) -> None:
    """Until it is stopped. Where no other process can be at work, everything that is still open was left behind."""
    beat, left_behind, means = 0, alone, turns.session.means
    while True:
        try:
            if beat % SWEEP_EVERY == 0:
                await turns.keep_alive()
                await tasks.keep_alive()
            if left_behind or (beat % SWEEP_EVERY == 0 and not alone):
                taken = await turns.take_over(alone=alone), await tasks.take_over(alone=alone)
                left_behind = max(taken) >= SWEPT
            if not alone:
                await turns.heed()
                await tasks.heed()
        except Unavailable:
            pass  # the next beat finds it again
        except Exception as error:  # noqa: BLE001 - without a watch, what others left behind would stay there
            means.runner.report("the watch over turns", error)
        beat += 1
        await means.runner.pause(means.beat)
