"""What is counted and timed, in the words of whoever counts; Prometheus is a detail of this file."""

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from preceptor.domain.turns.decisions import guard_status
from preceptor.domain.turns.turn import Turn
from preceptor.engine.means.hearing import Hearers
from preceptor.engine.means.traced import TurnTracer

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_COMMIT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_CALL_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class _ByKind(dict[str, Counter]):
    """One counter per kind, made when it is first asked for: `labels()` on every call would cost more than counting."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self._counter = counter

    def __missing__(self, kind: str) -> Counter:
        self[kind] = self._counter.labels(kind)
        return self[kind]


class Spending:
    """What model calls cost, in calls, seconds, tokens and money."""

    def __init__(self, here: CollectorRegistry) -> None:
        self._tokens = _ByKind(Counter("preceptor_tokens_total", "Tokens of model calls.", ("kind",), registry=here))
        self._cost = Counter("preceptor_cost_total", "What model calls cost, in the models' currency.", registry=here)
        calls = Counter(
            "preceptor_model_calls_total",
            "Model calls that ended: which model, and how.",
            ("model", "outcome"),
            registry=here,
        )
        call_seconds = Histogram(
            "preceptor_model_call_seconds",
            "How long model calls took.",
            ("model",),
            buckets=_CALL_SECONDS,
            registry=here,
        )
        self._calls, self._call_seconds = cache(calls.labels), cache(call_seconds.labels)

    def turn(self, turn: Turn) -> None:
        usage = turn.usage
        self._tokens["input"].inc(usage.input_tokens)
        self._tokens["output"].inc(usage.output_tokens)
        self._tokens["cached"].inc(usage.cached_tokens)
        self._cost.inc(usage.cost)
        for call_id, ended in turn.endings.items():
            model = turn.calls[call_id].model
            self._calls(model, ended.outcome.value).inc()
            self._call_seconds(model).observe(ended.milliseconds / 1000)


class Storing:
    """What becomes of writes."""

    def __init__(self, here: CollectorRegistry) -> None:
        self.commit_seconds = Histogram(
            "preceptor_commit_seconds", "One group commit.", buckets=_COMMIT_SECONDS, registry=here
        )
        self.commit_batch = Histogram(
            "preceptor_commit_batch_size", "Writes made durable by one commit.", buckets=_BATCH_SIZES, registry=here
        )
        self.errors = _ByKind(
            Counter("preceptor_storage_errors_total", "Storage let us down.", ("kind",), registry=here)
        )
        self.fenced = Counter(
            "preceptor_fenced_writes_total", "Writes refused: the writer had lost its lease.", registry=here
        )


class Metrics:
    """On a registry of its own, so that two apps in one process do not add up."""

    def __init__(self) -> None:
        self._registry = here = CollectorRegistry()
        self._requests = Counter(
            "preceptor_http_requests_total", "Requests answered.", ("method", "route", "status"), registry=here
        )
        self._request_seconds = Histogram(
            "preceptor_http_request_seconds",
            "How long requests took to answer.",
            ("method", "route"),
            buckets=_REQUEST_SECONDS,
            registry=here,
        )
        self._known_requests: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._storing = Storing(here)
        self._rate_limited = _ByKind(
            Counter("preceptor_rate_limited_total", "Requests turned away for now.", ("kind",), registry=here)
        )
        self._preconditions_failed = Counter(
            "preceptor_preconditions_failed_total", "Changes refused: made to an old version.", registry=here
        )
        turns = Counter(
            "preceptor_turns_total",
            "Turns that ended: how, whether they were judged, and where their plan led.",
            ("status", "guard", "action"),
            registry=here,
        )
        self._turns = cache(turns.labels)
        self._degraded_plans = Counter(
            "preceptor_degraded_plans_total", "Turns whose model made no plan.", registry=here
        )
        self._disagreements = Counter(
            "preceptor_plan_disagreements_total", "Plans whose model would have gone another way.", registry=here
        )
        self._spending = Spending(here)
        self._webhook_attempts = _ByKind(
            Counter("preceptor_webhook_attempts_total", "Messages posted to webhooks.", ("outcome",), registry=here)
        )
        self._streams_open = Gauge("preceptor_streams_open", "Event streams being read right now.", registry=here)

    def hearers(self, tracer: TurnTracer | None = None) -> Hearers:
        """Hearers that count; turns are traced by `tracer`."""
        return Hearers(self.commit, self.turn, lambda taken: self.webhook_attempt(taken=taken), tracer)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """`route` is the pattern (`/api/agents/{id}`), never the path: each new value is kept for ever."""
        key = (method, route, status)
        counter, histogram = self._known_requests.get(key) or self._meet(key)
        counter.inc()
        histogram.observe(seconds)

    def _meet(self, key: tuple[str, str, int]) -> tuple[Counter, Histogram]:
        method, route, status = key
        if method not in _METHODS:
            return self._counted("other", route, status)
        return self._known_requests.setdefault(key, self._counted(method, route, status))

    def _counted(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        return self._requests.labels(method, route, status), self._request_seconds.labels(method, route)

    def commit(self, batch: int, seconds: float) -> None:
        self._storing.commit_batch.observe(batch)
        self._storing.commit_seconds.observe(seconds)

    def storage_error(self, kind: str) -> None:
        self._storing.errors[kind].inc()

    def rate_limited(self, kind: str) -> None:
        self._rate_limited[kind].inc()

    def precondition_failed(self) -> None:
        self._preconditions_failed.inc()

    def fenced_write(self) -> None:
        self._storing.fenced.inc()

    def turn(self, turn: Turn) -> None:
        """A turn that has ended."""
        planned, status = turn.planned, "" if turn.ended is None else turn.ended.status.value
        action = "none" if planned is None else planned.action.value
        self._turns(status, guard_status(turn).value, action).inc()
        if planned is not None:
            self._degraded_plans.inc(planned.plan.degraded)
            self._disagreements.inc(bool(planned.record.get("disagrees")))
        self._spending.turn(turn)

    def webhook_attempt(self, *, taken: bool) -> None:
        self._webhook_attempts["taken" if taken else "failed"].inc()

    def stream_opened(self) -> None:
        self._streams_open.inc()

    def stream_closed(self) -> None:
        self._streams_open.dec()

    def render(self) -> tuple[bytes, str]:
        """The body for Prometheus and its content type."""
        return generate_latest(self._registry), CONTENT_TYPE_PLAIN_0_0_4
