"""/api/keys"""

from fastapi import Request

from preceptor.domain.ids import KeyId
from preceptor.domain.keys import ApiKey, MintedKey, NewKey
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.surfaces.rest.parameters import Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs

router = Api("/api/keys", "keys")


@router.post("", status_code=201)
@needs(Permission.KEY_MANAGE)
async def mint(new: NewKey, preceptor: ThePreceptor) -> MintedKey:
    """Make an API key. The answer is the only place where it is ever shown."""
    return await preceptor.keys.mint(new)


@router.get("")
@needs(Permission.KEY_MANAGE)
async def page(preceptor: ThePreceptor, cursor: Cursor = None, limit: Limit = 50) -> Page[ApiKey]:
    """List the keys of your organisation, revoked ones too, without their secrets."""
    return await preceptor.keys.page(cursor, limit)


@router.delete("/{key_id}", status_code=204)
@needs(Permission.KEY_MANAGE)
async def revoke(key_id: Name, preceptor: ThePreceptor, request: Request) -> None:
    """Revoke a key: at once here, within a second on other servers of this installation."""
    await preceptor.keys.revoke(KeyId(key_id))
    request.app.state.gate.keeper.forget()
