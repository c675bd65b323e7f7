"""Who a bearer token speaks for, when an OpenID Connect issuer signed it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from ipaddress import ip_address
from math import inf
from typing import Any, ClassVar

import httpx2
import jwt
import msgspec
from jwt.algorithms import AllowedPublicKeys
from jwt.types import Options
from pydantic import BaseModel, ValidationError

from preceptor.domain.errors import CannotStart, Unauthenticated, Unavailable

Fetch = Callable[[str], Awaitable[bytes]]

KEYS_ARE_GOOD_FOR = 600.0
PAUSE_AFTER_SUCCESS = 30.0
PAUSE_AFTER_FAILURE = 5.0
TIMEOUT = 5.0
LARGEST_DOCUMENT = 256 * 1024
LONGEST_TOKEN = 16 * 1024
LEEWAY = 30.0

SIGNED_BY: dict[tuple[str, str | None], frozenset[str]] = {
    ("RSA", None): frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}),
    ("EC", "P-256"): frozenset({"ES256"}),
    ("EC", "P-384"): frozenset({"ES384"}),
    ("OKP", "Ed25519"): frozenset({"EdDSA"}),
}
"""What each kind of key may sign with. None is symmetric: who can check a token must not be able to forge one."""
ALGORITHMS = frozenset[str]().union(*SIGNED_BY.values())

_PUBLIC_PARTS = ("kty", "crv", "kid", "use", "alg", "n", "e", "x", "y")
_OPTIONS: Options = {"require": ["iss", "aud", "sub", "exp"], "enforce_minimum_key_length": True}
_REASONS: dict[type[jwt.PyJWTError], str] = {
    jwt.ExpiredSignatureError: "This token has expired.",
    jwt.ImmatureSignatureError: "This token is not valid yet.",
    jwt.InvalidAudienceError: "This token is meant for another audience.",
    jwt.InvalidIssuerError: "This token comes from another issuer.",
    jwt.InvalidSignatureError: "This token's signature is wrong.",
    jwt.MissingRequiredClaimError: "This token lacks one of the claims `iss`, `aud`, `sub` and `exp`.",
}


class IssuerUnavailable(Unavailable):
    code: ClassVar[str] = "issuer_unavailable"
    sentence: str = "The issuer set by PRECEPTOR_OIDC_ISSUER does not answer, so no token can be checked."
    retry_after: int = int(PAUSE_AFTER_FAILURE)


class OidcMisconfigured(CannotStart):
    code: ClassVar[str] = "oidc_misconfigured"


class Claims(msgspec.Struct, frozen=True):
    """What the issuer vouches for, in its own words."""

    subject: str
    org: str | None
    role: str | None
    group: str | None
    expires_at: datetime
    nonce: str | None = None


class ClaimNames(msgspec.Struct, frozen=True):
    org: str = "org"
    role: str = "role"
    group: str = "group"


class OidcVerifier:
    def __init__(
        self,
        issuer: str,
        audience: str,
        *,
        names: ClaimNames = ClaimNames(),  # noqa: B008 - it never changes
        key_hosts: Collection[str] = (),
        fetch: Fetch | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`key_hosts` may serve the issuer's keys besides its own host. `fetch` answers a URL with a whole document."""
        if (host := safe_host(issuer)) is None:
            raise OidcMisconfigured("PRECEPTOR_OIDC_ISSUER is neither an https address nor local. Correct it.")
        if not audience:
            raise OidcMisconfigured("PRECEPTOR_OIDC_AUDIENCE is empty. Set it to the audience that the issuer writes.")
        self._issuer = issuer
        self._audience = audience
        self._names = names
        self._keys = _PublishedKeys(issuer, frozenset({host, *key_hosts}), fetch or fetch_document, clock)

    async def verify(self, token: str) -> Claims:
        key_id, algorithm = _signed_with(token)
        key = await self._keys.find(key_id, algorithm)
        if key is None:
            raise Unauthenticated("This token is signed with a key that its issuer does not publish.")
        return self._claims(self._payload(token, key, algorithm))

    def _payload(self, token: str, key: "_Key", algorithm: str) -> dict[str, Any]:
        try:
            return jwt.decode(
                token, key.public, [algorithm], _OPTIONS, issuer=self._issuer, audience=self._audience, leeway=LEEWAY
            )
        except jwt.PyJWTError as error:
            raise Unauthenticated(_REASONS.get(type(error), "This token is not valid.")) from None

    def _claims(self, payload: dict[str, Any]) -> Claims:
        subject = _text(payload, "sub")
        assert subject is not None, "`sub` is required above"
        return Claims(
            subject=subject,
            org=_text(payload, self._names.org),
            role=_text(payload, self._names.role),
            group=_text(payload, self._names.group),
            expires_at=_moment(payload["exp"]),
            nonce=_text(payload, "nonce"),
        )


class _Key(msgspec.Struct, frozen=True):
    id: str | None
    algorithms: frozenset[str]
    public: AllowedPublicKeys


class Discovery(BaseModel):
    """What an issuer says of itself."""

    issuer: str
    jwks_uri: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None


class _KeySet(BaseModel):
    keys: list[dict[str, Any]]


