"""What a client brought along is judged before a model reads it; what no model may read is withheld."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile

from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.reasoning.synthesis import WITHHELD
from preceptor.engine.ports import Work
from preceptor.engine.run import Run

Stops = Callable[[str], Awaitable[bool]]
"""Asks the guardian about a text: whether no model may read it."""
STEP = 100


async def look_at_brought(run: Run, heard: Callable[[Message], str], stops: Stops) -> None:
    """Judge it as a whole; if that may not pass, one by one, so that the rest can still be read."""
    brought = await _brought(run)
    if not brought or not await stops("\n\n".join(heard(each.message) for each in brought)):
        return
    stopped = [each for each in brought if await stops(heard(each.message))]
    _withhold(run, stopped or brought)


async def withhold_brought(run: Run) -> None:
    """Nobody judged it, so no later turn shows it either."""
    _withhold(run, await _brought(run))


async def _brought(run: Run) -> list[Placed]:
    """All that clients brought since one of ours spoke last: with this turn, or as an import that it goes on with.

    A model may be asked for a summary of what this request does not show, and a later one may show it.
    """
    newest, before = run.history.near[-1:], run.journal.here[0].place - 1
    if not before or (newest and not newest[0].message.from_client):
        return []

    async def program(work: Work) -> list[Placed]:
        found, last = list[Placed](), before
        while some := await work.messages.between(run.journal.conversation_id, max(1, last - STEP + 1), last):
            theirs = list(takewhile(lambda each: each.message.from_client, reversed(some)))
            found += theirs
            if len(theirs) < len(some):
                break
            last -= STEP
        return found[::-1]

    return await run.journal.store.read(run.journal.owner, program)


def _withhold(run: Run, several: Sequence[Placed]) -> None:
    tokens = run.counter.count(WITHHELD)
    run.history.put({each.place: Placed(each.place, each.message, tokens) for each in several})
    for each in several:
        run.journal.withhold(each.message.id, tokens)
