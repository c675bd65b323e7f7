"""Written by `make statements` from `sql/published.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO published_instructions (id, org, family, head, withdrawn, type, category, role, words, tags, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO published_instructions (id, org, family, head, withdrawn, type, category, role, words, tags, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::INTEGER, %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR, %s::VARCHAR, %s::VARCHAR)',
    ("id", "org", "family", "head", "withdrawn", "type", "category", "role", "words", "tags", "body"),
)
FIND = Statement(
    "SELECT published_instructions.org, published_instructions.body, published_instructions.head, published_instructions.withdrawn \nFROM published_instructions \nWHERE published_instructions.id = ?",
    'SELECT published_instructions.org, published_instructions.body, published_instructions.head, published_instructions.withdrawn \nFROM published_instructions \nWHERE published_instructions.id = %s::VARCHAR COLLATE "C"',
    ("id",),
)
HEAD = Statement(
    "SELECT published_instructions.org, published_instructions.body, published_instructions.head, published_instructions.withdrawn \nFROM published_instructions \nWHERE published_instructions.family = ? AND published_instructions.head = 1",
    'SELECT published_instructions.org, published_instructions.body, published_instructions.head, published_instructions.withdrawn \nFROM published_instructions \nWHERE published_instructions.family = %s::VARCHAR COLLATE "C" AND published_instructions.head = 1',
    ("family",),
)
MINE = Statement(
    "SELECT published_instructions.org, published_instructions.body, published_instructions.head, published_instructions.withdrawn \nFROM published_instructions \nWHERE published_instructions.org = ? AND published_instructions.family = ?",
    'SELECT published_instructions.org, published_instructions.body, published_instructions.head, published_instructions.withdrawn \nFROM published_instructions \nWHERE published_instructions.org = %s::VARCHAR COLLATE "C" AND published_instructions.family = %s::VARCHAR COLLATE "C"',
    ("org", "family"),
)
PAGE = Statement(
    "SELECT published_instructions.org, published_instructions.body, published_instructions.head, published_instructions.withdrawn \nFROM published_instructions \nWHERE published_instructions.head = 1 AND (CAST(? AS TEXT) IS NULL OR published_instructions.id < ?) AND (CAST(? AS TEXT) IS NULL OR published_instructions.type = ?) AND (CAST(? AS TEXT) IS NULL OR published_instructions.category = ?) AND (CAST(? AS TEXT) IS NULL OR published_instructions.role = ?) AND (CAST(? AS TEXT) IS NULL OR published_instructions.words LIKE ? ESCAPE '\\') AND (CAST(? AS TEXT) IS NULL OR published_instructions.tags LIKE ? ESCAPE '\\') ORDER BY published_instructions.id DESC\n LIMIT ? OFFSET 0",
    'SELECT published_instructions.org, published_instructions.body, published_instructions.head, published_instructions.withdrawn \nFROM published_instructions \nWHERE published_instructions.head = 1 AND (CAST(%s AS TEXT) IS NULL OR published_instructions.id < %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR published_instructions.type = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR published_instructions.category = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR published_instructions.role = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR published_instructions.words LIKE %s::VARCHAR ESCAPE \'\\\') AND (CAST(%s AS TEXT) IS NULL OR published_instructions.tags LIKE %s::VARCHAR ESCAPE \'\\\') ORDER BY published_instructions.id DESC \n LIMIT %s OFFSET 0',
    (
        "after",
        "after",
        "type",
        "type",
        "category",
        "category",
        "role",
        "role",
        "words",
        "words",
        "tags",
        "tags",
        "limit",
    ),
)
REPLACE = Statement(
    "UPDATE published_instructions SET family=?, head=?, withdrawn=?, type=?, category=?, role=?, words=?, tags=?, body=? WHERE published_instructions.id = ? AND published_instructions.org = ?",
    'UPDATE published_instructions SET family=%s::VARCHAR COLLATE "C", head=%s::INTEGER, withdrawn=%s::INTEGER, type=%s::VARCHAR COLLATE "C", category=%s::VARCHAR COLLATE "C", role=%s::VARCHAR COLLATE "C", words=%s::VARCHAR, tags=%s::VARCHAR, body=%s::VARCHAR WHERE published_instructions.id = %s::VARCHAR COLLATE "C" AND published_instructions.org = %s::VARCHAR COLLATE "C"',
    ("family", "head", "withdrawn", "type", "category", "role", "words", "tags", "body", "id", "org"),
)
