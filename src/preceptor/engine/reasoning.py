"""Reasoning, looked at afterwards: the tables, what other rules would have decided, and what plans were worth."""

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from pydantic import Field

from preceptor.domain.agents import Agent
from preceptor.domain.errors import Invalid, NotFound
from preceptor.domain.ids import AgentId, TurnId
from preceptor.domain.log import Event
from preceptor.domain.ownership import Permission
from preceptor.domain.reasoning.policy import SgrPolicy
from preceptor.domain.reasoning.routing import Opinions, RoutingPolicy, Thresholds
from preceptor.domain.reasoning.tables import Decided, ShownTable, TableTest, decide, shown, table_named, tables
from preceptor.domain.reasoning.verdict import Level, Mode, OnError
from preceptor.domain.times import Moment, from_micros
from preceptor.domain.turns.decisions import Fate, Rules, fate, fate_under, guard_status, rows_fired
from preceptor.domain.turns.measures import Measures, Summary, answer_of, measured, summed, tally
from preceptor.domain.turns.turn import Turn, fold
from preceptor.domain.value import FROM_JSON, AnyId, Value, told
from preceptor.engine.following import events_of
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

BATCH = 50
MOST = 2_000
"""Turns that one question looks at."""
LISTED = 500
REMEMBERED = 2
"""Answers before one that are looked at to see whether a conversation is stuck."""


class BackTest(Value):
    """Rules to decide past turns by. What is left out is as it was for each turn."""

    thresholds: Thresholds | None = None
    opinions: Opinions | None = None
    max_clarifications: Annotated[int, Field(ge=0, le=100), FROM_JSON] | None = None
    mode: Mode | None = None
    on_error: OnError | None = None
    levels: dict[Level, Level] = Field(
        default={}, description="What a verdict counts as, such as Controversial: Unsafe."
    )
    agent_id: AnyId | None = None
    from_: Moment | None = Field(default=None, alias="from")
    to: Moment | None = None

    def rules(self, then: RoutingPolicy) -> Rules:
        routing = RoutingPolicy(
            self.thresholds or then.thresholds,
            self.opinions or then.opinions,
            then.max_clarifications if self.max_clarifications is None else self.max_clarifications,
        )
        return Rules(routing=routing, mode=self.mode, on_error=self.on_error, levels=self.levels)


class Changed(Value):
    """A turn that would have gone another way."""

    turn_id: TurnId
    conversation_id: str
    agent_id: str
    before: Fate
    after: Fate


class Outcome(Value):
    """What other rules would have changed. No model was asked."""

    turns: int = Field(description="That were judged or planned.")
    same: int
    changed: int
    changes: dict[str, int] = Field(
        description="How many went from which action to which; `unknown` would have been planned, and was not."
    )
    items: tuple[Changed, ...] = Field(description="The newest of them.")
    complete: bool = Field(description="Whether all turns were looked at.")


class Group(Value):
    """The turns of an agent with the same instructions."""

    agent_id: str
    prompt_hash: str
    summary: Summary


class Metrics(Value):
    summary: Summary
    groups: tuple[Group, ...]
    complete: bool
    fired: dict[str, dict[str, int]] = Field(
        default={}, description="How often each row of each decision table decided something."
    )


class Period(msgspec.Struct, frozen=True):
    agent_id: AgentId | None = None
    since: datetime | None = None
    until: datetime | None = None
    instruction_id: str | None = None
    """Only turns in which this version spoke."""
    conversation_id: str | None = None
    family_id: str | None = None
    """Only turns in which some version of this family spoke."""


class Past(msgspec.Struct, frozen=True):
    row: TurnRow
    turn: Turn


