"""A gate: a label moves to a version only if a replay with that version came off well enough."""

from functools import partial
from typing import Annotated

from pydantic import AwareDatetime, Field

from preceptor.domain.errors import recorded
from preceptor.domain.ids import FamilyId, InstructionId, TaskId, UserId
from preceptor.domain.replays.replay import MOST_TURNS, Mode, Replies, Sums
from preceptor.domain.value import FROM_JSON, AnyId, Value

Share = Annotated[float, Field(ge=0, le=1)]


class NewGate(Value):
    """What must be true of the last turns, gone through again with a version, before a label may point at it."""

    turns: Annotated[int, Field(ge=1, le=MOST_TURNS), FROM_JSON] = Field(
        default=50, description="How many of the newest turns in which the instruction spoke."
    )
    at_least: Annotated[int, Field(ge=1, le=MOST_TURNS), FROM_JSON] = Field(
        default=1, description="With fewer turns than that it does not open."
    )
    agent_id: AnyId | None = None
    mode: Mode = Mode.STEP
    replies: Replies = Replies.RECORDED
    max_rule_breaks: Share = Field(default=0.0, description="The share of answers that may break a validation rule.")
    max_changed: Share | None = Field(default=None, description="The share of turns that may come out otherwise.")
    max_failed: Share = 0.0


class GateVerdict(Value):
    """What a replay said of a version."""

    instruction_id: InstructionId
    replay_id: TaskId
    passed: bool
    reasons: tuple[str, ...] = ()
    judged_at: AwareDatetime


class Gate(NewGate):
    family_id: FamilyId
    label: str
    set_by: UserId
    set_at: AwareDatetime
    verdicts: tuple[GateVerdict, ...] = ()


class GateRun(Value):
    """The version that wants through."""

    instruction_id: AnyId


def objections(gate: NewGate, sums: Sums) -> tuple[str, ...]:
    """Why a gate stays closed; none if it opens."""
    found: list[str] = []
    if sums.turns < gate.at_least:
        found.append(
            recorded(
                "%(turns)s turns could be replayed, and at least %(least)s are asked for.",
                turns=sums.turns,
                least=gate.at_least,
            )
        )
    for count, most, why in (
        (sums.rule_breaks, gate.max_rule_breaks, _breaks),
        (sums.changed, gate.max_changed, _changes),
        (sums.failed, gate.max_failed, _fails),
    ):
        if most is not None and sums.turns and count / sums.turns > most:
            found.append(why(count=count, turns=sums.turns, most=f"{most:.0%}"))
    return tuple(found)


_breaks = partial(recorded, "%(count)s of %(turns)s turns break a rule; %(most)s may.")
_changes = partial(recorded, "%(count)s of %(turns)s turns come out otherwise; %(most)s may.")
_fails = partial(recorded, "%(count)s of %(turns)s turns could not be replayed; %(most)s may.")
