"""From a request's headers to its caller. One parser for every surface."""

import hashlib
import time
from collections.abc import Callable, Mapping

import msgspec

from preceptor.adapters.oidc import OidcVerifier
from preceptor.app import Preceptor
from preceptor.domain.errors import Refused, Unauthenticated
from preceptor.domain.ownership import Caller, installation_admin
from preceptor.settings import LOOPBACK, Auth
from preceptor.surfaces.hosts import from_elsewhere, host_name

REMEMBERED = 1.0
"""Seconds a credential is trusted without asking the database again: the longest a revoked key lives elsewhere."""
MOST_REMEMBERED = 10_000
LONGEST = 8192
MISSHAPEN = "The Authorization header is not `Bearer KEY`."


class ForeignOrigin(Refused):
    needs: str = ""

    def __str__(self) -> str:
        return (
            "This comes from a page of another site or port. "
            "If you trust its host, and that is not this machine, add it to PRECEPTOR_ALLOWED_HOSTS."
        )


class Gatekeeper(msgspec.Struct):
    preceptor: Preceptor
    oidc: OidcVerifier | None = None
    clock: Callable[[], float] = time.monotonic
    known: dict[bytes, tuple[Preceptor, float]] = {}

    async def admit(self, authorization: list[bytes], headers: Mapping[str, str]) -> Preceptor:
        """Preceptor acting for whoever calls, by the `Authorization` headers of a request.

        While authentication is off, a page of any site, or of another port of this machine, could speak from a
        browser here.
        """
        if self.preceptor.settings.auth is Auth.OFF:
            refuse_foreign(headers, self.preceptor.settings.allowed_hosts)
            return self.preceptor.acting_as(installation_admin())
        if len(authorization) != 1:
            raise Unauthenticated(MISSHAPEN) if authorization else Unauthenticated
        seen = hashlib.sha256(authorization[0]).digest()
        remembered = self.known.get(seen)
        if remembered is not None and self.clock() < remembered[1]:
            return remembered[0]
        acting = self.preceptor.acting_as(await self._ask(bearer_token(authorization[0].decode("latin-1"))))
        if len(self.known) >= MOST_REMEMBERED:
            self.known.clear()
        self.known[seen] = (acting, self.clock() + REMEMBERED)
        return acting

    def forget(self) -> None:
        """A credential was revoked: ask again about all of them."""
        self.known.clear()

    async def _ask(self, token: str) -> Caller:
        if self.oidc is not None and token.startswith("eyJ") and token.count(".") == 2:
            claims = await self.oidc.verify(token)
            return await self.preceptor.access.by_claims(claims.subject, claims.org, claims.role)
        return await self.preceptor.access.by_key(token)


def refuse_foreign(headers: Mapping[str, str], allowed: tuple[str, ...]) -> None:
    """Complain about a page that is not ours, unless its host is allowed by name: a proxy may ask us as another.

    Loopback is no such name, since anything on this machine goes by it.
    """
    origin = headers.get("origin")
    if origin is None or not from_elsewhere(headers):
        return
    trusted = {name.strip("[]").lower() for name in allowed} - set(LOOPBACK)
    if "*" not in trusted and host_name(origin.partition("://")[2]) not in trusted:
        raise ForeignOrigin


def bearer_token(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > LONGEST or " " in token:
        raise Unauthenticated(MISSHAPEN)
    return token
