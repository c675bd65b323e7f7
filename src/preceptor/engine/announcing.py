"""Announcing: what happened is put down for every webhook that wants to know, in the same transaction."""

from typing import Any

import orjson

from preceptor.domain.times import to_micros
from preceptor.domain.webhooks import Delivery, Happening, delivery_id, message
from preceptor.engine.repositories.work import Work


async def announce(work: Work, event: Happening, data: dict[str, Any], row: bytes) -> None:
    """`row` is the hash of the row of the log that says the same: what is said twice there is told once."""
    body = message(event, work.now, data)
    for webhook in await work.webhooks.all():
        if webhook.enabled and event in webhook.events:
            delivery = Delivery(
                delivery_id=delivery_id(webhook.webhook_id, to_micros(work.now), row),
                webhook_id=webhook.webhook_id,
                event=event,
                next_attempt_at=work.now,
                created_at=work.now,
                payload=orjson.loads(body),
            )
            await work.deliveries.add(delivery, body)
