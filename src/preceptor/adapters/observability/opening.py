"""Tracing as the settings want it."""

from preceptor.adapters.egress import NotAllowedOut, door_to
from preceptor.adapters.observability.logs import REDACTOR
from preceptor.adapters.observability.tracing import Tracing, no_tracing, open_tracing
from preceptor.domain.errors import CannotStart
from preceptor.settings import Settings


def tracing_of(settings: Settings) -> Tracing:
    if settings.otel_endpoint is None:
        return no_tracing()
    headers = _headers(settings)
    try:
        door_to(settings.otel_endpoint)
    except NotAllowedOut as error:
        raise CannotStart(f"PRECEPTOR_OTEL_ENDPOINT is not usable: {error}") from None
    return open_tracing(
        settings.otel_endpoint, settings.otel_service_name, headers=headers, content=settings.otel_content
    )


def _headers(settings: Settings) -> dict[str, str]:
    """What a collector wants to see with every request, such as a key. None of it is ever logged."""
    written = "" if settings.otel_headers is None else settings.otel_headers.get_secret_value()
    headers: dict[str, str] = {}
    for pair in filter(None, (one.strip() for one in written.split(","))):
        name, found, value = pair.partition("=")
        if not (found and name.strip().isascii() and value.strip().isascii() and name.strip().isprintable()):
            raise CannotStart("PRECEPTOR_OTEL_HEADERS is not usable: write it as name=value,name=value.")
        headers[name.strip().lower()] = value.strip()
        REDACTOR.hide(value.strip())
    return headers
