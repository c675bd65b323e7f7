"""/login, /logout: a one-time link becomes a session, or what an OpenID Connect issuer vouches for."""

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, Any

import msgspec
import orjson
from fastapi import Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from preceptor.adapters.oidc_sign_in import Challenge, OidcSignIn
from preceptor.domain.errors import NotFound, Unauthenticated
from preceptor.domain.times import from_micros, to_micros
from preceptor.engine.session import Session
from preceptor.surfaces.rest.routing import open_to_anyone
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import COOKIE, Pages, own_path, signed_in
from preceptor.surfaces.web.rendering import look, look_of, page
from preceptor.surfaces.web.sessions import SESSION_SECONDS

router = Pages()
ON_THE_WAY = "preceptor_sign_in"
PURPOSE = "sign-in"
MINUTES = 10
Words = Annotated[str, Query(max_length=4000)]
USED = msg("This link was used already, or is older than 15 minutes.")
LOST = "This sign-in was not begun in this browser, or too long ago. Sign in again."


@router.get("/")
@open_to_anyone
async def home(request: Request) -> Response:
    if await signed_in(request) is None:
        raise Unauthenticated
    return RedirectResponse("/conversations", 303)


@router.get("/login")
@open_to_anyone
async def login(request: Request, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Redeem a one-time link. Opening it again says so, and shows the way in: another link, or that one is in."""
    inside = await signed_in(request) is not None
    if inside and not token:
        return RedirectResponse("/", 303)
    try:
        cookie = await request.app.state.gate.preceptor.access.open_session(token)
    except Unauthenticated:
        told: dict[str, Any] = {"why": look(request).speaker.say(USED), "inside": inside} if token else {}
        return page(request, "sign_in.html", status=401, **told)
    return _with_session(request, cookie, "/")


@router.get("/login/oidc")
@open_to_anyone
async def leave(request: Request, back: Words = "/") -> Response:
    """Send people to the issuer; what they have to bring back is kept in their browser, signed."""
    oidc = _oidc(request)
    challenge = oidc.challenge()
    response = RedirectResponse(await oidc.address(challenge, _here(request)), 303)
    kept = _kept(_session(request), challenge, own_path(back, "/"))
    secure, life = request.url.scheme == "https", MINUTES * 60
    response.set_cookie(ON_THE_WAY, kept, life, path="/login", httponly=True, samesite="lax", secure=secure)
    return response


class Brought(msgspec.Struct, frozen=True):
    """What a browser comes back with."""

    code: str
    state: str
    error: str
    iss: str


async def _brought(code: Words = "", state: Words = "", error: Words = "", iss: Words = "") -> Brought:
    return Brought(code, state, error, iss)


@router.get("/login/callback")
@open_to_anyone
async def come_back(request: Request, brought: Annotated[Brought, Depends(_brought)]) -> Response:
    """With a code, to the browser that was sent away, once."""
    oidc = _oidc(request)
    try:
        response = await _let_in(request, oidc, brought)
    except Unauthenticated as refused:
        response = page(request, "sign_in.html", status=401, why=refused.reason)
    response.delete_cookie(ON_THE_WAY, path="/login", httponly=True, samesite="lax")
    return response


async def _let_in(request: Request, oidc: OidcSignIn, brought: Brought) -> Response:
    challenge, back = _begun(_session(request), request.cookies.get(ON_THE_WAY, ""))
    if not secrets.compare_digest(challenge.state.encode(), brought.state.encode("utf-8", "surrogatepass")):
        raise Unauthenticated(LOST)
    if brought.error or not brought.code or brought.iss not in {"", oidc.issuer}:
        raise Unauthenticated("The issuer let nobody in. Sign in again, or ask whoever runs it.")
    claims = await oidc.claims(brought.code, challenge, _here(request))
    access = request.app.state.gate.preceptor.access
    return _with_session(request, await access.open_session_of(claims.subject, claims.org, claims.role), back)


@router.post("/logout")
@open_to_anyone
async def logout(request: Request) -> Response:
    if cookie := request.cookies.get(COOKIE):
        request.app.state.sessions.end(cookie)
    request.state.look = look_of(request, None)
    response = page(request, "sign_in.html", signed_out=True)
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")
    return response


def _with_session(request: Request, cookie: str, to: str) -> Response:
    response = RedirectResponse(to, 303)
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, max_age=SESSION_SECONDS, httponly=True, samesite="lax", secure=secure)
    return response


def _oidc(request: Request) -> OidcSignIn:
    found: OidcSignIn | None = request.app.state.oidc
    if found is None:
        raise NotFound("page", "/login/oidc")
    return found


def _session(request: Request) -> Session:
    return request.app.state.gate.preceptor.session


def _here(request: Request) -> str:
    return f"{str(request.base_url).rstrip('/')}/login/callback"


def _kept(session: Session, challenge: Challenge, back: str) -> str:
    ends = to_micros(session.world.now()) + MINUTES * 60_000_000
    body = urlsafe_b64encode(orjson.dumps([*challenge, back, ends])).decode()
    return f"{body}.{session.seal.sign(body.encode(), PURPOSE)}"


def _begun(session: Session, cookie: str) -> tuple[Challenge, str]:
    body, _, signature = cookie.rpartition(".")
    if not session.seal.verify(body.encode("utf-8", "surrogatepass"), signature, PURPOSE):
        raise Unauthenticated(LOST)
    state, nonce, proof, back, ends = orjson.loads(urlsafe_b64decode(body))
    if from_micros(ends) <= session.world.now():
        raise Unauthenticated(LOST)
    return Challenge(state, nonce, proof), back
