"""/api/orgs"""

from preceptor.domain.orgs import FoundedOrg, NewOrg, Org
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.surfaces.rest.parameters import Cursor, Limit
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs

router = Api("/api/orgs", "organisations")


@router.post("", status_code=201)
@needs(Permission.ORG_MANAGE)
async def create(new: NewOrg, preceptor: ThePreceptor) -> FoundedOrg:
    """Create an organisation. The answer is the only place where its first admin's key is ever shown."""
    return await preceptor.orgs.create(new)


@router.get("")
@needs(Permission.ORG_MANAGE)
async def page(preceptor: ThePreceptor, cursor: Cursor = None, limit: Limit = 50) -> Page[Org]:
    """List the organisations of this installation."""
    return await preceptor.orgs.page(cursor, limit)
