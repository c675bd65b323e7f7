"""Conversations with a scripted model, for tests that look at what becomes of what it says."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.models.scripted import Script
from preceptor.domain.ids import AgentId, ConversationId
from preceptor.domain.log import Event
from preceptor.domain.messages.message import Message, Text, ToolResult
from preceptor.domain.turns.facts import fact_of
from preceptor.domain.turns.turn import Turn
from preceptor.engine.turns import Answer
from preceptor.testing import Called, Say, ScriptedModel
from tests.conftest import ADMIN_KEY, NOBODY, new_sqlite
from tests.rebuilding import every_call_is_rebuilt

DELEGATE, RETURN = "delegate_internal_reasoning", "return_control"


def settings_in(folder: Path, database: str | None = None, **more: Any) -> Settings:
    """Without a guardian and without plans, unless a test wants them: then a call is a call."""
    path = folder / "preceptor.db"
    if database is None and not path.exists():
        path.write_bytes(new_sqlite())
    url = database or f"sqlite:///{path}"
    return Settings.load(
        data_dir=folder,
        database_url=url,
        admin_key=ADMIN_KEY,
        access_log=False,
        rate_limit_per_key=1e6,
        rate_limit_per_org=1e6,
        **({"guard_enabled": False, "sgr_enabled": False, "egress_allow": (NOBODY,)} | more),
    )


@dataclass
class Talk:
    """One conversation, and the model at its other end."""

    preceptor: Preceptor
    model: ScriptedModel
    conversation_id: ConversationId

    async def say(self, text: str = "Hello.") -> Answer:
        return await self.preceptor.turns.say(self.conversation_id, [Text(text)])

    async def turn(self, answer: Answer) -> Turn:
        _, turn = await self.preceptor.turns.get(answer.turn_id)
        return turn

    async def events(self) -> list[Event]:
        async for batch in self.preceptor.conversations.follow(self.conversation_id):
            return batch
        raise AssertionError

    async def facts(self, kind: str) -> list[Any]:
        return [fact_of(event.kind, event.payload or "") for event in await self.events() if event.kind == kind]

    async def messages(self) -> list[Message]:
        return await self.facts("message.completed")

    async def results(self) -> list[ToolResult]:
        return [result for message in await self.messages() for result in message.tool_results]


@asynccontextmanager
async def talking(
    folder: Path, script: Script, *, tools: tuple[str, ...] = ("calculator",), database: str | None = None, **more: Any
) -> AsyncGenerator[Talk]:
    settings = settings_in(folder, database, **more)
    registry = ModelRegistry(settings)
    model = ScriptedModel(script)
    registry.add("local", model)
    async with open_preceptor(settings, models=registry) as preceptor:
        await preceptor.agents.change(AgentId("assistant"), tools=tools)
        started = await preceptor.conversations.start(agent_id="assistant")
        yield Talk(preceptor, model, started.conversation_id)
        await every_call_is_rebuilt(preceptor)


def delegate(prompt: str = "You are an analyst.", text: str = "", **more: Any) -> Say:
    return Say(text, (Called(DELEGATE, {"agent_prompt": prompt, **more}),))


def at_once(*prompts: str, text: str = "") -> Say:
    return Say(text, (Called(DELEGATE, {"specialists": [{"agent_prompt": prompt} for prompt in prompts]}),))


def back(text: str = "") -> Say:
    return Say(text, (Called(RETURN),))


def use(tool: str, **arguments: Any) -> Say:
    return Say("", (Called(tool, arguments),))
