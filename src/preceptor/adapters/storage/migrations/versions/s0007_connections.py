"""Organisations' own providers and MCP servers.

Revision ID: 0007
"""

import sqlalchemy as sa
from alembic import op

from preceptor.adapters.storage.migrations.fence import fence

revision = "0007"
down_revision = "0006"

Word = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    for name in ("providers", "mcp_servers"):
        op.create_table(
            name,
            sa.Column("org", Word, primary_key=True),
            sa.Column("id", Word, primary_key=True),
            sa.Column("sealed", sa.LargeBinary),
            sa.Column("body", sa.Text, nullable=False),
        )
    fence("providers", "mcp_servers")
