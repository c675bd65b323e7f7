"""Accepting a user's message: everything a turn uses is resolved here, once, in one transaction with the message."""

from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from preceptor.domain.agents import Agent
from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.delegation import Span
from preceptor.domain.ids import ConversationId, MessageId, StreamId, TurnId
from preceptor.domain.messages.directive import Directive, written
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.turns.facts import Accepted, Pin, Pins, TurnStatus
from preceptor.domain.turns.step import AskModel, next_step
from preceptor.domain.turns.turn import Turn
from preceptor.engine.attachments import expanded, images_for
from preceptor.engine.connecting import connected
from preceptor.engine.experimenting.enrolling import Enrolled, enroll
from preceptor.engine.history.counting import tokens_of
from preceptor.engine.history.history import History
from preceptor.engine.history.remembering import Asking, Past, remember
from preceptor.engine.means.errands import NOBODY
from preceptor.engine.means.means import Means, Spoken
from preceptor.engine.means.queues import TurnInProgress
from preceptor.engine.means.recalling import Recollection, agent_now, asked_before, standing
from preceptor.engine.ports import ChatModel, TokenCounter
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.taking.bringing import Client, bring, require_holding, unanswered, with_tools
from preceptor.engine.taking.carry_over import carried_again, carried_into, take_over
from preceptor.engine.taking.directing import hand_over_at_once
from preceptor.engine.taking.loading import Loaded
from preceptor.engine.telling.compiled import Told
from preceptor.engine.telling.effective import effective_now
from preceptor.engine.telling.plan_texts import in_words
from preceptor.engine.telling.voice import Kept, keep, voice_of
from preceptor.engine.turn.journal import Journal, write_down
from preceptor.engine.turn.policing import guarded, refuse_unjudged
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.ask import prepare, require_askable
from preceptor.engine.viewing.branching import Again, branch


class Wanted(msgspec.Struct, frozen=True):
    """What a caller wants said, and how."""

    conversation: Conversation
    parts: tuple[AnyPart, ...]
    parameters: RequestParameters
    again: Again | None = None
    """Say it in the place of something that was said before."""
    directives: tuple[Directive, ...] = ()
    """Whom to hand over to at once."""
    client: Client = Client()
    loaded: Loaded | None = None
    """What the agent is told, where that was worked out before."""
    waits: bool = False
    """For whichever process has room for it."""
    queued: bool = False
    """It has waited until it was its turn."""
    carried: tuple[Span, ...] = ()
    """Who speaks first, because the turn before left control with them."""


class Speaker(msgspec.Struct, frozen=True):
    """Who answers: an agent in its arms, with all that it is taken with."""

    agent: Agent
    means: Means
    model: ChatModel
    counter: TokenCounter
    spoken: Spoken
    based: Pins
    """What all its turns are pinned to."""
    instead: dict[str, Any]
    """And what this one is: the arms of experiments, or what was worked out before."""

    async def pinned(self, work: Work, **turn: Any) -> Pins:
        words = await in_words(work, self.based.sgr)
        return msgspec.structs.replace(self.based, **(words | turn | self.instead))


async def accept(work: Work, session: Session, wanted: Wanted, turn_id: TurnId) -> tuple[Run, int]:
    """Write the message down and start its turn; where nothing comes before the first call, that call as well.

    Answers with the row of the log before its first.
    """
    conversation_id = wanted.conversation.conversation_id
    recalled = there = await standing(work, session.means.memory, wanted.conversation)
    if there.running is not None:
        raise TurnInProgress(turn_id=there.running)
    if not wanted.queued:
        session.means.queues.let_nobody_by(work.org, conversation_id)
    agent = await agent_now(work, session.means.agents, wanted.conversation.agent_id)
    question: Message | None = None
    if wanted.again is not None:
        question = await branch(work, session, conversation_id, wanted.again)
        parts = wanted.parts or question.parts
        wanted, recalled = replace(wanted, parts=parts, directives=wanted.directives or question.directives), None
    speaker = await _speaker(work, session, wanted, agent)
    if speaker.based.carry_over and not (wanted.directives or wanted.client.brought):
        carried = await (carried_into(work, there) if question is None else carried_again(work, question.turn_id))
        wanted = replace(wanted, carried=carried)
    run = await _begin(work, session, wanted, speaker, turn_id, recalled)
    step = next_step(run.turn, run.turn.main, seconds=0.0)
    if isinstance(step, AskModel):
        run.prepared = prepare(run, run.turn.main, step)
    else:
        require_askable(run)
    return run, await _write(work, session, run, NOBODY if wanted.waits else session.means.worker)


