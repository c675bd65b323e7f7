"""/mcp: streamable HTTP with our keys. Every request stands for itself: there are no sessions to take over."""

from collections.abc import Awaitable, Callable, MutableMapping
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal

import httpx2
from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from preceptor.domain.errors import NotFound, Unavailable
from preceptor.domain.ownership import Permission
from preceptor.domain.value import FROM_JSON, Json, Text
from preceptor.surfaces.accepts import wants
from preceptor.surfaces.auth import refuse_foreign
from preceptor.surfaces.inward import Inward
from preceptor.surfaces.mcp.rest import Rest
from preceptor.surfaces.rest.routing import Api, ThePreceptor, needs
from preceptor.surfaces.rest.telling import JSON
from preceptor.surfaces.streams import EVENT_STREAM

router = Api("", "mcp")
Message = MutableMapping[str, Any]
SESSION = "mcp-session-id"
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {JSON: {}, EVENT_STREAM: {}}, "description": "The answer, as JSON-RPC."},
    202: {"description": "Heard: a notification has no answer."},
}


class Spoken(BaseModel):
    """A message of JSON-RPC 2.0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    jsonrpc: Literal["2.0"]
    method: Annotated[Text, Field(min_length=1, max_length=200)]
    id: Annotated[int, Field(ge=-(2**53), le=2**53), FROM_JSON] | Text = Field(
        default=0, description="Left out: a notification."
    )
    params: dict[Text, Json] = Field(default_factory=dict)


class McpMissing(Unavailable):
    code: ClassVar[str] = "mcp_not_installed"

    def __str__(self) -> str:
        return "MCP is an extra of this software and is not installed: pip install 'preceptor[mcp]'."


@router.post("/mcp", responses=ANSWERS)
@needs(Permission.AGENT_READ)
async def speak(said: Spoken, preceptor: ThePreceptor, request: Request) -> Response:
    """Speak the Model Context Protocol. What each tool does needs the permissions that it needs elsewhere."""
    if find_spec("mcp") is None:
        raise McpMissing
    refuse_foreign(request.headers, preceptor.settings.allowed_hosts)
    if session := request.headers.get(SESSION):  # someone else's: we have none
        raise NotFound("MCP session", session[:64])
    return Handed(said.model_dump_json(exclude_unset=True).encode(), request)


class Handed(Response):
    """An answer that the protocol's own implementation gives."""

    def __init__(self, body: bytes, request: Request) -> None:
        super().__init__()
        self.said = body
        self.request = request

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from preceptor.surfaces.mcp.server import make_server

        streams = wants(self.request, EVENT_STREAM)
        async with _client(self.request) as client:
            server = make_server(Rest(client))
            manager = StreamableHTTPSessionManager(server, stateless=True, json_response=not streams)
            async with manager.run():
                await manager.handle_request({**scope, "headers": self._headers()}, self._receive(receive), send)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        ours = {b"accept", b"content-length"}
        kept = [(name, value) for name, value in self.request.scope["headers"] if name not in ours]
        accept = f"{JSON}, {EVENT_STREAM}".encode()
        return [*kept, (b"accept", accept), (b"content-length", str(len(self.said)).encode())]

    def _receive(self, receive: Callable[[], Awaitable[Message]]) -> Callable[[], Awaitable[Message]]:
        """The body once more, which was read and checked already; then whatever comes."""
        waiting = [{"type": "http.request", "body": self.said, "more_body": False}]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        return again


def _client(request: Request) -> httpx2.AsyncClient:
    """The HTTP API in this process, with the credential and the Host of whoever asks."""
    carried = ("authorization", "host")
    headers = {name: request.headers[name] for name in carried if name in request.headers}
    return httpx2.AsyncClient(transport=Inward(request.app), base_url="http://127.0.0.1", headers=headers)
