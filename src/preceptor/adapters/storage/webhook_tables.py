"""The tables of webhooks and of what is sent to them."""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Table, Text, text

from preceptor.adapters.storage.connection_tables import metadata
from preceptor.adapters.storage.turn_tables import Word

__all__ = ["deliveries", "metadata", "webhooks"]
_OPEN = text("open = 1")

webhooks = Table(
    "webhooks",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("body", Text, nullable=False),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("webhook", Word, nullable=False),
    Column("open", Integer, nullable=False),
    Column("status", Word, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("worker", Word),
    Column("created", BigInteger, nullable=False),
    Column("message", LargeBinary, nullable=False),
    Column("body", Text, nullable=False),
    Index("deliveries_by_webhook", "org", "webhook", "id"),
    Index("deliveries_due", "due", sqlite_where=_OPEN, postgresql_where=_OPEN),
    Index("deliveries_by_age", "created"),
)
"""`message` is what is signed and sent; `due` is when, or until when the one who has claimed it may take."""
