"""MCP servers of an organisation: added, looked at, and their tools approved one by one."""

from typing import Any, ClassVar

import msgspec
from pydantic import SecretStr

from preceptor.domain.errors import Conflict, Invalid, NotFound, Upstream
from preceptor.domain.mcp_servers import (
    Approval,
    Approved,
    ApprovedTool,
    McpServer,
    McpServerChange,
    NewMcpServer,
    Offer,
    StoredServer,
    objection,
)
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.prompts.prompt import Effect
from preceptor.domain.value import made, told
from preceptor.engine.audit import note
from preceptor.engine.connecting import own_server
from preceptor.engine.means.connections import Connector, OwnServer
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


class ServerFailed(Upstream):
    """A server of tools that cannot be spoken to."""

    code: ClassVar[str] = "upstream_failed"
    sentence: str = "The MCP server cannot be reached. Check its address, and that it runs."

    def __str__(self) -> str:
        return self.sentence


class ChangedMeanwhile(Conflict):
    name: str = ""

    def __str__(self) -> str:
        return f"The tool {self.name!r} is not, or no longer, what you looked at. Refresh the server and look again."


class McpServers(msgspec.Struct, frozen=True):
    session: Session

    async def create(self, given: NewMcpServer | None = None, **fields: Any) -> McpServer:
        new = made(NewMcpServer, given, fields)
        self._connector.check(new.url)
        taken = new.server_id in self._connector.operators

        async def program(work: Work) -> McpServer:
            if taken or await work.mcp_servers.find(new.server_id) is not None:
                raise Conflict(f"There is an MCP server {new.server_id!r} already. Choose another id.")
            server = _blank(work, new.server_id, new.url, has_key=new.api_key is not None)
            await work.mcp_servers.add(server, self._sealed(work, server, new.api_key))
            await note(work, self.session.caller, "mcp_server.created", serverId=new.server_id, url=new.url)
            return server.shown()

        return await self.session.write(program)

    async def change(
        self, server_id: str, given: McpServerChange | None = None, if_match: IfMatch = None, **fields: Any
    ) -> McpServer:
        """Change it. Another address is another server: its key and every approval are forgotten."""
        news = told(made(McpServerChange, given, fields))
        if "url" in news:
            self._connector.check(news["url"])

        async def program(work: Work) -> McpServer:
            before, sealed = await self._found(work, server_id)
            check(if_match, before.shown().etag)
            if before.url is None:
                raise Conflict(f"{server_id!r} is the operator's: its address is in PRECEPTOR_MCP_SERVERS.")
            after = before.model_copy(update={"url": news.get("url", before.url)})
            if after.url != before.url:
                after, sealed = after.model_copy(update={"offered": (), "approved": (), "listed_at": None}), None
            if "api_key" in news:
                sealed = self._sealed(work, after, news["api_key"])
            after = after.model_copy(update={"has_key": sealed is not None})
            if after == before and news.get("api_key") is None:
                return before.shown()
            return await self._keep(work, before, after, sealed, "mcp_server.changed", fields=sorted(news))

        return await self.session.write(program)

    async def get(self, server_id: str) -> McpServer:
        async def program(work: Work) -> McpServer:
            return (await self._found(work, server_id))[0].shown()

        return await self.session.read(program)

    async def page(self, cursor: str | None = None, limit: int = 50) -> Page[McpServer]:
        after = position_of(cursor) or ""

        async def program(work: Work) -> Page[McpServer]:
            stored = {one.server_id: one for one, _ in await work.mcp_servers.all()}
            for name in self._connector.operators:
                stored.setdefault(name, _blank(work, name, None))
            found = [stored[name].shown() for name in sorted(stored) if name > after]
            return page_of(found[: limit + 1], limit, lambda one: one.server_id)

        return await self.session.read(program)

    async def remove(self, server_id: str, if_match: IfMatch = None) -> None:
        async def program(work: Work) -> None:
            before, _ = await self._found(work, server_id)
            check(if_match, before.shown().etag)
            await work.mcp_servers.remove(server_id)
            await note(work, self.session.caller, "mcp_server.removed", serverId=server_id)

        await self.session.write(program)

    async def refresh(self, server_id: str) -> McpServer:
        """Ask the server what it has now. What has changed since it was approved is not used from here on."""

        async def look(work: Work) -> OwnServer:
            server, sealed = await self._found(work, server_id)
            return own_server(self.session.seal, work.org, server, sealed)

        own = await self.session.read(look)
        offered, problem = await self._asked(own)

        async def program(work: Work) -> McpServer:
            before, sealed = await self._found(work, server_id)
            if before.url != own.url:
                raise Conflict(f"The address of {server_id!r} was changed meanwhile. Refresh it again.")
            news = {"problem": problem} if offered is None else {"offered": offered, "listed_at": work.now}
            after = before.model_copy(update={"problem": None} | news)
            return await self._keep(work, before, after, sealed, "mcp_server.refreshed", problem=problem)

        return await self.session.write(program)

    async def _asked(self, server: OwnServer) -> tuple[tuple[Offer, ...] | None, str | None]:
        """What it has, or why it cannot be asked: that it is away is a fact to show, not a mistake of whoever asks."""
        try:
            return await self._connector.offers(server), None
        except ServerFailed as failure:
            return None, str(failure)

    async def approve(self, server_id: str, given: Approval, if_match: IfMatch = None) -> McpServer:
        """From here on exactly these tools may be used, as they were when they were looked at."""

        async def program(work: Work) -> McpServer:
            before, sealed = await self._found(work, server_id)
            check(if_match, before.shown().etag)
            by = self.session.caller.owner.user_id
            approved = tuple(_approved(before, wish, by) for wish in given.tools)
            after = before.model_copy(update={"approved": approved})
            if after == before:
                return before.shown()
            facts = {one.name: one.hash for one in approved}
            return await self._keep(work, before, after, sealed, "mcp_server.approved", tools=facts)

        return await self.session.write(program)

    async def _keep(
        self, work: Work, before: StoredServer, after: StoredServer, sealed: bytes | None, kind: str, **facts: Any
    ) -> McpServer:
        after = after.model_copy(update={"updated_at": work.now, "revision": before.revision + 1})
        keep = work.mcp_servers.replace if await work.mcp_servers.find(after.server_id) else work.mcp_servers.add
        await keep(after, sealed)
        await note(work, self.session.caller, kind, serverId=after.server_id, **facts)
        return after.shown()

    async def _found(self, work: Work, server_id: str) -> tuple[StoredServer, bytes | None]:
        row = await work.mcp_servers.find(server_id)
        if row is not None:
            return row
        if server_id in self._connector.operators:
            return _blank(work, server_id, None), None
        raise NotFound("MCP server", server_id)

    @property
    def _connector(self) -> Connector:
        connector = self.session.means.connector
        assert connector is not None, "this session was opened without a way out"
        return connector

    def _sealed(self, work: Work, server: StoredServer, key: SecretStr | None) -> bytes | None:
        if key is None:
            return None
        return self.session.seal.seal(key.get_secret_value().encode(), server.context(work.org))


def _blank(work: Work, server_id: str, url: str | None, *, has_key: bool = False) -> StoredServer:
    return StoredServer(
        server_id=server_id, url=url, has_key=has_key, created_at=work.now, updated_at=work.now, revision=1
    )


def _approved(server: StoredServer, wish: ApprovedTool, by: str) -> Approved:
    offer = next((one for one in server.offered if one.name == wish.name), None)
    if offer is None or offer.hash != wish.hash:
        raise ChangedMeanwhile(name=wish.name)
    if why := objection(server.server_id, offer):
        raise Invalid(f"The tool {wish.name!r} cannot be approved. {why}")
    return Approved(**dict(offer), effect=Effect(wish.effect), by=by)
