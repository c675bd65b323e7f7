"""Carrying out commands: each begins something that is known again, or says that nobody can know."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import orjson

from preceptor.domain.conversations.conversation import Conversation, NewConversation
from preceptor.domain.conversations.looks import ShownView
from preceptor.domain.conversations.view import Change
from preceptor.domain.errors import Conflict, Invalid, PreceptorError, Upstream
from preceptor.domain.executions.binding import Reference, bound, looked_up
from preceptor.domain.executions.commands import (
    AnalyseExperiment,
    Compact,
    ExecuteAgent,
    LoadInstructions,
    RunReplay,
    Webhook,
)
from preceptor.domain.executions.graph import instructions_of
from preceptor.domain.executions.progress import State, StepState
from preceptor.domain.ids import AgentId, ConversationId, ExperimentId, StreamId, TaskId, TurnId
from preceptor.domain.messages.message import Text
from preceptor.domain.ownership import Caller, Permission
from preceptor.domain.prompts.parameters import AS_USUAL
from preceptor.domain.turns.facts import TERMINAL, Ended, TurnStatus, fact_of
from preceptor.domain.value import is_visible
from preceptor.engine.calling_out import AnsweredNo, NoAnswer, NoWebhooks, OutcomeUnknown
from preceptor.engine.experiments import Experiments
from preceptor.engine.means.queues import TurnInProgress
from preceptor.engine.replays import Replays
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Once, Replayed, Session
from preceptor.engine.starting import start
from preceptor.engine.taking.accepting import Wanted, accept
from preceptor.engine.taking.carrying import Taken
from preceptor.engine.taking.loading import load, read_loaded
from preceptor.engine.turn.failing import TurnUnguarded, failure_of
from preceptor.engine.turn.run import Run
from preceptor.engine.turns import Turns
from preceptor.engine.viewing.branching import Again
from preceptor.engine.viewing.compacting import Compacting


class Doing(msgspec.Struct, frozen=True):
    """A step that is carried out, with what it may do and what the steps before it put out."""

    session: Session
    """Acting for whoever asked for the execution, with their permissions."""
    state: State
    step: StepState
    resumed: bool
    replays: Replays

    @property
    def ids(self) -> dict[str, str]:
        assert self.step.started is not None
        return self.step.started.ids

    @property
    def name(self) -> str:
        """The same whenever this very step is repeated after a crash, and never for another attempt."""
        assert self.step.started is not None
        return f"{self.state.task_id}:{self.step.new.index}:{self.step.started.attempt}"

    def value(self, said: Any) -> Any:
        return looked_up(said.origin, self.state.outputs) if isinstance(said, Reference) else said


def worth_another_try(step: StepState, error: PreceptorError) -> bool:
    """Whether it may come off a little later, and may be done again."""
    command = step.new.command
    once = isinstance(command, Webhook) and command.data.effect == "once" and command.data.method != "GET"
    if isinstance(error, OutcomeUnknown) or (once and isinstance(error, NoAnswer | AnsweredNo)):
        return False
    if isinstance(error, AnsweredNo):
        return error.passes
    return isinstance(error, Upstream | TurnInProgress | TurnUnguarded)


def new_ids(session: Session, step: StepState) -> dict[str, str]:
    """Ids of what a step is about to begin, so that it is known again."""
    match step.new.command:
        case ExecuteAgent(data=data):
            before = step.started.ids if step.started is not None else {}
            ids = {"turnId": session.world.new_id()}
            if data.conversation_id is None:
                ids["conversationId"] = before.get("conversationId") or session.world.new_id()
            if before:
                ids["before"] = before["turnId"]
            return ids
        case RunReplay():
            return {"replayId": session.world.new_id()}
        case _:
            return {}


async def carry_out(doing: Doing) -> Any:
    return await _HOW[type(doing.step.new.command)](doing)


async def let_go(doing: Doing) -> None:
    """Stop what a step has begun, as far as that can be stopped."""
    match doing.step.new.command:
        case ExecuteAgent():
            row = await doing.session.read(lambda work: work.turns.find(TurnId(doing.ids.get("turnId", ""))))
            if row is not None and row.status is TurnStatus.RUNNING:
                await Turns(doing.session).cancel(row.conversation_id)
        case RunReplay():
            await doing.replays.let_go(TaskId(doing.ids.get("replayId", "")))
        case _:
            return


async def _load(doing: Doing) -> Any:
    command = doing.step.new.command
    assert isinstance(command, LoadInstructions)
    agent_id, session = AgentId(command.resource.id), doing.session
    return await session.store.write(session.caller.owner, lambda work: load(work, session, agent_id))


async def _execute(doing: Doing) -> Any:
    """One turn. It is begun under an id that is on the record, so it is begun once."""
    turn_id = TurnId(doing.ids["turnId"])
    row = await doing.session.read(lambda work: work.turns.find(turn_id))
    if row is None:
        taken = await Turns(doing.session).start(turn_id, _beginning(doing, turn_id), promised=True)
    else:
        taken = Taken(turn_id, row.conversation_id, row.first)
    ended = await Turns(doing.session).settled(taken)
    if ended.status is TurnStatus.FAILED:
        raise failure_of(ended)
    if ended.status is TurnStatus.CANCELLED:
        raise Conflict("The turn was cancelled. Retry the execution to have it taken again.")
    return {
        "conversationId": taken.conversation_id,
        "turnId": turn_id,
        "status": ended.status,
        "messageId": ended.message and ended.message.id,
        "usage": msgspec.to_builtins(ended.usage),
    }


def _beginning(doing: Doing, turn_id: TurnId) -> Callable[[Work], Awaitable[tuple[Run, int]]]:
    command, session = doing.step.new.command, doing.session
    assert isinstance(command, ExecuteAgent)
    steps = {index: one.new for index, one in doing.state.steps.items()}
    origin = instructions_of(doing.step.new, steps)
    loaded = None if origin is None else read_loaded(doing.state.outputs[origin.step])
    given = doing.value(command.data.conversation_id)
    conversation_id = ConversationId(str(given) if given is not None else doing.ids["conversationId"])

    async def program(work: Work) -> tuple[Run, int]:
        said = await _said(work, session.caller, doing)
        conversation = await _conversation(work, doing, conversation_id, begin=given is None)
        if conversation.agent_id != command.resource.id:
            raise Invalid(f"The conversation {conversation_id} is with {conversation.agent_id!r}, not with that agent.")
        await work.tasks.use(doing.state.task_id, conversation_id)
        before = await work.turns.find(TurnId(doing.ids["before"])) if "before" in doing.ids else None
        again = None if before is None else Again(Change.REGENERATED)
        parameters = command.data.parameters or AS_USUAL
        wanted = Wanted(conversation, (Text(said),), parameters, again, loaded=loaded)
        return await accept(work, session, wanted, turn_id)

    return program


async def _said(work: Work, caller: Caller, doing: Doing) -> str:
    """What is said: as the step says, or what a step before it put out."""
    command = doing.step.new.command
    assert isinstance(command, ExecuteAgent)
    message = command.data.user_message
    if not isinstance(message, Reference):
        return message
    outputs = await spoken_outputs(work, caller, doing.state)
    said = looked_up(message.origin, outputs)
    text = said if isinstance(said, str) else orjson.dumps(said).decode()
    if not is_visible(text):
        raise Invalid(f"Step {message.origin.step} put out nothing that could be said at {message.origin.path!r}.")
    return text


async def _conversation(work: Work, doing: Doing, conversation_id: ConversationId, *, begin: bool) -> Conversation:
    if not begin or await work.conversations.find(conversation_id) is not None:
        return await found(work, doing.session.caller, conversation_id)
    command = doing.step.new.command
    assert isinstance(command, ExecuteAgent)
    new = NewConversation(agent_id=command.resource.id, metadata={"executionId": doing.state.task_id})
    if not await work.agents.has(AgentId(new.agent_id)):
        raise Invalid(f"There is no agent {new.agent_id!r} here any more.")
    return await start(work, doing.session.caller.owner, conversation_id, new)


async def _compact(doing: Doing) -> Any:
    """Carried out at most once, by a key that is the step's own."""
    command = doing.step.new.command
    assert isinstance(command, Compact)
    conversation_id = ConversationId(str(doing.value(command.resource.id)))
    once = Once(f"execution:{doing.name}", "", lambda view: view.model_dump_json().encode())
    session = doing.session.acting_as(doing.session.caller, once)
    model = session.means.summary_model
    try:
        view = await Compacting(session, conversation_id, command.data, None, model).carry_out()
    except Replayed as known:
        return orjson.loads(known.answer)
    return None if view is None else _told(view)


