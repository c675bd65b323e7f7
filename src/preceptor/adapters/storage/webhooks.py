"""Webhooks in SQL, and the outbox: what is to be sent to them, and what became of it."""

from datetime import datetime
from typing import Any

import msgspec

from preceptor.adapters.storage.connection import Grown, Transaction
from preceptor.adapters.storage.ready.webhooks import (
    ADD,
    ADD_DELIVERY,
    ALL,
    ANY,
    CLAIM,
    DUE,
    FIND,
    FIND_DELIVERY,
    FORGET,
    FORGET_OLD,
    GIVE_UP,
    KEEP,
    MESSAGE,
    PAGE,
    RELEASE,
    REMOVE,
    REPLACE,
    RESEAL,
)
from preceptor.domain.ids import OrgId
from preceptor.domain.ownership import INSTALLATION
from preceptor.domain.times import from_micros, to_micros
from preceptor.domain.webhooks import OUTBOX, Delivery, DeliveryStatus, Webhook

LATER_THAN_ALL = "n"
"""After every id: they begin with `msg_`."""
MORE: Grown = ((INSTALLATION, OUTBOX), [])
"""Has whoever sends look for it, once it is committed."""


class SqlWebhooks(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, webhook: Webhook, sealed: bytes) -> None:
        await self.work.put(ADD, id=webhook.webhook_id, sealed=sealed, body=webhook.model_dump_json())

    async def replace(self, webhook: Webhook) -> None:
        await self.work.put(REPLACE, named=webhook.webhook_id, to_body=webhook.model_dump_json())

    async def reseal(self, webhook_id: str, sealed: bytes) -> None:
        await self.work.run(RESEAL, named=webhook_id, to_sealed=sealed)

    async def remove(self, webhook_id: str) -> None:
        """With everything that was ever sent to it."""
        await self.work.put(FORGET, of=webhook_id)
        await self.work.put(REMOVE, named=webhook_id)

    async def find(self, webhook_id: str) -> tuple[Webhook, bytes] | None:
        row = await self.work.one(FIND, named=webhook_id)
        return (Webhook.model_validate_json(row[0]), row[1]) if row else None

    async def all(self) -> list[Webhook]:
        return [Webhook.model_validate_json(row[0]) for row in await self.work.all(ALL)]

    async def any(self) -> bool:
        return bool(await self.work.all(ANY, limit=1))


class SqlDeliveries(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, delivery: Delivery, message: bytes) -> None:
        await self.work.put(
            ADD_DELIVERY,
            id=delivery.delivery_id,
            webhook=delivery.webhook_id,
            open=1,
            status=delivery.status.value,
            due=to_micros(delivery.next_attempt_at or delivery.created_at),
            worker=None,
            created=to_micros(delivery.created_at),
            message=message,
            body=delivery.model_dump_json(),
        )
        self.work.grown.append(MORE)

    async def keep(self, delivery: Delivery) -> None:
        """Write down how it stands. Nobody holds it any more."""
        await self.work.put(
            KEEP,
            named=delivery.delivery_id,
            to_open=int(delivery.status is DeliveryStatus.PENDING),
            to_status=delivery.status.value,
            to_due=to_micros(delivery.next_attempt_at or delivery.created_at),
            to_worker=None,
            to_body=delivery.model_dump_json(),
        )
        if delivery.status is DeliveryStatus.PENDING:
            self.work.grown.append(MORE)

    async def find(self, delivery_id: str) -> Delivery | None:
        row = await self.work.one(FIND_DELIVERY, named=delivery_id)
        return _delivery(row) if row else None

    async def message(self, delivery_id: str) -> bytes | None:
        row = await self.work.one(MESSAGE, named=delivery_id)
        return row[0] if row else None

    async def page(self, webhook_id: str, before: str | None, limit: int) -> list[Delivery]:
        """The newest first. Ids grow with time, so the last of them says where to go on."""
        rows = await self.work.all(PAGE, of=webhook_id, before=before or LATER_THAN_ALL, limit=limit)
        return [_delivery(row) for row in rows]

    async def give_up(self, webhook_id: str) -> int:
        return await self.work.run(GIVE_UP, of=webhook_id, to_open=0, to_status=DeliveryStatus.FAILED.value)

    async def due(self, now: datetime, limit: int) -> list[tuple[OrgId, Delivery]]:
        rows = await self.work.all(DUE, now=to_micros(now), limit=limit)
        return [(OrgId(row[0]), _delivery(row)) for row in rows]

    async def claim(self, delivery: Delivery, worker: str, until: datetime) -> bool:
        assert delivery.next_attempt_at is not None
        seen, then = to_micros(delivery.next_attempt_at), to_micros(until)
        return bool(await self.work.run(CLAIM, named=delivery.delivery_id, seen=seen, to_due=then, to_worker=worker))

    async def release(self, but: str, now: datetime) -> int:
        return await self.work.run(RELEASE, but=but, now=to_micros(now), to_worker=None)

    async def forget_old(self, before: datetime) -> int:
        return await self.work.run(FORGET_OLD, before=to_micros(before))


def _delivery(row: tuple[Any, ...]) -> Delivery:
    """What changes in passing, for many at once, is in columns: they win."""
    _, is_open, status, due, body = row
    stands = {"status": DeliveryStatus(status), "next_attempt_at": from_micros(due) if is_open else None}
    return Delivery.model_validate_json(body).model_copy(update=stands)
