"""Giving instructions to agents, inside a transaction that may have more to do."""

from typing import NamedTuple

from preceptor.domain.errors import Conflict, Invalid, NotFound, phrased
from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId, OrgId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.assignment import NewAssignment
from preceptor.domain.instructions.content import text_of
from preceptor.domain.instructions.effective import Customizations, Override, disabling
from preceptor.domain.instructions.family import Published
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.version import Exact, Labelled, Pin, Range, resolve
from preceptor.domain.ownership import Caller, Permission
from preceptor.engine.audit import note
from preceptor.engine.repositories.work import Work
from preceptor.engine.telling.effective import foreign_version


class Named(NamedTuple):
    """What an id in a path or a body means: a family, the version it stands for, and who published it if not we."""

    family_id: FamilyId
    version: InstructionVersion | Published
    publisher: OrgId | None = None


async def assign(
    work: Work, caller: Caller, agent_id: AgentId, new: NewAssignment, assignment_id: AssignmentId
) -> Assigned:
    """Give an instruction to an agent that exists. An agent has one assignment of each family."""
    named = await look_up(work, new.instruction_id)
    if await work.assignments.find(agent_id, named.family_id):
        raise Conflict(
            phrased(
                "%(instruction)s is assigned to %(agent)s already. Change that assignment, or remove it.",
                instruction=new.instruction_id,
                agent=agent_id,
            )
        )
    made = await drafted(work, caller, agent_id, new, assignment_id, named)
    await work.assignments.add(made)
    await note(work, caller, "assignment.created", **facts(made))
    return made


async def drafted(
    work: Work,
    caller: Caller,
    agent_id: AgentId,
    new: NewAssignment,
    assignment_id: AssignmentId,
    named: Named,
) -> Assigned:
    """The assignment as it would be, checked, and not yet written."""
    pin: Pin = new.pin if named.publisher is None else Exact()
    made = Assigned(
        assignment_id=assignment_id,
        agent_id=agent_id,
        family_id=named.family_id,
        pin=pin,
        instruction_id=named.version.instruction_id if isinstance(pin, Exact) else None,
        publisher=named.publisher,
        priority=new.priority,
        is_active=new.is_active,
        customizations=new.customizations,
        owner=caller.owner,
        applied_at=work.now,
        updated_at=work.now,
        seq=await work.assignments.last_seq(agent_id) + 1,
    )
    version = await meant(work, made)
    require_meaning(made, version)
    return customized(caller, made, version, new.customizations)


async def look_up(work: Work, id_: str) -> Named:
    """A family or a version of ours, or one that another organisation publishes; anything else is not here."""
    version = await work.instructions.version(InstructionId(id_))
    family = await work.instructions.find(version.family_id if version else FamilyId(id_))
    if family is not None and not family[0].is_deleted:
        return Named(family[0].family_id, version or family[1])
    publication = await work.published.find(InstructionId(id_)) or await work.published.head(FamilyId(id_))
    if family is None and publication is not None and not publication.is_withdrawn and publication.org_id != work.org:
        return Named(publication.snapshot.family_id, publication.snapshot, OrgId(publication.org_id))
    raise NotFound("instruction", id_)


async def meant(work: Work, row: Assigned) -> InstructionVersion | None:
    """The version that an assignment means now, also before it is written."""
    if row.publisher is not None:
        publication = await work.published.find(row.instruction_id) if row.instruction_id else None
        return foreign_version(publication.snapshot, row) if publication else None
    pointing = await work.labels.of_family(row.family_id) if isinstance(row.pin, Labelled) else []
    labels = {label.name: label.instruction_id for label in pointing}
    versions = await work.instructions.versions(row.family_id)
    return resolve(row.pin, versions, named=row.instruction_id, labels=labels)


def require_meaning(row: Assigned, version: InstructionVersion | None) -> None:
    """A range or a label that means nothing is taken for a slip of the pen. `latest` may wait for its first version."""
    match row.pin:
        case Labelled() | Range() if version is None:
            raise Invalid(
                phrased(
                    "The pin %(pin)s means no version of %(instruction)s. Set the label first, or pin another.",
                    pin=row.pin,
                    instruction=row.family_id,
                )
            )
        case _:
            pass


def customized(caller: Caller, row: Assigned, version: InstructionVersion | None, wanted: Customizations) -> Assigned:
    """The assignment with its customizations, and the leave that those need."""
    override = leave_for(caller, row, version, wanted)
    reason = override.reason if override else wanted.reason
    return row.model_copy(update={"customizations": wanted.model_copy(update={"reason": reason}), "override": override})


def leave_for(
    caller: Caller, row: Assigned, version: InstructionVersion | None, wanted: Customizations, *, strict: bool = True
) -> Override | None:
    """To disable what is locked, or what another organisation wrote, needs a permission and a reason.

    Leave that was given before holds for the same texts, so that others can go on changing the rest. `strict` refuses
    what disables nothing: it was written just now.
    """
    if not wanted.disabled_constraints:
        return None
    if version is None:
        raise Invalid(
            phrased("The pin %(pin)s means no version now, so there is no constraint to disable.", pin=row.pin)
        )
    off = disabling(version.content, wanted)
    if off.unmatched and strict:
        shown = ", ".join(repr(entry[:80]) for entry in off.unmatched[:5])
        raise Invalid(
            phrased(
                "There is no constraint %(named)s in version %(version)s. Give its exact text, or its id.",
                named=shown,
                version=version.version,
            )
        )
    hit = off.locked if row.publisher is None else off.locked | off.disabled
    texts = tuple(text_of(version.content.constraints[index]) for index in sorted(hit))
    if not texts:
        return None
    before = row.override
    if before and set(texts) <= set(before.constraints) and wanted.reason in (None, before.reason):
        return before.model_copy(update={"constraints": texts})
    caller.require(Permission.CONSTRAINT_OVERRIDE)
    if wanted.reason is None:
        raise Invalid(
            phrased("A locked constraint, or another organisation's, is disabled. Say why in customizations.reason.")
        )
    return Override(constraints=texts, by=caller.owner.user_id, reason=wanted.reason)


def facts(row: Assigned) -> dict[str, object]:
    """What the audit trail says about an assignment."""
    told: dict[str, object] = {
        "agentId": row.agent_id,
        "assignmentId": row.assignment_id,
        "familyId": row.family_id,
        "pin": str(row.pin),
        "revision": row.revision,
    }
    if row.override is not None:
        told["overridden"] = row.override.model_dump(mode="json")
    return told
