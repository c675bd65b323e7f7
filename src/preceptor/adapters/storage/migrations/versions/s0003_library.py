"""The instruction library: families, versions, labels, ratings, assignments and what is published.

Revision ID: 0003
"""

import sqlalchemy as sa
from alembic import op

from preceptor.adapters.storage.migrations.fence import fence, show_to_all

revision = "0003"
down_revision = "0002"

Word = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    _instructions()
    _labels_and_ratings()
    _assignments()
    _published()
    fence(
        "instructions",
        "instruction_versions",
        "instruction_statuses",
        "instruction_labels",
        "instruction_ratings",
        "assignments",
        "published_instructions",
    )
    show_to_all("published_instructions")


def _now(name: str, table: str, columns: list[str]) -> None:
    """Of the rows that say what held when, one holds now."""
    ongoing = sa.text("until IS NULL")
    op.create_index(name, table, columns, unique=True, sqlite_where=ongoing, postgresql_where=ongoing)


def _instructions() -> None:
    op.create_table(
        "instructions",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("head", Word, nullable=False),
        sa.Column("type", Word, nullable=False),
        sa.Column("category", Word, nullable=False),
        sa.Column("role", Word, nullable=False),
        sa.Column("status", Word, nullable=False),
        sa.Column("public", sa.Integer, nullable=False),
        sa.Column("deleted", sa.Integer, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("tags", sa.Text, nullable=False),
    )
    op.create_index("instructions_by_kind", "instructions", ["org", "type", "category", "status"])
    op.create_index("instructions_by_status", "instructions", ["org", "status"])
    op.create_table(
        "instruction_versions",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("family", Word, nullable=False),
        sa.Column("version", Word, nullable=False),
        sa.Column("status", Word, nullable=False),
        sa.Column("parent", Word),
        sa.Column("updated", sa.BigInteger, nullable=False),
        sa.Column("updated_by", Word, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("instruction_versions_once", "instruction_versions", ["org", "family", "version"], unique=True)
    op.create_index("instruction_versions_by_parent", "instruction_versions", ["org", "parent"])
    op.create_table(
        "instruction_statuses",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("family", Word, nullable=False),
        sa.Column("status", Word, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger),
    )
    _now("instruction_statuses_now", "instruction_statuses", ["org", "id"])
    op.create_index("instruction_statuses_by_family", "instruction_statuses", ["org", "family"])


def _labels_and_ratings() -> None:
    op.create_table(
        "instruction_labels",
        sa.Column("org", Word, primary_key=True),
        sa.Column("family", Word, primary_key=True),
        sa.Column("name", Word, primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("instruction", Word, nullable=False),
        sa.Column("user", Word, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger),
    )
    _now("instruction_labels_now", "instruction_labels", ["org", "family", "name"])
    op.create_table(
        "instruction_ratings",
        sa.Column("org", Word, primary_key=True),
        sa.Column("family", Word, primary_key=True),
        sa.Column("user", Word, primary_key=True),
        sa.Column("score", sa.Integer, nullable=False),
    )


def _assignments() -> None:
    op.create_table(
        "assignments",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True),
        sa.Column("agent", Word, nullable=False),
        sa.Column("family", Word, nullable=False),
        sa.Column("pin", Word, nullable=False),
        sa.Column("priority", sa.BigInteger, nullable=False),
        sa.Column("active", sa.Integer, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger),
        sa.Column("body", sa.Text, nullable=False),
    )
    _now("assignments_now", "assignments", ["org", "agent", "family"])
    op.create_index("assignments_by_agent", "assignments", ["org", "agent", "priority"])
    op.create_index("assignments_by_family", "assignments", ["org", "family"])


def _published() -> None:
    op.create_table(
        "published_instructions",
        sa.Column("id", Word, primary_key=True),
        sa.Column("org", Word, nullable=False),
        sa.Column("family", Word, nullable=False),
        sa.Column("head", sa.Integer, nullable=False),
        sa.Column("withdrawn", sa.Integer, nullable=False),
        sa.Column("type", Word, nullable=False),
        sa.Column("category", Word, nullable=False),
        sa.Column("role", Word, nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("published_instructions_by_family", "published_instructions", ["family"])
    head = sa.text("head = 1")
    op.create_index(
        "published_instructions_heads", "published_instructions", ["id"], sqlite_where=head, postgresql_where=head
    )
