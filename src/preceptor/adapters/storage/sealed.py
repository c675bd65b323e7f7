"""Secrets that a database keeps sealed, told without opening it for work."""

from preceptor.adapters.storage.opening import Database
from preceptor.adapters.storage.ready.sealed import PROVIDERS, SERVERS, WEBHOOKS
from preceptor.adapters.storage.snapshots import snapshot_of
from preceptor.domain.ids import OrgId
from preceptor.domain.mcp_servers import StoredServer
from preceptor.domain.providers import Provider
from preceptor.domain.webhooks import Webhook

KINDS = ((PROVIDERS, Provider), (SERVERS, StoredServer), (WEBHOOKS, Webhook))


def sealed_in(database: Database) -> list[tuple[bytes, bytes]]:
    """Each of them, and what it is sealed for. Of a database at the newest schema."""
    with snapshot_of(database) as source:
        return [
            (sealed, kind.model_validate_json(body).context(OrgId(org)))
            for statement, kind in KINDS
            for org, body, sealed in source.rows(statement)
        ]
