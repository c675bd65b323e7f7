"""The log, organisations, users, keys, agents, conversations and kept answers.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Word = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

APPEND_ONLY_SQLITE = (
    """CREATE TRIGGER events_are_kept BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
    """CREATE TRIGGER events_are_not_edited BEFORE UPDATE ON events
    WHEN NOT (
        NEW.payload IS NULL AND NEW.salt IS NULL AND NEW.org IS OLD.org AND NEW.stream IS OLD.stream
        AND NEW.seq IS OLD.seq AND NEW.turn IS OLD.turn AND NEW.kind IS OLD.kind AND NEW.at IS OLD.at
        AND NEW.epoch IS OLD.epoch AND NEW.commitment IS OLD.commitment AND NEW.prev_hash IS OLD.prev_hash
        AND NEW.hash IS OLD.hash
    )
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
)

APPEND_ONLY_POSTGRES = (
    """CREATE FUNCTION events_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' AND NEW.payload IS NULL AND NEW.salt IS NULL
            AND (NEW.org, NEW.stream, NEW.seq, NEW.kind, NEW.at, NEW.epoch, NEW.commitment, NEW.prev_hash, NEW.hash)
            = (OLD.org, OLD.stream, OLD.seq, OLD.kind, OLD.at, OLD.epoch, OLD.commitment, OLD.prev_hash, OLD.hash)
            AND NEW.turn IS NOT DISTINCT FROM OLD.turn
        THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'the log is append-only';
    END $$""",
    """CREATE TRIGGER events_are_kept BEFORE UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION events_are_append_only()""",
    """CREATE TRIGGER events_are_not_emptied BEFORE TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION events_are_append_only()""",
)


def upgrade() -> None:
    _identity()
    _agents_and_conversations()
    _log()
    for statement in APPEND_ONLY_SQLITE if op.get_context().dialect.name == "sqlite" else APPEND_ONLY_POSTGRES:
        op.execute(statement)


def _identity() -> None:
    op.create_table("orgs", sa.Column("org", Word, primary_key=True), sa.Column("body", sa.Text, nullable=False))
    op.create_table(
        "users",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", Word, primary_key=True),
        sa.Column("org", Word, nullable=False),
        sa.Column("secret_hash", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("api_keys_by_org", "api_keys", ["org", "id"])
    op.create_table(
        "sign_ins",
        sa.Column("token_hash", Word, primary_key=True),
        sa.Column("org", Word, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "idempotency",
        sa.Column("org", Word, primary_key=True),
        sa.Column("key", Word, primary_key=True),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("answer", sa.LargeBinary),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_index("idempotency_by_age", "idempotency", ["created"])


def _agents_and_conversations() -> None:
    op.create_table(
        "agents",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "conversations",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("agent", Word, nullable=False),
        sa.Column("user", Word, nullable=False),
        sa.Column("status", Word, nullable=False),
        sa.Column("title", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("conversations_by_user", "conversations", ["org", "user", "id"])
    op.create_index("conversations_by_agent", "conversations", ["org", "agent", "id"])


def _log() -> None:
    op.create_table(
        "streams",
        sa.Column("org", Word, primary_key=True),
        sa.Column("id", Word, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("anchored", sa.BigInteger, nullable=False),
        sa.Column("grown", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    grown = sa.text("grown = 1")
    op.create_index("streams_grown", "streams", ["org", "id"], sqlite_where=grown, postgresql_where=grown)
    op.create_table(
        "events",
        sa.Column("org", Word, primary_key=True),
        sa.Column("stream", Word, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("turn", Word),
        sa.Column("kind", Word, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("payload", sa.Text),
        sa.Column("salt", sa.LargeBinary),
        sa.Column("commitment", sa.LargeBinary, nullable=False),
        sa.Column("prev_hash", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
