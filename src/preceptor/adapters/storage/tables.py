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
    sqlite_with_rowid=False,
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
