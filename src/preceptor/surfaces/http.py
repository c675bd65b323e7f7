"""The HTTP application of a server: a function of the Preceptor it serves."""

from starlette.exceptions import HTTPException

from preceptor.adapters.observability.metrics import Metrics
from preceptor.adapters.observability.tracing import Tracing
from preceptor.adapters.oidc import OidcVerifier
from preceptor.adapters.oidc_sign_in import OidcSignIn
from preceptor.app import Preceptor
from preceptor.settings import Auth, Settings
from preceptor.surfaces.application import Application, application
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
from preceptor.surfaces.rest.document import describe
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


def create_app(preceptor: Preceptor, metrics: Metrics | None = None, tracing: Tracing | None = None) -> Application:
    settings = preceptor.settings
    app = application(preceptor, ROUTERS, metrics, tracing, _oidc(settings), documented=True)
    app.state.sessions = Sessions()
    app.state.oidc = _sign_in(settings)
    app.add_exception_handler(HTTPException, unknown_path)
    app.openapi = lambda: describe(app)
    return app


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
