"""Two servers and two workers on one PostgreSQL, each in a process of its own, started as a person would."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
import yaml

from preceptor import Settings
from tests import warm
from tests.postgres import Cluster
from tests.requirements import covers
from tests.serving import clean, serving, working
from tests.surfaces.scaling import scaled_out

Json = dict[str, Any]
LAST = {"turn.completed", "turn.failed", "turn.cancelled", "execution.completed", "execution.failed"}


@pytest.fixture
def environment(postgres: Cluster, postgres_template: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    with scaled_out(postgres, postgres_template, tmp_path) as shared:
        yield shared


def begin(client: httpx2.Client, text: str) -> tuple[str, httpx2.Response]:
    """A background turn in a conversation of its own."""
    made = client.post("/api/conversations", json={"agentId": "assistant"}).json()["conversationId"]
    return made, say(client, made, text)


def say(client: httpx2.Client, conversation: str, text: str, **headers: str) -> httpx2.Response:
    body = {"content": text, "background": True}
    return client.post(f"/api/conversations/{conversation}/messages", json=body, headers=headers)


def followed(client: httpx2.Client, path: str) -> list[tuple[str, Json]]:
    """What is streamed there, until something ends."""
    events: list[tuple[str, Json]] = []
    with client.stream("GET", path, timeout=60) as stream:
        for line in stream.iter_lines():
            if line.startswith("event: "):
                events.append((line.removeprefix("event: "), {}))
            elif line.startswith("data: "):
                events[-1][1].update(json.loads(line.removeprefix("data: ")))
                if events[-1][0] in LAST:
                    return events
    raise AssertionError(f"the stream ended before anything did: {events}")


def workers_of(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('preceptor.org', '*', true)")
        return {worker for (worker,) in connection.execute("SELECT worker FROM turns WHERE status = 'completed'")}


@covers("R117", "R123")
def test_what_one_server_accepts_any_worker_carries_out_and_any_server_streams(
    environment: dict[str, str], tmp_path: Path
):
    with ExitStack() as opened:
        here, there = (
            opened.enter_context(opened.enter_context(serving(tmp_path / name, **environment)).client())
            for name in ("here", "there")
        )
        place, accepted = begin(here, "go first")
        assert (accepted.status_code, accepted.json()["status"]) == (202, "running")
        waits = here.post(f"/api/conversations/{place}/messages", json={"content": "And?"})
        assert (waits.status_code, waits.json()["code"]) == (409, "turn_in_progress")
        other, _ = begin(here, "go second")
        assert there.post(f"/api/conversations/{other}/cancel").json()["status"] == "cancelled"
        names = {opened.enter_context(working(tmp_path / name, **environment)).name for name in ("one", "other")}
        told = followed(there, f"/api/conversations/{place}/events")
        kinds = [kind for kind, _ in told]
        assert {"turn.accepted", "message.delta", "delegation.closed"} <= {*kinds}
        assert not [kind for kind in kinds if kind.startswith("tool.")], "the tools it calls are not here"
        assert (kinds[-1], told[-1][1]["ui"]["response"]) == ("turn.completed", "Done with first.")
        more = [begin((here, there)[number % 2], f"go short {number}")[0] for number in range(6)]
        for number, one in enumerate(more):
            last = followed((there, here)[number % 2], f"/api/conversations/{one}/events")[-1]
            assert (last[0], last[1]["ui"]["response"]) == ("turn.completed", f"Done with short {number}.")
        assert workers_of(environment["PRECEPTOR_DATABASE_URL"]) <= names
        talk = {"type": "agent.execute", "resource": {"type": "agent", "id": "assistant"}}
        steps = [{"index": 0, "name": "talk", "command": talk | {"data": {"userMessage": "go step"}}}]
        execution = here.post("/api/executions", json={"steps": steps}).json()["executionId"]
        assert followed(there, f"/api/executions/{execution}/events")[-1][0] == "execution.completed"


@covers("R117")
def test_a_message_that_is_sent_twice_for_the_background_is_accepted_twice_and_said_once(
    environment: dict[str, str], tmp_path: Path
):
    with serving(tmp_path / "server", **environment) as served, served.client() as client:
        assert "preceptor worker" in served.printed
        place = client.post("/api/conversations", json={"agentId": "assistant"}).json()["conversationId"]
        first, again = (say(client, place, "go short once", **{"Idempotency-Key": "one"}) for _ in range(2))
        assert (first.status_code, again.status_code) == (202, 202)
        assert first.json() == again.json()
        with working(tmp_path / "worker", **environment):
            assert followed(client, f"/api/conversations/{place}/events")[-1][0] == "turn.completed"


def composed() -> dict[str, Any]:
    """Our services of the compose file."""
    file = Path(__file__).parents[2] / "deploy" / "compose.scale-out.yaml"
    services = yaml.safe_load(file.read_text(encoding="utf-8"))["services"]
    return {name: one for name, one in services.items() if one["image"] == "preceptor"}


def test_the_compose_file_starts_commands_with_settings_that_there_are():
    ours = composed()
    assert {tuple(one["command"]) for one in ours.values()} == {("serve",), ("worker",)}
    known = {f"PRECEPTOR_{name.upper()}" for name in Settings.model_fields}
    for one in ours.values():
        assert one["environment"].keys() <= known
        assert one["environment"]["PRECEPTOR_RUNNER"] == "dbos"


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"PRECEPTOR_RUNNER": "inline"}, "no queues"), ({"PRECEPTOR_DATABASE_URL": "sqlite:////tmp/none/a.db"}, "SQLite")],
)
def test_a_worker_that_would_have_nothing_to_do_says_so(settings: dict[str, str], why: str, tmp_path: Path):
    environment = clean(tmp_path, **{"PRECEPTOR_RUNNER": "dbos", "PRECEPTOR_WORKER_PROT": "3004"} | settings)
    ran = warm.run(["worker"], tmp_path, environment)
    assert (ran.returncode, why in ran.stderr) == (1, True)
    assert "PRECEPTOR_WORKER_PROT is not a setting of Preceptor" in ran.stderr


def test_a_worker_without_the_secret_key_of_its_servers_says_so(tmp_path: Path):
    away = clean(tmp_path, PRECEPTOR_RUNNER="dbos", PRECEPTOR_DATABASE_URL="postgresql://me@127.0.0.1:9/x")
    said = [warm.run(["worker"], tmp_path, away | given).stderr for given in ({"PRECEPTOR_SECRET_KEY": "s" * 32}, {})]
    assert ["Give it the PRECEPTOR_SECRET_KEY of the servers." in one for one in said] == [False, True]


def test_a_worker_that_begins_first_leaves_the_admin_key_to_the_server(postgres: Cluster, tmp_path: Path):
    shared = {"PRECEPTOR_DATABASE_URL": postgres.new_database(), "PRECEPTOR_RUNNER": "dbos"}
    shared["PRECEPTOR_SECRET_KEY"] = "shared by both"
    with (
        working(tmp_path / "worker", **shared),
        serving(tmp_path / "server", **shared) as served,
        served.client() as client,
    ):
        assert f"shown here once, kept in {tmp_path / 'server' / 'admin.key'}" in served.printed
        assert client.get("/api/agents").status_code == 200
        assert list((tmp_path / "worker").iterdir()) == []
