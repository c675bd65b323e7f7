"""Turns that are judged and planned, through HTTP, with everything that became of them."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from preceptor import Hearers, Preceptor, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.models.scripted import Script
from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.reasoning.plan import TOOL_NAME
from preceptor.domain.turns.turn import Turn
from preceptor.engine.contexts import context_of, rebuilt
from preceptor.engine.ports import Guardian
from preceptor.engine.repositories.work import Work
from preceptor.testing import Called, FixedGuardian, Say, ScriptedModel
from tests.conftest import client_of, new_sqlite
from tests.rebuilding import every_call_is_rebuilt
from tests.talking import settings_in

Json = dict[str, Any]
PLAN: Json = {
    "spam_score": 0.1,
    "spam_reason": "It is about an order of this shop.",
    "user_intent": "Find out where the order is",
    "subqueries": ["order status"],
    "action_plan": ["Look the order up", "Tell the user where it is"],
    "intent_confidence": 0.9,
    "uncertainties": [],
    "action": "normal",
}
SECRETS = ("It is about an order of this shop.", "order status", "Look the order up", "## Analysis", "spam_score")
"""What of this plan no user sees."""


def plan(**fields: Any) -> Say:
    return Say(tool_calls=(Called(TOOL_NAME, PLAN | fields),))


def planning(prompt: Prompt) -> bool:
    return [tool.name for tool in prompt.tools] == [TOOL_NAME]


def texts(prompt: Prompt) -> list[str]:
    return [shown.message.text for shown in prompt.shown]


def everything(prompt: Prompt) -> str:
    """All that a model was shown, as one text."""
    shown = [f"{one.message.text} {one.message.tool_calls} {one.message.tool_results}" for one in prompt.shown]
    return "\n".join([prompt.system_text, *shown, prompt.tail_text])


@dataclass
class Talk:
    """One conversation over HTTP, and those at its other end."""

    client: httpx2.AsyncClient
    preceptor: Preceptor
    model: ScriptedModel
    guardian: Guardian | None
    id: str

    @property
    def path(self) -> str:
        return f"/api/conversations/{self.id}"

    async def post(self, text: str, **headers: str) -> httpx2.Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(f"{self.path}/messages", json={"content": text}, headers=sent)

    async def say(self, text: str = "Where is my order?") -> Json:
        answer = await self.post(text)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def stream(self, text: str = "Where is my order?") -> tuple[str, list[tuple[str, Json]]]:
        """All that was sent, and the events in it."""
        answer = await self.post(text, accept="text/event-stream")
        return answer.text, events_in(answer.text)

    async def record(self, turn_id: str) -> Json:
        answer = await self.client.get(f"/api/turns/{turn_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def messages(self, audience: str = "user") -> list[Json]:
        query = {"view": "all", "audience": audience, "limit": 200}
        return (await self.client.get(f"{self.path}/messages", params=query)).json()["items"]

    async def another(self) -> "Talk":
        return Talk(self.client, self.preceptor, self.model, self.guardian, await started(self.client))

    async def turn(self, turn_id: str) -> Turn:
        """The turn, once every request of it was made again from its manifest, byte for byte."""
        _, turn = await self.preceptor.turns.get(TurnId(turn_id))

        async def program(work: Work) -> list[bool]:
            formats = self.preceptor.contexts.formats
            conversation = ConversationId(self.id)
            prompts = [(call, await rebuilt(work, conversation, call, turn.turn_id)) for call in turn.calls.values()]
            found = [context_of(call, prompt, formats[call.format]) for call, prompt in prompts]
            return [context.intact and not context.unattributed_tokens for context in found]

        assert all(await self.preceptor.session.read(program))
        return turn


def events_in(sent: str) -> list[tuple[str, Json]]:
    frames = [dict(line.split(": ", 1) for line in frame.splitlines() if ": " in line) for frame in sent.split("\n\n")]
    return [(frame["event"], json.loads(frame["data"])) for frame in frames if "event" in frame]


async def started(client: httpx2.AsyncClient, agent_id: str = "assistant") -> str:
    return (await client.post("/api/conversations", json={"agentId": agent_id})).json()["conversationId"]


def prepared(database: str) -> None:
    """An SQLite file is copied: bringing a new one to its schema takes longer than a test."""
    path = Path(database.removeprefix("sqlite:///"))
    if database.startswith("sqlite") and not path.exists():
        path.write_bytes(new_sqlite())


@asynccontextmanager
async def reasoning(
    folder: Path,
    database: str,
    script: Script | ScriptedModel,
    guardian: Guardian | None = None,
    *,
    models: dict[str, ScriptedModel] | None = None,
    settled: Callable[[Turn], None] | None = None,
    **more: Any,
) -> AsyncGenerator[Talk]:
    """With a guardian that finds everything safe, unless a test brings another; with plans, unless it wants none."""
    prepared(database)
    settings = settings_in(folder, database, **({"guard_enabled": True, "sgr_enabled": True} | more))
    registry = ModelRegistry(settings)
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    for name, one in {"local": model, **(models or {})}.items():
        registry.add(name, one)
    if guardian is None and settings.guard_enabled and settings.guard_provider_type == "rules":
        guardian = FixedGuardian()
    async with (
        open_preceptor(settings, models=registry, guardian=guardian, hearers=Hearers(settled=settled)) as opened,
        client_of(opened) as client,
    ):
        await client.patch("/api/agents/assistant", json={"tools": ["calculator"]})
        yield Talk(client, opened, model, guardian, await started(client))
        await every_call_is_rebuilt(opened)
