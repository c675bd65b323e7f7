"""Accepting a user's message: everything a turn uses is resolved here, once, in one transaction with the message."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import msgspec

from preceptor.domain.agents import Agent
from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.errors import Conflict, NotFound
from preceptor.domain.ids import MessageId, StreamId, TurnId
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.turns.facts import Accepted, Pin, Pins, TurnStatus
from preceptor.domain.turns.step import AskModel, next_step
from preceptor.domain.turns.turn import Turn
from preceptor.engine.attachments import expanded, images_for
from preceptor.engine.branching import Again, branch
from preceptor.engine.bringing import Client, bring, unanswered, with_tools
from preceptor.engine.compiled import Compiled
from preceptor.engine.connecting import connected
from preceptor.engine.counting import tokens_of
from preceptor.engine.effective import effective_now
from preceptor.engine.enrolling import Enrolled, enroll
from preceptor.engine.errands import NOBODY
from preceptor.engine.journal import Journal, write_down
from preceptor.engine.loading import Loaded
from preceptor.engine.plan_texts import in_words
from preceptor.engine.policing import asked_before, guarded, refuse_unjudged
from preceptor.engine.ports import TokenCounter, Work
from preceptor.engine.remembering import Asking, Past, remember
from preceptor.engine.run import History, Means, Run, Spoken
from preceptor.engine.session import Session
from preceptor.engine.stages.ask import prepare
from preceptor.engine.talk import TurnRow
from preceptor.engine.voice import keep, voice_of


@dataclass(eq=False)
class TurnInProgress(Conflict):
    code: ClassVar[str] = "turn_in_progress"
    turn_id: str = ""

    def __str__(self) -> str:
        return (
            f"The turn {self.turn_id} of this conversation is still running. Wait for it to end (GET "
            f"/api/turns/{self.turn_id}), or cancel it, then send again."
        )


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller wants said, and how."""

    conversation: Conversation
    parts: tuple[AnyPart, ...]
    parameters: RequestParameters
    again: Again | None = None
    """Say it in the place of something that was said before."""
    client: Client = Client()  # noqa: RUF009 - it never changes
    loaded: Loaded | None = None
    """What the agent is told, where that was worked out before."""
    waits: bool = False
    """For whichever process has room for it."""


async def accept(work: Work, session: Session, wanted: Wanted, turn_id: TurnId) -> tuple[Run, int]:
    """Write the message down and start its turn; where nothing comes before the first call, that call as well.

    Answers with the row of the log before its first.
    """
    conversation_id = wanted.conversation.conversation_id
    if open_turn := await work.turns.open_in(conversation_id):
        raise TurnInProgress(turn_id=open_turn.turn_id)
    agent = await work.agents.find(wanted.conversation.agent_id)
    if agent is None:
        raise NotFound("agent", wanted.conversation.agent_id)
    if wanted.again is not None:
        said = await branch(work, session, conversation_id, wanted.again, wanted.parts)
        wanted = replace(wanted, parts=said)
    run = await _begin(work, session, wanted, agent, turn_id)
    step = next_step(run.turn, run.turn.main, seconds=0.0)
    if isinstance(step, AskModel):
        run.prepared = prepare(run, run.turn.main, step)
    journal = run.journal
    batch = journal.take()
    events = await work.log.append(StreamId(conversation_id), batch.events, take=True)
    journal.epoch = events[-1].epoch
    await work.turns.add(
        TurnRow(
            turn_id=turn_id,
            conversation_id=conversation_id,
            agent_id=agent.agent_id,
            user_id=session.caller.owner.user_id,
            status=TurnStatus.RUNNING,
            worker=NOBODY if wanted.waits else session.means.worker,
            epoch=journal.epoch,
            first=events[0].seq - 1,
            lease=work.now + session.means.lease,
        )
    )
    await write_down(work, conversation_id, batch, events, turn_id)
    return run, events[0].seq - 1


