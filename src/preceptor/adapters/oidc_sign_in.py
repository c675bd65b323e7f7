"""Signing in with an OpenID Connect issuer: people are sent there, and come back with a code that we redeem.

The code is bound to this browser by `state`, to this request by `nonce`, and to us by a proof that only we hold (PKCE).
"""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urlencode

import httpx2
import msgspec
from pydantic import BaseModel, ValidationError

from preceptor.adapters.oidc import (
    Claims,
    Discovery,
    IssuerUnavailable,
    OidcVerifier,
    discovery,
    fetch_document,
    safe_host,
)
from preceptor.domain.errors import Unauthenticated

Redeem = Callable[[str, dict[str, str]], Awaitable[bytes]]


class Challenge(NamedTuple):
    """What a browser that was sent away has to bring back, and what proves that we sent it."""

    state: str
    nonce: str
    proof: str


class _Tokens(BaseModel):
    id_token: str


class OidcSignIn(msgspec.Struct, frozen=True):
    issuer: str
    client_id: str
    verifier: OidcVerifier
    """For tokens that are meant for `client_id`."""
    client_secret: str | None = None
    scope: str = "openid"
    redeem: Redeem = fetch_document

    @property
    def name(self) -> str:
        return safe_host(self.issuer) or self.issuer

    def challenge(self) -> Challenge:
        return Challenge(*(secrets.token_urlsafe(32) for _ in range(3)))

    async def address(self, challenge: Challenge, back: str) -> str:
        """Where to send a browser; it comes back to `back`, an address of ours."""
        where = (await self._about()).authorization_endpoint
        if where is None or safe_host(where) is None:
            raise IssuerUnavailable("The issuer set by PRECEPTOR_OIDC_ISSUER does not say where people sign in.")
        shown = urlsafe_b64encode(sha256(challenge.proof.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": back,
            "scope": self.scope,
            "state": challenge.state,
            "nonce": challenge.nonce,
            "code_challenge": shown,
            "code_challenge_method": "S256",
        }
        return f"{where}{'&' if '?' in where else '?'}{urlencode(asked)}"

    async def claims(self, code: str, challenge: Challenge, back: str) -> Claims:
        """Redeem a code for what the issuer vouches for."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "client_id": self.client_id,
            "code_verifier": challenge.proof,
        }
        form |= {"client_secret": self.client_secret} if self.client_secret else {}
        claims = await self.verifier.verify(await self._redeemed(form))
        if claims.nonce is None or not secrets.compare_digest(claims.nonce, challenge.nonce):
            raise Unauthenticated("This sign-in belongs to another request. Sign in again.")
        return claims

    async def _redeemed(self, form: dict[str, str]) -> str:
        where = (await self._about()).token_endpoint
        if where is None or safe_host(where) is None:
            raise IssuerUnavailable("The issuer set by PRECEPTOR_OIDC_ISSUER does not say where codes are redeemed.")
        try:
            return _Tokens.model_validate_json(await self.redeem(where, form)).id_token
        except IssuerUnavailable:
            raise Unauthenticated("The issuer did not accept the code of this sign-in. Sign in again.") from None
        except ValidationError:
            raise Unauthenticated("The issuer answered without an ID token. Ask for the scope `openid`.") from None
        except (httpx2.HTTPError, OSError) as error:
            raise IssuerUnavailable from error

    async def _about(self) -> Discovery:
        try:
            return await discovery(self.issuer, fetch_document)
        except ValidationError as error:
            raise IssuerUnavailable("PRECEPTOR_OIDC_ISSUER names a server that is no OpenID issuer.") from error
        except (httpx2.HTTPError, OSError, ValueError) as error:
            raise IssuerUnavailable from error
