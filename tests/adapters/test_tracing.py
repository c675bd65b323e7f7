import socket
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter

import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from preceptor.adapters.observability.logs import REDACTOR
from preceptor.adapters.observability.tracing import Tracing, no_tracing, open_tracing
from preceptor.domain.errors import Invalid
from tests.adapters.collecting import Collector, attributes, collecting
from tests.requirements import covers

TRACE_ID, PARENT_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as opened:
        yield opened


@contextmanager
def tracing_to(endpoint: str) -> Generator[Tracing]:
    tracing = open_tracing(endpoint, "preceptor-test")
    try:
        yield tracing
    finally:
        tracing.close()


def test_a_span_arrives_with_its_service_its_attributes_and_its_place_in_the_tree(collector: Collector):
    with (
        tracing_to(collector.endpoint) as tracing,
        tracing.span("turn", conversation="c1", nothing=None),
        tracing.span("model", attempt=2, streamed=True) as inner,
    ):
        inner.set("seconds", 0.5)
        inner.set("gen_ai.request.model", "scripted")
    turn, model = collector.spans["turn"], collector.spans["model"]
    assert attributes(turn) == {"conversation": "c1"}
    assert attributes(model) == {
        "attempt": 2,
        "streamed": True,
        "seconds": 0.5,
        "gen_ai.request.model": "scripted",
    }
    assert (model.trace_id, model.parent_span_id, turn.parent_span_id) == (turn.trace_id, turn.span_id, b"")
    assert turn.start_time_unix_nano <= model.start_time_unix_nano < model.end_time_unix_nano <= turn.end_time_unix_nano
    resource = collector.requests[0].resource_spans[0].resource
    assert ("service.name", "preceptor-test") in [(pair.key, pair.value.string_value) for pair in resource.attributes]


def test_a_callers_traceparent_is_taken_over(collector: Collector):
    header = f"00-{TRACE_ID}-{PARENT_ID}-01"
    with tracing_to(collector.endpoint) as tracing, tracing.span("request", parent=header), tracing.span("inside"):
        pass
    request, inside = collector.spans["request"], collector.spans["inside"]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE_ID, PARENT_ID)
    assert (inside.trace_id.hex(), inside.parent_span_id) == (TRACE_ID, request.span_id)


@pytest.mark.parametrize("header", [None, "", "nonsense", f"00-{'0' * 32}-{PARENT_ID}-01", "00-" + "a" * 9999])
def test_without_a_usable_traceparent_a_trace_begins_here(collector: Collector, header: str | None):
    with tracing_to(collector.endpoint) as tracing, tracing.span("request", parent=header):
        pass
    assert collector.spans["request"].parent_span_id == b""


def test_an_exception_is_recorded_by_its_type_and_not_by_what_it_says(collector: Collector):
    with tracing_to(collector.endpoint) as tracing, suppress(ZeroDivisionError), tracing.span("turn"):
        raise ZeroDivisionError("what a user wrote")
    turn = collector.spans["turn"]
    assert (turn.status.code, turn.status.message) == (Status.STATUS_CODE_ERROR, "ZeroDivisionError")
    assert [
        (event.name, [(pair.key, pair.value.string_value) for pair in event.attributes]) for event in turn.events
    ] == [("exception", [("exception.type", "ZeroDivisionError")])]
    assert b"what a user wrote" not in b"".join(collector.bodies)


@covers("S22")
def test_no_secret_and_nothing_that_people_wrote_leaves_in_a_span(collector: Collector):
    REDACTOR.hide("canary of the installation")
    url = "postgresql://u:canary-2@host/db"
    with tracing_to(collector.endpoint) as tracing, tracing.span("turn", api_key="canary-1", url=url) as span:
        span.set("header", "Authorization: Bearer canary-3")
        span.set("prompt", "canary-4")
        span.set("note", ["the canary of the installation"])
    assert b"canary" not in b"".join(collector.bodies)
    assert attributes(collector.spans["turn"])["url"] == "postgresql://u:***@host/db"


def test_our_spans_do_not_become_those_of_the_whole_process(collector: Collector):
    before = trace.get_tracer_provider()
    with tracing_to(collector.endpoint):
        assert trace.get_tracer_provider() is before


def test_closing_is_quiet_and_quick_when_no_collector_is_there():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    tracing = open_tracing(f"http://127.0.0.1:{port}/v1/traces")
    with tracing.span("turn"):
        pass
    began = perf_counter()
    tracing.close()
    tracing.close()
    assert perf_counter() - began < 5


def test_closing_takes_three_seconds_at_most_when_the_collector_never_answers():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        tracing = open_tracing(f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces")
        for _ in range(1500):
            with tracing.span("turn"):
                pass
        began = perf_counter()
        tracing.close()
        assert perf_counter() - began < 5


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(Invalid, match=r'pip install "preceptor\[otel\]"'):
        open_tracing("http://127.0.0.1:4318/v1/traces")


def test_opentelemetry_is_not_imported_until_tracing_is_opened():
    program = (
        "import sys; from preceptor.adapters.observability.tracing import no_tracing\n"
        "with no_tracing().span('turn'): sys.exit('opentelemetry' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_without_tracing_every_span_is_the_same_that_does_nothing():
    tracing = no_tracing()
    with tracing.span("turn", parent="00-x", conversation="c1") as span:
        span.set("seconds", 0.5)
    assert tracing.span("other") is span
    tracing.close()