def _told(view: ShownView) -> Any:
    return view.model_dump(mode="json")


async def _replay(doing: Doing) -> Any:
    command = doing.step.new.command
    assert isinstance(command, RunReplay)
    replay_id = TaskId(doing.ids["replayId"])
    return await doing.replays.run_to_its_end(command.data, replay_id)


async def _analyse(doing: Doing) -> Any:
    """It only reads, so it may be done again."""
    command = doing.step.new.command
    assert isinstance(command, AnalyseExperiment)
    results = await Experiments(doing.session).results(ExperimentId(command.resource.id))
    return results.model_dump(mode="json")


async def _webhook(doing: Doing) -> Any:
    command, session = doing.step.new.command, doing.session
    assert isinstance(command, Webhook)
    asked, webhooks = command.data, session.means.webhooks
    if webhooks is None:
        raise NoWebhooks
    if doing.resumed and asked.effect == "once" and asked.method != "GET":
        raise OutcomeUnknown
    outputs = await session.read(lambda work: spoken_outputs(work, session.caller, doing.state))
    body = None if asked.method == "GET" else orjson.dumps(bound(asked.body, outputs))
    key = f"{doing.state.task_id}:{doing.step.new.index}"
    headers = {"Content-Type": "application/json", **asked.headers, "Idempotency-Key": key}
    called = await webhooks.call(asked.method, asked.url, headers, body, doing.step.new.timeout_seconds)
    if not 200 <= called.status < 300:
        raise AnsweredNo(status=called.status)
    return {"status": called.status, "body": called.body}


