"""/api/users"""

from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.domain.users import NewUser, User
from preceptor.surfaces.rest.parameters import Cursor, Limit
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs

router = Api("/api/users", "users")


@router.post("", status_code=201)
@needs(Permission.USER_MANAGE)
async def create(new: NewUser, preceptor: ThePreceptor) -> User:
    """Add a user to your organisation."""
    return await preceptor.users.create(new)


@router.get("")
@needs(Permission.USER_MANAGE)
async def page(preceptor: ThePreceptor, cursor: Cursor = None, limit: Limit = 50) -> Page[User]:
    """List the users of your organisation."""
    return await preceptor.users.page(cursor, limit)
