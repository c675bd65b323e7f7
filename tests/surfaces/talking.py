"""Conversations with a model that says what a test tells it to."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import orjson

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.models.scripted import Line
from preceptor.domain.ids import StreamId
from preceptor.domain.prompts.prompt import Prompt, Request
from preceptor.domain.prompts.reply import Delta, Reply
from preceptor.testing import Called, Say, ScriptedModel
from tests.conftest import client_of
from tests.rebuilding import every_call_is_rebuilt

Json = dict[str, Any]

DELEGATION: list[Line] = [
    Say(tool_calls=(Called("delegate_internal_reasoning", {"agent_prompt": "You are an analyst.", "reason": "sums"}),)),
    Say(text="thinking it over", tool_calls=(Called("calculator", {"expression": "2+2"}),)),
    Say(text="It is four.", tool_calls=(Called("return_control"),)),
    "The answer is 4.",
]
"""A turn in which a specialist works with a tool: eight messages, six of them intermediate."""


@dataclass
class Script:
    """What the model says next, and what it was shown."""

    lines: list[Line] = field(default_factory=list[Line])
    prompts: list[Prompt] = field(default_factory=list[Prompt])

    def __call__(self, prompt: Prompt) -> Line:
        self.prompts.append(prompt)
        if self.lines:
            return self.lines.pop(0)
        return f"answer {len(self.prompts)}"

    @property
    def shown(self) -> list[str]:
        """What the last prompt showed of the conversation."""
        return [said(one.message) for one in self.prompts[-1].shown]


class Interrupted(ScriptedModel):
    """A model that does something else before its next answer."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        if (other := self.meanwhile) is not None:
            self.meanwhile = None
            await other()
        async for piece in super().send(request, deadline):
            yield piece


def said(message: Any) -> str:
    calls = [f"{call.name}()" for call in message.tool_calls]
    return " ".join([message.text, *calls, *(result.content for result in message.tool_results)]).strip()


@dataclass(frozen=True)
class Talk:
    """One conversation over HTTP."""

    client: httpx2.AsyncClient
    preceptor: Preceptor
    script: Script
    model: Interrupted
    id: str

    @property
    def path(self) -> str:
        return f"/api/conversations/{self.id}"

    async def say(self, text: str, *lines: Line) -> Json:
        self.script.lines += lines
        answer = await self.client.post(f"{self.path}/messages", json={"content": text})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, what: str, body: Json | None = None, **headers: str) -> httpx2.Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(f"{self.path}/{what}", json=body, headers=sent)

    async def compact(self, **body: Any) -> Json:
        answer = await self.post("compact", body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def restore(self, view_id: str) -> Json:
        answer = await self.post(f"views/{view_id}/restore")
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def views(self) -> list[Json]:
        return (await self.client.get(f"{self.path}/views")).json()["items"]

    async def messages(self, view: str = "current") -> list[Json]:
        query = {"view": view, "audience": "system", "limit": 200}
        return (await self.client.get(f"{self.path}/messages", params=query)).json()["items"]

    async def texts(self, view: str = "current") -> list[str]:
        return [text_of(message) for message in await self.messages(view)]

    async def events(self) -> list[tuple[str, Json]]:
        """Every row of the conversation's log: its kind and what it says."""
        stream = StreamId(self.id)
        rows = await self.preceptor.session.read(lambda work: work.log.after(stream, 0, 10_000))
        return [(event.kind, orjson.loads(event.payload or "{}")) for event in rows]


def text_of(message: Json) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


@asynccontextmanager
async def talking(settings: Settings, **more: Any) -> AsyncGenerator[Talk]:
    script = Script()
    registry = ModelRegistry(settings)
    model = Interrupted(script, **more)
    registry.add("local", model)
    async with open_preceptor(settings, models=registry) as preceptor, client_of(preceptor) as client:
        await client.patch("/api/agents/assistant", json={"tools": ["calculator"]})
        made = await client.post("/api/conversations", json={"agentId": "assistant"})
        yield Talk(client, preceptor, script, model, made.json()["conversationId"])
        await every_call_is_rebuilt(preceptor)
