"""The HTTP application: a function of the Preceptor it serves."""

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from preceptor.adapters.observability.metrics import Metrics
from preceptor.adapters.observability.tracing import Tracing, no_tracing
from preceptor.adapters.oidc import OidcVerifier
from preceptor.adapters.oidc_sign_in import OidcSignIn
from preceptor.app import Preceptor
from preceptor.settings import Auth, Settings
from preceptor.surfaces.auth import Gatekeeper
from preceptor.surfaces.front import Front, Receive, Scope, Send
from preceptor.surfaces.limits import Buckets, Limits
from preceptor.surfaces.mcp import http as mcp
from preceptor.surfaces.openai import chat, responses
from preceptor.surfaces.rest import (
    agents,
    assignments,
    attachments,
    bundles,
    conversations,
    erasing,
    executions,
    experiments,
    health,
    impact,
    imports,
    instructions,
    keys,
    mcp_servers,
    messages,
    orgs,
    outcomes,
    providers,
    reasoning,
    replays,
    sign_in,
    turns,
    users,
    views,
    webhooks,
)
from preceptor.surfaces.rest.dispatch import Dispatch
from preceptor.surfaces.rest.document import describe
from preceptor.surfaces.rest.routing import Gate, Operation, WithoutPermission
from preceptor.surfaces.streams import Streams
from preceptor.surfaces.web import assets
from preceptor.surfaces.web.failures import unknown_path
from preceptor.surfaces.web.library import LIBRARY_PAGES
from preceptor.surfaces.web.routes import contexts as context_pages
from preceptor.surfaces.web.routes import conversations as conversation_pages
from preceptor.surfaces.web.routes import settings as settings_pages
from preceptor.surfaces.web.routes import signing_in
from preceptor.surfaces.web.routes import start as start_pages
from preceptor.surfaces.web.sessions import Sessions
from preceptor.surfaces.web.work import WORK_PAGES

ROUTERS = (
    health,
    sign_in,
    orgs,
    users,
    keys,
    impact,
    bundles,
    experiments,
    instructions,
    agents,
    providers,
    mcp_servers,
    webhooks,
    assignments,
    imports,
    conversations,
    messages,
    outcomes,
    turns,
    reasoning,
    views,
    erasing,
    attachments,
    executions,
    replays,
    chat,
    responses,
    mcp,
    assets,
    signing_in,
    start_pages,
    conversation_pages,
    context_pages,
    *LIBRARY_PAGES,
    *WORK_PAGES,
    settings_pages,
)
API_VERSION = "1.0"
"""Of the contract, which changes less often than the program."""
OWN_PATHS = frozenset({"/openapi.json"})


class Application(FastAPI):
    """FastAPI describes our operations, and answers where there is none. Requests for them do not go through it:

    `Front` → `Dispatch` → the operation.
    """

    front: Front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.front(scope, receive, send)

    async def answer_otherwise(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().__call__(scope, receive, send)


def create_app(preceptor: Preceptor, metrics: Metrics | None = None, tracing: Tracing | None = None) -> Application:
    settings = preceptor.settings
    app = Application(
        title="Preceptor",
        version=API_VERSION,
        description="Decides what an agent is told, how it reasons and who sees what, and can prove it afterwards.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    metrics = metrics or Metrics()
    app.state.streams = Streams(metrics)
    app.state.sessions = Sessions()
    app.state.oidc = _sign_in(settings)
    app.state.gate = Gate(
        preceptor,
        Gatekeeper(preceptor, _oidc(settings)),
        _limits(settings),
        settings.max_body_bytes,
        settings.max_attachment_bytes,
    )
    for feature in ROUTERS:
        app.router.routes.extend(feature.router.routes)
    refuse_unguarded(app.routes)
    app.add_exception_handler(HTTPException, unknown_path)
    app.openapi = lambda: describe(app)
    operations = [route for route in app.routes if isinstance(route, Operation)]
    app.front = Front(
        app=Dispatch(app.answer_otherwise, app, operations, metrics),
        allowed_hosts=frozenset(host.strip("[]").lower() for host in settings.allowed_hosts),
        metrics=metrics,
        tracing=tracing or no_tracing(),
        streams=app.state.streams,
        access_log=settings.access_log,
    )
    return app


def refuse_unguarded(routes: list[BaseRoute]) -> None:
    """Deny by default: a route that is not an `Operation` could have slipped past the permission check."""
    for route in routes:
        path = getattr(route, "path", str(route))
        if not isinstance(route, Operation) and path not in OWN_PATHS:
            raise WithoutPermission(path)


def _limits(settings: Settings) -> Limits:
    return Limits(per_key=Buckets(settings.rate_limit_per_key), per_org=Buckets(settings.rate_limit_per_org))


def _oidc(settings: Settings) -> OidcVerifier | None:
    if settings.auth is not Auth.OIDC or not (settings.oidc_issuer and settings.oidc_audience):
        return None
    return OidcVerifier(settings.oidc_issuer, settings.oidc_audience)


def _sign_in(settings: Settings) -> OidcSignIn | None:
    if settings.auth is not Auth.OIDC or not (settings.oidc_issuer and settings.oidc_audience):
        return None
    client = settings.oidc_client_id or settings.oidc_audience
    secret = settings.oidc_client_secret.get_secret_value() if settings.oidc_client_secret else None
    verifier = OidcVerifier(settings.oidc_issuer, client)
    return OidcSignIn(settings.oidc_issuer, client, verifier, secret, settings.oidc_scope)
