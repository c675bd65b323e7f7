"""Holding agents at an arm: at the control when an experiment starts, at what is promoted when it is decided.

So that whatever an experiment does not say, the assignments do, where everyone can see it.
"""

from preceptor.domain.errors import Conflict, phrased
from preceptor.domain.experiments.experiment import Displaced, Experiment, VersionArm
from preceptor.domain.ids import AgentId, AssignmentId, InstructionId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.assignment import AssignmentChange, NewAssignment
from preceptor.domain.instructions.family import LabelRow
from preceptor.domain.instructions.version import Exact, Labelled, Pin, resolve
from preceptor.engine.assignments import changed
from preceptor.engine.audit import note
from preceptor.engine.library.assigning import assign, facts
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


async def hold(work: Work, session: Session, agent_id: AgentId, control: VersionArm) -> Displaced | None:
    """Have the agent follow the control and nothing else. Answers with how it followed the instruction before."""
    row = await work.assignments.find(agent_id, control.family_id)
    if row is None:
        await _assign(work, session, agent_id, control)
        return None
    if not row.is_active:
        raise Conflict(
            phrased(
                "%(instruction)s is switched off for %(agent)s. Switch the assignment on, or leave it out.",
                instruction=control.family_id,
                agent=agent_id,
            )
        )
    before = Displaced(agent_id=agent_id, pin=row.pin, instruction_id=row.instruction_id)
    if row.pin != Exact() or row.instruction_id != control.instruction_id:
        await _pin(work, session, row, Exact(), control.instruction_id)
    return before


async def give(work: Work, session: Session, agent_id: AgentId, experiment: Experiment, wanted: VersionArm) -> None:
    """Have the agent follow what was promoted: as it followed the instruction before, if that comes to the same."""
    assert experiment.versions is not None
    control = experiment.versions.control.family_id
    if wanted.family_id != control and (old := await work.assignments.find(agent_id, control)):
        await work.assignments.remove(old.assignment_id)
        await note(work, session.caller, "assignment.removed", **facts(old))
    row = await work.assignments.find(agent_id, wanted.family_id)
    if row is None:
        await _assign(work, session, agent_id, wanted)
        return
    pin = await _pin_for(work, session, experiment, agent_id, wanted) if wanted.family_id == control else Exact()
    await _pin(work, session, row, pin, wanted.instruction_id)


async def _pin_for(work: Work, session: Session, experiment: Experiment, agent_id: AgentId, wanted: VersionArm) -> Pin:
    before = next((one for one in experiment.displaced if one.agent_id == agent_id), None)
    if before is None or isinstance(before.pin, Exact):
        return Exact()
    if isinstance(before.pin, Labelled):
        await _move_label(work, session, before.pin.name, wanted)
        return before.pin
    meant = resolve(before.pin, await work.instructions.versions(wanted.family_id))
    return before.pin if meant is not None and meant.instruction_id == wanted.instruction_id else Exact()


async def _assign(work: Work, session: Session, agent_id: AgentId, wanted: VersionArm) -> None:
    new = NewAssignment(instruction_id=wanted.instruction_id, pin=Exact())
    await assign(work, session.caller, agent_id, new, AssignmentId(session.world.new_id()))


async def _pin(work: Work, session: Session, row: Assigned, pin: Pin, version: InstructionId) -> None:
    after = await changed(work, session.caller, row, AssignmentChange(pin=pin), version)
    await work.assignments.replace(after)
    await note(work, session.caller, "assignment.changed", **facts(after), fields=["pin"])


async def _move_label(work: Work, session: Session, name: str, wanted: VersionArm) -> None:
    last = await work.labels.last(wanted.family_id, name)
    if last is not None and last.until is None and last.instruction_id == wanted.instruction_id:
        return
    row = LabelRow(
        family_id=wanted.family_id,
        name=name,
        step=last.step + 1 if last else 1,
        instruction_id=wanted.instruction_id,
        moved_by=session.caller.owner.user_id,
        since=work.now,
    )
    await work.labels.move(row)
    before = last.instruction_id if last is not None and last.until is None else None
    told = {"familyId": row.family_id, "label": name, "before": before, "after": row.instruction_id}
    await note(work, session.caller, "instruction.label_moved", **told)
