"""The installation: what a fresh one starts with, and what is swept now and then."""

from datetime import timedelta

import msgspec

from preceptor.domain.agents import DEFAULT_AGENT, Agent
from preceptor.domain.keys import BOOTSTRAP, ApiKey, StoredKey, hash_of
from preceptor.domain.log import Event
from preceptor.domain.orgs import Org
from preceptor.domain.ownership import DEFAULT_ORG, FIRST_ADMIN, Role, installation_admin, permissions_of
from preceptor.domain.users import User
from preceptor.engine.audit import note
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

CHECKPOINT_SIZE = 1000
MARKED_TOGETHER = 50
UNSENT = timedelta(days=1)
SENT = timedelta(days=30)
"""How long what became of a message to a webhook is kept."""


class Installation(msgspec.Struct, frozen=True):
    session: Session
    retention: timedelta | None = None
    """How long after the last word a conversation is kept."""

    async def prepare(self, admin_key: str | None, *, adopt_key: bool = False) -> None:
        """Make sure of the organisation `default`, its admin, the agent `assistant` and any bootstrap key given."""
        session = self.session.acting_as(installation_admin())

        async def program(work: Work) -> None:
            await _first_run(work, session)
            if admin_key is not None:
                await _bootstrap_key(work, session, admin_key, adopt=adopt_key)

        await session.write(program)

    async def sweep(self) -> int:
        """Forget answers kept for idempotency that are older than a day, sign-in links that no one used, files that no
        one said anything with, messages to webhooks that were sent long ago, and what was said in conversations that
        are older than they may be. End experiments that are over.
        """
        from preceptor.engine.erasing import Erasing
        from preceptor.engine.experiments import Experiments

        async def program(work: Work) -> int:
            unsent = await work.attachments.forget_unsent(work.now - UNSENT)
            unsent += await work.deliveries.forget_old(work.now - SENT)
            return unsent + await work.idempotency.forget_old() + await work.sign_ins.forget_old()

        await Experiments(self.session).look_after()
        forgotten = await self.session.write(program)
        if self.retention is None:
            return forgotten
        return forgotten + await Erasing(self.session).expire(self.retention)

    async def checkpoint(self) -> Event | None:
        """Write the heads of all streams that grew into the installation's own stream; None when none did.

        Telling and marking are transactions of their own, so that busy streams do not hold it up. A stream whose mark
        was lost is told of once more.
        """
        heads = await self.session.read(lambda work: work.log.grown(CHECKPOINT_SIZE))
        if not heads:
            return None
        event = await self.session.write(lambda work: work.log.tell(heads))
        owner = self.session.caller.owner
        for start in range(0, len(heads), MARKED_TOGETHER):
            part = heads[start : start + MARKED_TOGETHER]
            await self.session.store.write(owner, lambda work, part=part: work.log.mark_told(part), blind=True)
        return event


async def _first_run(work: Work, session: Session) -> None:
    if await work.orgs.find(DEFAULT_ORG):
        return
    owner = session.caller.owner
    await work.orgs.add(Org(org_id=DEFAULT_ORG, name="Default", created_at=work.now))
    await work.users.add(User(user_id=FIRST_ADMIN, name="Admin", role=Role.ADMIN, created_at=work.now))
    await work.agents.add(
        Agent(
            agent_id=DEFAULT_AGENT,
            name="Assistant",
            role="assistant",
            capabilities=(),
            permissions=("delegate",),
            owner=owner,
            created_at=work.now,
            updated_at=work.now,
            revision=1,
        )
    )
    await note(work, session.caller, "installation.prepared")


async def _bootstrap_key(work: Work, session: Session, admin_key: str, *, adopt: bool) -> None:
    """The key may be changed by the operator between two starts; the old one then stops working."""
    stored = await work.keys.find(BOOTSTRAP)
    secret_hash = hash_of(admin_key)
    if stored is not None and (stored.secret_hash == secret_hash or not adopt):
        return
    shown = ApiKey(
        key_id=BOOTSTRAP,
        name="Bootstrap admin key",
        role=Role.ADMIN,
        permissions=tuple(sorted(permissions_of(Role.ADMIN, DEFAULT_ORG))),
        user_id=FIRST_ADMIN,
        created_at=work.now,
    )
    key = StoredKey(org_id=DEFAULT_ORG, shown=shown, secret_hash=secret_hash)
    await (work.keys.add(key) if stored is None else work.keys.replace(key))
    await note(work, session.caller, "key.bootstrapped")
