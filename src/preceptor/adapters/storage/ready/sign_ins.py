"""Written by `make statements` from `sql/sign_ins.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO sign_ins (token_hash, org, owner, expires) VALUES (?, ?, ?, ?)",
    'INSERT INTO sign_ins (token_hash, org, owner, expires) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR, %s::BIGINT)',
    ("token_hash", "org", "owner", "expires"),
)
FIND = Statement(
    "SELECT sign_ins.owner, sign_ins.expires \nFROM sign_ins \nWHERE sign_ins.token_hash = ?",
    'SELECT sign_ins.owner, sign_ins.expires \nFROM sign_ins \nWHERE sign_ins.token_hash = %s::VARCHAR COLLATE "C"',
    ("token_hash",),
)
FORGET_OLD = Statement(
    "DELETE FROM sign_ins WHERE sign_ins.expires <= ?",
    "DELETE FROM sign_ins WHERE sign_ins.expires <= %s::BIGINT",
    ("now",),
)
REMOVE = Statement(
    "DELETE FROM sign_ins WHERE sign_ins.token_hash = ?",
    'DELETE FROM sign_ins WHERE sign_ins.token_hash = %s::VARCHAR COLLATE "C"',
    ("token_hash",),
)
