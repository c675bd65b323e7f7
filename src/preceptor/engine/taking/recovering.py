"""Recovering: a turn whose process died is folded again from the log, and goes on where it was."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from itertools import chain

import msgspec
from msgspec.structs import replace

from preceptor.domain.errors import Invalid, NotFound, PreceptorError
from preceptor.domain.ids import StreamId, TurnId
from preceptor.domain.messages.message import Message
from preceptor.domain.models import Capabilities
from preceptor.domain.ownership import Owner
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Reply
from preceptor.domain.times import from_micros
from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.turns.turn import Turn, fold
from preceptor.engine.attachments import images_for
from preceptor.engine.connecting import connected
from preceptor.engine.following import events_of
from preceptor.engine.history.history import History
from preceptor.engine.history.remembering import Asking, Past, remember
from preceptor.engine.means.errands import NOBODY
from preceptor.engine.means.means import Means
from preceptor.engine.ports import ChatModel, TokenCounter
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.telling.voice import read_voice
from preceptor.engine.turn.journal import Journal
from preceptor.engine.turn.run import Run

BATCH = 1000
TAKEOVERS = 5
"""How often a turn is taken up again before it has failed: something in it may be what ends the process."""


class Recovered(msgspec.Struct, frozen=True):
    run: Run
    exhausted: bool
    """It was taken up too often."""


async def take_up(work: Work, session: Session, turn_id: TurnId, epoch: int | None = None) -> Recovered | None:
    """Become the one who takes this turn, whoever did before; None if it has ended. Waiting for room takes no time.

    With the epoch at which it was left, also None if someone else has taken it up since.
    """
    row = await work.turns.find(turn_id)
    if row is None:
        raise NotFound("turn", turn_id)
    if row.status is not TurnStatus.RUNNING:
        return None
    if epoch not in {None, row.epoch} and row.worker != session.means.worker:
        return None
    epoch = await work.log.take_over(StreamId(row.conversation_id))
    mine = replace(row, worker=session.means.worker, epoch=epoch, lease=work.now + session.means.lease)
    await work.turns.take(mine)
    events = await events_of(work, row)
    waited = row.worker == NOBODY and not row.takeovers
    age = 0.0 if waited else (work.now - from_micros(events[0].at)) / timedelta(seconds=1)
    run = await _rebuilt(work, session, mine, fold(turn_id, events), age)
    return Recovered(run, exhausted=row.takeovers >= TAKEOVERS)


async def _rebuilt(work: Work, session: Session, row: TurnRow, turn: Turn, age: float) -> Run:
    means, world = await connected(work, session), session.world
    pins = turn.pins
    parameters = RequestParameters.model_validate(pins.parameters)
    body = await work.blobs.get(pins.voice)
    assert body is not None, "a turn's voice is kept together with it"
    voice = read_voice(body)
    model, counter = _model(means, pins.model)
    place, cum = await work.messages.last(row.conversation_id)
    journal = _journal(work, session, row, turn, (place, cum))
    spoken = await _placed(work, row, turn, place)
    journal.here = [each for each in spoken if each.place > 0]
    for root, lane in turn.branches.items():
        journal.aside[root] = [Placed(0, message) for message in lane.messages]
    question: Message = turn.main.messages[0]
    before = journal.here[0].place - 1
    total = await work.messages.sum_at(row.conversation_id, before)
    try:
        summarise = turn.compressed is None or turn.compressed.failed is None
        asking = Asking(means, voice, model, counter, parameters, pins, question, summarise)
        history = await remember(work, Past(row.conversation_id, before, total), asking)
    except Invalid as failure:  # it cannot be asked any more, only ended
        model, history = Gone(pins.model, failure), History([])
    return Run(
        means=means,
        world=world,
        journal=journal,
        turn=journal.turn,
        voice=voice,
        model=model,
        counter=counter,
        sampling=parameters.sampling,
        history=history,
        images=await images_for(work, chain((question,), history.messages), model),
        began=world.monotonic() - max(0.0, age),
    )


def _journal(work: Work, session: Session, row: TurnRow, turn: Turn, last: tuple[int, int]) -> Journal:
    return Journal(
        store=session.store,
        runner=session.means.runner,
        owner=Owner(org_id=work.org, user_id=row.user_id),
        conversation_id=row.conversation_id,
        turn=turn,
        epoch=row.epoch,
        place=last[0],
        cum=last[1],
        org=work.org,
        known=session.means.blobs,
    )


def _model(means: Means, name: str) -> tuple[ChatModel, TokenCounter]:
    try:
        return means.models.find(name), means.models.counter(name)
    except PreceptorError as failure:
        return Gone(name, failure), Roughly()


class Gone(msgspec.Struct, frozen=True):
    """A model that cannot be had any more. A turn that is pinned to it can still be ended, and says why."""

    name: str
    failure: PreceptorError
    capabilities: Capabilities = msgspec.field(default_factory=Capabilities)

    def render(self, prompt: Prompt, ask: Ask) -> Request:  # noqa: ARG002 - as every model does
        raise self.failure

    def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:  # noqa: ARG002 - a model
        raise self.failure


class Roughly(msgspec.Struct, frozen=True):
    """Counts where no one knows the vocabulary."""

    estimated: bool = True

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


async def _placed(work: Work, row: TurnRow, turn: Turn, last: int) -> list[Placed]:
    """Where the turn's messages are. They are the newest there are: nothing else is said while a turn runs."""
    count = len(turn.main.messages)
    return await work.messages.between(row.conversation_id, last - count + 1, last)
