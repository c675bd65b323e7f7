"""Webhooks: who is told, what was sent to them, and sending it again."""

from datetime import timedelta
from typing import Any

import msgspec

from preceptor.domain.errors import Conflict, NotFound
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.value import made, told
from preceptor.domain.webhook_secrets import OVERLAP_HOURS, Keyring, secret_of
from preceptor.domain.webhooks import (
    MOST,
    TEST,
    Attempt,
    Delivery,
    DeliveryStatus,
    MadeWebhook,
    NewWebhook,
    Webhook,
    WebhookChange,
    message,
)
from preceptor.engine.audit import note
from preceptor.engine.calling_out import NoWebhooks
from preceptor.engine.delivering import Letter, keyring, post
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


class Webhooks(msgspec.Struct, frozen=True):
    session: Session

    async def create(self, given: NewWebhook | None = None, **fields: Any) -> MadeWebhook:
        """Tell this address from now on. The answer is the only place where its secret is ever shown."""
        new = made(NewWebhook, given, fields)
        webhooks = self.session.means.webhooks
        if webhooks is None:
            raise NoWebhooks
        webhooks.check(new.url)
        world = self.session.world
        webhook_id, secret = world.new_id(), secret_of(world.new_secret())

        async def program(work: Work) -> MadeWebhook:
            if len(await work.webhooks.all()) >= MOST:
                raise Conflict(f"There are {MOST} webhooks already. Remove one first.")
            webhook = Webhook(
                webhook_id=webhook_id,
                url=new.url,
                events=tuple(dict.fromkeys(new.events)),
                description=new.description,
                enabled=True,
                created_at=work.now,
                updated_at=work.now,
                revision=1,
            )
            await work.webhooks.add(webhook, self._sealed(work, webhook, Keyring(secret)))
            await note(work, self.session.caller, "webhook.created", webhookId=webhook_id, url=new.url)
            return MadeWebhook(**dict(webhook), secret=secret)

        return await self.session.write(program)

    async def change(
        self, webhook_id: str, given: WebhookChange | None = None, if_match: IfMatch = None, **fields: Any
    ) -> Webhook:
        """Change it. Switched on again, it is told of what happens from then on."""
        news = told(made(WebhookChange, given, fields))

        async def program(work: Work) -> Webhook:
            before, _ = await found(work, webhook_id)
            check(if_match, before.etag)
            wanted = dict(news)
            if "events" in news:
                wanted["events"] = tuple(dict.fromkeys(news["events"]))
            if "enabled" in news:
                wanted["disabled_because"] = None
            if before.model_copy(update=wanted) == before:
                return before
            stamp = {"updated_at": work.now, "revision": before.revision + 1}
            after = before.model_copy(update=wanted | stamp)
            await work.webhooks.replace(after)
            if not after.enabled:
                await work.deliveries.give_up(webhook_id)
            facts = {"webhookId": webhook_id, "fields": sorted(news), "enabled": after.enabled}
            await note(work, self.session.caller, "webhook.changed", **facts)
            return after

        return await self.session.write(program)

    async def rotate(self, webhook_id: str, overlap_hours: int = OVERLAP_HOURS) -> MadeWebhook:
        """Give it a new secret. Those it had sign beside it for so long; with 0, no longer."""
        secret = secret_of(self.session.world.new_secret())

        async def program(work: Work) -> MadeWebhook:
            before, sealed = await found(work, webhook_id)
            until = work.now + timedelta(hours=overlap_hours)
            ring = Keyring(secret)
            if overlap_hours:  # else they need not even be opened: with another key of the installation they cannot be
                ring = keyring(self.session, work, before, sealed).rotated(secret, work.now, until)
            stamp = {"old_secrets_end_at": until, "updated_at": work.now, "revision": before.revision + 1}
            after = before.model_copy(update=stamp)
            await work.webhooks.replace(after)
            await work.webhooks.reseal(webhook_id, self._sealed(work, after, ring))
            facts = {"webhookId": webhook_id, "oldSecretsEndAt": until}
            await note(work, self.session.caller, "webhook.rotated", **facts)
            return MadeWebhook(**dict(after), secret=secret)

        return await self.session.write(program)

    def _sealed(self, work: Work, webhook: Webhook, ring: Keyring) -> bytes:
        return self.session.seal.seal(ring.written(), webhook.context(work.org))

    async def get(self, webhook_id: str) -> Webhook:
        async def program(work: Work) -> Webhook:
            return (await found(work, webhook_id))[0]

        return await self.session.read(program)

    async def page(self, cursor: str | None = None, limit: int = 50) -> Page[Webhook]:
        after = position_of(cursor)

        async def program(work: Work) -> Page[Webhook]:
            rows = [one for one in await work.webhooks.all() if one.webhook_id > (after or "")]
            return page_of(rows[: limit + 1], limit, lambda one: one.webhook_id)

        return await self.session.read(program)

    async def remove(self, webhook_id: str, if_match: IfMatch = None) -> None:
        async def program(work: Work) -> None:
            before, _ = await found(work, webhook_id)
            check(if_match, before.etag)
            await work.webhooks.remove(webhook_id)
            await note(work, self.session.caller, "webhook.removed", webhookId=webhook_id)

        await self.session.write(program)

    async def test(self, webhook_id: str) -> Attempt:
        """Post one message that means nothing, now and once, whether or not the webhook is switched on."""

        async def program(work: Work) -> Letter:
            webhook, sealed = await found(work, webhook_id)
            body = message(TEST, work.now, {"webhookId": webhook_id})
            secrets = keyring(self.session, work, webhook, sealed).at(work.now)
            return Letter(webhook.url, secrets, f"msg_test_{self.session.world.new_id()}", body)

        letter = await self.session.read(program)
        return (await post(self.session, letter))[0]

    async def deliveries(self, webhook_id: str, cursor: str | None = None, limit: int = 50) -> Page[Delivery]:
        """What was sent to it, or is to be, newest first."""

        async def program(work: Work) -> Page[Delivery]:
            await found(work, webhook_id)
            rows = await work.deliveries.page(webhook_id, position_of(cursor), limit + 1)
            return page_of(rows, limit, lambda one: one.delivery_id)

        return await self.session.read(program)

    async def redeliver(self, webhook_id: str, delivery_id: str) -> Delivery:
        """Send it again, under the id it had: a receiver that has it already can tell."""

        async def program(work: Work) -> Delivery:
            webhook, _ = await found(work, webhook_id)
            delivery = await work.deliveries.find(delivery_id)
            if delivery is None or delivery.webhook_id != webhook_id:
                raise NotFound("delivery", delivery_id)
            if not webhook.enabled:
                raise Conflict("This webhook is switched off. Switch it on first.")
            news = {"status": DeliveryStatus.PENDING, "attempts": 0, "next_attempt_at": work.now}
            again = delivery.model_copy(update=news)
            await work.deliveries.keep(again)
            return again

        return await self.session.write(program)


async def found(work: Work, webhook_id: str) -> tuple[Webhook, bytes]:
    row = await work.webhooks.find(webhook_id)
    if row is None:
        raise NotFound("webhook", webhook_id)
    return row
