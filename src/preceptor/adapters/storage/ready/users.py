"""Written by `make statements` from `sql/users.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO users (org, id, body) VALUES (?, ?, ?)",
    'INSERT INTO users (org, id, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR)',
    ("org", "id", "body"),
)
FIND = Statement(
    "SELECT users.body \nFROM users \nWHERE users.org = ? AND users.id = ?",
    'SELECT users.body \nFROM users \nWHERE users.org = %s::VARCHAR COLLATE "C" AND users.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
PAGE = Statement(
    "SELECT users.body \nFROM users \nWHERE users.org = ? AND users.id > ? ORDER BY users.id\n LIMIT ? OFFSET 0",
    'SELECT users.body \nFROM users \nWHERE users.org = %s::VARCHAR COLLATE "C" AND users.id > %s::VARCHAR COLLATE "C" ORDER BY users.id \n LIMIT %s OFFSET 0',
    ("org", "after", "limit"),
)
