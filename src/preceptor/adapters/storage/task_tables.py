"""The tables of what goes on by itself: executions and replays, what replays found, and the gates of labels."""

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text, text

from preceptor.adapters.storage.tables import Word
from preceptor.adapters.storage.turn_tables import metadata

__all__ = ["gate_verdicts", "label_gates", "metadata", "replay_items", "task_conversations", "tasks"]
_OPEN = text("open = 1")

tasks = Table(
    "tasks",
    metadata,
    Column("org", Word, primary_key=True),
    Column("id", Word, primary_key=True),
    Column("kind", Word, nullable=False),
    Column("user", Word, nullable=False),
    Column("open", Integer, nullable=False),
    Column("status", Word, nullable=False),
    Column("worker", Word, nullable=False),
    Column("lease", BigInteger, nullable=False),
    Column("cancel", Word),
    Column("body", Text, nullable=False),
    Index("tasks_by_kind", "org", "kind", "id"),
    Index("tasks_open", "lease", sqlite_where=_OPEN, postgresql_where=_OPEN),
)
"""What a task is, is a fold over its stream of the log; `body` is what lists show of it."""

task_conversations = Table(
    "task_conversations",
    metadata,
    Column("org", Word, primary_key=True),
    Column("conversation", Word, primary_key=True),
    Column("task", Word, primary_key=True),
    sqlite_with_rowid=False,
)
"""Which tasks know what was said in which conversation: what is erased there is erased here."""

replay_items = Table(
    "replay_items",
    metadata,
    Column("org", Word, primary_key=True),
    Column("replay", Word, primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("conversation", Word, nullable=False),
    Column("changed", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("replay_items_by_conversation", "org", "conversation"),
)
"""`digest` is what sums and comparisons need of an item; no word of the conversation is in it."""

label_gates = Table(
    "label_gates",
    metadata,
    Column("org", Word, primary_key=True),
    Column("family", Word, primary_key=True),
    Column("name", Word, primary_key=True),
    Column("body", Text, nullable=False),
)

gate_verdicts = Table(
    "gate_verdicts",
    metadata,
    Column("org", Word, primary_key=True),
    Column("family", Word, primary_key=True),
    Column("name", Word, primary_key=True),
    Column("instruction", Word, primary_key=True),
    Column("body", Text, nullable=False),
)
