"""Written by `make statements` from `sql/attachments.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO attachments (org, id, user, conversation, media_type, name, size, data, text, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO attachments (org, id, "user", conversation, media_type, name, size, data, text, created) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR, %s::BIGINT, %s, %s::VARCHAR, %s::BIGINT)',
    ("org", "id", "user", "conversation", "media_type", "name", "size", "data", "text", "created"),
)
DATA = Statement(
    "SELECT attachments.data \nFROM attachments \nWHERE attachments.org = ? AND attachments.id = ?",
    'SELECT attachments.data \nFROM attachments \nWHERE attachments.org = %s::VARCHAR COLLATE "C" AND attachments.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
ERASE = Statement(
    "DELETE FROM attachments WHERE attachments.org = ? AND attachments.conversation = ?",
    'DELETE FROM attachments WHERE attachments.org = %s::VARCHAR COLLATE "C" AND attachments.conversation = %s::VARCHAR COLLATE "C"',
    ("org", "said_in"),
)
FIND = Statement(
    "SELECT attachments.id, attachments.user, attachments.conversation, attachments.media_type, attachments.name, attachments.size, attachments.text, attachments.created \nFROM attachments \nWHERE attachments.org = ? AND attachments.id = ?",
    'SELECT attachments.id, attachments."user", attachments.conversation, attachments.media_type, attachments.name, attachments.size, attachments.text, attachments.created \nFROM attachments \nWHERE attachments.org = %s::VARCHAR COLLATE "C" AND attachments.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
FORGET = Statement(
    "DELETE FROM attachments WHERE attachments.conversation IS NULL AND attachments.created < ?",
    "DELETE FROM attachments WHERE attachments.conversation IS NULL AND attachments.created < %s::BIGINT",
    ("before",),
)
SAID_IN = Statement(
    "SELECT attachments.id \nFROM attachments \nWHERE attachments.org = ? AND attachments.conversation = ?",
    'SELECT attachments.id \nFROM attachments \nWHERE attachments.org = %s::VARCHAR COLLATE "C" AND attachments.conversation = %s::VARCHAR COLLATE "C"',
    ("org", "said_in"),
)
SAY_IN = Statement(
    "UPDATE attachments SET conversation=? WHERE attachments.org = ? AND attachments.id = ?",
    'UPDATE attachments SET conversation=%s::VARCHAR COLLATE "C" WHERE attachments.org = %s::VARCHAR COLLATE "C" AND attachments.id = %s::VARCHAR COLLATE "C"',
    ("said_in", "org", "named"),
)
