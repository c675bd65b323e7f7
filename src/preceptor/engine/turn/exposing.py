"""Exposing: what came of a turn in its experiments, with the arm that its models were really shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.exposure import SHOWN, Enrolment, arm_shown, versions_in
from preceptor.domain.experiments.metrics import Tally
from preceptor.domain.ids import ExperimentId
from preceptor.domain.messages.message import Kind
from preceptor.domain.reasoning.metrics import consistency
from preceptor.domain.reasoning.policy import Injection, Switch
from preceptor.domain.reasoning.routing import Flow
from preceptor.domain.turns.calls import Call
from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.turns.measures import answer_of
from preceptor.engine.telling.voice import keep
from preceptor.engine.turn.run import Run

Exposed = tuple[tuple[ExperimentId, Tally], ...]


@dataclass(eq=False)
class AssignedNotShown(Exception):
    """A turn of an experiment was shown something else than its arm."""

    experiment_id: str
    turn_id: str
    arm: Arm

    def __str__(self) -> str:
        return (
            f"The turn {self.turn_id} was assigned the arm {self.arm} of the experiment {self.experiment_id}, and was "
            "shown something else. Look at its manifest, and at what changed for the agent since the start."
        )


def exposures_of(run: Run) -> Exposed:
    """Nothing for a turn that is in no experiment."""
    enrolments = run.pins.experiments
    if not enrolments:
        return ()
    calls = [call for call in run.turn.calls.values() if call.span_id is None and call.purpose in SHOWN]
    versions = _versions(run, calls)
    return tuple((one.experiment_id, _tally(run, one, calls, versions)) for one in enrolments)


def raise_alarms(run: Run, exposed: Exposed) -> None:
    for experiment_id, tally in exposed:
        if tally.mismatches:
            error = AssignedNotShown(experiment_id, run.turn.turn_id, tally.arm)
            run.means.runner.report(f"experiment {experiment_id}", error)


def _versions(run: Run, calls: Sequence[Call]) -> frozenset[str]:
    """The versions that spoke in every call, by its manifest: none where one shows other words than the voice's."""
    system = run.voice.system
    sha256 = keep(system).sha256
    if any(call.system != sha256 for call in calls):
        return frozenset()
    return versions_in(segment.source for segment in system)


def _tally(run: Run, enrolment: Enrolment, calls: Sequence[Call], versions: frozenset[str]) -> Tally:
    turn, answer = run.turn, answer_of(run.turn)
    assert turn.ended is not None
    status = turn.ended.status
    asked, shown = bool(calls), arm_shown(enrolment, versions)
    if enrolment.shows is None:
        asked = asked and _differs(run, enrolment.settings)
        shown = enrolment.arm if _taken_with(run, enrolment.settings) else None
    measured = _kept(run, answer) if status is TurnStatus.COMPLETED and answer else {}
    return Tally(
        conversation=run.journal.conversation_id,
        unit=enrolment.unit,
        arm=enrolment.arm,
        turns=1,
        asked=int(asked),
        control=int(asked and shown is Arm.CONTROL),
        variant=int(asked and shown is Arm.VARIANT),
        mismatches=int(asked and shown is not enrolment.arm),
        completed=int(status is TurnStatus.COMPLETED),
        clarified=int(status is TurnStatus.CLARIFY),
        blocked=int(status is TurnStatus.BLOCKED),
        failed=int(status is TurnStatus.FAILED),
        tokens=turn.usage.input_tokens + turn.usage.output_tokens,
        cost=turn.usage.cost,
        milliseconds=max(0, round(run.seconds * 1000)),
        **measured,
    )


def _kept(run: Run, answer: str) -> dict[str, Any]:
    """Whether the answer keeps the rules that its agent was given, and how well it keeps to its plan."""
    found: dict[str, Any] = {}
    if (checked := run.turn.checked) is not None:
        found |= {"checked": 1, "passed": int(not checked.broken)}
    if (planned := run.turn.planned) is not None:
        found |= {"planned": 1, "consistency": consistency(planned.plan, answer).chrf}
    return found


def _differs(run: Run, expected: dict[str, Any]) -> bool:
    """Whether the turn came to where the arms differ.

    It is the same question in both arms, or else one of them would lose turns that the other keeps. Where only the form
    of a plan differs, that is where an answer follows a plan; where only planning does, where there is a plan; where
    one arm plans and the other does not, wherever a model is asked.
    """
    planned, sgr = run.turn.planned, expected.get("sgr", {})
    if expected.keys() != {"sgr"} or "enabled" in sgr:
        return True
    return planned is not None and (sgr.keys() != {"injection"} or planned.flow is Flow.CONTINUE)


def _taken_with(run: Run, expected: dict[str, Any]) -> bool:
    """Whether the turn was taken with what its arm names: a message's own parameters outrank an arm's."""
    pins = run.pins
    same_model = expected.get("model", pins.model) == pins.model
    said: dict[str, Any] = expected.get("parameters", {})
    same_parameters = all(pins.parameters.get(name) == value for name, value in said.items())
    return same_model and same_parameters and ("sgr" not in expected or _planned_with(run, expected["sgr"]))


def _planned_with(run: Run, expected: dict[str, Any]) -> bool:
    """Whether it was planned as the arm names it; a turn that is taken without planning has no policy pinned."""
    if not run.pins.sgr:
        return expected.get("enabled") != Switch.ON
    return all(run.pins.sgr.get(name) == value for name, value in expected.items()) and _injected(run)


def _injected(run: Run) -> bool:
    """Whether what models were shown of the plan, if they were to follow it, has the form that the policy names."""
    planned = run.turn.planned
    if planned is None or planned.flow is not Flow.CONTINUE:
        return True
    synthetic = [each for each in run.turn.main.messages if each.kind is Kind.SYNTHETIC_PLAN]
    as_tool = any(each.tool_calls for each in synthetic)
    return as_tool is (run.pins.sgr.get("injection", Injection.CLEAN) != Injection.CLEAN)
