"""Experiments in SQL: each as it is, and where those that run do so."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.experiments import (
    ADD,
    FIND,
    LEAVE,
    PAGE,
    REPLACE,
    RUNS,
    SLOTS,
    TAKE,
    TAKEN,
    WITH_AGENT,
    WITH_FAMILY,
)
from preceptor.domain.ids import AgentId, ExperimentId, FamilyId, OrgId
from preceptor.domain.times import to_micros
from preceptor.engine.repositories.experiments import Slot

if TYPE_CHECKING:
    from preceptor.domain.experiments.experiment import Experiment, Status


class SqlExperiments(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, experiment: "Experiment") -> None:
        await self.work.put(ADD, **_columns(experiment))

    async def replace(self, experiment: "Experiment") -> None:
        await self.work.put(REPLACE, **_columns(experiment))

    async def find(self, experiment_id: ExperimentId) -> "Experiment | None":
        row = await self.work.one(FIND, id=experiment_id)
        return _read(row[0]) if row else None

    async def page(self, status: "Status | None", after: str | None, limit: int) -> "list[Experiment]":
        rows = await self.work.all(PAGE, after=after, status=status and status.value, limit=limit)
        return [_read(body) for (body,) in rows]

    async def running(self, after: str, limit: int) -> list[tuple[OrgId, ExperimentId]]:
        """Of all organisations, by id."""
        return [(org, one) for org, one in await self.work.all(RUNS, after=after, limit=limit)]

    async def take(self, slot: Slot) -> None:
        """Two that want the same place: the second finds it taken."""
        await self.work.put(
            TAKE,
            agent=slot.agent_id,
            family=slot.family_id,
            experiment=slot.experiment_id,
            control=slot.control,
            variant=slot.variant,
        )

    async def leave(self, experiment_id: ExperimentId) -> None:
        await self.work.put(LEAVE, experiment=experiment_id)

    async def taken(self, agent_id: AgentId, family_id: FamilyId) -> Slot | None:
        row = await self.work.one(TAKEN, agent=agent_id, family=family_id)
        return Slot(*row) if row else None

    async def with_agent(self, agent_id: AgentId) -> "list[Experiment]":
        rows = await self.work.all(WITH_AGENT, agent=agent_id)
        return [_read(body) for _, body in rows]

    async def with_family(self, family_id: FamilyId) -> list[Slot]:
        return [Slot(*row) for row in await self.work.all(WITH_FAMILY, family=family_id, now=self._now)]

    @property
    def _now(self) -> int:
        return to_micros(self.work.now)

    async def slots(self) -> list[Slot]:
        return [Slot(*row) for row in await self.work.all(SLOTS, now=self._now)]


def _read(body: str) -> "Experiment":
    from preceptor.domain.experiments.experiment import Experiment

    return Experiment.model_validate_json(body)


def _columns(experiment: "Experiment") -> dict[str, Any]:
    ends: datetime | None = experiment.ends_at
    return {
        "id": experiment.experiment_id,
        "status": experiment.status.value,
        "ends": None if ends is None else to_micros(ends),
        "body": experiment.model_dump_json(exclude_unset=True),
    }
