"""Where experiments are kept, what came of them, and what people say of conversations; what must wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from preceptor.domain.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from preceptor.domain.experiments.assigning import Arm
    from preceptor.domain.experiments.experiment import Experiment, Status
    from preceptor.domain.experiments.metrics import Tally
    from preceptor.domain.ids import (
        AgentId,
        ConversationId,
        ExperimentId,
        FamilyId,
        InstructionId,
        MessageId,
        OrgId,
        UserId,
    )


class Slot(NamedTuple):
    """Where an experiment runs: at most one with each agent and family."""

    agent_id: AgentId
    family_id: FamilyId
    experiment_id: ExperimentId
    control: InstructionId | None = None
    variant: InstructionId | None = None


class ExperimentRunning(Conflict):
    code: ClassVar[str] = "experiment_running"
    sentence: str = "An experiment runs here. Stop it first (POST /api/instructions/experiments/{id}/stop)."
    experiment_id: str = ""

    def __str__(self) -> str:
        return self.sentence.replace("{id}", self.experiment_id or "{id}")


async def require_no_experiment(work: Experimenting, family_id: FamilyId, only: InstructionId | None = None) -> None:
    """Before an instruction goes, or one version of it: what an experiment tells people cannot."""
    for slot in await work.experiments.with_family(family_id):
        if only is None or only in {slot.control, slot.variant}:
            sentence = "The experiment {id} tells agents this. Stop it first: POST …/experiments/{id}/stop."
            raise ExperimentRunning(sentence, slot.experiment_id)


class ExperimentRepository(Protocol):
    async def add(self, experiment: Experiment) -> None: ...

    async def replace(self, experiment: Experiment) -> None: ...

    async def find(self, experiment_id: ExperimentId) -> Experiment | None: ...

    async def page(self, status: Status | None, after: str | None, limit: int) -> list[Experiment]: ...

    async def running(self, after: str, limit: int) -> list[tuple[OrgId, ExperimentId]]: ...

    async def take(self, slot: Slot) -> None: ...

    async def leave(self, experiment_id: ExperimentId) -> None: ...

    async def taken(self, agent_id: AgentId, family_id: FamilyId) -> Slot | None: ...

    async def with_agent(self, agent_id: AgentId) -> list[Experiment]: ...

    async def with_family(self, family_id: FamilyId) -> list[Slot]: ...

    async def slots(self) -> list[Slot]: ...


class ExposureRepository(Protocol):
    async def add(self, experiment_id: ExperimentId, more: Tally) -> None: ...

    async def all(self, experiment_id: ExperimentId) -> list[Tally]: ...

    async def page(
        self, experiment_id: ExperimentId, arm: Arm | None, after: str | None, limit: int
    ) -> Sequence[Tally]: ...

    async def traffic(self, agent_id: AgentId, since: datetime) -> tuple[int, int]: ...


class Signal(NamedTuple):
    conversation_id: ConversationId
    metric: str
    user_id: UserId
    value: float
    about: MessageId | None = None


class SignalRepository(Protocol):
    async def tell(self, signal: Signal) -> None: ...


class Experimenting(Protocol):
    """What a transaction has of all this."""

    @property
    def experiments(self) -> ExperimentRepository: ...

    @property
    def exposures(self) -> ExposureRepository: ...

    @property
    def signals(self) -> SignalRepository: ...
