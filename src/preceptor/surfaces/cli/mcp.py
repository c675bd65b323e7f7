"""`preceptor mcp`: the Model Context Protocol over standard input and output."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from preceptor.domain.errors import CannotStart

if TYPE_CHECKING:
    from preceptor.settings import Settings


def mcp() -> None:
    """Speak the Model Context Protocol on standard input and output, for programs that start it.

    It acts for the admin of this installation: through the server that runs,
    or on the data itself. Over the network there is /mcp, with keys.

    [bold]Example[/bold]
      {"mcpServers": {"preceptor": {"command": "preceptor", "args": ["mcp"]}}}
    """
    import asyncio

    from preceptor.settings import Settings
    from preceptor.surfaces.cli.connection import in_turn

    if find_spec("mcp") is None:
        raise CannotStart("MCP is an extra of this software and is not installed: pip install 'preceptor[mcp]'.")
    settings = Settings.load()
    in_turn(lambda: asyncio.run(_speak(settings)))


async def _speak(settings: "Settings") -> None:
    from mcp.server.stdio import stdio_server

    from preceptor.surfaces.cli.connection import find_server, reached
    from preceptor.surfaces.mcp.rest import Rest
    from preceptor.surfaces.mcp.server import make_server

    async with reached(settings, find_server(settings)) as client, stdio_server() as (heard, said):
        server = make_server(Rest(client))
        await server.run(heard, said, server.create_initialization_options())
