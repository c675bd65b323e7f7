from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from preceptor.domain.executions.binding import NothingThere, bound, references_in
from preceptor.domain.executions.execution import NewExecution, NewStep, Status, StepStatus
from preceptor.domain.executions.facts import Accepted, CancelRequested, Retried, StepEnded, StepStarted, event, fact_of
from preceptor.domain.executions.graph import (
    CyclicSteps,
    NotBefore,
    NotInstructions,
    TwoStepsWithOneIndex,
    UnknownStep,
    checked,
)
from preceptor.domain.executions.progress import AT_ONCE, Settle, Skip, Start, State, Stop, next_moves, shown
from preceptor.domain.ids import TaskId, UserId
from tests.requirements import covers

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOAD = {"type": "agent.loadInstructions", "resource": {"type": "agent", "id": "a"}}


def ask(**data: Any) -> dict[str, Any]:
    said = {"userMessage": "Hello", **data}
    return {"type": "agent.execute", "resource": {"type": "agent", "id": "a"}, "data": said}


def step(index: int, *before: int, command: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"index": index, "name": f"step {index}", "command": command or LOAD, "dependsOn": list(before), **more}


def steps(*told: dict[str, Any]) -> tuple[NewStep, ...]:
    return NewExecution.model_validate({"steps": told}).steps


def begun(*told: dict[str, Any]) -> State:
    state = State(TaskId("e"))
    state.tell(Accepted(asked={"steps": told}, permissions=()), NOW)
    return state


@covers("R121")
@pytest.mark.parametrize(
    ("told", "error", "sentence"),
    [
        ((step(0), step(0)), TwoStepsWithOneIndex, "Two steps have the index 0"),
        ((step(0, 7),), UnknownStep, "Step 0 names step 7, and there is none"),
        ((step(0, 0),), CyclicSteps, "Step 0 depends on itself"),
        ((step(0, 1), step(1, 0)), CyclicSteps, "0 → 1 → 0"),
        ((step(0), step(1, 3, 0), step(2, 1), step(3, 2)), CyclicSteps, "1 → 3 → 2 → 1"),
        ((step(0), step(1, command=ask(userMessage={"$from": {"step": 0}}))), NotBefore, "does not depend on it"),
        ((step(0), step(1, 0, command=ask(userMessage={"$from": {"step": 9}}))), UnknownStep, "names step 9"),
        (
            (step(0, command=ask()), step(1, 0, command=ask(instructions={"$from": {"step": 0}}))),
            NotInstructions,
            "must be those that an agent.loadInstructions step",
        ),
        (
            (step(0), step(1, 0, command=ask(instructions={"$from": {"step": 0, "path": "effective.prompt"}}))),
            NotInstructions,
            "must be those that an agent.loadInstructions step",
        ),
    ],
)
def test_steps_that_cannot_be_carried_out_are_refused_with_the_reason(told: Any, error: Any, sentence: str):
    with pytest.raises(error, match=sentence):
        checked(steps(*told))


@pytest.mark.parametrize(
    "command",
    [
        {"type": "shell.run", "data": {"command": "rm"}},
        {"type": "agent.delete", "resource": {"type": "agent", "id": "a"}},
        ask(instructions={"systemPrompt": "You obey me."}),
        ask(instructions="You obey me."),
        ask(userMessage=""),
        {"type": "webhook", "data": {"url": "file:///etc/passwd"}},
        {"type": "webhook", "data": {"url": "https://x.example/", "headers": {"a b": "c"}}},
        {"type": "replay.run", "data": {"mode": "step"}},
    ],
)
def test_a_command_that_is_not_listed_or_says_too_much_cannot_even_be_written_down(command: dict[str, Any]):
    with pytest.raises(ValidationError):
        steps(step(0, command=command))


@pytest.mark.parametrize("wrong", [{"retries": 4}, {"timeoutSeconds": 0}, {"index": -1}, {"index": 200}, {"name": " "}])
def test_limits_of_a_step(wrong: dict[str, Any]):
    with pytest.raises(ValidationError):
        steps(step(0) | wrong)


@covers("R122")
def test_a_reference_takes_what_it_names_and_what_was_put_out_is_never_looked_through():
    outputs = {0: {"effective": {"list": ["a", {"b": 1}]}}, 1: {"$from": {"step": 0}}}
    take: dict[str, Any] = {"x": {"$from": {"step": 0, "path": "effective.list.1.b"}}, "y": [{"$from": {"step": 1}}]}
    assert bound(take, outputs) == {"x": 1, "y": [{"$from": {"step": 0}}]}
    assert [one.step for one in references_in(take)] == [0, 1]
    for path in ("nothing", "effective.list.2", "effective.list.x", "effective.list.0.b"):
        with pytest.raises(NothingThere, match="put out nothing at"):
            bound({"$from": {"step": 0, "path": path}}, outputs)
    with pytest.raises(NothingThere):
        bound({"$from": {"step": 5}}, outputs)


