"""Messages that wait at a real server: who hangs up is not answered, and a server that stops lets nobody hang."""

import signal
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.requirements import covers
from tests.serving import Served, serving
from tests.web.provider import Provider, providing

SOON = 0.5
"""Seconds that a client is willing to wait."""


@contextmanager
def answering(folder: Path) -> Generator[tuple[Served, Provider, str]]:
    """A server, and a conversation in which a message is being answered until the provider's gate opens."""
    with providing() as provider, provider.holding():
        environment = {"PRECEPTOR_MODEL_URL": provider.url, "PRECEPTOR_SGR_ENABLED": "false"}
        with serving(folder, **environment) as served, served.client() as client:
            place = client.post("/api/conversations", json={"agentId": "assistant"}).json()["conversationId"]
            path = f"/api/conversations/{place}/messages"
            assert client.post(path, json={"content": "¿wait", "background": True}).status_code == 202
            assert provider.reached.wait(20)
            yield served, provider, path


def asked(client: httpx2.Client, path: str) -> list[str]:
    return [one["parts"][0]["text"] for one in client.get(path).json()["items"] if one["role"] == "user"]


@covers("F18")
def test_a_client_that_hangs_up_while_its_message_waits_is_forgotten(tmp_path: Path):
    with answering(tmp_path) as (served, provider, path), served.client() as client:
        for accept in ("application/json", "text/event-stream"):
            with served.client() as leaving, pytest.raises(httpx2.ReadTimeout):
                said = {"content": "¿Gone.", "queue": True}
                leaving.post(path, json=said, headers={"Accept": accept}, timeout=SOON)
        with ThreadPoolExecutor() as pool:
            later = pool.submit(client.post, path, json={"content": "¿Later.", "queue": True}, timeout=30)
            provider.gate.set()
            assert later.result().status_code == 200
        assert asked(client, path) == ["¿wait", "¿Later."]


@covers("F20")
def test_a_server_that_stops_tells_those_who_wait_and_keeps_nothing_of_their_messages(tmp_path: Path):
    with answering(tmp_path) as (served, _, path), served.client() as client, ThreadPoolExecutor() as pool:
        waiting = pool.submit(client.post, path, json={"content": "¿Not now.", "queue": True}, timeout=30)
        with served.client() as leaving, pytest.raises(httpx2.ReadTimeout):
            leaving.post(path, json={"content": "¿Behind it.", "queue": True}, timeout=SOON)
        served.process.send_signal(signal.SIGTERM)
        told = waiting.result()
        assert (told.status_code, told.json()["code"]) == (503, "shutting_down")
        served.process.wait(5)
    with serving(tmp_path) as served, served.client() as client:
        assert asked(client, path) == ["¿wait"]
