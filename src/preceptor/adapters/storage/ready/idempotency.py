"""Written by `make statements` from `sql/idempotency.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    'INSERT INTO idempotency (org, "key", fingerprint, answer, created) VALUES (?, ?, ?, ?, ?)',
    'INSERT INTO idempotency (org, key, fingerprint, answer, created) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR, %s, %s::BIGINT)',
    ("org", "key", "fingerprint", "answer", "created"),
)
ERASE = Statement(
    'UPDATE idempotency SET fingerprint=?, answer=? WHERE idempotency.org = ? AND idempotency."key" = ? AND idempotency.created = ?',
    'UPDATE idempotency SET fingerprint=%s::VARCHAR, answer=%s WHERE idempotency.org = %s::VARCHAR COLLATE "C" AND idempotency.key = %s::VARCHAR COLLATE "C" AND idempotency.created = %s::BIGINT',
    ("asked", "given", "org", "named", "then"),
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
FORGET_OLD_ABOUT = Statement(
    "DELETE FROM idempotency_about WHERE idempotency_about.created <= ?",
    "DELETE FROM idempotency_about WHERE idempotency_about.created <= %s::BIGINT",
    ("oldest",),
)
FORGET_ONE = Statement(
    'DELETE FROM idempotency WHERE idempotency.org = ? AND idempotency."key" = ? AND idempotency.created <= ?',
    'DELETE FROM idempotency WHERE idempotency.org = %s::VARCHAR COLLATE "C" AND idempotency.key = %s::VARCHAR COLLATE "C" AND idempotency.created <= %s::BIGINT',
    ("org", "key", "oldest"),
)
KEPT_ABOUT = Statement(
    'SELECT idempotency_about."key", idempotency_about.created \nFROM idempotency_about \nWHERE idempotency_about.org = ? AND idempotency_about.about = ?',
    'SELECT idempotency_about.key, idempotency_about.created \nFROM idempotency_about \nWHERE idempotency_about.org = %s::VARCHAR COLLATE "C" AND idempotency_about.about = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
SETTLE = Statement(
    'UPDATE idempotency SET answer=? WHERE idempotency.org = ? AND idempotency."key" = ?',
    'UPDATE idempotency SET answer=%s WHERE idempotency.org = %s::VARCHAR COLLATE "C" AND idempotency.key = %s::VARCHAR COLLATE "C"',
    ("given", "org", "named"),
)
TELL_ABOUT = Statement(
    'INSERT INTO idempotency_about (org, about, "key", created) VALUES (?, ?, ?, ?)',
    'INSERT INTO idempotency_about (org, about, key, created) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT)',
    ("org", "about", "key", "created"),
)
