"""Written by `make statements` from `sql/views.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO views (org, id, conversation, step, body) VALUES (?, ?, ?, ?, ?)",
    'INSERT INTO views (org, id, conversation, step, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::VARCHAR)',
    ("org", "id", "conversation", "step", "body"),
)
ALL = Statement(
    "SELECT views.body \nFROM views \nWHERE views.org = ? AND views.conversation = ? ORDER BY views.step",
    'SELECT views.body \nFROM views \nWHERE views.org = %s::VARCHAR COLLATE "C" AND views.conversation = %s::VARCHAR COLLATE "C" ORDER BY views.step',
    ("org", "of"),
)
CURRENT = Statement(
    "SELECT views.body \nFROM views \nWHERE views.org = ? AND views.conversation = ? ORDER BY views.step DESC\n LIMIT ? OFFSET 0",
    'SELECT views.body \nFROM views \nWHERE views.org = %s::VARCHAR COLLATE "C" AND views.conversation = %s::VARCHAR COLLATE "C" ORDER BY views.step DESC \n LIMIT %s OFFSET 0',
    ("org", "of", "limit"),
)
