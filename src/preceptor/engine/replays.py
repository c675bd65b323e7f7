"""Replays: have past turns gone through again with something changed, and look at what came of it."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec

from preceptor.domain.errors import Conflict, Invalid, NotFound, phrased
from preceptor.domain.ids import AgentId, ConversationId, FamilyId, InstructionId, StreamId, TaskId, TurnId
from preceptor.domain.log import Event
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page, cursor_at, page_of, place_of, position_of
from preceptor.domain.replays.facts import Accepted, CancelRequested, Standing, event, fold
from preceptor.domain.replays.gate import GateVerdict
from preceptor.domain.replays.replay import (
    SHOWN_ITEMS,
    Filter,
    Item,
    NewReplay,
    Replay,
    Status,
    Summary,
    Verdict,
)
from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.value import made
from preceptor.engine.agents import found as found_agent
from preceptor.engine.connecting import connected
from preceptor.engine.following import follow_task
from preceptor.engine.library.shelf import found as found_instruction
from preceptor.engine.library.shelf import readable
from preceptor.engine.reasoning import Period, Reasoning
from preceptor.engine.replaying.replay import read_digests, summary_of
from preceptor.engine.repositories.tasks import TaskKind
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.tasks.own_tasks import ask_to_stop, new_row, task_of, wanted_by
from preceptor.engine.tasks.tasks import Carrier, Tasks, events_of

KIND = TaskKind.REPLAY


class Replays(msgspec.Struct, frozen=True):
    session: Session
    carriers: Mapping[TaskKind, Carrier]

    @property
    def tasks(self) -> Tasks:
        return Tasks(self.session, self.carriers)

    async def create(self, given: NewReplay | None = None, **fields: Any) -> Replay:
        """Choose the turns and let the replay go on by itself."""
        return await self.begin(made(NewReplay, given, fields), TaskId(self.session.world.new_id()))

    async def begin(
        self, new: NewReplay, replay_id: TaskId, gate: Verdict | None = None, family: str | None = None
    ) -> Replay:
        self.session.caller.require(Permission.REPLAY_RUN)
        await self.session.answered_before()
        named = await self._named(new)
        turns = await self._chosen(new, family)
        permissions = tuple(sorted(self.session.caller.permissions))
        told = None if gate is None else gate.model_dump(mode="json")
        asked = named.model_dump(mode="json", exclude_unset=True, by_alias=True)
        fact = Accepted(asked=asked, turns=turns, permissions=permissions, gate=told)

        async def program(work: Work) -> Replay:
            standing = Standing()
            standing.tell(fact, work.now)
            summary = summary_of(replay_id, self.session.caller.owner.user_id, standing, [])
            await work.log.start(StreamId(replay_id), [event(fact)])
            body = summary.model_dump_json()
            await work.tasks.add(new_row(work, self.tasks, KIND, replay_id, standing.status.value, body))
            return Replay(**dict(summary), items=())

        accepted = await self.session.write(program)
        await self.tasks.go_on(KIND, replay_id)
        return accepted

    async def run_to_its_end(self, new: NewReplay, replay_id: TaskId) -> dict[str, Any]:
        """Have it carried out, unless it was begun before, and wait; answers with its summary."""
        if await self.session.read(lambda work: work.tasks.find(replay_id)) is None:
            await self.begin(new, replay_id)
        await self.tasks.settled(replay_id)
        done = await self.summary(replay_id)
        if done.status is not Status.COMPLETED:
            raise Conflict(f"The replay {replay_id} ended as {done.status}: {done.sentence or 'it was stopped.'}")
        return done.model_dump(mode="json")

    async def let_go(self, replay_id: TaskId) -> None:
        if await self.session.read(lambda work: work.tasks.find(replay_id)) is not None:
            await self.cancel(replay_id)

    async def summary(self, replay_id: TaskId) -> Summary:
        async def program(work: Work) -> Summary:
            row = await task_of(work, self.session.caller, KIND, replay_id)
            return Summary.model_validate_json(row.body)

        return await self.session.read(program)

    async def get(self, replay_id: TaskId) -> Replay:
        return await self.session.read(lambda work: self._shown(work, replay_id))

    async def page(self, status: Status | None = None, cursor: str | None = None, limit: int = 50) -> Page[Summary]:
        wanted = wanted_by(self.session.caller, KIND, status and status.value)

        async def program(work: Work) -> Page[Summary]:
            rows = await work.tasks.page(wanted, position_of(cursor), limit + 1)
            return page_of([Summary.model_validate_json(row.body) for row in rows], limit, lambda one: one.replay_id)

        return await self.session.read(program)

    async def items(
        self, replay_id: TaskId, *, changed: bool = False, cursor: str | None = None, limit: int = 50
    ) -> Page[Item]:
        """What became of each turn, in order; only of those that came out otherwise, if asked for."""
        found = await self.placed(replay_id, changed=changed, cursor=cursor, limit=limit)
        return Page(items=tuple(item for _, item in found.items), next_cursor=found.next_cursor)

    async def placed(
        self, replay_id: TaskId, *, changed: bool = False, cursor: str | None = None, limit: int = 50
    ) -> Page[tuple[int, Item]]:
        """The same, each with its place among all of them."""
        place = place_of(cursor)
        after = -1 if place is None else place

        async def program(work: Work) -> Page[tuple[int, Item]]:
            await task_of(work, self.session.caller, KIND, replay_id)
            rows = await work.replays.page(replay_id, after, limit + 1, changed=changed)
            more = cursor_at(str(rows[limit - 1].place)) if len(rows) > limit else None
            found = tuple((row.place, Item.model_validate_json(row.body)) for row in rows[:limit])
            return Page(items=found, next_cursor=more)

        return await self.session.read(program)

    async def changed_places(self, replay_id: TaskId) -> tuple[int, ...]:
        """Which of its turns came out otherwise, in order."""

        async def program(work: Work) -> tuple[int, ...]:
            await task_of(work, self.session.caller, KIND, replay_id)
            digests = await read_digests(work, replay_id)
            return tuple(sorted(place for place, one in digests.items() if not one.same))

        return await self.session.read(program)

    async def item(self, replay_id: TaskId, place: int) -> Item:
        async def program(work: Work) -> Item:
            await task_of(work, self.session.caller, KIND, replay_id)
            rows = await work.replays.page(replay_id, place - 1, 1, changed=False)
            if not rows or rows[0].place != place:
                raise NotFound("item of this replay", str(place))
            return Item.model_validate_json(rows[0].body)

        return await self.session.read(program)

    async def cancel(self, replay_id: TaskId) -> Replay:
        """Ask it to stop, and wait until it has. What it found by then stays."""
        caller = self.session.caller

        async def program(work: Work) -> Replay:
            requested = event(CancelRequested(by=caller.owner.user_id))
            await ask_to_stop(work, caller, KIND, replay_id, requested)
            return await self._shown(work, replay_id)

        await self.session.write(program)
        await self.tasks.stopped(KIND, replay_id)
        return await self.get(replay_id)

    def follow(self, replay_id: TaskId, after: int = 0) -> AsyncGenerator[list[Event]]:
        """Its events after `after` and then each new one, until the last; an empty list says 'still here'."""
        return follow_task(self.session, replay_id, after)

    async def _shown(self, work: Work, replay_id: TaskId) -> Replay:
        row = await task_of(work, self.session.caller, KIND, replay_id)
        standing = fold(await events_of(work, replay_id))
        if standing.accepted is None:
            raise NotFound("replay", replay_id)
        digests = await read_digests(work, replay_id)
        summary = summary_of(replay_id, row.user_id, standing, list(digests.values()))
        rows = await work.replays.page(replay_id, -1, SHOWN_ITEMS, changed=False)
        items = tuple(Item.model_validate_json(one.body) for one in rows)
        gate = await _judged(work, summary.gate)
        judged = summary.model_copy(update={"gate": gate})
        return Replay(**dict(judged), items=items)

    async def _named(self, new: NewReplay) -> NewReplay:
        """The same with every override by its id; one that means nothing here is a mistake."""
        overrides = new.overrides

        async def program(work: Work) -> dict[str, str]:
            if overrides.model is not None:
                (await connected(work, self.session)).models.find(overrides.model)
            named: dict[str, str] = {}
            for any_id, wanted in overrides.instructions.items():
                shelf = await found_instruction(work, any_id)
                versions = {str(one.version): one for one in shelf.versions}
                version = versions.get(wanted) or shelf.version(wanted)
                named[shelf.family.family_id] = version.instruction_id
            return named

        named = await self.session.read(program)
        return new.model_copy(update={"overrides": overrides.model_copy(update={"instructions": named})})

    async def _chosen(self, new: NewReplay, family: str | None) -> tuple[str, ...]:
        """The turns that are meant, those that were named in the order of their names, others the oldest first."""
        if "turn_ids" in new.model_fields_set:
            if "filter" in new.model_fields_set:
                raise Invalid("Say turnIds or filter, not both.")
            return await self.session.read(lambda work: self._visible(work, tuple(dict.fromkeys(new.turn_ids))))
        wish: Filter = new.filter
        if wish.from_ is not None and wish.to is not None and wish.from_ > wish.to:
            raise Invalid("`from` must not be later than `to`.")
        period = await self.session.read(lambda work: self._period(work, wish, family))
        chosen: list[str] = []
        async for past in Reasoning(self.session).turns(period):
            chosen.append(past.row.turn_id)
            if len(chosen) >= wish.limit:
                break
        return tuple(reversed(chosen))

    async def _period(self, work: Work, wish: Filter, family: str | None) -> Period:
        """Where to look. What is named must be there: a replay of nothing would look like one that went well."""
        agent_id = None if wish.agent_id is None else (await found_agent(work, AgentId(wish.agent_id))).agent_id
        if wish.conversation_id is not None:
            await found(work, self.session.caller, ConversationId(wish.conversation_id), archived=True)
        version = None if wish.instruction_id is None else (await readable(work, wish.instruction_id)).instruction_id
        return Period(agent_id, wish.from_, wish.to, version, wish.conversation_id, family)

    async def _visible(self, work: Work, turn_ids: tuple[str, ...]) -> tuple[str, ...]:
        for turn_id in turn_ids:
            row = await work.turns.find(TurnId(turn_id))
            if row is None:
                raise NotFound("turn", turn_id)
            await found(work, self.session.caller, row.conversation_id, archived=True)
            if row.status is TurnStatus.RUNNING:
                raise Conflict(
                    phrased("The turn %(turn)s is still running. Replay it when it has ended.", turn=turn_id)
                )
        return turn_ids


async def _judged(work: Work, gate: Verdict | None) -> Verdict | None:
    """The verdict of the gate that asked for it, once there is one."""
    if gate is None:
        return None
    body = await work.gates.verdict(FamilyId(gate.family_id), gate.label, InstructionId(gate.instruction_id))
    if body is None:
        return gate
    said = GateVerdict.model_validate_json(body)
    return gate.model_copy(update={"passed": said.passed, "reasons": said.reasons})
