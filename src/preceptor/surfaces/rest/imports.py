"""/api/conversations/import"""

from preceptor.domain.conversations.imports import Imported, NewImport
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs, with_room

router = Api("/api/conversations", "imports")
ROOM = 20_000_000


@router.post("/import", status_code=201)
@needs(Permission.CONVERSATION_WRITE)
@with_room(ROOM)
async def bring_in(new: NewImport, preceptor: ThePreceptor) -> Imported:
    """Bring in conversations that were held elsewhere: OpenAI-style messages, Langfuse traces or LangSmith runs.

    System messages are left out: what agents are told comes from the library. Tools are not run, and no model is asked.
    """
    return await preceptor.imports.bring_in(new)
