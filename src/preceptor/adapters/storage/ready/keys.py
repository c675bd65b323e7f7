"""Written by `make statements` from `sql/keys.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO api_keys (id, org, secret_hash, body) VALUES (?, ?, ?, ?)",
    'INSERT INTO api_keys (id, org, secret_hash, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR, %s::VARCHAR)',
    ("id", "org", "secret_hash", "body"),
)
FIND = Statement(
    "SELECT api_keys.org, api_keys.secret_hash, api_keys.body \nFROM api_keys \nWHERE api_keys.id = ? AND (api_keys.org = ? OR ? = '*')",
    'SELECT api_keys.org, api_keys.secret_hash, api_keys.body \nFROM api_keys \nWHERE api_keys.id = %s::VARCHAR COLLATE "C" AND (api_keys.org = %s::VARCHAR COLLATE "C" OR %s = \'*\')',
    ("id", "org", "org"),
)
PAGE = Statement(
    "SELECT api_keys.body \nFROM api_keys \nWHERE api_keys.org = ? AND api_keys.id > ? ORDER BY api_keys.id\n LIMIT ? OFFSET 0",
    'SELECT api_keys.body \nFROM api_keys \nWHERE api_keys.org = %s::VARCHAR COLLATE "C" AND api_keys.id > %s::VARCHAR COLLATE "C" ORDER BY api_keys.id \n LIMIT %s OFFSET 0',
    ("org", "after", "limit"),
)
REPLACE = Statement(
    "UPDATE api_keys SET secret_hash=?, body=? WHERE api_keys.id = ? AND api_keys.org = ?",
    'UPDATE api_keys SET secret_hash=%s::VARCHAR, body=%s::VARCHAR WHERE api_keys.id = %s::VARCHAR COLLATE "C" AND api_keys.org = %s::VARCHAR COLLATE "C"',
    ("secret_hash", "body", "id", "org"),
)
