from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from preceptor.adapters.observability.metrics import Metrics


def samples(metrics: Metrics) -> dict[str, float]:
    """What Prometheus would read: `name{label=value}` and its number, without the times of creation."""
    families = text_string_to_metric_families(metrics.render()[0].decode())
    return {
        sample.name + "".join(f" {label}={value}" for label, value in sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_requests_are_counted_by_status_and_timed_by_route():
    metrics = Metrics()
    metrics.request("GET", "/api/agents/{id}", 200, 0.02)
    metrics.request("GET", "/api/agents/{id}", 200, 0.2)
    metrics.request("GET", "/api/agents/{id}", 404, 0.002)
    seen = samples(metrics)
    assert seen["preceptor_http_requests_total method=GET route=/api/agents/{id} status=200"] == 2
    assert seen["preceptor_http_requests_total method=GET route=/api/agents/{id} status=404"] == 1
    assert seen["preceptor_http_request_seconds_count method=GET route=/api/agents/{id}"] == 3
    assert seen["preceptor_http_request_seconds_sum method=GET route=/api/agents/{id}"] == 0.222
    assert seen["preceptor_http_request_seconds_bucket le=0.025 method=GET route=/api/agents/{id}"] == 2


def test_methods_that_a_caller_made_up_share_one_name():
    metrics = Metrics()
    for number in range(100):
        metrics.request(f"MADE-UP-{number}", "/api/agents", 405, 0.001)
    assert {name for name in samples(metrics) if name.startswith("preceptor_http_requests_total")} == {
        "preceptor_http_requests_total method=other route=/api/agents status=405"
    }
    assert samples(metrics)["preceptor_http_requests_total method=other route=/api/agents status=405"] == 100


def test_a_group_commit_is_timed_and_its_writes_are_counted():
    metrics = Metrics()
    metrics.commit(1, 0.0004)
    metrics.commit(200, 0.03)
    seen = samples(metrics)
    assert seen["preceptor_commit_batch_size_sum"] == 201
    assert seen["preceptor_commit_batch_size_bucket le=1.0"] == 1
    assert seen["preceptor_commit_seconds_count"] == 2
    assert seen["preceptor_commit_seconds_bucket le=0.05"] == 2


def test_what_goes_wrong_is_counted_by_kind():
    metrics = Metrics()
    metrics.storage_error("busy")
    metrics.storage_error("busy")
    metrics.storage_error("disk_full")
    metrics.rate_limited("org")
    metrics.precondition_failed()
    metrics.fenced_write()
    seen = samples(metrics)
    assert seen["preceptor_storage_errors_total kind=busy"] == 2
    assert seen["preceptor_storage_errors_total kind=disk_full"] == 1
    assert seen["preceptor_rate_limited_total kind=org"] == 1
    assert seen["preceptor_preconditions_failed_total"] == 1
    assert seen["preceptor_fenced_writes_total"] == 1


def test_open_streams_go_up_and_down():
    metrics = Metrics()
    metrics.stream_opened()
    metrics.stream_opened()
    metrics.stream_closed()
    assert samples(metrics)["preceptor_streams_open"] == 1


def test_two_apps_in_one_process_count_apart_and_outside_the_shared_registry():
    one, other = Metrics(), Metrics()
    one.fenced_write()
    assert samples(one)["preceptor_fenced_writes_total"] == 1
    assert samples(other)["preceptor_fenced_writes_total"] == 0
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("preceptor")]


def test_the_content_type_is_the_one_every_prometheus_understands():
    assert Metrics().render()[1] == "text/plain; version=0.0.4; charset=utf-8"
