"""/api/conversations/…/erase"""

from preceptor.domain.ids import ConversationId
from preceptor.domain.ownership import Permission
from preceptor.engine.erasing import Erased
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs

router = Api("/api/conversations/{conversation_id}", "erasing")


@router.post("/erase")
@needs(Permission.CONVERSATION_ERASE)
async def erase(conversation_id: Name, preceptor: ThePreceptor) -> Erased:
    """Erase for good what was said in a conversation, its title, metadata and files. Hashes stay, so that the log can
    still be verified.
    """
    return await preceptor.erasing.erase(ConversationId(conversation_id))