async def _write(work: Work, session: Session, run: Run, worker: str) -> int:
    """All that is noted so far, and that the turn runs; answers with the row of the log before its first."""
    journal = run.journal
    conversation_id, turn_id = journal.conversation_id, run.turn.turn_id
    batch = journal.take()
    events = await work.log.append(StreamId(conversation_id), batch.events, take=True)
    first = events[0].seq - 1
    journal.epoch, journal.seq, journal.alone = events[-1].epoch, first, True
    journal.follow(events)
    await work.turns.add(
        TurnRow(
            turn_id=turn_id,
            conversation_id=conversation_id,
            agent_id=run.pins.agent_id,
            user_id=session.caller.owner.user_id,
            status=TurnStatus.RUNNING,
            worker=worker,
            epoch=journal.epoch,
            first=first,
            lease=work.now + session.means.lease,
        )
    )
    await write_down(work, conversation_id, batch, events, turn_id)
    return first


async def _speaker(work: Work, session: Session, wanted: Wanted, agent: Agent) -> Speaker:
    """The agent as it answers now: in its experiments, with its organisation's models and tools, and the client's."""
    enrolled = await _enrolled(work, session, wanted, agent)
    means = await connected(work, session, enrolled.compiled.head)
    name = enrolled.agent.model or means.models.default
    model, counter = means.models.find(name), means.models.counter(name)
    require_holding(wanted.client, model)
    if wanted.loaded is None:
        spoken, pins = spoken_by(work, means, enrolled, model, counter), enrolled.pins
    else:
        spoken, pins = await wanted.loaded.spoken(work, enrolled.agent), wanted.loaded.pins
    spoken = with_tools(spoken, wanted.client.tools, counter)
    based = spoken.pins or _based(means, enrolled, spoken.kept, model)
    return Speaker(enrolled.agent, means, model, counter, spoken, based, pins)


async def _begin(
    work: Work, session: Session, wanted: Wanted, speaker: Speaker, turn_id: TurnId, recalled: Recollection | None
) -> Run:
    conversation, client = wanted.conversation, wanted.client
    if client.brought:
        await bring(work, session, conversation.conversation_id, client.brought, speaker.counter, turn_id)
        recalled = None
    past = await _past(work, conversation.conversation_id, recalled)
    journal = _journal(work, session, past, turn_id)
    journal.keep(speaker.spoken.kept.sha256, speaker.spoken.kept.body)
    parts = await expanded(work, session.caller, past.conversation, wanted.parts, speaker.model)
    message = _message(session, wanted, parts, speaker.counter, turn_id)
    parameters = wanted.parameters.over(conversation.parameters).over(speaker.agent.parameters)
    before = await asked_before(work, past.conversation) if recalled is None else recalled.clarifications
    pins = await speaker.pinned(work, parameters=parameters.as_said, clarifications=before, **client.pins)
    refuse_unjudged(pins, message)
    asking = Asking(speaker.means, speaker.spoken.voice, speaker.model, speaker.counter, parameters, pins, message)
    history = await remember(work, past, asking, None if recalled is None else recalled.view)
    if not client.results and (missing := unanswered(history)):
        later = replace(wanted, client=replace(client, brought=missing))
        return await _begin(work, session, later, speaker, turn_id, None)
    _note_down(journal, pins, message, history)
    take_over(journal, session.world, speaker.spoken.voice, pins, wanted.carried)
    hand_over_at_once(journal, session.world, speaker.spoken.voice, pins, message)
    return Run(
        means=speaker.means,
        world=session.world,
        journal=journal,
        turn=journal.turn,
        voice=speaker.spoken.voice,
        model=speaker.model,
        counter=speaker.counter,
        sampling=parameters.sampling,
        history=history,
        conversation=conversation,
        images=await images_for(work, chain((message,), history.messages), speaker.model),
        began=session.world.monotonic(),
    )


