"""/login, /logout: a one-time link becomes a session."""

from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from preceptor.domain.errors import Unauthenticated
from preceptor.surfaces.rest.routing import open_to_anyone
from preceptor.surfaces.web.pages import COOKIE, Pages, signed_in
from preceptor.surfaces.web.rendering import look_of, page
from preceptor.surfaces.web.sessions import SESSION_SECONDS

router = Pages()


@router.get("/")
@open_to_anyone
async def home(request: Request) -> Response:
    if await signed_in(request) is None:
        raise Unauthenticated
    return RedirectResponse("/conversations", 303)


@router.get("/login")
@open_to_anyone
async def login(request: Request, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Redeem a one-time link. Opening it again shows how to get another."""
    if not token and await signed_in(request) is not None:
        return RedirectResponse("/", 303)
    cookie = await request.app.state.gate.preceptor.access.open_session(token)
    response = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, max_age=SESSION_SECONDS, httponly=True, samesite="lax", secure=secure)
    return response


@router.post("/logout")
@open_to_anyone
async def logout(request: Request) -> Response:
    if cookie := request.cookies.get(COOKIE):
        request.app.state.sessions.end(cookie)
    request.state.look = look_of(request, None)
    response = page(request, "sign_in.html", signed_out=True)
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")
    return response
