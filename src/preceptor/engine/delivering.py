"""Delivering: what was announced is posted until someone takes it, or nobody has for too long.

A message is claimed before it is posted and settled afterwards. Whoever dies in between has it posted again by
another: each arrives at least once, under the same id.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from preceptor.domain.errors import DiskFull, PreceptorError, Unavailable
from preceptor.domain.ids import OrgId
from preceptor.domain.ownership import INSTALLATION, SYSTEM, Caller
from preceptor.domain.webhook_secrets import Keyring, signed
from preceptor.domain.webhooks import GONE, OUTBOX, Attempt, Delivery, DeliveryStatus, Webhook, pause_after
from preceptor.engine.audit import note
from preceptor.engine.calling_out import NoWebhooks
from preceptor.engine.ports import Handle
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

PATIENCE = 15.0
"""Seconds for one answer."""
LOOK_EVERY = 0.25
"""Seconds at least between two looks at what is due."""
ALONE, AMONG_OTHERS = 60, 5
"""Beats after which one looks although nothing is due or was announced here: another process may have done that."""
AT_ONCE = 32
FOR_ONE = 4
"""Messages on their way to one webhook: one that does not answer holds up no other."""
LEFT = timedelta(minutes=1)
"""How long others have for a message whose secret does not open here."""
NO_MORE = "{} No one took the message in {} attempts, so the webhook was switched off."
UNWANTED = "It answered 410: it wants no more. The webhook was switched off."


@dataclass(frozen=True, slots=True)
class Letter:
    """A message on its way."""

    url: str
    secrets: tuple[str, ...] = field(repr=False)
    id: str
    body: bytes


class Deliveries(msgspec.Struct, frozen=True):
    session: Session
    attempts: int
    first_pause: float
    on_the_way: dict[str, tuple[str, Handle]] = {}
    locked: set[str] = set()
    """Webhooks whose secrets do not open here: they were sealed with another key, and another server may have it."""

    async def go_on(self, *, alone: bool) -> None:
        """Until it is stopped. Where no other process can be at work, what was claimed was left behind."""
        means, released = self.session.means, not alone
        longest = means.beat * (ALONE if alone else AMONG_OTHERS)
        with self.session.store.tail(INSTALLATION, OUTBOX) as outbox:
            while True:
                rest = 0.0
                try:
                    if not released:
                        await self._release()
                        released = True
                    rest = await self.send_due(longest)
                except (Unavailable, DiskFull):
                    pass  # the next beat finds it again
                except Exception as error:  # noqa: BLE001 - whatever happens, others are still to be told
                    means.runner.report("the delivery of messages", error)
                await means.runner.pause(max(means.beat, LOOK_EVERY))
                await outbox.heard(rest)

    async def _release(self) -> None:
        """Take up what other processes were about to send: they are gone."""
        worker, soon = self.session.means.worker, timedelta(seconds=PATIENCE) + self.session.means.lease
        if (await self._waiting(soon + soon, 1))[1]:
            await self.session.write(lambda work: work.deliveries.release(worker, work.now))

    async def _waiting(self, ahead: timedelta, most: int) -> tuple[datetime, list[tuple[OrgId, Delivery]]]:
        """What is due now or soon, and what time it is. Without any webhook there is nothing to look for."""

        async def program(work: Work) -> tuple[datetime, list[tuple[OrgId, Delivery]]]:
            told = await work.webhooks.any()
            return work.now, await work.deliveries.due(work.now + ahead, most) if told else []

        return await self.session.read(program)

    async def send_due(self, longest: float) -> float:
        """Begin to send what is due, as much as there is room for. Seconds until something is, `longest` at most."""
        for one in [name for name, (_, handle) in self.on_the_way.items() if handle.ended]:
            del self.on_the_way[one]
        now, waiting = await self._waiting(timedelta(seconds=longest), AT_ONCE * FOR_ONE)
        for org, delivery in waiting:
            ours = [webhook for webhook, _ in self.on_the_way.values()]
            if len(ours) >= AT_ONCE:
                break
            id_, has_room = delivery.delivery_id, ours.count(delivery.webhook_id) < FOR_ONE
            if has_room and id_ not in self.on_the_way and not self._rest(delivery, now):
                handle = self.session.means.runner.spawn(f"delivery {id_}", self._delivered(org, delivery))
                self.on_the_way[id_] = delivery.webhook_id, handle
        return min((self._rest(delivery, now) for _, delivery in waiting), default=longest)

    def _rest(self, delivery: Delivery, now: datetime) -> float:
        """Seconds until we would send it."""
        assert delivery.next_attempt_at is not None
        ahead = delivery.next_attempt_at - now + (LEFT if delivery.webhook_id in self.locked else timedelta())
        return max(0.0, ahead.total_seconds())

    async def _delivered(self, org: OrgId, delivery: Delivery) -> None:
        owner = SYSTEM.owner.model_copy(update={"org_id": org})
        session = replace(self.session, caller=Caller(owner, SYSTEM.permissions, "system"), once=None)
        try:
            tried = await self._tried(session, delivery)
            if tried is not None:
                await self._settled(session, delivery.delivery_id, *tried)
                if session.means.delivered is not None:
                    session.means.delivered(tried[0].ok)
        except (Unavailable, DiskFull):
            pass  # it is still claimed, and sent again when that is over
        except Exception as error:  # noqa: BLE001 - the same
            session.means.runner.report(f"delivery {delivery.delivery_id}", error)

    async def _tried(self, session: Session, delivery: Delivery) -> tuple[Attempt, int | None] | None:
        """What came of posting it; None if it is another's to post."""
        try:
            letter = await self._claimed(session, delivery)
        except (Unavailable, DiskFull):
            raise
        except PreceptorError as failure:  # its secret was sealed with another key
            if session.store.alone:
                return Attempt(at=session.world.now(), ok=False, sentence=str(failure), seconds=0), None
            await self._leave(session, delivery, failure)
            return None
        self.locked.discard(delivery.webhook_id)
        return None if letter is None else await post(session, letter)

    async def _leave(self, session: Session, delivery: Delivery, why: PreceptorError) -> None:
        """To a server that can open its secret. Where none takes it, it lets others pass."""
        if delivery.webhook_id not in self.locked:
            self.locked.add(delivery.webhook_id)
            session.means.runner.report(f"messages to the webhook {delivery.webhook_id}", why)

        async def program(work: Work) -> None:
            if not self._rest(delivery, work.now):
                await work.deliveries.claim(delivery, session.means.worker, work.now + LEFT)

        await session.write(program)

    async def _claimed(self, session: Session, delivery: Delivery) -> Letter | None:
        means = session.means

        async def program(work: Work) -> Letter | None:
            until = work.now + timedelta(seconds=PATIENCE) + means.lease
            row = await work.webhooks.find(delivery.webhook_id)
            body = await work.deliveries.message(delivery.delivery_id)
            if row is None or body is None or not await work.deliveries.claim(delivery, means.worker, until):
                return None
            webhook, sealed = row
            return Letter(webhook.url, keyring(session, work, webhook, sealed).at(work.now), delivery.delivery_id, body)

        return await session.write(program)

    async def _settled(self, session: Session, delivery_id: str, attempt: Attempt, status: int | None) -> None:
        async def program(work: Work) -> None:
            before = await work.deliveries.find(delivery_id)
            if before is None or before.status is not DeliveryStatus.PENDING:
                return
            tries = before.attempts + 1
            over = tries >= self.attempts or status == GONE
            news: dict[str, Any] = {"attempts": tries, "last_attempt": attempt, "next_attempt_at": None}
            if attempt.ok:
                news["status"] = DeliveryStatus.DELIVERED
            elif over:
                news["status"] = DeliveryStatus.FAILED
            else:
                news["next_attempt_at"] = work.now + timedelta(seconds=pause_after(tries, self.first_pause))
            await work.deliveries.keep(before.model_copy(update=news))
            row = await work.webhooks.find(before.webhook_id)
            if over and not attempt.ok and row is not None:
                why = UNWANTED if status == GONE else NO_MORE.format(attempt.sentence, tries)
                await _switch_off(work, session, row[0], why)

        await session.write(program)


