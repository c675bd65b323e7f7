"""/api/sign-in-links"""

from preceptor.domain.ownership import Permission
from preceptor.engine.access import SignInLink
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs

router = Api("/api/sign-in-links", "sign_in")


@router.post("", status_code=201)
@needs(Permission.USER_MANAGE)
async def create(preceptor: ThePreceptor) -> SignInLink:
    """Make a link that signs in whoever opens it first, as you, once, within 15 minutes."""
    return await preceptor.access.new_link()
