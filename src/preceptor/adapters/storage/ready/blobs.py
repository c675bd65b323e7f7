"""Written by `make statements` from `sql/blobs.py`."""

from preceptor.adapters.storage.statements import Statement

GET = Statement(
    "SELECT blobs.body \nFROM blobs \nWHERE blobs.org = ? AND blobs.sha256 = ?",
    'SELECT blobs.body \nFROM blobs \nWHERE blobs.org = %s::VARCHAR COLLATE "C" AND blobs.sha256 = %s::VARCHAR COLLATE "C"',
    ("org", "sha256"),
)
PUT = Statement(
    "INSERT INTO blobs (org, sha256, body) SELECT CAST(? AS TEXT) AS anon_1, CAST(? AS TEXT) AS anon_2, CAST(? AS TEXT) AS anon_3 \nWHERE NOT (EXISTS (SELECT * \nFROM blobs \nWHERE blobs.org = ? AND blobs.sha256 = ?))",
    'INSERT INTO blobs (org, sha256, body) SELECT CAST(%s AS TEXT) AS anon_1, CAST(%s AS TEXT) AS anon_2, CAST(%s AS TEXT) AS anon_3 \nWHERE NOT (EXISTS (SELECT * \nFROM blobs \nWHERE blobs.org = %s::VARCHAR COLLATE "C" AND blobs.sha256 = %s::VARCHAR COLLATE "C"))',
    ("org", "sha256", "body", "org", "sha256"),
)
REMOVE = Statement(
    "DELETE FROM blobs WHERE blobs.org = ? AND blobs.sha256 = ?",
    'DELETE FROM blobs WHERE blobs.org = %s::VARCHAR COLLATE "C" AND blobs.sha256 = %s::VARCHAR COLLATE "C"',
    ("org", "sha256"),
)
