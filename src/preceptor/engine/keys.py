"""API keys: mint, list, revoke."""

from typing import Any

import msgspec

from preceptor.domain.errors import Conflict, Invalid, NotFound
from preceptor.domain.ids import KeyId, UserId
from preceptor.domain.keys import BOOTSTRAP, ApiKey, MintedKey, NewKey, StoredKey, granted, hash_of, key_text
from preceptor.domain.ownership import Caller, Owner, Permission
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.value import made
from preceptor.engine.audit import note
from preceptor.engine.ports import World
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


class Keys(msgspec.Struct, frozen=True):
    session: Session

    async def mint(self, given: NewKey | None = None, **fields: Any) -> MintedKey:
        """Make a key. No one can give away more than they have."""
        new = made(NewKey, given, fields)
        caller = self.session.caller

        async def program(work: Work) -> MintedKey:
            if new.expires_at is not None and new.expires_at <= work.now:
                raise Invalid("expiresAt lies in the past. Choose a later moment, or leave it out.")
            key_id = KeyId(self.session.world.new_handle())
            holder = await _holder(work, new, caller, key_id)
            minted = await minted_for(work, self.session.world, new, holder, key_id)
            await note(work, caller, "key.created", keyId=minted.key_id, role=minted.role, userId=minted.user_id)
            return minted

        return await self.session.write(program)

    async def page(self, cursor: str | None = None, limit: int = 50) -> Page[ApiKey]:
        async def program(work: Work) -> Page[ApiKey]:
            return page_of(await work.keys.page(position_of(cursor), limit + 1), limit, lambda key: key.key_id)

        return await self.session.read(program)

    async def revoke(self, key_id: KeyId) -> None:
        async def program(work: Work) -> None:
            stored = await work.keys.find(key_id)
            if stored is None or stored.shown.revoked_at is not None:
                raise NotFound("key", key_id)
            if key_id == BOOTSTRAP:
                raise Conflict("The bootstrap key lives in PRECEPTOR_ADMIN_KEY. Change it there and restart.")
            shown = stored.shown.model_copy(update={"revoked_at": work.now})
            await work.keys.replace(stored.model_copy(update={"shown": shown}))
            await note(work, self.session.caller, "key.revoked", keyId=key_id)

        await self.session.write(program)


async def _holder(work: Work, new: NewKey, caller: Caller, key_id: KeyId) -> Owner:
    """Whom the key will act for. No one gives away more than they have, nor acts for others without leave.

    A key that may less than its maker is for someone else, and what its maker said is not theirs to read.
    """
    permissions = granted(new, caller.owner.org_id)[1]
    caller.require(*permissions)
    if new.user_id is None and caller.permissions > frozenset(permissions):
        return Owner(org_id=caller.owner.org_id, user_id=UserId(f"key:{key_id}"))
    if new.user_id is None or new.user_id == caller.owner.user_id:
        return caller.owner
    caller.require(Permission.USER_MANAGE)
    if await work.users.find(UserId(new.user_id)) is None:
        raise NotFound("user", new.user_id)
    return Owner(org_id=caller.owner.org_id, user_id=UserId(new.user_id))


async def minted_for(work: Work, world: World, new: NewKey, holder: Owner, key_id: KeyId) -> MintedKey:
    """Make a key and keep its hash."""
    text = key_text(key_id, world.new_secret())
    role, permissions = granted(new, holder.org_id)
    shown = ApiKey(
        key_id=key_id,
        name=new.name,
        role=role,
        permissions=permissions,
        user_id=holder.user_id,
        created_at=work.now,
        expires_at=new.expires_at,
    )
    await work.keys.add(StoredKey(org_id=holder.org_id, shown=shown, secret_hash=hash_of(text)))
    return MintedKey(**dict(shown), key=text)
