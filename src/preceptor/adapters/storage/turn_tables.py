"""The tables of conversations' insides: turns, messages, views, what manifests refer to, attachments, experiments.

A message's body is its event in the log; here is what it is found and counted by.
"""

from sqlalchemy import BigInteger, Column, Double, Index, Integer, LargeBinary, Table, Text, text

from preceptor.adapters.storage.tables import Word, metadata

_RUNNING = text("status = 'running'")
_UNSENT = text("conversation IS NULL")

turns = Table(
    "turns",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("conversation", Word, nullable=False),
    Column("agent", Word, nullable=False),
    Column("user", Word, nullable=False),
    Column("status", Word, nullable=False),
    Column("worker", Word, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("last", BigInteger),
    Column("lease", BigInteger, nullable=False),
    Column("takeovers", Integer, nullable=False),
    Column("cancel", Word),
    Index("turns_running", "org", "conversation", unique=True, sqlite_where=_RUNNING, postgresql_where=_RUNNING),
    sqlite_with_rowid=False,
)

messages = Table(
    "messages",
    metadata,
    Column("org", Word, primary_key=True),
    Column("conversation", Word, primary_key=True),
    Column("place", BigInteger, primary_key=True),
    Column("id", Word, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("turn", Word, nullable=False),
    Column("role", Word, nullable=False),
    Column("kind", Word, nullable=False),
    Column("span", Word),
    Column("tokens", Integer, nullable=False),
    Column("cum", BigInteger, nullable=False),
    Column("withheld", Integer, nullable=False),
    Index("messages_by_id", "org", "id", unique=True),
    sqlite_with_rowid=False,
)
"""`place` numbers the messages of a conversation from 1; what was said in a branch has a negative one.

`withheld` is set when its turn was blocked: how many tokens that has which models are shown instead.
`cum` is the sum of tokens up to here. It grows with `place`, so the place where a budget is full is found by halving,
without reading what fills it, and without an index that every message would have to be entered in.
"""

views = Table(
    "views",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("conversation", Word, nullable=False),
    Column("step", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Index("views_by_conversation", "org", "conversation", "step", unique=True),
)

histories = Table(
    "histories",
    metadata,
    Column("org", Word, primary_key=True),
    Column("conversation", Word, primary_key=True),
    Column("view", Word, primary_key=True),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)
"""What a request in a view left behind for the next: how far it was cut, and which summaries there are."""

blobs = Table(
    "blobs",
    metadata,
    Column("org", Word, primary_key=True),
    Column("sha256", Word, primary_key=True),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)

attachments = Table(
    "attachments",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("user", Word, nullable=False),
    Column("conversation", Word),
    Column("media_type", Word, nullable=False),
    Column("name", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("text", Text),
    Column("created", BigInteger, nullable=False),
    Index("attachments_by_conversation", "org", "conversation"),
    Index("attachments_unsent", "created", sqlite_where=_UNSENT, postgresql_where=_UNSENT),
)
"""`conversation` is the one that it was sent in, once it was."""

experiments = Table(
    "experiments",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("status", Word, nullable=False),
    Column("ends", BigInteger),
    Column("body", Text, nullable=False),
)

experiment_slots = Table(
    "experiment_slots",
    metadata,
    Column("org", Word, primary_key=True),
    Column("agent", Word, primary_key=True),
    Column("family", Word, primary_key=True),
    Column("experiment", Word, nullable=False),
    Column("control", Word),
    Column("variant", Word),
    Index("experiment_slots_by_family", "org", "family"),
    sqlite_with_rowid=False,
)
"""Which experiment runs with an agent and a family, one at most; for its settings the family is empty."""

exposures = Table(
    "exposures",
    metadata,
    Column("org", Word, primary_key=True),
    Column("experiment", Word, primary_key=True),
    Column("conversation", Word, primary_key=True),
    Column("unit", Word, nullable=False),
    Column("arm", Word, nullable=False),
    Column("turns", BigInteger, nullable=False),
    Column("asked", BigInteger, nullable=False),
    Column("control", BigInteger, nullable=False),
    Column("variant", BigInteger, nullable=False),
    Column("mismatches", BigInteger, nullable=False),
    Column("completed", BigInteger, nullable=False),
    Column("clarified", BigInteger, nullable=False),
    Column("blocked", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),
    Column("milliseconds", BigInteger, nullable=False),
    Column("checked", BigInteger, nullable=False),
    Column("passed", BigInteger, nullable=False),
    Column("planned", BigInteger, nullable=False),
    Column("consistency", Double, nullable=False),
    sqlite_with_rowid=False,
)
"""What came of a conversation in an experiment, summed up as its turns settle: results read these, never the log."""

signals = Table(
    "signals",
    metadata,
    Column("org", Word, primary_key=True),
    Column("conversation", Word, primary_key=True),
    Column("metric", Word, primary_key=True),
    Column("about", Word, primary_key=True),
    Column("user", Word, primary_key=True),
    Column("value", Double, nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""What people say of a conversation, or of the message that it is `about`. Of each the last word counts."""
