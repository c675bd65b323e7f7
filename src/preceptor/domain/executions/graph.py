"""The graph of an execution: every step it names is there, none waits for itself, and all can end."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from preceptor.domain.errors import Invalid
from preceptor.domain.executions.binding import Origin, Reference, references_in
from preceptor.domain.executions.commands import ExecuteAgent, LoadInstructions, Nothing
from preceptor.domain.executions.execution import NewStep

Steps = Mapping[int, NewStep]


class TwoStepsWithOneIndex(Invalid):
    index: int = 0

    def __str__(self) -> str:
        return f"Two steps have the index {self.index}. Give every step an index of its own."


class UnknownStep(Invalid):
    step: int = 0
    unknown: int = 0

    def __str__(self) -> str:
        return f"Step {self.step} names step {self.unknown}, and there is none. Correct its dependsOn, or add the step."


class CyclicSteps(Invalid):
    code: ClassVar[str] = "cyclic_steps"
    steps: tuple[int, ...] = ()

    def __str__(self) -> str:
        if len(self.steps) == 1:
            return f"Step {self.steps[0]} depends on itself. Take it out of its own dependsOn."
        chain = " → ".join(map(str, (*self.steps, *self.steps[:1])))
        return f"These steps wait for each other: {chain}. Take one of them out of another's dependsOn."


class NotBefore(Invalid):
    """A step wants the output of one that need not have ended by then."""

    step: int = 0
    wanted: int = 0

    def __str__(self) -> str:
        return f"Step {self.step} takes from step {self.wanted}, but does not depend on it. Add it to its dependsOn."


class NotInstructions(Invalid):
    step: int = 0

    def __str__(self) -> str:
        return (
            f"The instructions of step {self.step} must be those that an agent.loadInstructions step of the same agent "
            'put out, as a whole or at the path "effective".'
        )


def checked(steps: Sequence[NewStep]) -> Steps:
    """The steps by index, if they can be carried out."""
    known: dict[int, NewStep] = {}
    for step in steps:
        if step.index in known:
            raise TwoStepsWithOneIndex(index=step.index)
        known[step.index] = step
    for step in steps:
        for wanted in step.depends_on:
            if wanted == step.index:
                raise CyclicSteps(steps=(wanted,))
            if wanted not in known:
                raise UnknownStep(step=step.index, unknown=wanted)
    if cycle := _cycle(known):
        raise CyclicSteps(steps=cycle)
    for step in steps:
        _check_references(step, known)
    return known


def _cycle(steps: Steps) -> tuple[int, ...]:
    """Steps that wait for each other, in order; none if all can come to an end."""
    left = {index: set(step.depends_on) for index, step in steps.items()}
    while ready := [index for index, needs in left.items() if not needs & left.keys()]:
        for index in ready:
            del left[index]
    if not left:
        return ()
    path = [min(left)]
    while (wanted := min(left[path[-1]] & left.keys())) not in path:
        path.append(wanted)
    return tuple(path[path.index(wanted) :])


def before(steps: Steps, index: int) -> set[int]:
    """All steps that have ended when this one begins."""
    found: set[int] = set()
    waiting = [*steps[index].depends_on]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += steps[one].depends_on
    return found


def _check_references(step: NewStep, steps: Steps) -> None:
    known = before(steps, step.index)
    for origin in references_in(step.command.model_dump(mode="json")):
        if origin.step not in steps:
            raise UnknownStep(step=step.index, unknown=origin.step)
        if origin.step not in known:
            raise NotBefore(step=step.index, wanted=origin.step)
    if isinstance(step.command, ExecuteAgent) and isinstance(step.command.data.instructions, Reference):
        origin = step.command.data.instructions.origin
        if origin.path not in ("", "effective") or not _loads(steps[origin.step], step.command):
            raise NotInstructions(step=step.index)


def _loads(step: NewStep, command: ExecuteAgent) -> bool:
    return isinstance(step.command, LoadInstructions) and step.command.resource.id == command.resource.id


def instructions_of(step: NewStep, steps: Steps) -> Origin | None:
    """Where the instructions of an `agent.execute` come from: as it says or, if it says nothing, from a step it
    depends on that loads them. None: from the agent as it is then.
    """
    assert isinstance(step.command, ExecuteAgent)
    said = step.command.data.instructions
    if isinstance(said, Reference):
        return said.origin
    assert said is None or isinstance(said, Nothing)
    loading = [index for index in step.depends_on if _loads(steps[index], step.command)]
    return Origin(step=loading[0]) if loading else None
