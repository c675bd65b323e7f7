"""What the events of an execution say. Each is a row of its stream; nothing else is remembered of it."""

from typing import Any

import msgspec

from preceptor.domain.executions.execution import Status, StepStatus
from preceptor.domain.log import NewEvent


class Fact(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The payload of one event."""


class Accepted(Fact, frozen=True, kw_only=True):
    asked: dict[str, Any]
    """The execution as it was asked for."""
    permissions: tuple[str, ...]
    """What it may do: as much as whoever asked for it."""


class StepStarted(Fact, frozen=True, kw_only=True):
    """The intent to act, written before acting."""

    index: int
    attempt: int
    ids: dict[str, str] = {}
    """Of what it will begin, so that it is known again if nobody hears of its end."""


class StepResumed(Fact, frozen=True, kw_only=True):
    """The process that carried it out ended; another goes on."""

    index: int


class StepEnded(Fact, frozen=True, kw_only=True):
    index: int
    status: StepStatus
    output: Any = None
    code: str | None = None
    sentence: str | None = None
    again: bool = False
    """It is tried again."""


class CancelRequested(Fact, frozen=True, kw_only=True):
    by: str


class Retried(Fact, frozen=True, kw_only=True):
    """What had not come off is tried again."""

    by: str
    steps: tuple[int, ...]


class Ended(Fact, frozen=True, kw_only=True):
    status: Status
    code: str | None = None
    sentence: str | None = None


KINDS: dict[str, type[Fact]] = {
    "execution.accepted": Accepted,
    "execution.cancel_requested": CancelRequested,
    "execution.retried": Retried,
    "step.started": StepStarted,
    "step.resumed": StepResumed,
    **{f"step.{status}": StepEnded for status in StepStatus if status not in (StepStatus.PENDING, StepStatus.RUNNING)},
    **{f"execution.{status}": Ended for status in Status if status not in (Status.PENDING, Status.RUNNING)},
}
"""Every kind of event that an execution is made of, and what it says."""

TERMINAL = frozenset(kind for kind, said in KINDS.items() if said is Ended)
_ENCODER = msgspec.json.Encoder()
_DECODERS = {kind: msgspec.json.Decoder(said) for kind, said in KINDS.items()}
_NAMES: dict[type[Fact], str] = {
    Accepted: "execution.accepted",
    CancelRequested: "execution.cancel_requested",
    Retried: "execution.retried",
    StepStarted: "step.started",
    StepResumed: "step.resumed",
}


def event(fact: Fact) -> NewEvent:
    match fact:
        case StepEnded():
            kind = f"step.{fact.status}"
        case Ended():
            kind = f"execution.{fact.status}"
        case _:
            kind = _NAMES[type(fact)]
    return NewEvent(kind, _ENCODER.encode(fact).decode())


def fact_of(kind: str, payload: str) -> Any:
    return _DECODERS[kind].decode(payload)
