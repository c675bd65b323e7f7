"""Written by `make statements` from `sql/histories.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    'INSERT INTO histories (org, conversation, "view", body) VALUES (?, ?, ?, ?)',
    'INSERT INTO histories (org, conversation, view, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR)',
    ("org", "conversation", "view", "body"),
)
FIND = Statement(
    'SELECT histories.body \nFROM histories \nWHERE histories.org = ? AND histories.conversation = ? AND histories."view" = ?',
    'SELECT histories.body \nFROM histories \nWHERE histories.org = %s::VARCHAR COLLATE "C" AND histories.conversation = %s::VARCHAR COLLATE "C" AND histories.view = %s::VARCHAR COLLATE "C"',
    ("org", "conversation", "view"),
)
REPLACE = Statement(
    'UPDATE histories SET body=? WHERE histories.org = ? AND histories.conversation = ? AND histories."view" = ?',
    'UPDATE histories SET body=%s::VARCHAR WHERE histories.org = %s::VARCHAR COLLATE "C" AND histories.conversation = %s::VARCHAR COLLATE "C" AND histories.view = %s::VARCHAR COLLATE "C"',
    ("body", "org", "conversation", "view"),
)
