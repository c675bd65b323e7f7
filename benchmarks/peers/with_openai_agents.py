"""OpenAI's Agents SDK with its SQLiteSession; a delegation is a handoff and a handoff back. Tracing is off."""

import itertools
from typing import Any

from agents import Agent, RunConfig, Runner, SessionSettings, SQLiteSession, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from benchmarks.peers.loop import InLoop
from benchmarks.said import FOUND, REPLY, SYSTEM, TOOL_CALLS, USER, said

set_tracing_disabled(True)
SHOWN = 80
"""Messages: about the 8,000 tokens that the others' window holds."""
_numbers = itertools.count()


def answer() -> list[Any]:
    content = [ResponseOutputText(text=REPLY, type="output_text", annotations=[])]
    return [ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=content)]


def call(name: str, arguments: str = "{}") -> list[Any]:
    number = next(_numbers)
    kind = "function_call"
    return [ResponseFunctionToolCall(type=kind, call_id=f"c{number}", name=name, arguments=arguments, id=f"f{number}")]


class Scripted(Model):
    def __init__(self, calls: int = 0, handing: str = "") -> None:
        self.calls, self.handing = calls, handing

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002, ARG002
        return ModelResponse(output=self._output(input), usage=Usage(), response_id=None)

    def _output(self, messages: Any) -> list[Any]:
        results, handed = 0, False
        for item in reversed(messages):
            if item.get("role") == "user":
                break
            results += item.get("type") == "function_call_output"
            handed = handed or item.get("name") == self.handing
        if self.handing and not handed:
            return call(self.handing)
        return call("lookup", f'{{"number": {results}}}') if results < self.calls else answer()

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


@function_tool
async def lookup(number: int) -> str:  # noqa: ARG001
    """Look something up."""
    return FOUND


class Peer(InLoop):
    async def open(self) -> None:
        self.how = RunConfig(tracing_disabled=True)
        self.sessions: dict[str, SQLiteSession] = {}
        if self.kind == "delegation":
            back = Scripted(handing="transfer_to_main")
            specialist = Agent(name="specialist", instructions="You check.", model=back)
            main = Scripted(handing="transfer_to_specialist")
            self.agent = Agent(name="main", instructions=SYSTEM, model=main, handoffs=[specialist])
            specialist.handoffs = [self.agent]
        else:
            tools: list[Any] = [lookup] if self.kind == "tools" else []
            calls = TOOL_CALLS if tools else 0
            self.agent = Agent(name="main", instructions=SYSTEM, model=Scripted(calls), tools=tools)

    async def seed(self, conversation: str) -> None:
        settings = SessionSettings(limit=SHOWN)
        session = SQLiteSession(conversation, self.folder / "agents.db", session_settings=settings)
        items: list[Any] = []
        for place in range(1, self.history + 1):
            role, content = said(place)
            items.append({"role": role, "content": content})
        await session.add_items(items)
        self.sessions[conversation] = session

    async def turn(self, conversation: str) -> None:
        session = self.sessions[conversation]
        found = await Runner.run(self.agent, USER, session=session, run_config=self.how, max_turns=50)
        assert found.final_output == REPLY
        new = {"turn": 1, "tools": 2 * TOOL_CALLS + 1, "delegation": 5}[self.kind]
        assert len(found.new_items) == new, found.new_items
