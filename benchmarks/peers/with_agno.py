"""Agno with its asynchronous SQLite storage. Its store keeps whole runs, so a history is made by talking."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.db.sqlite import AsyncSqliteDb
from agno.models.base import Model
from agno.models.response import ModelResponse

from benchmarks.peers.loop import InLoop
from benchmarks.said import FOUND, REPLY, SYSTEM, TOOL_CALLS, USER, said


@dataclass
class Scripted(Model):
    id: str = "scripted"
    name: str = "Scripted"
    provider: str = "scripted"
    calls: int = 0
    seen: int = 0

    async def ainvoke(self, messages: list[Any], *_: Any, **__: Any) -> ModelResponse:
        self.seen, results = len(messages), 0
        for message in reversed(messages):
            if message.role == "user":
                break
            results += message.role == "tool"
        if results >= self.calls:
            return ModelResponse(role="assistant", content=REPLY)
        function = {"name": "lookup", "arguments": json.dumps({"number": results})}
        call = {"id": uuid.uuid4().hex, "type": "function", "function": function}
        return ModelResponse(role="assistant", tool_calls=[call])

    def invoke(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def invoke_stream(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def ainvoke_stream(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **__: Any) -> Any:
        return response

    def _parse_provider_response_delta(self, response: Any) -> Any:
        return response


async def lookup(number: int) -> str:  # noqa: ARG001
    """Look something up."""
    return FOUND


class Peer(InLoop):
    async def open(self) -> None:
        self.model = Scripted()
        self.agent = Agent(
            model=self.model,
            db=AsyncSqliteDb(db_file=str(self.folder / "agno.db")),
            system_message=SYSTEM,
            add_history_to_context=True,
            num_history_runs=100_000,
            telemetry=False,
            tools=[lookup] if self.kind == "tools" else None,
        )

    async def seed(self, conversation: str) -> None:
        self.model.calls = 0
        for place in range(1, self.history + 1, 2):
            await self.agent.arun(said(place)[1], session_id=conversation)
        self.model.calls = TOOL_CALLS if self.kind == "tools" else 0

    async def turn(self, conversation: str) -> None:
        found = await self.agent.arun(USER, session_id=conversation)
        assert found.content == REPLY
        assert self.model.seen >= self.history + 2 + 2 * self.model.calls
