"""An organisation's own models and tools, made from its settings; every call leaves through the one way out."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec

from preceptor.adapters.models.registry import ANTHROPIC, OPENAI, ModelRegistry, base_of
from preceptor.domain.errors import Invalid
from preceptor.domain.messages.message import ToolCall, ToolResult
from preceptor.domain.prompts.prompt import ToolSpec
from preceptor.domain.providers import ProviderKind
from preceptor.engine.means.connections import OwnProvider, OwnServer
from preceptor.engine.ports import ChatModel, Models, TokenCounter, Tools

if TYPE_CHECKING:
    from mcp import Client

    from preceptor.adapters.mcp.held import Held
    from preceptor.domain.mcp_servers import Approved, Offer
    from preceptor.engine.mcp_servers import ServerFailed

READ = 300.0
"""Seconds in which a server says at least something."""


class OwnModels(msgspec.Struct, frozen=True):
    """The models of the installation, and before them those of an organisation's own providers."""

    base: Models
    registry: ModelRegistry
    providers: dict[str, OwnProvider]

    @property
    def default(self) -> str:
        return self.base.default

    def find(self, name: str | None) -> ChatModel:
        form, _, model = (name or self.default).partition(":")
        own = self.providers.get(form)
        return self.base.find(name) if own is None or not model else self.registry.of(own, model)

    def check(self, name: str) -> None:
        form, _, model = name.partition(":")
        if form in self.providers and model.strip():
            return
        try:
            self.base.check(name)
        except Invalid as unknown:
            own = ", ".join(f"{one}:NAME" for one in self.providers)
            raise Invalid(f"{str(unknown).removesuffix('.')}; of your own providers {own}.") from None

    def counter(self, name: str | None) -> TokenCounter:
        form, _, model = (name or self.default).partition(":")
        if form not in self.providers or not model:
            return self.base.counter(name)
        return self.registry.counter_of(self.find(name))


class OwnTools(msgspec.Struct, frozen=True):
    """The tools of the installation, and the approved ones of an organisation's MCP servers."""

    base: Tools
    connections: "Connections"
    found: "dict[str, tuple[OwnServer, Approved]]"

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.base.names, *self.found)

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return tuple(spec for name in dict.fromkeys(names) for spec in self._spec(name))

    def _spec(self, name: str) -> tuple[ToolSpec, ...]:
        from preceptor.domain.mcp_servers import spec_of

        own = self.found.get(name)
        return self.base.specs([name]) if own is None else (spec_of(own[0].server_id, own[1]),)

    async def run(self, call: ToolCall, key: str, deadline: float) -> ToolResult:
        own = self.found.get(call.name)
        if own is None:
            return await self.base.run(call, key, deadline)
        from preceptor.adapters.mcp.asking import carry_out

        return await carry_out(self.connections.held(own[0]), own[1], call, deadline)


@dataclass
class Connections:
    registry: ModelRegistry
    _held: "dict[OwnServer, Held]" = field(default_factory=dict[OwnServer, "Held"], init=False)

    @property
    def operators(self) -> tuple[str, ...]:
        return tuple(self.registry.mcp_servers)

    def check(self, url: str) -> None:
        self.registry.egress.check(url)

    def address_of(self, kind: ProviderKind, url: str | None) -> str:
        known = {ProviderKind.OPENAI: OPENAI, ProviderKind.ANTHROPIC: ANTHROPIC}
        if url is None and kind not in known:
            raise Invalid("A provider of the kind openai-compatible needs `url`: where its API begins.")
        return known[kind] if url is None else base_of(url)

    def models(self, base: Models, providers: Sequence[OwnProvider]) -> Models:
        return OwnModels(base, self.registry, {one.provider_id: one for one in providers})

    def tools(self, base: Tools, servers: Sequence[OwnServer]) -> Tools:
        from preceptor.domain.mcp_servers import full_name

        found = {full_name(one.server_id, tool.name): (one, tool) for one in servers for tool in one.tools}
        return OwnTools(base, self, found)

    async def offers(self, server: OwnServer) -> "tuple[Offer, ...]":
        if find_spec("mcp") is None:
            raise _failed("MCP is an extra of this software and is not installed: pip install 'preceptor[mcp]'.")
        from preceptor.adapters.mcp.asking import offers_of

        return await offers_of(self.held(server))

    def held(self, server: OwnServer) -> "Held":
        from preceptor.adapters.mcp.held import Held

        bare = replace(server, tools=())
        if bare not in self._held:
            self._held[bare] = Held(server.server_id, lambda: self._opened(bare))
        return self._held[bare]

    async def close(self) -> None:
        held, self._held = list(self._held.values()), {}
        for one in held:
            await one.close()

    @asynccontextmanager
    async def _opened(self, server: OwnServer) -> "AsyncGenerator[Client]":
        from mcp import Client, StdioServerParameters

        if server.locked:
            raise _failed(
                f"The key of the MCP server {server.server_id!r} cannot be opened: it was sealed with another "
                "PRECEPTOR_SECRET_KEY, or changed where it is kept. Nothing was sent. Enter the key again, or start "
                "the server with the former secret key."
            )
        if server.url is not None:
            async with self._over_http(server.url, server.key) as client:
                yield client
            return
        told = self.registry.mcp_servers.get(server.server_id)
        if told is None:
            raise _failed(f"The MCP server {server.server_id!r} is no longer in PRECEPTOR_MCP_SERVERS.")
        if told.url is not None:
            async with self._over_http(told.url, told.secret) as client:
                yield client
        elif told.command is not None:
            how = StdioServerParameters(command=told.command, args=list(told.args), env=dict(told.env), cwd=told.cwd)
            async with Client(how) as client:
                yield client

    @asynccontextmanager
    async def _over_http(self, url: str, key: str | None) -> "AsyncGenerator[Client]":
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        from preceptor.adapters.outward import Outward

        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        transport = Outward(self.registry.egress)
        async with (
            httpx2.AsyncClient(transport=transport, headers=headers, trust_env=False, timeout=READ) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            yield client


def _failed(sentence: str) -> "ServerFailed":
    from preceptor.engine.mcp_servers import ServerFailed

    return ServerFailed(sentence)
