"""What a client brought along is judged before a model reads it; what no model may read is withheld."""

from collections.abc import Awaitable, Callable

from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.reasoning.synthesis import WITHHELD
from preceptor.engine.run import Run

Stops = Callable[[str], Awaitable[bool]]
"""Asks the guardian about a text: whether no model may read it."""


async def look_at_brought(run: Run, heard: Callable[[Message], str], stops: Stops) -> None:
    """Judge it as a whole; if that may not pass, one by one, so that the rest can still be read."""
    brought = _brought(run)
    if not brought or not await stops("\n\n".join(heard(each.message) for each in brought)):
        return
    stopped = [each for each in brought if await stops(heard(each.message))]
    for each in stopped or brought:
        _withhold(run, each)


def withhold_brought(run: Run) -> None:
    """Nobody judged it, so no later turn shows it either."""
    for each in _brought(run):
        _withhold(run, each)


def _brought(run: Run) -> list[Placed]:
    said = run.history.said
    return [each for each in said if each.message.from_client and each.message.turn_id == run.turn.turn_id]


def _withhold(run: Run, placed: Placed) -> None:
    tokens = run.counter.count(WITHHELD)
    instead = Placed(placed.place, placed.message, tokens)
    run.history.said = [instead if each.place == placed.place else each for each in run.history.said]
    run.journal.withhold(placed.message.id, tokens)
