"""Written by `make docs` from the values that the API takes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from preceptor.domain.mcp_servers import ApprovedTool


class NewProviderFields(TypedDict):
    """The fields of `NewProvider`."""

    provider_id: str
    """Chosen by you: small letters, digits and hyphens."""
    kind: Literal["openai", "anthropic", "openai-compatible"]
    url: NotRequired[str | None]
    """Where its API begins. Default: the provider's own address."""
    api_key: NotRequired[str | None]
    """Sealed at once, and never shown again."""


class ProviderChangeFields(TypedDict):
    """The fields of `ProviderChange`."""

    url: NotRequired[str]
    api_key: NotRequired[str | None]


class NewMcpServerFields(TypedDict):
    """The fields of `NewMcpServer`."""

    server_id: str
    """Chosen by you: small letters, digits and hyphens."""
    url: str
    """Its streamable HTTP address. PRECEPTOR_EGRESS_ALLOW must name its host."""
    api_key: NotRequired[str | None]
    """Sent as a bearer token. Sealed, and never shown again."""


class McpServerChangeFields(TypedDict):
    """The fields of `McpServerChange`."""

    url: NotRequired[str]
    api_key: NotRequired[str | None]


class ApprovalFields(TypedDict):
    """The fields of `Approval`."""

    tools: Sequence[ApprovedTool | Mapping[str, Any]]


class NewWebhookFields(TypedDict):
    """The fields of `NewWebhook`."""

    url: str
    """Where to post. The operator must allow it in PRECEPTOR_EGRESS_ALLOW."""
    events: NotRequired[Sequence[Literal["version.published", "label.moved", "experiment.ended", "turn.blocked"]]]
    """What to be told of. Default: everything."""
    description: NotRequired[str]


class WebhookChangeFields(TypedDict):
    """The fields of `WebhookChange`."""

    events: NotRequired[Sequence[Literal["version.published", "label.moved", "experiment.ended", "turn.blocked"]]]
    description: NotRequired[str]
    enabled: NotRequired[bool]
