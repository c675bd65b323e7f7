"""What came of conversations in experiments, in SQL; and what people say of conversations."""

from datetime import datetime
from typing import Any

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.exposures import ADD, ALL, MORE, PAGE, SAID, TELL, TRAFFIC, UNTELL
from preceptor.adapters.storage.statements import Row
from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.metrics import Tally
from preceptor.domain.ids import AgentId, ExperimentId
from preceptor.domain.times import to_micros
from preceptor.engine.repositories.experiments import Signal

_NAMES = ("org", "experiment", "conversation", "unit", "arm")
SUMS = tuple(name for name in ADD.names if name not in _NAMES)


class SqlExposures(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, experiment_id: ExperimentId, more: Tally) -> None:
        """Add to what is known of a conversation. It has one turn at a time, so no two add at once."""
        news = {f"more_{name}": getattr(more, name) for name in SUMS}
        if await self.work.run(MORE, of=experiment_id, in_=more.conversation, **news):
            return
        sums = {name: getattr(more, name) for name in SUMS}
        told = {"conversation": more.conversation, "unit": more.unit, "arm": more.arm.value}
        await self.work.put(ADD, experiment=experiment_id, **told, **sums)

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


class SqlSignals(msgspec.Struct, frozen=True):
    work: Transaction

    async def tell(self, signal: Signal) -> None:
        """One of each user: a new one takes the place of the old."""
        told: dict[str, Any] = {
            "conversation": signal.conversation_id,
            "metric": signal.metric,
            "about": signal.about or "",
            "user": signal.user_id,
        }
        await self.work.put(UNTELL, **told)
        await self.work.put(TELL, **told, value=signal.value, at=to_micros(self.work.now))
