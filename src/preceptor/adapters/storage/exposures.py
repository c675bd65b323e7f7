"""What came of conversations in experiments, in SQL; and what people say of conversations."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Text, and_, bindparam, cast, delete, func, or_, select, update

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.statements import Row, Statement, insert_into, limited, mine
from preceptor.adapters.storage.tables import conversations
from preceptor.adapters.storage.turn_tables import exposures, signals
from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.metrics import Tally
from preceptor.domain.ids import AgentId, ExperimentId
from preceptor.domain.times import to_micros
from preceptor.engine.experimenting import Signal

_NAMES = ("org", "experiment", "conversation", "unit", "arm")
SUMS = tuple(column.name for column in exposures.c if column.name not in _NAMES)
_THESE = (mine(exposures), exposures.c.experiment == bindparam("of"))
ADD = insert_into(exposures)
MORE = Statement.of(
    update(exposures)
    .where(*_THESE, exposures.c.conversation == bindparam("in_"))
    .values({name: exposures.c[name] + bindparam(f"more_{name}", type_=exposures.c[name].type) for name in SUMS})
)
_TALLY = (exposures.c.conversation, exposures.c.unit, exposures.c.arm, *(exposures.c[name] for name in SUMS))
ALL = Statement.of(select(*_TALLY).where(*_THESE).order_by(exposures.c.conversation))
PAGE = Statement.of(
    limited(
        select(*_TALLY)
        .where(
            *_THESE,
            exposures.c.conversation > bindparam("after"),
            or_(cast(bindparam("arm"), Text).is_(None), exposures.c.arm == bindparam("arm")),
        )
        .order_by(exposures.c.conversation)
    )
)
_SAID = and_(signals.c.org == exposures.c.org, signals.c.conversation == exposures.c.conversation)
SAID = Statement.of(
    select(exposures.c.conversation, signals.c.metric, func.sum(signals.c.value), func.count())
    .select_from(exposures)
    .join(signals, _SAID)
    .where(*_THESE, exposures.c.conversation >= bindparam("first"), exposures.c.conversation <= bindparam("last"))
    .group_by(exposures.c.conversation, signals.c.metric)
)
# Ids of conversations grow with time, so those since a moment are found by the first id that it could have given.
TRAFFIC = Statement.of(
    select(func.count(), func.count(conversations.c.user.distinct())).where(
        mine(conversations), conversations.c.agent == bindparam("agent"), conversations.c.id >= bindparam("first")
    )
)
TELL = insert_into(signals)
UNTELL = Statement.of(
    delete(signals).where(
        mine(signals),
        signals.c.conversation == bindparam("conversation"),
        signals.c.metric == bindparam("metric"),
        signals.c.about == bindparam("about"),
        signals.c.user == bindparam("user"),
    )
)


@dataclass(frozen=True, slots=True)
class SqlExposures:
    work: Transaction

    async def add(self, experiment_id: ExperimentId, more: Tally) -> None:
        """Add to what is known of a conversation. It has one turn at a time, so no two add at once."""
        news = {f"more_{name}": getattr(more, name) for name in SUMS}
        if await self.work.run(MORE, of=experiment_id, in_=more.conversation, **news):
            return
        sums = {name: getattr(more, name) for name in SUMS}
        told = {"conversation": more.conversation, "unit": more.unit, "arm": more.arm.value}
        await self.work.run(ADD, experiment=experiment_id, **told, **sums)

    async def all(self, experiment_id: ExperimentId) -> list[Tally]:
        rows = await self.work.all(ALL, of=experiment_id)
        return await self._with_signals(experiment_id, rows)

    async def page(self, experiment_id: ExperimentId, arm: Arm | None, after: str | None, limit: int) -> list[Tally]:
        rows = await self.work.all(PAGE, of=experiment_id, arm=arm and arm.value, after=after or "", limit=limit)
        return await self._with_signals(experiment_id, rows)

    async def _with_signals(self, experiment_id: ExperimentId, rows: list[Row]) -> list[Tally]:
        found = {row[0]: Tally(row[0], row[1], Arm(row[2]), *row[3:]) for row in rows}
        if rows:
            for name, metric, total, count in await self.work.all(
                SAID, of=experiment_id, first=rows[0][0], last=rows[-1][0]
            ):
                if name in found:
                    found[name].signals[metric] = total, count
        return list(found.values())

    async def traffic(self, agent_id: AgentId, since: datetime) -> tuple[int, int]:
        """Conversations that began with an agent since then, and the users who began them."""
        stamp = f"{to_micros(since) // 1000:012x}"
        row = await self.work.one(TRAFFIC, agent=agent_id, first=f"{stamp[:8]}-{stamp[8:]}")
        return (row[0], row[1]) if row else (0, 0)


@dataclass(frozen=True, slots=True)
class SqlSignals:
    work: Transaction

    async def tell(self, signal: Signal) -> None:
        """One of each user: a new one takes the place of the old."""
        told: dict[str, Any] = {
            "conversation": signal.conversation_id,
            "metric": signal.metric,
            "about": signal.about or "",
            "user": signal.user_id,
        }
        await self.work.run(UNTELL, **told)
        await self.work.run(TELL, **told, value=signal.value, at=to_micros(self.work.now))
