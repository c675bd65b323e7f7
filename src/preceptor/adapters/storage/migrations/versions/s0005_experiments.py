"""Experiments: which run where, what came of each conversation in them, and what people say of conversations.

Revision ID: 0005
"""

import sqlalchemy as sa
from alembic import op

from preceptor.adapters.storage.migrations.fence import fence

revision = "0005"
down_revision = "0004"

Word = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    _experiments()
    _slots()
    _exposures()
    _signals()
    fence("experiments", "experiment_slots", "exposures", "signals")


def _experiments() -> None:
    op.create_table(
        "experiments",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("status", Word, nullable=False),
        sa.Column("ends", sa.BigInteger),
        sa.Column("body", sa.Text, nullable=False),
    )


def _slots() -> None:
    op.create_table(
        "experiment_slots",
        sa.Column("org", Word, primary_key=True),
        sa.Column("agent", Word, primary_key=True),
        sa.Column("family", Word, primary_key=True),
        sa.Column("experiment", Word, nullable=False),
        sa.Column("control", Word),
        sa.Column("variant", Word),
        sqlite_with_rowid=False,
    )
    op.create_index("experiment_slots_by_family", "experiment_slots", ["org", "family"])


def _exposures() -> None:
    op.create_table(
        "exposures",
        sa.Column("org", Word, primary_key=True),
        sa.Column("experiment", Word, primary_key=True),
        sa.Column("conversation", Word, primary_key=True),
        sa.Column("unit", Word, nullable=False),
        sa.Column("arm", Word, nullable=False),
        sa.Column("turns", sa.BigInteger, nullable=False),
        sa.Column("asked", sa.BigInteger, nullable=False),
        sa.Column("control", sa.BigInteger, nullable=False),
        sa.Column("variant", sa.BigInteger, nullable=False),
        sa.Column("mismatches", sa.BigInteger, nullable=False),
        sa.Column("completed", sa.BigInteger, nullable=False),
        sa.Column("clarified", sa.BigInteger, nullable=False),
        sa.Column("blocked", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.Double, nullable=False),
        sa.Column("milliseconds", sa.BigInteger, nullable=False),
        sa.Column("checked", sa.BigInteger, nullable=False),
        sa.Column("passed", sa.BigInteger, nullable=False),
        sa.Column("planned", sa.BigInteger, nullable=False),
        sa.Column("consistency", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )


def _signals() -> None:
    op.create_table(
        "signals",
        sa.Column("org", Word, primary_key=True),
        sa.Column("conversation", Word, primary_key=True),
        sa.Column("metric", Word, primary_key=True),
        sa.Column("about", Word, primary_key=True),
        sa.Column("user", Word, primary_key=True),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
