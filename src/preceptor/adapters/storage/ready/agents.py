"""Written by `make statements` from `sql/agents.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO agents (org, id, body) VALUES (?, ?, ?)",
    'INSERT INTO agents (org, id, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR)',
    ("org", "id", "body"),
)
FIND = Statement(
    "SELECT agents.body \nFROM agents \nWHERE agents.org = ? AND agents.id = ?",
    'SELECT agents.body \nFROM agents \nWHERE agents.org = %s::VARCHAR COLLATE "C" AND agents.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
PAGE = Statement(
    "SELECT agents.body \nFROM agents \nWHERE agents.org = ? AND agents.id > ? ORDER BY agents.id\n LIMIT ? OFFSET 0",
    'SELECT agents.body \nFROM agents \nWHERE agents.org = %s::VARCHAR COLLATE "C" AND agents.id > %s::VARCHAR COLLATE "C" ORDER BY agents.id \n LIMIT %s OFFSET 0',
    ("org", "after", "limit"),
)
REPLACE = Statement(
    "UPDATE agents SET body=? WHERE agents.org = ? AND agents.id = ?",
    'UPDATE agents SET body=%s::VARCHAR WHERE agents.org = %s::VARCHAR COLLATE "C" AND agents.id = %s::VARCHAR COLLATE "C"',
    ("body", "org", "id"),
)