async def _begin(work: Work, session: Session, wanted: Wanted, agent: Agent, turn_id: TurnId) -> Run:
    conversation_id = wanted.conversation.conversation_id
    enrolled = await _enrolled(work, session, wanted, agent)
    agent, compiled = enrolled.agent, enrolled.compiled
    means = await connected(work, session, compiled.head)
    name = agent.model or means.models.default
    model, counter = means.models.find(name), means.models.counter(name)
    client = wanted.client
    spoken = with_tools(await _spoken(work, means, wanted, enrolled, counter), client.tools, counter)
    await bring(work, session, conversation_id, client.brought, counter, turn_id)
    past = Past(conversation_id, *await work.messages.last(conversation_id))
    journal = _journal(work, session, past, turn_id)
    journal.keep(spoken.kept.sha256, spoken.kept.body)
    wanted = replace(wanted, parts=await expanded(work, session.caller, conversation_id, wanted.parts, model))
    message = _message(session, wanted, counter, turn_id)
    parameters = wanted.parameters.over(wanted.conversation.parameters).over(agent.parameters)
    pins = msgspec.structs.replace(
        pins_for(means, agent, compiled, spoken, name),
        parameters=parameters.model_dump(mode="json"),
        clarifications=await asked_before(work, conversation_id),
        **(await in_words(work, guarded(means, agent, model)) | client.pins | (wanted.loaded or enrolled).pins),
    )
    refuse_unjudged(pins, message)
    asking = Asking(means, spoken.voice, model, counter, parameters, pins, message)
    history = await remember(work, past, asking)
    if not client.results and (missing := unanswered(history)):
        later = replace(wanted, client=replace(client, brought=missing))
        return await _begin(work, session, later, agent, turn_id)
    _note_down(journal, pins, message, history)
    return Run(
        means=means,
        world=session.world,
        journal=journal,
        voice=spoken.voice,
        model=model,
        counter=counter,
        sampling=parameters.sampling(),
        history=history,
        images=await images_for(work, (message, *history.messages), model),
        began=session.world.monotonic(),
    )


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


async def _spoken(work: Work, means: Means, wanted: Wanted, enrolled: Enrolled, counter: TokenCounter) -> Spoken:
    if wanted.loaded is None:
        return spoken_by(work, means, enrolled, counter)
    return await wanted.loaded.spoken(work, enrolled.agent)


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


def spoken_by(work: Work, means: Means, enrolled: Enrolled, counter: TokenCounter) -> Spoken:
    """The agent's voice, made once for as long as nothing it is made from changes."""
    agent, compiled = enrolled.agent, enrolled.compiled
    key = work.org, agent.agent_id, enrolled.arms
    known = means.voices.get(key)
    same = known is not None and known.compiled is compiled and known.tools is means.tools
    if known is not None and same and known.revision == agent.revision:
        return known
    voice = voice_of(agent, compiled, means.tools.specs(agent.tools), counter)
    spoken = means.voices[key] = Spoken(compiled, agent.revision, voice, keep(voice), means.tools)
    return spoken


def _message(session: Session, wanted: Wanted, counter: TokenCounter, turn_id: TurnId) -> Message:
    return Message(
        id=MessageId(session.world.new_id()),
        conversation_id=wanted.conversation.conversation_id,
        turn_id=turn_id,
        role=Role.TOOL if wanted.client.results else Role.USER,
        kind=Kind.TOOL if wanted.client.results else Kind.MESSAGE,
        parts=wanted.parts,
        instructions=(),
        tokens=tokens_of(wanted.parts, counter),
        created_at=session.world.now(),
    )


def rules_in(compiled: Compiled) -> dict[str, Any]:
    rules = compiled.effective.validation_rules
    return {} if rules is None else rules.model_dump(mode="json", exclude_defaults=True)


def pins_for(means: Means, agent: Agent, compiled: Compiled, spoken: Spoken, model: str) -> Pins:
    return Pins(
        agent_id=agent.agent_id,
        model=model,
        fallback_models=agent.fallback_models,
        instructions=tuple(
            Pin(
                family_id=one.family_id,
                instruction_id=one.instruction_id,
                version=one.version,
                assignment_id=one.assignment_id,
            )
            for one in compiled.vector
        ),
        prompt_hash=compiled.rendered.hash,
        voice=spoken.kept.sha256,
        may_delegate="delegate" in agent.permissions,
        limits=means.limits,
        counter=compiled.counter,
        summary_model=means.summary_model,
        rules=rules_in(compiled),
    )
