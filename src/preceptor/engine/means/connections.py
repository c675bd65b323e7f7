"""An organisation's own connections, as they are made."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from preceptor.domain.ids import OrgId
from preceptor.domain.providers import ProviderKind
from preceptor.engine.ports import Models, Tools

if TYPE_CHECKING:
    from preceptor.domain.mcp_servers import Approved, Offer


@dataclass(frozen=True, slots=True)
class OwnProvider:
    """A provider of one organisation, with its key opened."""

    provider_id: str
    kind: ProviderKind
    url: str
    key: str | None = field(repr=False)
    locked: bool = False
    """It has a key that does not open. Without it nobody is called: they would take us for someone else."""


@dataclass(frozen=True, slots=True)
class OwnServer:
    """An MCP server of one organisation, with its key opened. Without an address it is the operator's."""

    org: OrgId
    server_id: str
    url: str | None
    key: str | None = field(repr=False)
    tools: "tuple[Approved, ...]" = ()
    locked: bool = False
    """As of a provider."""


class Connector(Protocol):
    """Makes what an organisation connects to, and lets no call out that the operator did not allow."""

    @property
    def operators(self) -> tuple[str, ...]:
        """The MCP servers of the operator's configuration, by name."""
        ...

    def check(self, url: str) -> None:
        """Complain unless this address may be called."""
        ...

    def address_of(self, kind: ProviderKind, url: str | None) -> str:
        """Where the API of such a provider begins."""
        ...

    def models(self, base: Models, providers: Sequence[OwnProvider]) -> Models:
        """The models of the installation, and those of these providers before them."""
        ...

    def tools(self, base: Tools, servers: Sequence[OwnServer]) -> Tools:
        """The tools of the installation, and the approved ones of these servers."""
        ...

    async def offers(self, server: OwnServer) -> "tuple[Offer, ...]":
        """What a server has now."""
        ...
