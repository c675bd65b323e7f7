"""Executions: ask for steps to be carried out, look at how far they are, stop them, try again what did not come off."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from preceptor.domain.errors import NotFound
from preceptor.domain.executions.commands import (
    NEEDS,
    Asked,
    Compact,
    ConversationResource,
    ExecuteAgent,
    LoadInstructions,
    Webhook,
)
from preceptor.domain.executions.execution import Execution, NewExecution, Summary
from preceptor.domain.executions.facts import Accepted, CancelRequested, Retried, event
from preceptor.domain.executions.graph import checked
from preceptor.domain.executions.progress import State, fold, shown, summary_of
from preceptor.domain.ids import AgentId, ConversationId, StreamId, TaskId
from preceptor.domain.log import Event
from preceptor.domain.ownership import Caller
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.value import made
from preceptor.engine.calling_out import NoWebhooks
from preceptor.engine.executing.commands import spoken_outputs
from preceptor.engine.executing.execution import execute, give_up, taken_up
from preceptor.engine.following import follow_task
from preceptor.engine.replays import Replays
from preceptor.engine.repositories.tasks import TaskKind
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.tasks.own_tasks import ask_to_stop, new_row, task_of, wanted_by
from preceptor.engine.tasks.tasks import Carrier, Claim, Tasks, events_of

KIND = TaskKind.EXECUTION


class Executions(msgspec.Struct, frozen=True):
    session: Session
    carriers: Mapping[TaskKind, Carrier]

    @property
    def tasks(self) -> Tasks:
        return Tasks(self.session, self.carriers)

    async def create(self, given: NewExecution | None = None, **fields: Any) -> Execution:
        """Accept an execution and let it go on by itself."""
        new = made(NewExecution, given, fields)
        checked(new.steps)
        self._require(new)
        session, task_id = self.session, TaskId(self.session.world.new_id())
        permissions = tuple(sorted(session.caller.permissions))
        fact = Accepted(asked=new.model_dump(mode="json", exclude_unset=True), permissions=permissions)

        async def program(work: Work) -> Execution:
            await _are_there(work, session.caller, new)
            state = State(task_id)
            await work.log.start(StreamId(task_id), [event(fact)])
            state.tell(fact, work.now)
            user_id = session.caller.owner.user_id
            body = summary_of(state, user_id).model_dump_json()
            await work.tasks.add(new_row(work, self.tasks, KIND, task_id, state.status.value, body))
            return shown(state, user_id)

        accepted = await session.write(program)
        await self.tasks.go_on(KIND, task_id)
        return accepted

    async def get(self, execution_id: TaskId) -> Execution:
        return await self.session.read(lambda work: self._shown(work, execution_id))

    async def page(self, status: str | None = None, cursor: str | None = None, limit: int = 50) -> Page[Summary]:
        """The newest first: one's own, or all of the organisation with `conversation:read_any`."""
        wanted = wanted_by(self.session.caller, KIND, status)

        async def program(work: Work) -> Page[Summary]:
            rows = await work.tasks.page(wanted, position_of(cursor), limit + 1)
            found = [Summary.model_validate_json(row.body) for row in rows]
            return page_of(found, limit, lambda one: one.execution_id)

        return await self.session.read(program)

    async def cancel(self, execution_id: TaskId) -> Execution:
        """Ask it to stop, and wait until it has. One that has ended stays as it is."""
        caller = self.session.caller

        async def program(work: Work) -> Execution:
            requested = event(CancelRequested(by=caller.owner.user_id))
            await ask_to_stop(work, caller, KIND, execution_id, requested)
            return await self._shown(work, execution_id)

        await self.session.write(program)
        await self.tasks.stopped(KIND, execution_id)
        return await self.get(execution_id)

    async def retry(self, execution_id: TaskId) -> Execution:
        """Try again what did not come off. One that came off, or still goes on, stays as it is."""
        by, told = self.session.caller.owner.user_id, list[Event]()

        async def program(work: Work) -> Execution:
            told.clear()
            row = await task_of(work, self.session.caller, KIND, execution_id)
            state = await self._state(work, execution_id)
            if not row.open and state.failed_steps:
                fact = Retried(by=by, steps=state.failed_steps)
                told.extend(await work.log.append(StreamId(execution_id), [event(fact)]))
                state.tell(fact, work.now)
                body = summary_of(state, row.user_id).model_dump_json()
                await work.tasks.keep(replace(row, open=True, status=state.status.value, cancel=None, body=body))
                await work.tasks.take(execution_id, self.tasks.first_worker, work.now + self.session.means.lease)
            return await self._shown(work, execution_id)

        retried = await self.session.write(program)
        if told:
            await self.tasks.go_on(KIND, execution_id, told[0].epoch)
        return retried

    def follow(self, execution_id: TaskId, after: int = 0) -> AsyncGenerator[list[Event]]:
        """Its events after `after` and then each new one, until the last; an empty list says 'still here'."""
        return follow_task(self.session, execution_id, after)

    def _require(self, new: NewExecution) -> None:
        """Whoever asks for a command must be allowed what it does, and an address must be one that may be called."""
        for step in new.steps:
            self.session.caller.require(NEEDS[type(step.command)])
            if isinstance(step.command, Webhook):
                webhooks = self.session.means.webhooks
                if webhooks is None:
                    raise NoWebhooks
                webhooks.check(step.command.data.url)

    async def _state(self, work: Work, execution_id: TaskId) -> State:
        state = fold(execution_id, await events_of(work, execution_id))
        if state.new is None:
            raise NotFound("execution", execution_id)  # it was erased
        return state

    async def _shown(self, work: Work, execution_id: TaskId) -> Execution:
        row = await task_of(work, self.session.caller, KIND, execution_id)
        state = await self._state(work, execution_id)
        outputs = await spoken_outputs(work, self.session.caller, state)
        told = shown(state, row.user_id)
        steps = tuple(
            step.model_copy(update={"output": outputs[step.index]}) if step.index in outputs else step
            for step in told.steps
        )
        return told.model_copy(update={"steps": steps})


def carrier(carriers: Mapping[TaskKind, Carrier]) -> Carrier:
    """How executions are carried out."""

    async def carry(claim: Claim) -> None:
        await execute(taken_up(claim, Replays(claim.session, carriers)))

    async def fail(claim: Claim, code: str, sentence: str) -> None:
        await give_up(taken_up(claim, Replays(claim.session, carriers)), code, sentence)

    return Carrier(carry, fail)


async def _are_there(work: Work, caller: Caller, new: NewExecution) -> None:
    """Complain of what is named and not there. What an earlier step puts out is looked for when it is used."""
    for step in new.steps:
        command = step.command
        if isinstance(command, LoadInstructions | ExecuteAgent):
            agent_id = AgentId(command.resource.id)
            if not await work.agents.has(agent_id):
                raise NotFound("agent", agent_id)
        match command:
            case ExecuteAgent(data=Asked(conversation_id=str(named))):
                await found(work, caller, ConversationId(named))
            case Compact(resource=ConversationResource(id=str(named))):
                await found(work, caller, ConversationId(named))
            case _:
                continue
