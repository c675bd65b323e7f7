import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from preceptor import Preceptor, Settings
from preceptor.testing import Called, Say
from tests.conftest import ADMIN_KEY
from tests.scenarios.reasoned import events_in
from tests.surfaces.helpers import app_of
from tests.surfaces.talking import talking
from tests.talking import settings_in


class Reader:
    """A client that follows a conversation and leaves when it has seen enough."""

    def __init__(self, app: FastAPI, path: str, headers: dict[str, str] | None = None) -> None:
        self.app = app
        given = {"host": "127.0.0.1", "authorization": f"Bearer {ADMIN_KEY}"} | (headers or {})
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "GET",
            "path": path,
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "scheme": "http",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "http_version": "1.1",
        }
        self.status = 0
        self.seen = b""
        self._more, self._gone = asyncio.Event(), asyncio.Event()

    def start(self) -> asyncio.Task[None]:
        return asyncio.create_task(self.app(self.scope, self._receive, self._send))

    async def until(self, enough: Callable[[bytes], bool]) -> None:
        async with asyncio.timeout(10):
            while not enough(self.seen):
                self._more.clear()
                await self._more.wait()

    def leave(self) -> None:
        self._gone.set()

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.seen += message.get("body", b"")
        self._more.set()


@pytest.fixture
async def path(client: httpx2.AsyncClient) -> str:
    started = await client.post("/api/conversations", json={"agentId": "assistant", "title": "first"})
    return f"/api/conversations/{started.json()['conversationId']}"


async def test_the_log_of_an_archived_conversation_is_read_by_who_asks_for_it_as_such(
    client: httpx2.AsyncClient, path: str
):
    await client.delete(path)
    reader = Reader(app_of(client), f"{path}/events")
    reader.scope["query_string"] = b"archived=true"
    task = reader.start()
    await reader.until(lambda seen: b"event: conversation.archived\n" in seen)
    reader.leave()
    await task


@pytest.mark.parametrize("way", ["header", "parameter"])
async def test_a_reader_who_has_seen_more_than_there_is_hears_of_all_that_is_new(
    client: httpx2.AsyncClient, path: str, way: str
):
    reader = Reader(app_of(client), f"{path}/events", {"last-event-id": "1000"} if way == "header" else None)
    reader.scope["query_string"] = b"after=1000" if way == "parameter" else b""
    task = reader.start()
    await reader.until(lambda seen: b": still here\n" in seen)
    await client.patch(path, json={"title": "second"})
    await reader.until(lambda seen: b"id: 2\nevent: conversation.changed\n" in seen)
    assert b"conversation.started" not in reader.seen
    reader.leave()
    await task


async def test_what_became_of_a_tool_is_told_of_a_tool_that_was_started_and_of_no_call_that_was_refused(tmp_path: Path):
    calls = {
        "sum": Called("calculator", {"expression": "2+2"}, id="sum"),
        "unknown": Called("calculatr", {}, id="unknown"),
        "malformed": Called("calculator", {}, id="malformed", malformed="{"),
        "too many": Called("return_control", {}, id="return"),
    }
    async with talking(settings_in(tmp_path)) as talk:
        talk.script.lines += [Say("", tuple(calls.values())), "Four."]
        sent = await talk.post("messages", {"content": "2+2?"}, Accept="text/event-stream")
        told = [(kind, data["toolCallId"]) for kind, data in events_in(sent.text) if kind.startswith("tool.")]
        assert told == [("tool.started", "sum"), ("tool.completed", "sum")]
        logged = [(kind, fact["toolCallId"]) for kind, fact in await talk.events() if kind.startswith("tool.")]
        assert logged == told
        parts = [part for message in await talk.messages() for part in message["parts"]]
        outcomes = {part["toolCallId"]: part["outcome"] for part in parts if part["type"] == "tool_result"}
        assert outcomes == {"sum": "ok", "unknown": "error", "malformed": "error", "return": "ok"}


async def test_a_message_that_begins_is_told_as_a_message_and_times_are_written_in_one_way(tmp_path: Path):
    async with talking(settings_in(tmp_path)) as talk:
        sent = await talk.post("messages", {"content": "Hi"}, Accept="text/event-stream")
        told = dict(events_in(sent.text))
        begun, whole = told["message.started"], told["message.completed"]
        assert set(whole) - set(begun) == {"agentId", "callId"}
        same = ("id", "turnId", "conversationId", "role", "kind", "instructions")
        assert [begun[name] for name in same] == [whole[name] for name in same]
        assert {one["at"][-1] + one.get("createdAt", "Z")[-1] for one in told.values()} == {"ZZ"}


async def open_streams(client: httpx2.AsyncClient) -> str:
    lines = (await client.get("/metrics")).text.splitlines()
    return next(line.rsplit(" ", 1)[1] for line in lines if line.startswith("preceptor_") and "streams" in line)


async def test_a_reader_sees_what_happened_and_what_happens_and_may_leave_at_any_time(
    client: httpx2.AsyncClient, path: str
):
    reader = Reader(app_of(client), f"{path}/events")
    task = reader.start()
    await reader.until(lambda seen: b"id: 1\nevent: conversation.started\n" in seen)
    assert await open_streams(client) == "1.0"
    await client.patch(path, json={"title": "second"})
    await reader.until(lambda seen: b"id: 2\nevent: conversation.changed\n" in seen)
    reader.leave()
    await task
    assert await open_streams(client) == "0.0"
    assert reader.status == 200


async def test_a_reader_resumes_after_the_last_event_it_saw(client: httpx2.AsyncClient, path: str):
    await client.patch(path, json={"title": "second"})
    reader = Reader(app_of(client), f"{path}/events", {"last-event-id": "1"})
    task = reader.start()
    await reader.until(lambda seen: b"id: 2\n" in seen)
    reader.leave()
    await task
    assert b"id: 1\n" not in reader.seen


async def test_when_the_server_stops_its_streams_end_and_new_requests_are_told(
    client: httpx2.AsyncClient, preceptor: Preceptor, path: str
):
    reader = Reader(app_of(client), f"{path}/events")
    task = reader.start()
    await reader.until(lambda seen: b"id: 1\n" in seen)
    app_of(client).state.streams.stopping.set()
    await task
    answer = await client.get(path)
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "shutting_down", "1")


ACCEPTS = {
    "*/*": False,
    "application/json": False,
    "{}": True,
    "application/json, {}": True,
    "application/json;q=0.5, {}": True,
    "application/json, {};q=0.5": False,
    "{};q=0.5, */*": False,
    "{};q=0.9, application/*;q=0.8, */*": True,
    "{};q=0": False,
    "*/*, {}; Q=0.0": False,
    "{};q=high": True,
}


@pytest.mark.parametrize(("accept", "wanted"), ACCEPTS.items())
async def test_an_answer_comes_as_the_kind_that_is_welcome_most(settings: Settings, accept: str, wanted: bool):
    async with talking(settings) as talk:
        talk.script.lines = ["Here."]
        headers = {"Accept": accept.format("text/event-stream")}
        said = await talk.client.post(f"{talk.path}/messages", json={"content": "Hello"}, headers=headers)
        assert said.headers["content-type"].startswith("text/event-stream") is wanted
        missing = await talk.client.get("/nowhere", headers={"Accept": accept.format("text/html")})
        assert missing.headers["content-type"].startswith("text/html") is wanted
