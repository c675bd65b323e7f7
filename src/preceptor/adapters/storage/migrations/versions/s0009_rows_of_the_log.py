"""On SQLite the log keeps its rows in the order in which they were written, and finds them by an index.

Revision ID: 0009
"""

import sqlalchemy as sa
from alembic import op

from preceptor.adapters.storage.migrations.versions.s0001_log_and_identity import APPEND_ONLY_SQLITE

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    if op.get_context().dialect.name != "sqlite":
        return
    op.create_table(
        "events_as_written",
        sa.Column("org", sa.Text, primary_key=True),
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("turn", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("payload", sa.Text),
        sa.Column("salt", sa.LargeBinary),
        sa.Column("commitment", sa.LargeBinary, nullable=False),
        sa.Column("prev_hash", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
    op.execute("INSERT INTO events_as_written SELECT * FROM events ORDER BY org, stream, seq")
    op.execute("PRAGMA secure_delete=ON")  # what is erased later must not live on in pages that nobody uses
    op.drop_table("events")
    op.rename_table("events_as_written", "events")
    for statement in APPEND_ONLY_SQLITE:
        op.execute(statement)