async def _past(work: Work, conversation_id: ConversationId, recalled: Recollection | None) -> Past:
    if recalled is None:
        return Past(conversation_id, *await work.messages.last(conversation_id))
    return Past(conversation_id, recalled.last, recalled.total, recalled.near)


def _note_down(journal: Journal, pins: Pins, message: Message, history: History) -> None:
    accepted = Accepted(pins=pins, message_id=message.id, view_id=history.view_id, compress=history.to_summarise)
    journal.note("turn.accepted", accepted)
    journal.fitted = history.fitted
    journal.note("message.completed", message)


async def _enrolled(work: Work, session: Session, wanted: Wanted, agent: Agent) -> Enrolled:
    """The agent in its experiments; in none where what it is told was worked out before."""
    if wanted.loaded is None:
        return await enroll(work, session, agent, wanted.conversation)
    return Enrolled(agent, await effective_now(work, session.compilations, agent.agent_id))


def _journal(work: Work, session: Session, past: Past, turn_id: TurnId) -> Journal:
    return Journal(
        store=session.store,
        runner=session.means.runner,
        owner=session.caller.owner,
        conversation_id=past.conversation,
        turn=Turn(turn_id),
        epoch=0,
        place=past.last,
        cum=past.total,
        org=work.org,
        known=session.means.blobs,
    )


def spoken_by(work: Work, means: Means, enrolled: Enrolled, model: ChatModel, counter: TokenCounter) -> Spoken:
    """The agent's voice, made once for as long as nothing it is made from changes."""
    agent, compiled = enrolled.agent, enrolled.compiled
    key = work.org, agent.agent_id, enrolled.arms
    known = means.voices.get(key)
    same = known is not None and known.compiled is compiled and known.means is means
    if known is not None and same and known.revision == agent.revision:
        return known
    voice = voice_of(agent, compiled.told, means.tools.specs(agent.tools), counter)
    kept = keep(voice)
    pins = _based(means, enrolled, kept, model)
    spoken = means.voices[key] = Spoken(compiled, agent.revision, voice, kept, means, pins)
    return spoken


def _message(
    session: Session, wanted: Wanted, parts: tuple[AnyPart, ...], counter: TokenCounter, turn_id: TurnId
) -> Message:
    return Message(
        id=MessageId(session.world.new_id()),
        conversation_id=wanted.conversation.conversation_id,
        turn_id=turn_id,
        role=Role.TOOL if wanted.client.results else Role.USER,
        kind=Kind.TOOL if wanted.client.results else Kind.MESSAGE,
        parts=parts,
        instructions=tuple(map(written, wanted.directives)),
        tokens=tokens_of(parts, counter),
        created_at=session.world.now(),
    )


def rules_in(told: Told) -> dict[str, Any]:
    rules = told.effective.validation_rules
    return {} if rules is None else rules.model_dump(mode="json", exclude_defaults=True)


def _based(means: Means, enrolled: Enrolled, voice: Kept, model: ChatModel) -> Pins:
    return msgspec.structs.replace(pins_for(means, enrolled, voice), **guarded(means, enrolled.agent, model))


def pins_for(means: Means, enrolled: Enrolled, voice: Kept) -> Pins:
    """What every turn of an agent as it is now is pinned to, besides how it is guarded and planned."""
    agent, told = enrolled.agent, enrolled.compiled.told
    return Pins(
        agent_id=agent.agent_id,
        model=agent.model or means.models.default,
        fallback_models=agent.fallback_models,
        instructions=tuple(
            Pin(
                family_id=one.family_id,
                instruction_id=one.instruction_id,
                version=one.version,
                assignment_id=one.assignment_id,
            )
            for one in told.vector
        ),
        prompt_hash=told.hash,
        voice=voice.sha256,
        may_delegate="delegate" in agent.permissions,
        carry_over=agent.carry_over,
        limits=means.limits if agent.budget is None else agent.budget.within(means.limits),
        counter=enrolled.compiled.counter,
        summary_model=means.summary_model,
        rules=rules_in(told),
    )
