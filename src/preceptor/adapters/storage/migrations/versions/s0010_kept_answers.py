"""What answers kept for idempotency are about, so that they are erased with it.

Revision ID: 0010
"""

import sqlalchemy as sa
from alembic import op

from preceptor.adapters.storage.migrations.fence import fence

revision = "0010"
down_revision = "0009"

Word = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "idempotency_about",
        sa.Column("org", Word, primary_key=True),
        sa.Column("about", Word, primary_key=True),
        sa.Column("key", Word, primary_key=True),
        sa.Column("created", sa.BigInteger, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_index("idempotency_about_by_age", "idempotency_about", ["created"])
    fence("idempotency_about")