async def _switch_off(work: Work, session: Session, webhook: Webhook, why: str) -> None:
    stamp = {"updated_at": work.now, "revision": webhook.revision + 1}
    await work.webhooks.replace(webhook.model_copy(update={"enabled": False, "disabled_because": why, **stamp}))
    await work.deliveries.give_up(webhook.webhook_id)
    await note(work, session.caller, "webhook.disabled", webhookId=webhook.webhook_id, why=why)


def keyring(session: Session, work: Work, webhook: Webhook, sealed: bytes) -> Keyring:
    return Keyring.read(session.seal.open(sealed, webhook.context(work.org)))


async def post(session: Session, letter: Letter) -> tuple[Attempt, int | None]:
    """Post a message once: what came of it, and which status was answered."""
    webhooks, world = session.means.webhooks, session.world
    if webhooks is None:
        raise NoWebhooks
    began, now, status = world.monotonic(), world.now(), None
    headers = signed(letter.secrets, letter.id, now, letter.body)
    try:
        status = (await webhooks.call("POST", letter.url, headers, letter.body, PATIENCE)).status
        said = f"It answered {status}."
    except PreceptorError as failure:
        said = str(failure)
    seconds = round(world.monotonic() - began, 3)
    ok = status is not None and 200 <= status < 300
    return Attempt(at=now, ok=ok, sentence=said, seconds=seconds), status
