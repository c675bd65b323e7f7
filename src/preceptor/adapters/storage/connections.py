"""Providers and MCP servers in SQL: each row a value, and beside it the key, sealed."""

from typing import TYPE_CHECKING

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.connections import (
    ADD_PROVIDER,
    ADD_SERVER,
    ALL_PROVIDERS,
    ALL_SERVERS,
    FIND_PROVIDER,
    FIND_SERVER,
    REMOVE_PROVIDER,
    REMOVE_SERVER,
    REPLACE_PROVIDER,
    REPLACE_SERVER,
)
from preceptor.domain.providers import Provider

if TYPE_CHECKING:
    from preceptor.domain.mcp_servers import StoredServer


class SqlProviders(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, provider: Provider, sealed: bytes | None) -> None:
        await self.work.put(ADD_PROVIDER, id=provider.provider_id, sealed=sealed, body=provider.model_dump_json())

    async def replace(self, provider: Provider, sealed: bytes | None) -> None:
        await self.work.put(REPLACE_PROVIDER, id=provider.provider_id, sealed=sealed, body=provider.model_dump_json())

    async def remove(self, provider_id: str) -> None:
        await self.work.put(REMOVE_PROVIDER, id=provider_id)

    async def find(self, provider_id: str) -> tuple[Provider, bytes | None] | None:
        row = await self.work.one(FIND_PROVIDER, id=provider_id)
        return (Provider.model_validate_json(row[0]), row[1]) if row else None

    async def all(self) -> list[tuple[Provider, bytes | None]]:
        rows = await self.work.all(ALL_PROVIDERS)
        return [(Provider.model_validate_json(row[0]), row[1]) for row in rows]


class SqlMcpServers(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, server: "StoredServer", sealed: bytes | None) -> None:
        await self.work.put(ADD_SERVER, id=server.server_id, sealed=sealed, body=server.model_dump_json())

    async def replace(self, server: "StoredServer", sealed: bytes | None) -> None:
        await self.work.put(REPLACE_SERVER, id=server.server_id, sealed=sealed, body=server.model_dump_json())

    async def remove(self, server_id: str) -> None:
        await self.work.put(REMOVE_SERVER, id=server_id)

    async def find(self, server_id: str) -> "tuple[StoredServer, bytes | None] | None":
        row = await self.work.one(FIND_SERVER, id=server_id)
        return (_server(row[0]), row[1]) if row else None

    async def all(self) -> "list[tuple[StoredServer, bytes | None]]":
        rows = await self.work.all(ALL_SERVERS)
        return [(_server(row[0]), row[1]) for row in rows]


def _server(body: str) -> "StoredServer":
    from preceptor.domain.mcp_servers import StoredServer

    return StoredServer.model_validate_json(body)
