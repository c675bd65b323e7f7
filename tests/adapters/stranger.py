"""Another's MCP server: over HTTP in this process, or as a command. It says whatever a test tells it to."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

Json = dict[str, Any]
SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@dataclass
class Stranger:
    tools: dict[str, str] = field(default_factory=lambda: {"weather": "The weather of a city."})
    schema: Json = field(default_factory=lambda: dict(SCHEMA))
    answer: str = "Rain in {city}."
    meta: Json | None = None
    called: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])
    keys: list[str] = field(default_factory=list[str])
    sessions: int = 0
    url: str = ""
    hang: bool = False
    broken: bool = False

    def server(self) -> Server[Any]:
        async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
            found = [
                types.Tool(name=name, description=told, input_schema=self.schema) for name, told in self.tools.items()
            ]
            return types.ListToolsResult(tools=found)

        async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
            given = dict(params.arguments or {})
            self.called.append((params.name, given))
            if self.hang:
                await asyncio.Event().wait()
            text = self.answer.format(**given)
            part = types.TextContent(type="text", text=text)
            return types.CallToolResult(content=[part], is_error=self.broken, _meta=self.meta)

        return Server("stranger", on_list_tools=list_tools, on_call_tool=call_tool)


@asynccontextmanager
async def listening(stranger: Stranger) -> AsyncGenerator[Stranger]:
    """Serve it on loopback until the block ends. Which keys come along is written down."""
    inner = stranger.server().streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            stranger.keys.append(dict(scope["headers"]).get(b"authorization", b"").decode())
        await inner(scope, receive, send)

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    stranger.url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    config = uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve([listener]))
    while not server.started:  # noqa: ASYNC110 - the server tells in no other way
        await asyncio.sleep(0)
    try:
        yield stranger
    finally:
        server.should_exit = True
        await task
        listener.close()


async def over_pipes() -> None:
    stranger = Stranger(answer="Snow in {city}.")
    server = stranger.server()
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(over_pipes)
