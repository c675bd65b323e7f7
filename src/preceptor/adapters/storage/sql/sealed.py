"""The statements of `sealed.py` one folder up."""

from sqlalchemy import Table, select

from preceptor.adapters.storage.connection_tables import mcp_servers, providers
from preceptor.adapters.storage.sql.building import compiled
from preceptor.adapters.storage.statements import Statement
from preceptor.adapters.storage.webhook_tables import webhooks


def _kept_in(table: Table) -> Statement:
    return compiled(select(table.c.org, table.c.body, table.c.sealed).where(table.c.sealed.is_not(None)))


# A look at the whole installation, over all organisations.
PROVIDERS, SERVERS, WEBHOOKS = _kept_in(providers), _kept_in(mcp_servers), _kept_in(webhooks)
