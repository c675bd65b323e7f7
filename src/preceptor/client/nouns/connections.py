"""What an organisation connects: models of its own, servers with tools, and whoever wants to hear of what happens."""

from typing import Unpack

from preceptor.client.fields.connections import (
    ApprovalFields,
    McpServerChangeFields,
    NewMcpServerFields,
    NewProviderFields,
    NewWebhookFields,
    ProviderChangeFields,
    WebhookChangeFields,
)
from preceptor.client.operating import Group, Key, Kind, Tag, operation
from preceptor.domain.mcp_servers import Approval, McpServer, McpServerChange, NewMcpServer
from preceptor.domain.paging import Page
from preceptor.domain.providers import NewProvider, Provider, ProviderAnswer, ProviderChange, ProviderQuestion
from preceptor.domain.webhooks import Attempt, Delivery, MadeWebhook, NewWebhook, Webhook, WebhookChange


class Providers(Group[Kind]):
    """Where your organisation has models of its own."""

    @operation("POST /api/providers", NewProvider)
    def create(self, *, idempotency_key: Key = None, **fields: Unpack[NewProviderFields]) -> Provider:
        """Add a provider. Its key is sealed for its address, and never told again."""
        ...

    @operation("GET /api/providers")
    def page(self, *, cursor: str | None = None, limit: int | None = None) -> Page[Provider]:
        """List the providers of your organisation."""
        ...

    @operation("GET /api/providers/{provider_id}")
    def get(self, provider_id: str) -> Provider:
        """Read a provider. Whether it has a key is told, not which."""
        ...

    @operation("PATCH /api/providers/{provider_id}", ProviderChange)
    def change(self, provider_id: str, *, if_match: Tag = None, **fields: Unpack[ProviderChangeFields]) -> Provider:
        """Change its address or its key. Whoever changes the address enters the key again."""
        ...

    @operation("DELETE /api/providers/{provider_id}")
    def remove(self, provider_id: str, *, if_match: Tag = None) -> None:
        """Remove a provider, and its key."""
        ...

    @operation("POST /api/providers/{provider_id}/test", ProviderQuestion)
    def test(self, provider_id: str, model: str, *, idempotency_key: Key = None) -> ProviderAnswer:
        """Ask one of its models one question."""
        ...


class McpServers(Group[Kind]):
    """Servers whose tools agents may use, once someone has approved them."""

    @operation("POST /api/mcp-servers", NewMcpServer)
    def create(self, *, idempotency_key: Key = None, **fields: Unpack[NewMcpServerFields]) -> McpServer:
        """Add a server."""
        ...

    @operation("GET /api/mcp-servers")
    def page(self, *, cursor: str | None = None, limit: int | None = None) -> Page[McpServer]:
        """List the servers of your organisation."""
        ...

    @operation("GET /api/mcp-servers/{server_id}")
    def get(self, server_id: str) -> McpServer:
        """Read a server, and what it offered when it was last asked."""
        ...

    @operation("PATCH /api/mcp-servers/{server_id}", McpServerChange)
    def change(self, server_id: str, *, if_match: Tag = None, **fields: Unpack[McpServerChangeFields]) -> McpServer:
        """Change its address or its key."""
        ...

    @operation("DELETE /api/mcp-servers/{server_id}")
    def remove(self, server_id: str, *, if_match: Tag = None) -> None:
        """Remove a server, and with it its tools."""
        ...

    @operation("POST /api/mcp-servers/{server_id}/refresh")
    def refresh(self, server_id: str, *, idempotency_key: Key = None) -> McpServer:
        """Ask a server what it offers now."""
        ...

    @operation("PUT /api/mcp-servers/{server_id}/tools", Approval)
    def approve(self, server_id: str, *, if_match: Tag = None, **fields: Unpack[ApprovalFields]) -> McpServer:
        """Say which of its tools may be used, each by the hash of what was looked at."""
        ...


class Webhooks(Group[Kind]):
    """Addresses that are told of what happens."""

    @operation("POST /api/webhooks", NewWebhook)
    def create(self, *, idempotency_key: Key = None, **fields: Unpack[NewWebhookFields]) -> MadeWebhook:
        """Add a webhook. The secret that signs what it is sent is told once."""
        ...

    @operation("GET /api/webhooks")
    def page(self, *, cursor: str | None = None, limit: int | None = None) -> Page[Webhook]:
        """List the webhooks of your organisation."""
        ...

    @operation("GET /api/webhooks/{webhook_id}")
    def get(self, webhook_id: str) -> Webhook:
        """Read a webhook."""
        ...

    @operation("PATCH /api/webhooks/{webhook_id}", WebhookChange)
    def change(self, webhook_id: str, *, if_match: Tag = None, **fields: Unpack[WebhookChangeFields]) -> Webhook:
        """Change what it hears of, or switch it off and on."""
        ...

    @operation("DELETE /api/webhooks/{webhook_id}")
    def remove(self, webhook_id: str, *, if_match: Tag = None) -> None:
        """Remove a webhook."""
        ...

    @operation("POST /api/webhooks/{webhook_id}/rotate")
    def rotate(
        self, webhook_id: str, *, overlap_hours: float | None = None, idempotency_key: Key = None
    ) -> MadeWebhook:
        """Make a new secret. For `overlap_hours` what is sent is signed with the old one as well."""
        ...

    @operation("POST /api/webhooks/{webhook_id}/test")
    def test(self, webhook_id: str, *, idempotency_key: Key = None) -> Attempt:
        """Send it something harmless, and say what came of it."""
        ...

    @operation("GET /api/webhooks/{webhook_id}/deliveries")
    def deliveries(self, webhook_id: str, *, cursor: str | None = None, limit: int | None = None) -> Page[Delivery]:
        """List what it was sent, newest first, and what it answered."""
        ...

    @operation("POST /api/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver")
    def redeliver(self, webhook_id: str, delivery_id: str, *, idempotency_key: Key = None) -> Delivery:
        """Send it something once more."""
        ...
