"""Webhooks, and what is sent to them.

Revision ID: 0008
"""

import sqlalchemy as sa
from alembic import op

from preceptor.adapters.storage.migrations.fence import fence

revision = "0008"
down_revision = "0007"

Word = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_OPEN = sa.text("open = 1")


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "deliveries",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("webhook", Word, nullable=False),
        sa.Column("open", sa.Integer, nullable=False),
        sa.Column("status", Word, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("worker", Word),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("message", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("deliveries_by_webhook", "deliveries", ["org", "webhook", "id"])
    op.create_index("deliveries_due", "deliveries", ["due"], sqlite_where=_OPEN, postgresql_where=_OPEN)
    op.create_index("deliveries_by_age", "deliveries", ["created"])
    fence("webhooks", "deliveries")
