"""What is tried and carried out: experiments, executions, replays, and the tables that decide."""

from datetime import datetime
from typing import Literal, Unpack

from preceptor.client.fields.trying import (
    BackTestFields,
    NewExecutionFields,
    NewExperimentFields,
    NewReplayFields,
    TableTestFields,
)
from preceptor.client.operating import Group, Key, Kind, operation, streaming
from preceptor.client.streams import Event, Listening
from preceptor.domain.executions.execution import Execution, NewExecution
from preceptor.domain.executions.execution import Summary as ExecutionSummary
from preceptor.domain.experiments.experiment import Experiment, NewExperiment, Winner
from preceptor.domain.experiments.results import Results
from preceptor.domain.experiments.series import Series
from preceptor.domain.experiments.shown import ExposedConversation
from preceptor.domain.paging import Page
from preceptor.domain.reasoning.tables import Decided, Tables, TableTest
from preceptor.domain.replays.replay import Item, NewReplay, Replay
from preceptor.domain.replays.replay import Summary as ReplaySummary
from preceptor.engine.reasoning import BackTest, Metrics, Outcome

Arm = Literal["control", "variant"]


class Experiments(Group[Kind]):
    """Two versions, or two settings of the engine, compared with the people who talk with your agents."""

    @operation("POST /api/instructions/experiments", NewExperiment)
    def create(self, *, idempotency_key: Key = None, **fields: Unpack[NewExperimentFields]) -> Experiment:
        """Begin an experiment, or with `status="draft"` prepare one. `power` says what it can show, and how soon."""
        ...

    @operation("GET /api/instructions/experiments")
    def page(
        self,
        *,
        status: Literal["draft", "running", "stopped", "ended", "promoted"] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page[Experiment]:
        """List experiments, newest first."""
        ...

    @operation("GET /api/instructions/experiments/{experiment_id}")
    def get(self, experiment_id: str) -> Experiment:
        """Read the design of an experiment, and how it stands."""
        ...

    @operation("POST /api/instructions/experiments/{experiment_id}/start")
    def start(self, experiment_id: str, *, idempotency_key: Key = None) -> Experiment:
        """Start a draft. Its design is frozen."""
        ...

    @operation("POST /api/instructions/experiments/{experiment_id}/stop")
    def stop(self, experiment_id: str, *, idempotency_key: Key = None) -> Experiment:
        """Stop an experiment: from now on the control is served."""
        ...

    @operation("POST /api/instructions/experiments/{experiment_id}/promote", Winner)
    def promote(self, experiment_id: str, arm: Arm | None = None, *, idempotency_key: Key = None) -> Experiment:
        """Make one arm what all its agents are told: the variant, unless you say otherwise."""
        ...

    @operation("GET /api/instructions/experiments/{experiment_id}/results")
    def results(self, experiment_id: str) -> Results:
        """What it shows so far: health, arms, effects with their intervals, and a verdict."""
        ...

    @operation("GET /api/instructions/experiments/{experiment_id}/series")
    def series(self, experiment_id: str) -> Series:
        """How its effects came about, day by day."""
        ...

    @operation("GET /api/instructions/experiments/{experiment_id}/conversations")
    def conversations(
        self,
        experiment_id: str,
        *,
        arm: Arm | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page[ExposedConversation]:
        """List the conversations that took part in it."""
        ...


class Executions(Group[Kind]):
    """Steps that are carried out, each after those it depends on."""

    @operation("POST /api/executions", NewExecution)
    def create(self, *, idempotency_key: Key = None, **fields: Unpack[NewExecutionFields]) -> Execution:
        """Have steps carried out. They go on by themselves; `events` tells how."""
        ...

    @operation("GET /api/executions")
    def page(
        self,
        *,
        status: Literal["pending", "running", "completed", "failed", "cancelled", "timeout"] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page[ExecutionSummary]:
        """List executions, newest first."""
        ...

    @operation("GET /api/executions/{execution_id}")
    def get(self, execution_id: str) -> Execution:
        """Read an execution: the state of each step, what it put out, and how often it was tried."""
        ...

    @operation("POST /api/executions/{execution_id}/cancel")
    def cancel(self, execution_id: str, *, idempotency_key: Key = None) -> Execution:
        """Stop it, and the turns it takes. Answers when it has stopped."""
        ...

    @operation("POST /api/executions/{execution_id}/retry")
    def retry(self, execution_id: str, *, idempotency_key: Key = None) -> Execution:
        """Try again the steps that did not come off."""
        ...

    @streaming("GET /api/executions/{execution_id}/events", Listening)
    def events(self, execution_id: str, *, after: int | None = None) -> Event:
        """Follow an execution until it has ended."""
        ...


class Replays(Group[Kind]):
    """Past turns, gone through again with something changed."""

    @operation("POST /api/replays", NewReplay)
    def create(self, *, idempotency_key: Key = None, **fields: Unpack[NewReplayFields]) -> Replay:
        """Go through past turns again. It goes on by itself, writes to no conversation and runs no tool."""
        ...

    @operation("GET /api/replays")
    def page(
        self,
        *,
        status: Literal["running", "completed", "failed", "cancelled"] | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page[ReplaySummary]:
        """List replays, newest first."""
        ...

    @operation("GET /api/replays/{replay_id}")
    def get(self, replay_id: str) -> Replay:
        """Read a replay: how far it is, its sums, each measure before and after, and its first items."""
        ...

    @operation("GET /api/replays/{replay_id}/items")
    def items(
        self,
        replay_id: str,
        *,
        changed: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page[Item]:
        """List what became of each turn, or with `changed` of those that came out otherwise."""
        ...

    @operation("POST /api/replays/{replay_id}/cancel")
    def cancel(self, replay_id: str, *, idempotency_key: Key = None) -> Replay:
        """Stop it. What it found by then stays."""
        ...

    @streaming("GET /api/replays/{replay_id}/events", Listening)
    def events(self, replay_id: str, *, after: int | None = None) -> Event:
        """Follow a replay until it has ended."""
        ...


class Reasoning(Group[Kind]):
    """The tables that decide where a turn goes, and what plans were worth."""

    @operation("GET /api/decision-tables")
    def tables(self, *, agent_id: str | None = None) -> Tables:
        """Read the tables, with the thresholds of an agent."""
        ...

    @operation("POST /api/decision-tables/{table_id}/test", TableTest)
    def test(self, table_id: str, *, idempotency_key: Key = None, **fields: Unpack[TableTestFields]) -> Decided:
        """Decide one case. Nothing is done."""
        ...

    @operation("POST /api/reasoning/back-test", BackTest)
    def back_test(self, *, idempotency_key: Key = None, **fields: Unpack[BackTestFields]) -> Outcome:
        """Which past turns other rules would have sent another way. No model is asked."""
        ...

    @operation("GET /api/reasoning/metrics")
    def metrics(
        self,
        *,
        agent_id: str | None = None,
        instruction_id: str | None = None,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
    ) -> Metrics:
        """What plans were worth and what they cost: by agent, by what it was told, for a period."""
        ...
