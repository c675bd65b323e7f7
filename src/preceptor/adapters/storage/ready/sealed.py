"""Written by `make statements` from `sql/sealed.py`."""

from preceptor.adapters.storage.statements import Statement

PROVIDERS = Statement(
    "SELECT providers.org, providers.body, providers.sealed \nFROM providers \nWHERE providers.sealed IS NOT NULL",
    "SELECT providers.org, providers.body, providers.sealed \nFROM providers \nWHERE providers.sealed IS NOT NULL",
    (),
)
SERVERS = Statement(
    "SELECT mcp_servers.org, mcp_servers.body, mcp_servers.sealed \nFROM mcp_servers \nWHERE mcp_servers.sealed IS NOT NULL",
    "SELECT mcp_servers.org, mcp_servers.body, mcp_servers.sealed \nFROM mcp_servers \nWHERE mcp_servers.sealed IS NOT NULL",
    (),
)
WEBHOOKS = Statement(
    "SELECT webhooks.org, webhooks.body, webhooks.sealed \nFROM webhooks \nWHERE webhooks.sealed IS NOT NULL",
    "SELECT webhooks.org, webhooks.body, webhooks.sealed \nFROM webhooks \nWHERE webhooks.sealed IS NOT NULL",
    (),
)
