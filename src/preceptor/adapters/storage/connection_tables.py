"""The tables of an organisation's own connections. `sealed` is a key that only the installation's secret opens."""

from sqlalchemy import Column, LargeBinary, Table, Text

from preceptor.adapters.storage.task_tables import metadata
from preceptor.adapters.storage.turn_tables import Word

providers = Table(
    "providers",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("sealed", LargeBinary),
    Column("body", Text, nullable=False),
)

mcp_servers = Table(
    "mcp_servers",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("sealed", LargeBinary),
    Column("body", Text, nullable=False),
)