_HOW: dict[type[Any], Callable[[Doing], Awaitable[Any]]] = {
    LoadInstructions: _load,
    ExecuteAgent: _execute,
    Compact: _compact,
    RunReplay: _replay,
    AnalyseExperiment: _analyse,
    Webhook: _webhook,
}


async def spoken_outputs(work: Work, caller: Caller, state: State) -> dict[int, Any]:
    """What steps put out, with what agents answered. That is not kept with the step: it is the conversation's, and is
    gone when that is erased.
    """
    outputs = state.outputs
    for index, step in state.steps.items():
        if index in outputs and isinstance(step.new.command, ExecuteAgent):
            outputs[index] = {**outputs[index], "response": await _response(work, caller, outputs[index])}
    return outputs


async def _response(work: Work, caller: Caller, output: dict[str, Any]) -> str | None:
    row = await work.turns.find(TurnId(output["turnId"]))
    if row is None or row.last is None:
        return None
    if row.user_id != caller.owner.user_id and not caller.may(Permission.CONVERSATION_READ_ANY):
        return None
    [event] = await work.log.after(StreamId(row.conversation_id), row.last - 1, 1)
    if event.kind not in TERMINAL or event.payload is None:
        return None
    ended: Ended = fact_of(event.kind, event.payload)
    return str((ended.ui or {}).get("response", ""))
