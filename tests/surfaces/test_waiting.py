"""Messages that wait at a real server: who hangs up is not answered, and a server that stops lets nobody hang."""

import asyncio
import signal
import time
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from fastapi import Request

from preceptor.adapters.observability.metrics import Metrics
from preceptor.domain.errors import ShuttingDown
from preceptor.engine.turns import Taken
from preceptor.surfaces.rest.answering import begun
from preceptor.surfaces.streams import Left, Streams
from tests.requirements import covers
from tests.serving import Served, serving
from tests.surfaces.terminal import PATIENCE, at_terminal
from tests.web.provider import Provider, providing

SOON = 0.5
"""Seconds that a client is willing to wait."""
LOOKED = 'preceptor_http_requests_total{method="GET",route="/api/conversations/{conversation_id}",status="200"}'


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
        said, once = {"content": "¿Not now.", "queue": True}, {"Idempotency-Key": "once"}
        twice = [pool.submit(client.post, path, json=said, headers=once, timeout=30) for _ in range(2)]
        [refused], [waiting] = wait(twice, return_when=FIRST_COMPLETED)  # the second is told that the first waits
        assert refused.result().json()["code"] == "idempotency_in_progress"
        with served.client() as leaving, pytest.raises(httpx2.ReadTimeout):
            leaving.post(path, json={"content": "¿Behind it.", "queue": True}, timeout=SOON)
        served.process.send_signal(signal.SIGTERM)
        told = waiting.result()
        assert (told.status_code, told.json()["code"]) == (503, "shutting_down")
        served.process.wait(5)
    with serving(tmp_path) as served, served.client() as client:
        assert asked(client, path) == ["¿wait"]


@covers("F20")
def test_who_waits_for_an_answer_when_the_server_stops_is_told_so_and_has_it_when_it_is_back(tmp_path: Path):
    with answering(tmp_path) as (served, provider, _), ThreadPoolExecutor() as pool:
        said, once = {"content": "¿wait still"}, {"Idempotency-Key": "once"}
        with served.client() as client:
            place = client.post("/api/conversations", json={"agentId": "assistant"}).json()["conversationId"]
            path = f"/api/conversations/{place}/messages"
            waiting = pool.submit(client.post, path, json=said, headers=once, timeout=30)
            until = time.monotonic() + PATIENCE
            while not asked(client, path):
                assert time.monotonic() < until
            served.process.send_signal(signal.SIGTERM)
            told = waiting.result()
        assert told.status_code == 503, told.text
        assert (told.status_code, told.json()["code"], told.headers["Retry-After"]) == (503, "shutting_down", "1")
        assert served.process.wait(5) == 0
        assert "Traceback" not in served.log.read_text(encoding="utf-8")
        provider.gate.set()
        model = {"PRECEPTOR_MODEL_URL": provider.url, "PRECEPTOR_SGR_ENABLED": "false"}
        with serving(tmp_path, **model) as again, again.client() as client:
            answer, until = client.post(path, json=said, headers=once, timeout=30), time.monotonic() + PATIENCE
            while answer.status_code == 409 and time.monotonic() < until:  # it goes on, and has not ended yet
                assert answer.json()["code"] == "idempotency_in_progress"
                answer = client.post(path, json=said, headers=once, timeout=30)
            assert (answer.status_code, answer.json()["status"]) == (200, "completed")
            assert asked(client, path) == ["¿wait still"]


def test_a_terminal_is_told_how_to_wait_and_then_waits(tmp_path: Path):
    with answering(tmp_path) as (served, provider, path), served.client() as client:
        chat = ("chat", "¿Later.", "--conversation", path.split("/")[3])
        with at_terminal(tmp_path, *chat) as terminal:
            terminal.until("With --queue it waits.")
            assert terminal.ended() == 1
        with at_terminal(tmp_path, *chat, "--queue") as terminal:
            until_it_waits(client, path, 2)
            provider.gate.set()
            assert terminal.ended() == 0
        assert asked(client, path) == ["¿wait", "¿Later."]


def test_who_stops_waiting_at_a_terminal_stops_nothing_else(tmp_path: Path):
    with answering(tmp_path) as (served, provider, path), served.client() as client:
        with at_terminal(tmp_path, "chat", "¿Mine.", "--conversation", path.split("/")[3], "--queue") as terminal:
            until_it_waits(client, path, 1)
            terminal.interrupt()
            terminal.until("it was not said")
            assert terminal.ended() == 1
        provider.gate.set()
        after = client.post(path, json={"content": "¿After.", "queue": True}, timeout=30).json()
        assert after["status"] == "completed"
        roles = [one["role"] for one in client.get(path).json()["items"]]
        assert (asked(client, path), roles) == (["¿wait", "¿After."], ["user", "assistant"] * 2)


def until_it_waits(client: httpx2.Client, path: str, terminals: int) -> None:
    """Until so many have looked for their conversation, as they do before they speak, and someone waited behind."""
    deadline = time.monotonic() + PATIENCE
    while f"{LOOKED} {terminals}.0" not in client.get("/metrics").text:
        assert time.monotonic() < deadline
    with pytest.raises(httpx2.ReadTimeout):
        client.post(path, json={"content": "¿Behind it.", "queue": True}, timeout=SOON)


async def test_who_leaves_while_the_server_stops_keeps_nobody_else_from_being_told():
    streams = Streams(Metrics())
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    async def never() -> dict[str, str]:
        await asyncio.Event().wait()
        raise AssertionError

    def stop() -> None:
        assert leaving.expired()
        streams.stopping.set()
        over.set()

    asked = [asyncio.create_task(streams.while_wanted(never, never())) for _ in range(2)]
    await asyncio.sleep(0)
    leaving = next(iter(streams.stopping.waits))
    leaving.reschedule(0)
    loop.call_soon(stop)
    await over.wait()
    told = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 5)
    assert all(isinstance(one, ShuttingDown | Left) for one in told), told


async def test_who_has_left_before_their_message_could_wait_has_not_said_it():
    async def gone() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def never() -> Taken:
        raise AssertionError

    with pytest.raises(Left):
        await begun(Request({"type": "http"}, gone), never(), queue=True)
