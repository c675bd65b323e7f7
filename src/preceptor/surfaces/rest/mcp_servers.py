"""/api/mcp-servers"""

from preceptor.domain.mcp_servers import Approval, McpServer, McpServerChange, NewMcpServer
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.surfaces.rest.parameters import Cursor, Limit, Name
from preceptor.surfaces.rest.routing import Api, IfMatch, ThePreceptor, needs

router = Api("/api/mcp-servers", "mcp_servers")


@router.post("", status_code=201)
@needs(Permission.SETTINGS_MANAGE)
async def create(new: NewMcpServer, preceptor: ThePreceptor) -> McpServer:
    """Add an MCP server. None of its tools can be used before you have looked at it and approved them."""
    return await preceptor.mcp_servers.create(new)


@router.get("")
@needs(Permission.SETTINGS_MANAGE)
async def page(preceptor: ThePreceptor, cursor: Cursor = None, limit: Limit = 50) -> Page[McpServer]:
    """List the MCP servers of your organisation and of the operator, with how each tool stands."""
    return await preceptor.mcp_servers.page(cursor, limit)


@router.get("/{server_id}")
@needs(Permission.SETTINGS_MANAGE)
async def get(server_id: Name, preceptor: ThePreceptor) -> McpServer:
    """Read an MCP server: what it offered when it was last looked at, and what of it is approved."""
    return await preceptor.mcp_servers.get(server_id)


@router.patch("/{server_id}")
@needs(Permission.SETTINGS_MANAGE)
async def change(server_id: Name, change: McpServerChange, preceptor: ThePreceptor, if_match: IfMatch) -> McpServer:
    """Change its address or its key. A new address forgets the key and every approval."""
    return await preceptor.mcp_servers.change(server_id, change, if_match)


@router.delete("/{server_id}", status_code=204)
@needs(Permission.SETTINGS_MANAGE)
async def remove(server_id: Name, preceptor: ThePreceptor, if_match: IfMatch) -> None:
    """Forget an MCP server, or, of one of the operator's, your approvals."""
    await preceptor.mcp_servers.remove(server_id, if_match)


@router.post("/{server_id}/refresh")
@needs(Permission.SETTINGS_MANAGE)
async def refresh(server_id: Name, preceptor: ThePreceptor) -> McpServer:
    """Ask the server what it has now. A tool that is no longer what was approved is not used until you approve it."""
    return await preceptor.mcp_servers.refresh(server_id)


@router.put("/{server_id}/tools")
@needs(Permission.SETTINGS_MANAGE)
async def approve(server_id: Name, approval: Approval, preceptor: ThePreceptor, if_match: IfMatch) -> McpServer:
    """Approve exactly these tools, each by the hash of what you looked at; all others of the server are not used."""
    return await preceptor.mcp_servers.approve(server_id, approval, if_match)
