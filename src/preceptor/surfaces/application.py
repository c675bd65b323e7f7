"""What every request passes before a feature answers it, whichever features a process offers."""

from collections.abc import Iterable
from types import ModuleType

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from preceptor.adapters.observability.metrics import Metrics
from preceptor.adapters.observability.tracing import Tracing, no_tracing
from preceptor.adapters.oidc import OidcVerifier
from preceptor.app import Preceptor
from preceptor.settings import Settings
from preceptor.surfaces.auth import Gatekeeper
from preceptor.surfaces.front import Front, Receive, Scope, Send
from preceptor.surfaces.limits import Buckets, Limits
from preceptor.surfaces.rest import errors
from preceptor.surfaces.rest.dispatch import Dispatch
from preceptor.surfaces.rest.routing import Gate, Operation, WithoutPermission
from preceptor.surfaces.streams import Streams

API_VERSION = "1.0"
"""Of the contract, which changes less often than the program."""
DOCUMENT = "/openapi.json"


class Application(FastAPI):
    """FastAPI describes our operations, and answers where there is none. Requests for them do not go through it:

    `Front` → `Dispatch` → the operation.
    """

    front: Front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.front(scope, receive, send)

    async def answer_otherwise(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().__call__(scope, receive, send)


def application(
    preceptor: Preceptor,
    features: Iterable[ModuleType],
    metrics: Metrics | None = None,
    tracing: Tracing | None = None,
    oidc: OidcVerifier | None = None,
    *,
    documented: bool = False,
) -> Application:
    settings, metrics = preceptor.settings, metrics or Metrics()
    app = Application(
        title="Preceptor",
        version=API_VERSION,
        description="Decides what an agent is told, how it reasons and who sees what, and can prove it afterwards.",
        openapi_url=DOCUMENT if documented else None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.streams = Streams(metrics)
    app.state.gate = Gate(
        preceptor,
        Gatekeeper(preceptor, oidc),
        _limits(settings),
        settings.max_body_bytes,
        settings.max_attachment_bytes,
    )
    for feature in features:
        app.router.routes.extend(feature.router.routes)
    refuse_unguarded(app.routes)
    app.add_exception_handler(HTTPException, errors.routing)
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
        if not isinstance(route, Operation) and path != DOCUMENT:
            raise WithoutPermission(path)


def _limits(settings: Settings) -> Limits:
    return Limits(per_key=Buckets(settings.rate_limit_per_key), per_org=Buckets(settings.rate_limit_per_org))
