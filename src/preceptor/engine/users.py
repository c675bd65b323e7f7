"""Users: create, list."""

from typing import Any

import msgspec

from preceptor.domain.errors import Conflict
from preceptor.domain.ids import GroupId, UserId
from preceptor.domain.ownership import permissions_of
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.users import NewUser, User
from preceptor.domain.value import made
from preceptor.engine.audit import note
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


class Users(msgspec.Struct, frozen=True):
    session: Session

    async def create(self, given: NewUser | None = None, **fields: Any) -> User:
        """Add a user. No one can give away more than they have."""
        new = made(NewUser, given, fields)
        caller = self.session.caller
        caller.require(*sorted(permissions_of(new.role, caller.owner.org_id)))

        async def program(work: Work) -> User:
            if await work.users.find(UserId(new.user_id)):
                raise Conflict(f"There is a user {new.user_id!r} already. Choose another id.")
            user = User(
                user_id=UserId(new.user_id),
                name=new.name,
                role=new.role,
                group_id=GroupId(new.group_id) if new.group_id else None,
                created_at=work.now,
            )
            await work.users.add(user)
            await note(work, caller, "user.created", userId=user.user_id, role=user.role)
            return user

        return await self.session.write(program)

    async def page(self, cursor: str | None = None, limit: int = 50) -> Page[User]:
        async def program(work: Work) -> Page[User]:
            return page_of(await work.users.page(position_of(cursor), limit + 1), limit, lambda user: user.user_id)

        return await self.session.read(program)
