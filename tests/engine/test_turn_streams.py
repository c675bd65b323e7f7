"""Streams of turns: who reads may leave at any word, come back, and has missed nothing."""

import asyncio
import json
import os
import random
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from preceptor import open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.models.scripted import CAN_DO_ALL
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.prompts.reply import Delta, Finish, Reply, Usage
from preceptor.engine.turn.stages.listen import pause_after
from preceptor.surfaces.http import create_app
from preceptor.testing import Say, ScriptedModel
from preceptor.wire.openai_chat import render
from tests.conftest import ADMIN_KEY, client_of
from tests.requirements import covers
from tests.talking import settings_in

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
WORDS = "one two three four five six seven eight nine ten"
AT_ONCE = 10


class Reader:
    """A client of the application who leaves when it has seen enough."""

    def __init__(self, app: FastAPI, method: str, path: str, body: bytes = b"", **headers: str) -> None:
        given = {"host": "127.0.0.1", "authorization": f"Bearer {ADMIN_KEY}", "accept": "text/event-stream"}
        given |= {"content-type": "application/json", "content-length": str(len(body))} if body else {}
        named = given | {name.replace("_", "-"): value for name, value in headers.items()}
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
            "scheme": "http",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "http_version": "1.1",
        }
        self.app = app
        self.seen = b""
        self._body = [body]
        self._more, self._gone = asyncio.Event(), asyncio.Event()

    async def read(self, enough: Callable[[bytes], bool]) -> list[bytes]:
        """The events until there are enough, or until the stream ends."""
        task = asyncio.create_task(self.app(self.scope, self._receive, self._send))
        async with asyncio.timeout(30):
            while not enough(self.seen) and not task.done():
                self._more.clear()
                more = asyncio.create_task(self._more.wait())
                await asyncio.wait({more, task}, return_when=asyncio.FIRST_COMPLETED)
                more.cancel()
            self._gone.set()
            await asyncio.wait({task})
        return [event for event in self.seen.split(b"\n\n") if event.startswith(b"id:")]

    def leave(self) -> None:
        self._gone.set()

    async def _receive(self) -> dict[str, Any]:
        if self._body:
            return {"type": "http.request", "body": self._body.pop(), "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.seen += message.get("body", b"")
        self._more.set()


def over(seen: bytes) -> bool:
    return b"event: turn.completed" in seen and seen.endswith(b"\n\n")


def after(count: int) -> Callable[[bytes], bool]:
    return lambda seen: seen.count(b"\nevent:") >= count


def seq(event: bytes) -> str:
    return event.splitlines()[0].decode().removeprefix("id: ")


@covers("F18")
async def test_readers_may_leave_at_any_event_and_come_back_to_the_very_same_bytes(tmp_path: Path):
    settings = settings_in(tmp_path)
    registry = ModelRegistry(settings)
    registry.add("local", ScriptedModel(lambda _: Say(WORDS, chunk=4)))
    chance = random.Random(18)
    async with open_preceptor(settings, models=registry) as preceptor, client_of(preceptor) as client:
        app = create_app(preceptor)

        async def leave_and_come_back(number: int, events: int) -> None:
            started = await client.post("/api/conversations", json={"agentId": "assistant"})
            place = f"/api/conversations/{started.json()['conversationId']}"
            body = json.dumps({"content": f"Count, {number}."}).encode()
            first = await Reader(app, "POST", f"{place}/messages", body).read(after(events))
            whole = await Reader(app, "GET", f"{place}/events").read(over)
            again = await Reader(app, "GET", f"{place}/events").read(over)
            assert whole == again
            turn = whole[whole.index(first[0]) :] if first else whole
            assert turn[: len(first)] == first
            last = chance.choice(turn)
            resumed = await Reader(app, "GET", f"{place}/events", last_event_id=seq(last)).read(
                lambda seen: over(seen) or last is turn[-1]
            )
            assert resumed == turn[turn.index(last) + 1 :]
            listed = (await client.get(f"{place}/messages")).json()["items"]
            assert [message["parts"][0]["text"] for message in listed] == [f"Count, {number}.", WORDS]

        for number in range(0, 10_000 if NIGHTLY else 200, AT_ONCE):
            leaving = [leave_and_come_back(number + one, chance.randint(0, 9)) for one in range(AT_ONCE)]
            await asyncio.gather(*leaving)


class Silent:
    """Says a word, more of them once that was heard, and then nothing until it is told to."""

    name = "silent"
    capabilities = CAN_DO_ALL

    def __init__(self) -> None:
        self.heard, self.go_on = asyncio.Event(), asyncio.Event()

    def render(self, prompt: Prompt, ask: Ask) -> Request:
        return render(prompt, ask)

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        yield Delta("One ")
        await self.heard.wait()
        for word in ("two ", "three."):
            yield Delta(word)
        await self.go_on.wait()
        yield Reply((Text("One two three."),), Finish.STOP, Usage(1, 3), self.name)


async def test_what_a_model_has_said_is_shown_also_when_it_falls_silent(tmp_path: Path):
    settings, model = settings_in(tmp_path), Silent()
    registry = ModelRegistry(settings)
    registry.add("local", model)
    async with open_preceptor(settings, models=registry) as preceptor:
        conversation = await preceptor.conversations.start(agent_id="assistant")
        taken = await preceptor.turns.begin(conversation.conversation_id, [Text("Go.")])
        said = ""
        async for batch in preceptor.conversations.follow(conversation.conversation_id):
            said += "".join(json.loads(event.payload or "")["text"] for event in batch if event.kind == "message.delta")
            if said == "One two three.":
                break
            if said:
                model.heard.set()
        model.go_on.set()
        assert (await preceptor.turns.settled(taken)).status == "completed"


@covers("L2")
def test_a_storage_that_takes_long_is_asked_less_often_but_a_reader_never_waits_longer_than_a_second():
    assert [pause_after(seconds) for seconds in (0.0, 0.001, 0.025, 0.1, 0.2, 30.0)] == [0.1, 0.1, 0.1, 0.4, 0.8, 1.0]
