"""Written by `make statements` from `sql/idempotency.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    'INSERT INTO idempotency (org, "key", fingerprint, answer, created) VALUES (?, ?, ?, ?, ?)',
    'INSERT INTO idempotency (org, key, fingerprint, answer, created) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR, %s, %s::BIGINT)',
    ("org", "key", "fingerprint", "answer", "created"),
)
FIND = Statement(
    'SELECT idempotency.fingerprint, idempotency.answer \nFROM idempotency \nWHERE idempotency.org = ? AND idempotency."key" = ? AND idempotency.created > ?',
    'SELECT idempotency.fingerprint, idempotency.answer \nFROM idempotency \nWHERE idempotency.org = %s::VARCHAR COLLATE "C" AND idempotency.key = %s::VARCHAR COLLATE "C" AND idempotency.created > %s::BIGINT',
    ("org", "key", "oldest"),
)
FORGET_OLD = Statement(
    "DELETE FROM idempotency WHERE idempotency.created <= ?",
    "DELETE FROM idempotency WHERE idempotency.created <= %s::BIGINT",
    ("oldest",),
)
FORGET_ONE = Statement(
    'DELETE FROM idempotency WHERE idempotency.org = ? AND idempotency."key" = ? AND idempotency.created <= ?',
    'DELETE FROM idempotency WHERE idempotency.org = %s::VARCHAR COLLATE "C" AND idempotency.key = %s::VARCHAR COLLATE "C" AND idempotency.created <= %s::BIGINT',
    ("org", "key", "oldest"),
)
SETTLE = Statement(
    'UPDATE idempotency SET answer=? WHERE idempotency.org = ? AND idempotency."key" = ?',
    'UPDATE idempotency SET answer=%s WHERE idempotency.org = %s::VARCHAR COLLATE "C" AND idempotency.key = %s::VARCHAR COLLATE "C"',
    ("given", "org", "named"),
)
