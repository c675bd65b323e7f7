"""An execution as people read it: a fold over its events, and what each further event changes on a page."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from preceptor.domain.executions.execution import Execution, Step, StepStatus
from preceptor.domain.executions.facts import StepEnded, StepResumed, StepStarted, fact_of
from preceptor.domain.executions.progress import State, shown
from preceptor.domain.ids import TaskId, UserId
from preceptor.domain.log import Event
from preceptor.domain.times import from_micros
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.views.graph import Graph, graph_of

DRAWN = 150
"""Steps that are drawn without being asked: more of them tell nothing at a glance."""
WORDS = {
    "pending": msg("waiting"),
    "running": msg("running"),
    "completed": msg("done"),
    "failed": msg("failed"),
    "cancelled": msg("stopped"),
    "timeout": msg("out of time"),
    "skipped": msg("left out"),
}
"""How a status is told. Replays have the same, but for the last."""
COMMANDS = {
    "agent.loadInstructions": msg("gathers what an agent is told"),
    "agent.execute": msg("has an agent answer"),
    "conversation.compact": msg("shortens a conversation"),
    "replay.run": msg("goes through past turns again"),
    "experiment.analyse": msg("looks at what an experiment has shown"),
    "webhook": msg("calls another system"),
}
"""What a step does."""
TYPES = {"agent-chat": msg("Conversation with an agent")}
"""What an execution is, where whoever asked for it has no word of their own."""
HUES = {"completed": "ok", "failed": "danger", "timeout": "danger", "running": "accent", "skipped": "specialist"}
_FIRST = (StepStatus.FAILED, StepStatus.TIMEOUT, StepStatus.RUNNING, StepStatus.CANCELLED, StepStatus.SKIPPED)
CAME_OFF = frozenset({StepStatus.COMPLETED, StepStatus.PENDING, StepStatus.RUNNING})


class StepView(msgspec.Struct, frozen=True):
    step: Step
    chosen: bool = False

    @property
    def word(self) -> str:
        return WORDS[self.step.status]

    @property
    def hue(self) -> str:
        return HUES.get(self.step.status, "compression")

    @property
    def seconds(self) -> float | None:
        return seconds_between(self.step.started_at, self.step.ended_at)


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()


def in_order(steps: Iterable[Step], chosen: int | None = None) -> list[StepView]:
    """What did not come off first, then what runs, then the rest."""
    places = {status: place for place, status in enumerate(_FIRST)}
    ordered = sorted(steps, key=lambda step: (places.get(step.status, len(places)), step.index))
    return [StepView(step, step.index == chosen) for step in ordered]


def drawn(steps: Sequence[Step]) -> Graph:
    return graph_of({step.index: step.depends_on for step in steps})


class Followed(msgspec.Struct):
    """An execution as far as its events have been read."""

    state: State
    user_id: UserId
    chosen: int | None = None

    @classmethod
    def of(cls, execution: Execution, chosen: int | None = None) -> "Followed":
        return cls(State(TaskId(execution.execution_id)), execution.user_id, chosen)

    def tell(self, events: Iterable[Event]) -> set[int]:
        """Read on; answers with the steps that changed."""
        changed: set[int] = set()
        for event in events:
            if event.payload is None:
                continue
            fact = fact_of(event.kind, event.payload)
            self.state.tell(fact, from_micros(event.at))
            if isinstance(fact, StepStarted | StepEnded | StepResumed):
                changed.add(fact.index)
            else:
                changed |= self.state.steps.keys() if event.kind == "execution.retried" else set()
        return changed

    @property
    def execution(self) -> Execution:
        return shown(self.state, self.user_id)
