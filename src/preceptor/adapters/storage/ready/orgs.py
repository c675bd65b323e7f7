"""Written by `make statements` from `sql/orgs.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO orgs (org, body) VALUES (?, ?)",
    'INSERT INTO orgs (org, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR)',
    ("org", "body"),
)
FIND = Statement(
    "SELECT orgs.body \nFROM orgs \nWHERE orgs.org = ?",
    'SELECT orgs.body \nFROM orgs \nWHERE orgs.org = %s::VARCHAR COLLATE "C"',
    ("id",),
)
PAGE = Statement(
    "SELECT orgs.body \nFROM orgs \nWHERE orgs.org > ? ORDER BY orgs.org\n LIMIT ? OFFSET 0",
    'SELECT orgs.body \nFROM orgs \nWHERE orgs.org > %s::VARCHAR COLLATE "C" ORDER BY orgs.org \n LIMIT %s OFFSET 0',
    ("after", "limit"),
)
