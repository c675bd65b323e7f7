"""Connecting: the means of one organisation are those of the installation, with its own models and tools."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from preceptor.domain.errors import PreceptorError
from preceptor.domain.ids import OrgId
from preceptor.domain.log import ORG_STREAM, Head
from preceptor.domain.providers import Provider
from preceptor.engine.means.connections import OwnProvider, OwnServer
from preceptor.engine.means.means import Connected, Means
from preceptor.engine.ports import Seal
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

if TYPE_CHECKING:
    from preceptor.domain.mcp_servers import StoredServer

MOST = 1_000
"""Organisations whose connections are remembered."""


async def connected(work: Work, session: Session, head: Head | None = None) -> Means:
    """What turns of this organisation are taken with. Nothing is read while its audit trail stands where it stood.

    Every change of a connection appends to that trail in its own transaction. Transactions that make such a change
    must not read through this: they may be undone.
    """
    means = session.means
    if means.connector is None:
        return means
    head = head or await work.log.head(ORG_STREAM) or Head()
    known = means.connected.get(work.org)
    if known is not None and known.head == head.hash:
        return known.means
    providers = tuple([own_provider(session.seal, work.org, *row) for row in await work.providers.all()])
    servers = tuple([own_server(session.seal, work.org, *row) for row in await work.mcp_servers.all()])
    if known is not None and known.made_from == (providers, servers):
        made = known.means
    else:
        made = _made(means, providers, servers)
    if len(means.connected) >= MOST:
        means.connected.clear()
    means.connected[work.org] = Connected(head.hash, (providers, servers), made)
    return made


def _made(means: Means, providers: tuple[OwnProvider, ...], servers: tuple[OwnServer, ...]) -> Means:
    connector = means.connector
    assert connector is not None
    if providers:
        means = replace(means, models=connector.models(means.models, providers))
    if servers:
        means = replace(means, tools=connector.tools(means.tools, servers))
    return means


def own_provider(seal: Seal, org: OrgId, provider: Provider, sealed: bytes | None) -> OwnProvider:
    key, locked = opened(seal, sealed, provider.context(org))
    return OwnProvider(provider.provider_id, provider.kind, provider.url, key, locked)


def own_server(seal: Seal, org: OrgId, server: "StoredServer", sealed: bytes | None) -> OwnServer:
    from preceptor.domain.mcp_servers import usable

    key, locked = opened(seal, sealed, server.context(org))
    return OwnServer(org, server.server_id, server.url, key, usable(server), locked)


def opened(seal: Seal, sealed: bytes | None, context: bytes) -> tuple[str | None, bool]:
    """A stored key, and whether there is one that does not open: for another secret, another address or another row."""
    if sealed is None:
        return None, False
    try:
        return seal.open(sealed, context).decode(), False
    except PreceptorError:
        return None, True