class Reasoning(msgspec.Struct, frozen=True):
    session: Session

    async def tables(self, agent_id: str | None = None) -> list[ShownTable]:
        """The decision tables, with the thresholds of an agent or of the installation."""
        return [shown(table) for table in tables(await self._policy(agent_id)).values()]

    async def test(self, table_id: str, case: TableTest) -> Decided:
        policy = await self._policy(case.agent_id)
        if case.thresholds is not None:
            policy = RoutingPolicy(case.thresholds, policy.opinions, policy.max_clarifications)
        return decide(table_named(table_id, policy), case.facts)

    async def back_test(self, wanted: BackTest) -> Outcome:
        """Decide past turns again, from what is on their records."""
        period = Period(_agent(wanted.agent_id), wanted.from_, wanted.to)
        _check(period)
        await self._policy(wanted.agent_id)  # which complains of an agent that is not there
        changed: list[Changed] = []
        turns, last = 0, 0
        async for past in self.turns(period):
            last += 1
            then = SgrPolicy.model_validate(past.turn.pins.sgr).routing
            before, after = fate(past.turn), fate_under(past.turn, wanted.rules(then), then)
            if before is None or after is None:
                continue
            turns += 1
            if before.action is not after.action:
                changed.append(_changed(past.row, before, after))
        return Outcome(
            turns=turns,
            same=turns - len(changed),
            changed=len(changed),
            changes=tally(f"{_word(one.before)} → {_word(one.after)}" for one in changed),
            items=tuple(changed[:LISTED]),
            complete=last < MOST,
        )

    async def metrics(self, period: Period) -> Metrics:
        """What plans were worth and what they cost, for a period, by agent and by what it was told."""
        _check(period)
        found = [past async for past in self.turns(period)]
        measures = self._measured(found)
        groups: dict[tuple[str, str], list[int]] = {}
        for number, past in enumerate(found):
            groups.setdefault((past.row.agent_id, past.turn.pins.prompt_hash), []).append(number)
        return Metrics(
            summary=_summary(found, measures, range(len(found))),
            groups=tuple(
                Group(agent_id=agent, prompt_hash=prompt, summary=_summary(found, measures, numbers))
                for (agent, prompt), numbers in groups.items()
            ),
            complete=len(found) < MOST,
            fired=_fired(found),
        )

    def _measured(self, found: Sequence[Past]) -> list[Measures]:
        """They come newest first, and each is measured with the answers before it."""
        count = self.session.means.models.counter(None).count
        said: dict[str, list[str]] = {}
        measures: list[Measures] = []
        for past in reversed(found):
            before = said.setdefault(past.row.conversation_id, [])
            measures.append(measured(past.turn, count, before[-REMEMBERED:]))
            before.append(answer_of(past.turn))
        return measures[::-1]

    async def turns(self, period: Period) -> AsyncGenerator[Past]:
        """Turns that have ended, the newest first, a few at a time."""
        before: TurnId | None = None
        looked_at = 0
        while looked_at < MOST:
            rows, found, over = await self.session.read(lambda work, at=before: self._batch(work, period, at))
            for past in found:
                looked_at += 1
                yield past
            if over or len(rows) < BATCH:
                return
            before = rows[-1].turn_id

    async def _batch(self, work: Work, period: Period, before: TurnId | None) -> tuple[list[TurnRow], list[Past], bool]:
        rows = await work.turns.ended(period.agent_id, before, BATCH)
        caller = self.session.caller
        found: list[Past] = []
        for row in rows:
            if row.user_id != caller.owner.user_id and not caller.may(Permission.CONVERSATION_READ_ANY):
                continue
            if period.conversation_id not in (None, row.conversation_id):
                continue
            events = await events_of(work, row)
            if events and period.since is not None and _at(events[0]) < period.since:
                return rows, found, True
            turn = fold(row.turn_id, events)
            if turn.accepted is not None and _meant(period, turn, events[0]):
                found.append(Past(row, turn))
        return rows, found, False

    async def _policy(self, agent_id: str | None) -> RoutingPolicy:
        sgr = self.session.means.sgr
        if agent_id is None:
            return sgr.routing

        async def program(work: Work) -> Agent:
            agent = await work.agents.find(AgentId(agent_id))
            if agent is None:
                raise NotFound("agent", agent_id)
            return agent

        agent = await self.session.read(program)
        return sgr.model_copy(update=told(agent.sgr) if agent.sgr else {}).routing


def _fired(found: Sequence[Past]) -> dict[str, dict[str, int]]:
    hits = [hit for past in found for hit in rows_fired(past.turn)]
    return {table: tally(row for name, row in hits if name == table) for table in sorted({name for name, _ in hits})}


def _changed(row: TurnRow, before: Fate, after: Fate) -> Changed:
    return Changed(
        turn_id=row.turn_id, conversation_id=row.conversation_id, agent_id=row.agent_id, before=before, after=after
    )


def _summary(found: Sequence[Past], measures: Sequence[Measures], numbers: Sequence[int]) -> Summary:
    chosen = [found[number] for number in numbers]
    statuses = [past.row.status.value for past in chosen]
    return summed([measures[number] for number in numbers], statuses, [guard_status(past.turn) for past in chosen])


def _meant(period: Period, turn: Turn, first: Event) -> bool:
    if period.until is not None and _at(first) > period.until:
        return False
    pins = turn.pins.instructions
    if period.family_id is not None and period.family_id not in {pin.family_id for pin in pins}:
        return False
    spoke = {pin.instruction_id for pin in pins}
    return period.instruction_id is None or period.instruction_id in spoke


def _check(period: Period) -> None:
    if period.since is not None and period.until is not None and period.since > period.until:
        raise Invalid("`from` must not be later than `to`.")


def _at(event: Event) -> datetime:
    return from_micros(event.at)


def _agent(agent_id: str | None) -> AgentId | None:
    return None if agent_id is None else AgentId(agent_id)


def _word(one: Fate) -> str:
    return "unknown" if one.action is None else one.action.value