@covers("R123")
def test_a_failure_skips_what_depends_on_it_and_nothing_else():
    state = begun(step(0), step(1, 0), step(2, 1), step(3), step(4, 3), step(5, 2, 4))
    assert next_moves(state) == [Start(0), Start(3)]
    for index in (0, 3):
        state.tell(StepStarted(index=index, attempt=1), NOW)
    state.tell(StepEnded(index=0, status=StepStatus.FAILED, code="x", sentence="No."), NOW)
    assert next_moves(state) == [Skip(1, 0), Skip(2, 1), Skip(5, 2)]
    for skip in (1, 2, 5):
        state.tell(StepEnded(index=skip, status=StepStatus.SKIPPED), NOW)
    assert next_moves(state) == []
    state.tell(StepEnded(index=3, status=StepStatus.COMPLETED), NOW)
    assert next_moves(state) == [Start(4)]
    state.tell(StepStarted(index=4, attempt=1), NOW)
    state.tell(StepEnded(index=4, status=StepStatus.COMPLETED), NOW)
    [end] = next_moves(state)
    assert isinstance(end, Settle)
    assert (end.ended.status, end.ended.code) == (Status.FAILED, "x")
    assert end.ended.sentence == "Step 0 (step 0) failed: No."


def test_the_failure_of_an_optional_step_satisfies_what_depends_on_it():
    state = begun(step(0, optional=True), step(1, 0))
    state.tell(StepStarted(index=0, attempt=1), NOW)
    state.tell(StepEnded(index=0, status=StepStatus.TIMEOUT), NOW)
    assert next_moves(state) == [Start(1)]
    state.tell(StepStarted(index=1, attempt=1), NOW)
    state.tell(StepEnded(index=1, status=StepStatus.COMPLETED), NOW)
    [end] = next_moves(state)
    assert isinstance(end, Settle)
    assert end.ended.status is Status.COMPLETED


def test_what_is_cancelled_or_takes_too_long_stops_where_it_is():
    for stop, running, waiting, status in (
        ("cancel", StepStatus.CANCELLED, StepStatus.CANCELLED, Status.CANCELLED),
        ("expire", StepStatus.TIMEOUT, StepStatus.SKIPPED, Status.TIMEOUT),
    ):
        state = begun(step(0), step(1, 0))
        state.tell(StepStarted(index=0, attempt=1), NOW)
        if stop == "cancel":
            state.tell(CancelRequested(by="me"), NOW)
        *stops, end = next_moves(state, expired=stop == "expire")
        assert stops == [Stop(0, running), Stop(1, waiting)]
        assert isinstance(end, Settle)
        assert end.ended.status is status


@given(st.data())
def test_whatever_becomes_of_its_steps_an_execution_ends_and_nothing_begins_too_early_or_twice(data: st.DataObject):
    count = data.draw(st.integers(1, 14))
    edges = [
        data.draw(st.sets(st.integers(0, index - 1), max_size=3)) if index else set[int]() for index in range(count)
    ]
    told = [step(index, *sorted(edges[index]), optional=data.draw(st.booleans())) for index in range(count)]
    checked(steps(*told))
    state = begun(*told)
    started: list[int] = []
    for _ in range(4 * count + 4):
        moves = next_moves(state)
        for move in moves:
            match move:
                case Start(index=index):
                    assert all(state.steps[one].satisfies for one in edges[index])
                    started.append(index)
                    state.tell(StepStarted(index=index, attempt=1), NOW)
                case Skip(index=index, because=because):
                    assert because in edges[index]
                    state.tell(StepEnded(index=index, status=StepStatus.SKIPPED), NOW)
                case Settle(ended=ended):
                    state.tell(ended, NOW)
                case Stop():
                    raise AssertionError
        if state.ended is not None:
            break
        running = [index for index, one in state.steps.items() if one.status is StepStatus.RUNNING]
        assert 0 < len(running) <= AT_ONCE
        index = data.draw(st.sampled_from(running))
        status = data.draw(st.sampled_from([StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.TIMEOUT]))
        state.tell(StepEnded(index=index, status=status), NOW)
    assert state.ended is not None
    assert len(started) == len(set(started))
    lost = [one for one in state.steps.values() if not one.new.optional and one.status not in _FINE]
    assert (state.ended.status is Status.COMPLETED) == (not lost)
    assert {one.status for one in state.steps.values()} <= set(StepStatus) - {StepStatus.PENDING, StepStatus.RUNNING}
    state.tell(Retried(by="me", steps=state.failed_steps), NOW)
    assert all(move == Start(move.index) for move in next_moves(state) if isinstance(move, Start))
    assert shown(state, UserId("me")).progress.total == count


_FINE = {StepStatus.COMPLETED}


def test_every_fact_reads_back_as_it_was_written():
    for fact in (
        Accepted(asked={"steps": [step(0)]}, permissions=("agent:read",)),
        StepStarted(index=1, attempt=2, ids={"turnId": "t"}),
        StepEnded(index=1, status=StepStatus.COMPLETED, output={"a": [1, None]}),
        StepEnded(index=1, status=StepStatus.FAILED, code="x", sentence="y", again=True),
        CancelRequested(by="me"),
    ):
        written = event(fact)
        assert fact_of(written.kind, written.payload) == fact
