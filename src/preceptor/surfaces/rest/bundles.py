"""/api/instructions/export and /api/instructions/import"""

from typing import Annotated

from fastapi import Query

from preceptor.domain.instructions.bundle import LARGEST, Bundle
from preceptor.domain.instructions.planning import Plan
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs, with_room

router = Api("/api/instructions", "bundles")

History = Annotated[bool, Query(description="All versions, or the newest of each instruction.")]
Assignments = Annotated[bool, Query(description="Which agents follow them, too.")]
DryRun = Annotated[bool, Query(alias="dryRun", description="Say what would be done, and do nothing.")]
Force = Annotated[bool, Query(description="Where both sides have changed, the bundle becomes a new version.")]


@router.get("/export")
@needs(Permission.INSTRUCTION_READ)
async def export(preceptor: ThePreceptor, history: History = True, assignments: Assignments = False) -> Bundle:
    """Take the library out as one plain document, to keep, to compare or to bring in elsewhere."""
    return await preceptor.bundles.export(history=history, assignments=assignments)


@router.post("/import")
@needs(Permission.INSTRUCTION_WRITE)
@with_room(LARGEST)
async def bring_in(bundle: Bundle, preceptor: ThePreceptor, dry_run: DryRun = False, force: Force = False) -> Plan:
    """Bring a library in: all of it or nothing. What is here already stays, what differs becomes a new version."""
    return await preceptor.bundles.bring_in(bundle, dry_run=dry_run, force=force)