class _PublishedKeys:
    """Fetched when a key is wanted that we do not have, and then not again before a pause is over.

    So a flood of tokens with invented keys cannot make us hammer the issuer.
    """

    def __init__(self, issuer: str, hosts: Collection[str], fetch: Fetch, clock: Callable[[], float]) -> None:
        self._issuer = issuer
        self._hosts = hosts
        self._fetch = fetch
        self._clock = clock
        self._keys: tuple[_Key, ...] = ()
        self._good_until = -inf
        self._paused_until = -inf
        self._refreshing: asyncio.Task[None] | None = None
        self._failure: IssuerUnavailable | None = None

    async def find(self, key_id: str | None, algorithm: str) -> _Key | None:
        if found := self._cached(key_id, algorithm):
            return found
        if self._clock() >= self._paused_until:
            self._paused_until = inf
            self._refreshing = asyncio.create_task(self._refresh())
        if self._refreshing:
            # All wait for one fetch, and a caller who leaves does not end it for the others.
            await asyncio.shield(self._refreshing)
        if self._failure:
            raise IssuerUnavailable(self._failure.sentence) from self._failure
        return self._cached(key_id, algorithm)

    def _cached(self, key_id: str | None, algorithm: str) -> _Key | None:
        if self._clock() >= self._good_until:
            return None
        fitting = [key for key in self._keys if algorithm in key.algorithms and key_id in (None, key.id)]
        # A token need not name its key, but then there must be no doubt.
        return fitting[0] if len(fitting) == 1 or (fitting and key_id is not None) else None

    async def _refresh(self) -> None:
        pause = PAUSE_AFTER_FAILURE
        try:
            self._keys = await self._published()
            self._good_until = self._clock() + KEYS_ARE_GOOD_FOR
            self._failure = None
            pause = PAUSE_AFTER_SUCCESS
        except IssuerUnavailable as error:
            self._failure = error
        finally:
            self._paused_until = self._clock() + pause

    async def _published(self) -> tuple[_Key, ...]:
        try:
            about = await self._discovery()
            key_set = _KeySet.model_validate_json(await self._fetch(about.jwks_uri))
        except ValidationError as error:
            raise IssuerUnavailable("PRECEPTOR_OIDC_ISSUER names a server that is no OpenID issuer.") from error
        except (httpx2.HTTPError, OSError, ValueError) as error:
            raise IssuerUnavailable from error
        return tuple(key for published in key_set.keys if (key := _usable(published)))

    async def _discovery(self) -> Discovery:
        found = await discovery(self._issuer, self._fetch)
        if safe_host(found.jwks_uri) not in self._hosts:
            raise IssuerUnavailable("The issuer set by PRECEPTOR_OIDC_ISSUER keeps its keys on a host not allowed.")
        return found


async def discovery(issuer: str, fetch: Fetch) -> Discovery:
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    found = Discovery.model_validate_json(await fetch(address))
    if found.issuer != issuer:
        raise IssuerUnavailable("The issuer does not call itself what PRECEPTOR_OIDC_ISSUER calls it.")
    return found


def _usable(published: dict[str, Any]) -> _Key | None:
    """Issuers also publish keys for encryption and of kinds we do not accept: those are passed over."""
    jwk = {part: value for part in _PUBLIC_PARTS if isinstance(value := published.get(part), str)}
    algorithms = SIGNED_BY.get((jwk.get("kty", ""), jwk.get("crv")), frozenset())
    if "alg" in jwk:
        algorithms &= {jwk["alg"]}
    if not algorithms or jwk.get("use", "sig") != "sig":
        return None
    try:
        return _Key(jwk.get("kid"), algorithms, jwt.PyJWK(jwk, min(algorithms)).key)
    except jwt.PyJWTError:
        return None


def _signed_with(token: str) -> tuple[str | None, str]:
    """The key's id and the algorithm, as the token itself claims: enough to look for the key, and for nothing else."""
    if len(token) > LONGEST_TOKEN or not token.isascii():
        raise Unauthenticated("This token cannot be read.")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise Unauthenticated("This token cannot be read.") from None
    match header.get("alg"):
        case str(algorithm) if algorithm in ALGORITHMS:
            return header.get("kid"), algorithm
        case _:
            raise Unauthenticated("This token is not signed with an accepted algorithm (RS, PS, ES or EdDSA).")


def _text(payload: dict[str, Any], claim: str) -> str | None:
    match payload.get(claim):
        case None:
            return None
        case str(text) if 0 < len(text) <= 255 and text.isprintable():
            return text
        case _:
            raise Unauthenticated(f"This token's claim `{claim}` is not a short text.")


def _moment(seconds: Any) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        raise Unauthenticated("This token's claim `exp` is not a time.") from None


def safe_host(url: str) -> str | None:
    """The host, if what it answers cannot be changed on the way."""
    try:
        parsed = httpx2.URL(url)
        host, port = parsed.host, parsed.port or 0
    except (httpx2.InvalidURL, ValueError):
        return None
    safe = parsed.scheme == "https" or (parsed.scheme == "http" and is_loopback(host))
    return host if safe and host and port < 65536 and not parsed.userinfo else None


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


async def fetch_document(url: str, form: dict[str, str] | None = None) -> bytes:
    """A whole document of an issuer; with a form, what it answers to that."""
    # Not compressed, so that the limit is on what arrives. A loopback address is not asked of the operator's proxy.
    plain = {"Accept-Encoding": "identity", "Accept": "application/json"}
    client = httpx2.AsyncClient(timeout=TIMEOUT, headers=plain, trust_env=not is_loopback(httpx2.URL(url).host))
    method = "GET" if form is None else "POST"
    asking = client.stream(method, url, data=form, follow_redirects=False)
    async with asyncio.timeout(TIMEOUT), client, asking as response:
        if response.status_code != 200:
            raise IssuerUnavailable
        document = b""
        async for chunk in response.aiter_raw():
            document += chunk
            if len(document) > LARGEST_DOCUMENT:
                raise IssuerUnavailable
        return document
