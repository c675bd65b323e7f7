"""/api/instructions/{id}/impact"""

from preceptor.domain.instructions.impact import Impact, InstructionQuestion
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.parameters import Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs

router = Api("/api/instructions/{instruction_id}/impact", "impact")


@router.post("")
@needs(Permission.INSTRUCTION_READ)
async def ask(
    instruction_id: Name,
    question: InstructionQuestion,
    preceptor: ThePreceptor,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Impact:
    """Which agents would be told something else, and what, if the instruction or a label changed. Nothing is done."""
    return await preceptor.impacts.of_instruction(instruction_id, question, cursor, limit)
