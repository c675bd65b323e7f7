"""A worker with a port, asked over real sockets by whoever looks after it."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests import warm
from tests.postgres import Cluster
from tests.serving import clean, serving, working
from tests.surfaces.scaling import scaled_out

PATIENCE = 30.0
COMPOSE = Path(__file__).parents[2] / "deploy" / "compose.scale-out.yaml"


@pytest.fixture
def environment(postgres: Cluster, postgres_template: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    with scaled_out(postgres, postgres_template, tmp_path) as shared:
        yield shared | {"PRECEPTOR_WORKER_PORT": "0"}


def ready(client: httpx2.Client, wanted: int) -> dict[str, bool]:
    """What is right and what is not, once readiness is answered with this status."""
    deadline = time.monotonic() + PATIENCE
    while (answer := client.get("/readyz", timeout=10)).status_code != wanted:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.05)
    assert answer.json()["ready"] == (wanted == 200)
    return {check["name"]: check["ok"] for check in answer.json()["checks"]}


def turns(client: httpx2.Client) -> float:
    """How many turns were completed, as Prometheus is told."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    samples = [one for family in families for one in family.samples if one.name == "preceptor_turns_total"]
    return sum(one.value for one in samples if one.labels["status"] == "completed")


def test_a_worker_says_that_it_is_well_and_what_it_did_and_nothing_else(environment: dict[str, str], tmp_path: Path):
    with (
        working(tmp_path / "worker", **environment) as worker,
        worker.client() as asking,
        serving(tmp_path / "server", **environment) as served,
        served.client() as client,
    ):
        assert ready(asking, 200) == {"database": True, "disk": True, "queues": True}
        assert {check["name"] for check in client.get("/readyz").json()["checks"]} == {"database", "disk"}
        assert asking.get("/healthz").json() == {"status": "ok"}
        place = client.post("/api/conversations", json={"agentId": "assistant"}).json()["conversationId"]
        client.post(f"/api/conversations/{place}/messages", json={"content": "go short", "background": True})
        deadline = time.monotonic() + PATIENCE
        while turns(asking) != 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert turns(client) == 0
        for path in ("/", "/login", "/openapi.json", "/api/agents", "/v1/models", "/mcp"):
            refused = asking.get(path, headers={"Authorization": f"Bearer {served.admin_key}"})
            assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
        assert asking.post("/healthz").status_code == 405
        for path in ("/healthz", "/readyz", "/metrics"):
            stranger = asking.get(path, headers={"Host": "evil.example"})
            assert (stranger.status_code, stranger.json()["code"]) == (400, "wrong_host")
            assert "default-src 'none'" in asking.get(path).headers["content-security-policy"]
        worker.process.terminate()
        assert worker.process.wait(timeout=10) == 0
        with pytest.raises(httpx2.TransportError):
            asking.get("/healthz")


def test_a_worker_whose_queues_or_database_do_not_answer_is_alive_and_not_ready(
    environment: dict[str, str], postgres: Cluster, tmp_path: Path
):
    url = environment["PRECEPTOR_DATABASE_URL"]
    with working(tmp_path / "worker", **environment) as worker, worker.client() as asking:
        ready(asking, 200)
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE dbos.queues IN ACCESS EXCLUSIVE MODE")
            assert ready(asking, 503) == {"database": True, "disk": True, "queues": False}
            assert asking.get("/healthz").json() == {"status": "ok"}
        ready(asking, 200)
        postgres.drop(url)
        assert ready(asking, 503)["database"] is False
        assert asking.get("/healthz").json() == {"status": "ok"}
        worker.process.kill()  # told to stop, it would wait for the database for a while
        worker.process.wait()


def test_a_port_that_is_taken_is_said_in_one_sentence_before_anything_is_opened(
    environment: dict[str, str], tmp_path: Path
):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        nowhere = environment | {"PRECEPTOR_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"}
        ran = warm.run(["worker", "--port", port], tmp_path, clean(tmp_path, **nowhere))
    assert (ran.returncode, ran.stdout) == (1, "")
    [line] = ran.stderr.splitlines()
    said = f"Port {port} of 127.0.0.1 is in use by another program. Stop that one, or choose another"
    assert line == f"error: {said} PRECEPTOR_WORKER_PORT."


def test_the_compose_file_asks_each_worker_in_a_way_that_a_worker_answers(environment: dict[str, str], tmp_path: Path):
    composed: Any = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]["worker"]
    word, python, *arguments = composed["healthcheck"]["test"]
    assert (word, python) == ("CMD", "python")
    with working(tmp_path / "worker", **environment) as worker, worker.client() as asking:
        ready(asking, 200)
        asked_at = composed["environment"] | {"PRECEPTOR_WORKER_PORT": str(asking.base_url.port)}
        found = subprocess.run(
            [sys.executable, *arguments], env={name: str(value) for name, value in asked_at.items()}, check=False
        )
        assert found.returncode == 0, json.dumps(composed)
