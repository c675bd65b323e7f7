"""Turns and messages, views, what manifests refer to, attachments.

Revision ID: 0004
"""

import sqlalchemy as sa
from alembic import op

from preceptor.adapters.storage.migrations.fence import fence

revision = "0004"
down_revision = "0003"

Word = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_RUNNING = sa.text("status = 'running'")
_UNSENT = sa.text("conversation IS NULL")


def upgrade() -> None:
    _turns()
    _messages()
    _views()
    _histories()
    _blobs()
    _attachments()
    fence("turns", "messages", "views", "histories", "blobs", "attachments")


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("conversation", Word, nullable=False),
        sa.Column("agent", Word, nullable=False),
        sa.Column("user", Word, nullable=False),
        sa.Column("status", Word, nullable=False),
        sa.Column("worker", Word, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("last", sa.BigInteger),
        sa.Column("lease", sa.BigInteger, nullable=False),
        sa.Column("takeovers", sa.Integer, nullable=False),
        sa.Column("cancel", Word),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "turns_running",
        "turns",
        ["org", "conversation"],
        unique=True,
        sqlite_where=_RUNNING,
        postgresql_where=_RUNNING,
    )


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("org", Word, primary_key=True),
        sa.Column("conversation", Word, primary_key=True),
        sa.Column("place", sa.BigInteger, primary_key=True),
        sa.Column("id", Word, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("turn", Word, nullable=False),
        sa.Column("role", Word, nullable=False),
        sa.Column("kind", Word, nullable=False),
        sa.Column("span", Word),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("cum", sa.BigInteger, nullable=False),
        sa.Column("withheld", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("messages_by_id", "messages", ["org", "id"], unique=True)


def _views() -> None:
    op.create_table(
        "views",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("conversation", Word, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("views_by_conversation", "views", ["org", "conversation", "step"], unique=True)


def _histories() -> None:
    op.create_table(
        "histories",
        sa.Column("org", Word, primary_key=True),
        sa.Column("conversation", Word, primary_key=True),
        sa.Column("view", Word, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )


def _blobs() -> None:
    op.create_table(
        "blobs",
        sa.Column("org", Word, primary_key=True),
        sa.Column("sha256", Word, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )


def _attachments() -> None:
    op.create_table(
        "attachments",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("user", Word, nullable=False),
        sa.Column("conversation", Word),
        sa.Column("media_type", Word, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("text", sa.Text),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_index("attachments_by_conversation", "attachments", ["org", "conversation"])
    op.create_index("attachments_unsent", "attachments", ["created"], sqlite_where=_UNSENT, postgresql_where=_UNSENT)
