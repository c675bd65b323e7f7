"""Executions and replays, what replays found, and the gates of labels.

Revision ID: 0006
"""

import sqlalchemy as sa
from alembic import op

from preceptor.adapters.storage.migrations.fence import fence

revision = "0006"
down_revision = "0005"

Word = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_OPEN = sa.text("open = 1")


def upgrade() -> None:
    _tasks()
    _replays()
    _gates()
    fence("tasks", "task_conversations", "replay_items", "label_gates", "gate_verdicts")


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("kind", Word, nullable=False),
        sa.Column("user", Word, nullable=False),
        sa.Column("open", sa.Integer, nullable=False),
        sa.Column("status", Word, nullable=False),
        sa.Column("worker", Word, nullable=False),
        sa.Column("lease", sa.BigInteger, nullable=False),
        sa.Column("cancel", Word),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("tasks_by_kind", "tasks", ["org", "kind", "id"])
    op.create_index("tasks_open", "tasks", ["lease"], sqlite_where=_OPEN, postgresql_where=_OPEN)
    op.create_table(
        "task_conversations",
        sa.Column("org", Word, primary_key=True),
        sa.Column("conversation", Word, primary_key=True),
        sa.Column("task", Word, primary_key=True),
        sqlite_with_rowid=False,
    )


def _replays() -> None:
    op.create_table(
        "replay_items",
        sa.Column("org", Word, primary_key=True),
        sa.Column("replay", Word, primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True),
        sa.Column("conversation", Word, nullable=False),
        sa.Column("changed", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("replay_items_by_conversation", "replay_items", ["org", "conversation"])


def _gates() -> None:
    op.create_table(
        "label_gates",
        sa.Column("org", Word, primary_key=True),
        sa.Column("family", Word, primary_key=True),
        sa.Column("name", Word, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "gate_verdicts",
        sa.Column("org", Word, primary_key=True),
        sa.Column("family", Word, primary_key=True),
        sa.Column("name", Word, primary_key=True),
        sa.Column("instruction", Word, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
