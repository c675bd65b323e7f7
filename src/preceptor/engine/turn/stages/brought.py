"""What a client brought along is judged before a model reads it; what no model may read is withheld."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import dropwhile, takewhile

from preceptor.domain.history.entry import STANDS_FOR_OTHERS
from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.reasoning.synthesis import WITHHELD
from preceptor.domain.reasoning.verdict import WINDOW, Gate
from preceptor.engine.means.guarding import STOPS
from preceptor.engine.repositories.work import Work
from preceptor.engine.turn.run import Run

Heard = Callable[[Message], str]
Asks = Callable[[str], Awaitable[Gate]]
"""Asks the guardian about a text."""
STEP = 100


class NoVerdict(Exception):
    """The guardian says nothing of a text that it can read at once: it says nothing of any."""


async def look_at_brought(run: Run, heard: Heard, ask: Asks) -> Sequence[Placed]:
    """Judge it, and answer with what this turn does not show. Whether a later one will is not decided here."""
    several = await stopped(await _brought(run), heard, ask)
    tokens = run.counter.count(WITHHELD)
    run.history.put({each.place: Placed(each.place, each.message, tokens) for each in several})
    return several


async def stopped(several: Sequence[Placed], heard: Heard, ask: Asks) -> Sequence[Placed]:
    """Those of them that no model may read."""
    try:
        return await _stopped(several, heard, ask)
    except NoVerdict:
        return several


async def _stopped(several: Sequence[Placed], heard: Heard, ask: Asks) -> Sequence[Placed]:
    """Judge them as a whole; if that may not pass, by halves, so that the rest can still be read."""
    text = "\n\n".join(heard(each.message) for each in several)
    outcome = await ask(text) if text.strip() else Gate.CONTINUE
    if outcome not in STOPS:
        return ()
    if outcome is Gate.UNAVAILABLE and len(text) <= WINDOW:
        raise NoVerdict
    if len(several) == 1:
        return several
    half = len(several) // 2
    found = [one for part in (several[:half], several[half:]) for one in await _stopped(part, heard, ask)]
    return found or several


def withhold_brought(run: Run, several: Sequence[Placed]) -> None:
    """No later turn shows it either."""
    for each in several:
        run.journal.withhold(each.message.id, run.counter.count(WITHHELD))


async def _brought(run: Run) -> list[Placed]:
    """All that clients brought since a model of ours was asked last: with this turn, or as an import that it goes on
    with. And what was put in the place of some of it.

    A model may be asked for a summary of what this request does not show, and a later one may show it.
    """
    newest, before = run.history.near[-1:], run.journal.here[0].place - 1
    if not before or (newest and not _is_unheard(newest[0])):
        return []

    async def program(work: Work) -> list[Placed]:
        found, last = list[Placed](), before
        while some := await work.messages.between(run.journal.conversation_id, max(1, last - STEP + 1), last):
            theirs = list(takewhile(_is_unheard, reversed(some)))
            found += [each for each in theirs if not each.withheld]
            if len(theirs) < len(some):
                break
            last -= STEP
        return list(dropwhile(lambda each: not each.message.from_client, reversed(found)))

    return await run.journal.store.read(run.journal.owner, program)


def _is_unheard(each: Placed) -> bool:
    """Whether it is of no turn, or a question that was put to no model: then what came before it was not either."""
    return each.message.from_client or each.message.kind in STANDS_FOR_OTHERS or bool(each.withheld)
