"""The schema. Columns are what we search by; everything else is the value itself, as JSON text.

Times are whole microseconds since 1970. Text is stored as it came: hashes are over these very bytes.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text, text

metadata = MetaData()

# On PostgreSQL text is ordered by bytes, as SQLite does, so that a list has one order everywhere.
Word = Text().with_variant(Text(collation="C"), "postgresql")

orgs = Table(
    "orgs",
    metadata,
    Column("org", Word, primary_key=True),
    Column("body", Text, nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("body", Text, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Word, primary_key=True),
    Column("org", Word, nullable=False),
    Column("secret_hash", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("api_keys_by_org", "org", "id"),
)

sign_ins = Table(
    "sign_ins",
    metadata,
    Column("token_hash", Word, primary_key=True),
    Column("org", Word, nullable=False),
    Column("owner", Text, nullable=False),
    Column("expires", BigInteger, nullable=False),
)

agents = Table(
    "agents",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("body", Text, nullable=False),
)

conversations = Table(
    "conversations",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("agent", Word, nullable=False),
    Column("user", Word, nullable=False),
    Column("status", Word, nullable=False),
    Column("title", Text),
    Column("body", Text, nullable=False),
    Index("conversations_by_user", "org", "user", "id"),
    Index("conversations_by_agent", "org", "agent", "id"),
)

streams = Table(
    "streams",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("anchored", BigInteger, nullable=False),
    Column("grown", Integer, nullable=False),
    Index("streams_grown", "org", "id", sqlite_where=text("grown = 1"), postgresql_where=text("grown = 1")),
    sqlite_with_rowid=False,
)

events = Table(
    "events",
    metadata,
    Column("org", Word, primary_key=True),
    Column("stream", Word, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("turn", Word),
    Column("kind", Word, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("payload", Text),
    Column("salt", LargeBinary),
    Column("commitment", LargeBinary, nullable=False),
    Column("prev_hash", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("org", Word, primary_key=True),
    Column("key", Word, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("answer", LargeBinary),
    Column("created", BigInteger, nullable=False),
    Index("idempotency_by_age", "created"),
)

idempotency_about = Table(
    "idempotency_about",
    metadata,
    Column("org", Word, primary_key=True),
    Column("about", Word, primary_key=True),
    Column("key", Word, primary_key=True),
    Column("created", BigInteger, primary_key=True),
    Index("idempotency_about_by_age", "created"),
    sqlite_with_rowid=False,
)
"""Whose words an answer may repeat: it is erased with that conversation, file, execution or replay."""

# A family of versions, with what its head says that lists are filtered by.
instructions = Table(
    "instructions",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("head", Word, nullable=False),
    Column("type", Word, nullable=False),
    Column("category", Word, nullable=False),
    Column("role", Word, nullable=False),
    Column("status", Word, nullable=False),
    Column("public", Integer, nullable=False),
    Column("deleted", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("words", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Index("instructions_by_kind", "org", "type", "category", "status"),
    Index("instructions_by_status", "org", "status"),
)

instruction_versions = Table(
    "instruction_versions",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("family", Word, nullable=False),
    Column("version", Word, nullable=False),
    Column("status", Word, nullable=False),
    Column("parent", Word),
    Column("updated", BigInteger, nullable=False),
    Column("updated_by", Word, nullable=False),
    Column("body", Text, nullable=False),
    Index("instruction_versions_once", "org", "family", "version", unique=True),
    Index("instruction_versions_by_parent", "org", "parent"),
)


def _one_holds_now(name: str, *columns: str) -> Index:
    """Rows say what held from `since` until `until`. The one without an end holds now; only ends are ever written."""
    ongoing = text("until IS NULL")
    return Index(name, *columns, unique=True, sqlite_where=ongoing, postgresql_where=ongoing)


instruction_statuses = Table(
    "instruction_statuses",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("family", Word, nullable=False),
    Column("status", Word, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger),
    _one_holds_now("instruction_statuses_now", "org", "id"),
    Index("instruction_statuses_by_family", "org", "family"),
)

instruction_labels = Table(
    "instruction_labels",
    metadata,
    Column("org", Word, primary_key=True),
    Column("family", Word, primary_key=True),
    Column("name", Word, primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("instruction", Word, nullable=False),
    Column("user", Word, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger),
    _one_holds_now("instruction_labels_now", "org", "family", "name"),
)

instruction_ratings = Table(
    "instruction_ratings",
    metadata,
    Column("org", Word, primary_key=True),
    Column("family", Word, primary_key=True),
    Column("user", Word, primary_key=True),
    Column("score", Integer, nullable=False),
)

assignments = Table(
    "assignments",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("agent", Word, nullable=False),
    Column("family", Word, nullable=False),
    Column("pin", Word, nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("active", Integer, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger),
    Column("body", Text, nullable=False),
    _one_holds_now("assignments_now", "org", "agent", "family"),
    Index("assignments_by_agent", "org", "agent", "priority"),
    Index("assignments_by_family", "org", "family"),
)

# What an organisation shows to all others: snapshots of published fields, which only their owner writes.
published_instructions = Table(
    "published_instructions",
    metadata,
    Column("id", Word, primary_key=True),
    Column("org", Word, nullable=False),
    Column("family", Word, nullable=False),
    Column("head", Integer, nullable=False),
    Column("withdrawn", Integer, nullable=False),
    Column("type", Word, nullable=False),
    Column("category", Word, nullable=False),
    Column("role", Word, nullable=False),
    Column("words", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("published_instructions_by_family", "family"),
    Index("published_instructions_heads", "id", sqlite_where=text("head = 1"), postgresql_where=text("head = 1")),
)
