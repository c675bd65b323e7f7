"""/api/providers"""

from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.domain.providers import NewProvider, Provider, ProviderAnswer, ProviderChange, ProviderQuestion
from preceptor.surfaces.rest.parameters import Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, IfMatch, ThePreceptor, needs

router = Api("/api/providers", "providers")


@router.post("", status_code=201)
@needs(Permission.SETTINGS_MANAGE)
async def create(new: NewProvider, preceptor: ThePreceptor) -> Provider:
    """Add a provider of your organisation's own: agents name its models as `providerId:NAME`. Its key is never told."""
    return await preceptor.providers.create(new)


@router.get("")
@needs(Permission.SETTINGS_MANAGE)
async def page(preceptor: ThePreceptor, cursor: Cursor = None, limit: Limit = 50) -> Page[Provider]:
    """List the providers of your organisation, without their keys."""
    return await preceptor.providers.page(cursor, limit)


@router.get("/{provider_id}")
@needs(Permission.SETTINGS_MANAGE)
async def get(provider_id: Name, preceptor: ThePreceptor) -> Provider:
    """Read a provider, without its key."""
    return await preceptor.providers.get(provider_id)


@router.patch("/{provider_id}")
@needs(Permission.SETTINGS_MANAGE)
async def change(provider_id: Name, change: ProviderChange, preceptor: ThePreceptor, if_match: IfMatch) -> Provider:
    """Change its address or its key. A new address forgets the key, which must be entered again."""
    return await preceptor.providers.change(provider_id, change, if_match)


@router.delete("/{provider_id}", status_code=204)
@needs(Permission.SETTINGS_MANAGE)
async def remove(provider_id: Name, preceptor: ThePreceptor, if_match: IfMatch) -> None:
    """Forget a provider and its key."""
    await preceptor.providers.remove(provider_id, if_match)


@router.post("/{provider_id}/test")
@needs(Permission.SETTINGS_MANAGE)
async def test(provider_id: Name, question: ProviderQuestion, preceptor: ThePreceptor) -> ProviderAnswer:
    """Ask one of its models a short question, with the stored address and the stored key and no others."""
    return await preceptor.providers.test(provider_id, question)
