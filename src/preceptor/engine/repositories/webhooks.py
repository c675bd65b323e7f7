"""What webhooks and what is sent to them need from their storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from preceptor.domain.ids import OrgId
    from preceptor.domain.webhooks import Delivery, Webhook


class WebhookRepository(Protocol):
    async def add(self, webhook: Webhook, sealed: bytes) -> None: ...

    async def replace(self, webhook: Webhook) -> None: ...

    async def reseal(self, webhook_id: str, sealed: bytes) -> None: ...

    async def remove(self, webhook_id: str) -> None: ...

    async def find(self, webhook_id: str) -> tuple[Webhook, bytes] | None: ...

    async def all(self) -> list[Webhook]: ...

    async def any(self) -> bool:
        """Whether any organisation has one."""
        ...


class DeliveryRepository(Protocol):
    async def add(self, delivery: Delivery, message: bytes) -> None: ...

    async def keep(self, delivery: Delivery) -> None: ...

    async def find(self, delivery_id: str) -> Delivery | None: ...

    async def message(self, delivery_id: str) -> bytes | None: ...

    async def page(self, webhook_id: str, before: str | None, limit: int) -> list[Delivery]: ...

    async def give_up(self, webhook_id: str) -> int:
        """What still waits for this webhook is not sent any more."""
        ...

    async def due(self, now: datetime, limit: int) -> list[tuple[OrgId, Delivery]]:
        """Of all organisations, those that have waited longest first."""
        ...

    async def claim(self, delivery: Delivery, worker: str, until: datetime) -> bool:
        """Be the one who sends it, until then; False if another is."""
        ...

    async def release(self, but: str, now: datetime) -> int:
        """Let what other processes were about to send be sent at once: they are gone."""
        ...

    async def forget_old(self, before: datetime) -> int: ...


class WebhookWork(Protocol):
    """The part of a transaction that is about them."""

    @property
    def webhooks(self) -> WebhookRepository: ...

    @property
    def deliveries(self) -> DeliveryRepository: ...
