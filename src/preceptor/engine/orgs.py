"""Organisations: create, list."""

from typing import Any

import msgspec
from msgspec.structs import replace

from preceptor.domain.errors import Conflict
from preceptor.domain.ids import KeyId, OrgId
from preceptor.domain.keys import NewKey
from preceptor.domain.orgs import FoundedOrg, NewOrg, Org
from preceptor.domain.ownership import FIRST_ADMIN, INSTALLATION, Owner, Permission, Role
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.users import User
from preceptor.domain.value import made
from preceptor.engine.audit import note
from preceptor.engine.keys import minted_for
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


class Orgs(msgspec.Struct, frozen=True):
    """Organisations belong to the installation, so this feature's session acts for it."""

    session: Session

    async def create(self, given: NewOrg | None = None, **fields: Any) -> FoundedOrg:
        """Found an organisation: the wall, its first admin, and the key with which that admin does the rest."""
        new = made(NewOrg, given, fields)
        session = self._for_installation()

        async def program(work: Work) -> FoundedOrg:
            if await work.orgs.find(OrgId(new.org_id)):
                raise Conflict(f"There is an organisation {new.org_id!r} already. Choose another id.")
            org = Org(org_id=OrgId(new.org_id), name=new.name, created_at=work.now)
            await work.orgs.add(org)
            await note(work, session.caller, "org.created", orgId=org.org_id)
            inside = work.within(org.org_id)
            await inside.users.add(User(user_id=FIRST_ADMIN, name="Admin", role=Role.ADMIN, created_at=work.now))
            admin = Owner(org_id=org.org_id, user_id=FIRST_ADMIN)
            new_key, key_id = NewKey(name="First admin key", role=Role.ADMIN), KeyId(session.world.new_handle())
            key = await minted_for(inside, session.world, new_key, admin, key_id)
            await note(inside, session.caller, "org.created", orgId=org.org_id, keyId=key.key_id)
            return FoundedOrg(**dict(org), admin_key=key.key)

        return await session.write(program)

    async def page(self, cursor: str | None = None, limit: int = 50) -> Page[Org]:
        async def program(work: Work) -> Page[Org]:
            return page_of(await work.orgs.page(position_of(cursor), limit + 1), limit, lambda org: org.org_id)

        return await self._for_installation().read(program)

    def _for_installation(self) -> Session:
        caller = self.session.caller
        caller.require(Permission.ORG_MANAGE)
        owner = caller.owner.model_copy(update={"org_id": INSTALLATION})
        return self.session.acting_as(replace(caller, owner=owner), self.session.once)
