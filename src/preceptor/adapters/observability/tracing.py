"""Spans for whoever runs a collector; without one they cost next to nothing.

OpenTelemetry is imported only by `open_tracing`: it is the extra `otel`.
"""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import msgspec

from preceptor.adapters.observability.logs import REDACTOR
from preceptor.domain.errors import Invalid
from preceptor.engine.means.traced import TracedTurn, TurnTracer
from preceptor.wire.genai import spans_of

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import Tracer

Attribute = str | bool | int | float | Sequence[str] | None
"""`None` says nothing: the attribute is left out."""

_SECONDS_TO_CLOSE: Final = 3.0
_SECONDS_TO_EXPORT: Final = 2.0


class Span(Protocol):
    def set(self, key: str, value: Attribute, /) -> None: ...


class Tracing(Protocol):
    def span(self, name: str, /, *, parent: str | None = None, **attributes: Attribute) -> AbstractContextManager[Span]:
        """Time what happens inside. `parent` is a caller's `traceparent` header; a broken one is as good as none."""
        ...

    @property
    def tracer(self) -> TurnTracer | None:
        """Who is handed the spans of turns; none where nobody looks at them."""
        ...

    def close(self) -> None:
        """Hand over what is left, within 3 seconds, whether or not anyone takes it."""
        ...


class _NoSpan:
    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set(self, *_: object) -> None:
        return None


class _NoTracing:
    __slots__ = ()
    tracer = None

    def span(self, *_: object, **__: object) -> _NoSpan:
        return _NO_SPAN

    def close(self) -> None:
        return None


_NO_SPAN: Final = _NoSpan()
_NO_TRACING: Final = _NoTracing()


def no_tracing() -> Tracing:
    return _NO_TRACING


def open_tracing(
    endpoint: str, service_name: str = "preceptor", *, headers: dict[str, str] | None = None, content: bool = False
) -> Tracing:
    """Send spans to an OTLP collector, such as `http://127.0.0.1:4318/v1/traces`, in batches and from a thread."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        raise Invalid('Tracing needs more than is installed. Run `pip install "preceptor[otel]"`.') from missing
    exporter = OTLPSpanExporter(endpoint, headers=headers or None, timeout=_SECONDS_TO_EXPORT)
    provider = TracerProvider(resource=Resource.create({"service.name": service_name}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return _Exported(provider.get_tracer("preceptor"), provider, exporter, content)


class _ExportedSpan(msgspec.Struct, frozen=True):
    span: "OtelSpan"

    def set(self, key: str, value: Attribute, /) -> None:
        self.span.set_attributes(_shown({key: value}))


class _Exported(msgspec.Struct, frozen=True):
    spans: "Tracer"
    provider: "TracerProvider"
    exporter: "SpanExporter"
    content: bool

    @property
    def tracer(self) -> TurnTracer:
        return ExportedTurns(self.spans, self.content)

    @contextmanager
    def span(self, name: str, /, *, parent: str | None = None, **attributes: Attribute) -> Generator[Span]:
        with self.spans.start_as_current_span(
            name,
            context=_remote(parent) if parent else None,
            attributes=_shown(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield _ExportedSpan(span)
            except BaseException as error:
                _mark_failed(span, error)
                raise

    def close(self) -> None:
        closing = Thread(target=self._hand_over, name="close-tracing", daemon=True)
        closing.start()
        closing.join(_SECONDS_TO_CLOSE)
        if closing.is_alive():
            # Wakes the exporter from waiting for its next attempt.
            with suppress(Exception):
                self.exporter.shutdown()

    def _hand_over(self) -> None:
        with suppress(Exception):
            self.provider.shutdown()


class ExportedTurns(msgspec.Struct, frozen=True):
    """Hands over the spans of turns that have ended, below the request that asked for them if that was here."""

    spans: "Tracer"
    content: bool

    def turn(self, traced: TracedTurn) -> None:
        from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context

        above: dict[str | None, Any] = {None: None}
        for record in spans_of(traced.turn_id, traced.conversation_id, traced.events, traced.prompts):
            span = self.spans.start_span(
                record.name,
                context=above[record.parent],
                kind=SpanKind.CLIENT if record.client else SpanKind.INTERNAL,
                attributes=_shown(record.attributes),
                start_time=record.start * 1000,
            )
            if record.error is not None:
                span.set_attribute("error.type", record.error)
                span.set_status(StatusCode.ERROR, record.error)
            above[record.key] = set_span_in_context(span)
            span.end(record.end * 1000)


def _shown(attributes: dict[str, Attribute]) -> dict[str, Any]:
    """What may leave the process: no secrets, and the length of what people wrote instead of their words."""
    return REDACTOR.fields({key: value for key, value in attributes.items() if value is not None})


def _remote(traceparent: str) -> "Context":
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})


def _mark_failed(span: "OtelSpan", error: BaseException) -> None:
    """By the kind of error only: its message may quote a user."""
    from opentelemetry.trace import StatusCode

    kind = type(error).__name__
    span.add_event("exception", {"exception.type": kind})
    span.set_status(StatusCode.ERROR, kind)
