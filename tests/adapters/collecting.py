"""A real receiver of OTLP over HTTP: it decodes what arrives with the official messages."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector:
    endpoint: str = ""
    bodies: list[bytes] = field(default_factory=list[bytes])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    @property
    def requests(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(body) for body in self.bodies]

    @property
    def all_spans(self) -> list[Span]:
        resources = [resource for request in self.requests for resource in request.resource_spans]
        return [span for resource in resources for scope in resource.scope_spans for span in scope.spans]

    @property
    def spans(self) -> dict[str, Span]:
        """The last of each name."""
        return {span.name: span for span in self.all_spans}


@contextmanager
def collecting() -> Generator[Collector]:
    received = Collector()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert (self.path, self.headers["content-type"]) == ("/v1/traces", "application/x-protobuf")
            received.headers.append({name.lower(): value for name, value in self.headers.items()})
            received.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        received.endpoint = f"http://127.0.0.1:{server.server_port}/v1/traces"
        serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield received
        server.shutdown()
        serving.join()


def attributes(span: Span) -> dict[str, object]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value") for pair in span.attributes}
