"""Access: from what a caller shows us to who they are."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta

import msgspec
import orjson
from pydantic import AwareDatetime

from preceptor.domain.errors import NotFound, Unauthenticated
from preceptor.domain.ids import OrgId, UserId
from preceptor.domain.keys import hash_of, public_part
from preceptor.domain.ownership import DEFAULT_ORG, SYSTEM, Caller, Owner, Role, permissions_of
from preceptor.domain.times import from_micros, to_micros
from preceptor.domain.value import Value
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

LINK_LIVES = timedelta(minutes=15)
SESSION_LIVES = timedelta(hours=12)
UNKNOWN = "This key is not known here, has expired or was revoked."


class SignInLink(Value):
    """Good once, within 15 minutes. `path` follows the server's address."""

    path: str
    token: str
    expires_at: AwareDatetime


class Access(msgspec.Struct, frozen=True):
    """Looks up credentials for the whole installation: at that moment nobody knows yet whose they are."""

    session: Session

    async def by_key(self, key: str) -> Caller:
        """Absent, expired, revoked and wrong keys are told apart by nothing we answer."""

        async def program(work: Work) -> Caller:
            stored = await work.keys.find(public_part(key))
            given = hash_of(key)
            if stored is None or not hmac.compare_digest(stored.secret_hash, given) or not stored.usable(work.now):
                raise Unauthenticated(UNKNOWN)
            return stored.caller()

        return await self.session.acting_as(SYSTEM).read(program)

    async def by_claims(self, subject: str, org: str | None, role: str | None) -> Caller:
        """A token's subject, in an organisation that exists, with the role its token or our user table gives."""
        owner = Owner(org_id=OrgId(org or DEFAULT_ORG), user_id=UserId(subject))

        async def program(work: Work) -> Caller:
            if await work.orgs.find(owner.org_id) is None:
                raise Unauthenticated(f"The token names the organisation {owner.org_id!r}, which does not exist here.")
            user = await work.users.find(owner.user_id)
            try:
                given = Role(role) if role else (user.role if user else Role.VIEWER)
            except ValueError:
                raise Unauthenticated(f"The token names the role {role!r}, which does not exist.") from None
            group = user.group_id if user else None
            named = owner.model_copy(update={"group_id": group})
            return Caller(named, permissions_of(given, owner.org_id), "oidc")

        return await self.session.store.read(owner, program)

    async def new_link(self) -> SignInLink:
        """A link that signs in whoever opens it first, as the caller's user. The caller needs all that this one may."""
        token = self.session.world.new_secret()
        caller = self.session.caller

        async def program(work: Work) -> SignInLink:
            user = await work.users.find(caller.owner.user_id)
            if user is None:
                raise NotFound("user", caller.owner.user_id)
            caller.require(*sorted(permissions_of(user.role, caller.owner.org_id)))
            expires_at = work.now + LINK_LIVES
            await work.sign_ins.add(hash_of(token), caller.owner, expires_at)
            return SignInLink(path=f"/login?token={token}", token=token, expires_at=expires_at)

        return await self.session.write(program)

    async def new_link_token(self) -> str:
        return (await self.new_link()).token

    async def open_session(self, token: str) -> str:
        """Redeem a sign-in token for a signed session cookie."""

        async def program(work: Work) -> tuple[Owner | None, datetime]:
            return await work.sign_ins.redeem(hash_of(token)), work.now

        owner, now = await self.session.acting_as(SYSTEM).write(program)
        if owner is None:
            raise Unauthenticated("This sign-in link was used already or is older than 15 minutes.")
        return self._signed([owner.org_id, owner.user_id], now)

    async def open_session_of(self, subject: str, org: str | None, role: str | None) -> str:
        """A session for someone whom an issuer vouches for, with the role it gave them, for as long as others."""
        owner = (await self.by_claims(subject, org, role)).owner
        return self._signed([owner.org_id, owner.user_id], await self._now(), role or "")

    async def _now(self) -> datetime:
        """By the clock of the database, which all processes share."""

        async def program(work: Work) -> datetime:
            return work.now

        return await self.session.acting_as(SYSTEM).read(program)

    def _signed(self, who: list[str], now: datetime, *role: str) -> str:
        ends = to_micros(now + SESSION_LIVES)
        body = urlsafe_b64encode(orjson.dumps([*who, ends, *role])).decode()
        return f"{body}.{self.session.seal.sign(body.encode(), 'session')}"

    async def by_session(self, cookie: str) -> Caller:
        body, _, signature = cookie.rpartition(".")
        if not self.session.seal.verify(body.encode(), signature, "session"):
            raise Unauthenticated("You are not signed in.")
        org, user, ends, *role = orjson.loads(urlsafe_b64decode(body))
        if from_micros(ends) <= await self._now():
            raise Unauthenticated("Your session has ended.")
        if role:  # an issuer vouched for them
            return await self.by_claims(user, org, role[0] or None)
        return await self.by_user(Owner(org_id=org, user_id=user))

    async def by_user(self, owner: Owner) -> Caller:
        async def program(work: Work) -> Caller:
            user = await work.users.find(owner.user_id)
            if user is None:
                raise Unauthenticated("This user no longer exists.")
            return Caller(owner, permissions_of(user.role, owner.org_id), "session")

        return await self.session.store.read(owner, program)
