"""Pydantic AI. It brings no storage, so its messages are kept as its manual says: as JSON, here a row per turn."""

import sqlite3
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from benchmarks.peers.loop import InLoop
from benchmarks.said import FOUND, REPLY, SYSTEM, TOOL_CALLS, USER, said

USED = RequestUsage(input_tokens=10, output_tokens=10)


def scripted(calls: int, tool: str = "lookup") -> FunctionModel:
    async def speak(messages: list[ModelMessage], _: Any) -> ModelResponse:
        results = _results(messages)
        if results < calls:
            return ModelResponse(parts=[ToolCallPart(tool, {"number": results}, f"c{results}")], usage=USED)
        return ModelResponse(parts=[TextPart(REPLY)], usage=USED)

    return FunctionModel(speak)


def _results(messages: list[ModelMessage]) -> int:
    found = 0
    for message in reversed(messages):
        found += sum(isinstance(part, ToolReturnPart) for part in message.parts)
        if any(isinstance(part, UserPromptPart) for part in message.parts):
            break
    return found


class Peer(InLoop):
    async def open(self) -> None:
        self.db = sqlite3.connect(self.folder / "pydantic-ai.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute("CREATE TABLE turn(id INTEGER PRIMARY KEY, conversation TEXT, body BLOB)")
        self.db.execute("CREATE INDEX by_conversation ON turn(conversation, id)")
        calls = {"turn": 0, "tools": TOOL_CALLS, "delegation": 1}[self.kind]
        tool = "delegate" if self.kind == "delegation" else "lookup"
        self.agent = Agent(scripted(calls, tool), instructions=SYSTEM)
        specialist = Agent(scripted(0), instructions="You check.")

        async def lookup(number: int) -> str:  # noqa: ARG001
            """Look something up."""
            return FOUND

        async def delegate(number: int) -> str:
            """Ask a specialist."""
            return (await specialist.run(str(number))).output

        if calls:
            self.agent.tool_plain(lookup if tool == "lookup" else delegate)

    async def seed(self, conversation: str) -> None:
        history: list[ModelMessage] = []
        for place in range(1, self.history + 1):
            role, content = said(place)
            asked = ModelRequest(parts=[UserPromptPart(content)])
            history.append(asked if role == "user" else ModelResponse(parts=[TextPart(content)]))
        pairs = [history[at : at + 2] for at in range(0, len(history), 2)]
        rows = [(conversation, ModelMessagesTypeAdapter.dump_json(pair)) for pair in pairs]
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO turn(conversation, body) VALUES(?, ?)", rows)
        self.db.execute("COMMIT")

    async def turn(self, conversation: str) -> None:
        rows = self.db.execute("SELECT body FROM turn WHERE conversation=? ORDER BY id", (conversation,))
        history = [one for (body,) in rows for one in ModelMessagesTypeAdapter.validate_json(body)]
        found = await self.agent.run(USER, message_history=history)
        self.db.execute("INSERT INTO turn(conversation, body) VALUES(?, ?)", (conversation, found.new_messages_json()))
        assert found.output == REPLY
        new = {"turn": 2, "tools": 2 + 2 * TOOL_CALLS, "delegation": 4}[self.kind]
        assert len(found.new_messages()) == new

    async def leave(self) -> None:
        self.db.close()
