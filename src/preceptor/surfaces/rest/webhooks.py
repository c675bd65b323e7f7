"""/api/webhooks"""

from typing import Annotated

from fastapi import Query

from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.domain.webhook_secrets import LONGEST_OVERLAP_HOURS, OVERLAP_HOURS
from preceptor.domain.webhooks import Attempt, Delivery, MadeWebhook, NewWebhook, Webhook, WebhookChange
from preceptor.surfaces.rest.parameters import Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, IfMatch, ThePreceptor, needs

OverlapHours = Annotated[
    int,
    Query(
        alias="overlapHours",
        description="For how long former secrets sign as well; 0 ends them at once.",
        ge=0,
        le=LONGEST_OVERLAP_HOURS,
    ),
]
router = Api("/api/webhooks", "webhooks")


@router.post("", status_code=201)
@needs(Permission.SETTINGS_MANAGE)
async def create(new: NewWebhook, preceptor: ThePreceptor) -> MadeWebhook:
    """Have an address told of what happens in your organisation. The answer alone holds the secret it is signed with.

    Messages follow the Standard Webhooks convention: `webhook-id`, `webhook-timestamp`, `webhook-signature`.
    """
    return await preceptor.webhooks.create(new)


@router.get("")
@needs(Permission.SETTINGS_MANAGE)
async def page(preceptor: ThePreceptor, cursor: Cursor = None, limit: Limit = 50) -> Page[Webhook]:
    """List the webhooks of your organisation, without their secrets."""
    return await preceptor.webhooks.page(cursor, limit)


@router.get("/{webhook_id}")
@needs(Permission.SETTINGS_MANAGE)
async def get(webhook_id: Name, preceptor: ThePreceptor) -> Webhook:
    """Read a webhook: whether it is switched on and, where we switched it off, why."""
    return await preceptor.webhooks.get(webhook_id)


@router.patch("/{webhook_id}")
@needs(Permission.SETTINGS_MANAGE)
async def change(webhook_id: Name, change: WebhookChange, preceptor: ThePreceptor, if_match: IfMatch) -> Webhook:
    """Change what it is told of, or switch it off or on. What still waits when it is switched off is not sent."""
    return await preceptor.webhooks.change(webhook_id, change, if_match)


@router.delete("/{webhook_id}", status_code=204)
@needs(Permission.SETTINGS_MANAGE)
async def remove(webhook_id: Name, preceptor: ThePreceptor, if_match: IfMatch) -> None:
    """Forget a webhook, its secret, and what was sent to it."""
    await preceptor.webhooks.remove(webhook_id, if_match)


@router.post("/{webhook_id}/rotate")
@needs(Permission.SETTINGS_MANAGE)
async def rotate(webhook_id: Name, preceptor: ThePreceptor, overlap_hours: OverlapHours = OVERLAP_HOURS) -> MadeWebhook:
    """Give a webhook a new secret, which the answer alone holds.

    For a day, or as long as you say, messages are signed with the former one too: whichever a receiver has, it can
    check them. Has a secret come into wrong hands, end it at once with `overlapHours=0`.
    """
    return await preceptor.webhooks.rotate(webhook_id, overlap_hours)


@router.post("/{webhook_id}/test")
@needs(Permission.SETTINGS_MANAGE)
async def test(webhook_id: Name, preceptor: ThePreceptor) -> Attempt:
    """Post one signed message of the type `webhook.test`, now and once, and say what came of it."""
    return await preceptor.webhooks.test(webhook_id)


@router.get("/{webhook_id}/deliveries")
@needs(Permission.SETTINGS_MANAGE)
async def deliveries(
    webhook_id: Name, preceptor: ThePreceptor, cursor: Cursor = None, limit: Limit = 50
) -> Page[Delivery]:
    """List what was sent to a webhook in the last thirty days, or is to be sent, newest first."""
    return await preceptor.webhooks.deliveries(webhook_id, cursor, limit)


@router.post("/{webhook_id}/deliveries/{delivery_id}/redeliver")
@needs(Permission.SETTINGS_MANAGE)
async def redeliver(webhook_id: Name, delivery_id: Name, preceptor: ThePreceptor) -> Delivery:
    """Send a message again, under the id it had."""
    return await preceptor.webhooks.redeliver(webhook_id, delivery_id)
