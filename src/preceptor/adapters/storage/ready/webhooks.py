"""Written by `make statements` from `sql/webhooks.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO webhooks (org, id, sealed, body) VALUES (?, ?, ?, ?)",
    'INSERT INTO webhooks (org, id, sealed, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s, %s::VARCHAR)',
    ("org", "id", "sealed", "body"),
)
ADD_DELIVERY = Statement(
    "INSERT INTO deliveries (org, id, webhook, open, status, due, worker, created, message, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO deliveries (org, id, webhook, open, status, due, worker, created, message, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::VARCHAR COLLATE "C", %s::BIGINT, %s::VARCHAR COLLATE "C", %s::BIGINT, %s, %s::VARCHAR)',
    ("org", "id", "webhook", "open", "status", "due", "worker", "created", "message", "body"),
)
ALL = Statement(
    "SELECT webhooks.body \nFROM webhooks \nWHERE webhooks.org = ? ORDER BY webhooks.id",
    'SELECT webhooks.body \nFROM webhooks \nWHERE webhooks.org = %s::VARCHAR COLLATE "C" ORDER BY webhooks.id',
    ("org",),
)
ANY = Statement(
    "SELECT webhooks.id \nFROM webhooks\n LIMIT ? OFFSET 0",
    "SELECT webhooks.id \nFROM webhooks \n LIMIT %s OFFSET 0",
    ("limit",),
)
CLAIM = Statement(
    "UPDATE deliveries SET due=?, worker=? WHERE deliveries.org = ? AND deliveries.id = ? AND deliveries.open = 1 AND deliveries.due = ?",
    'UPDATE deliveries SET due=%s::BIGINT, worker=%s::VARCHAR COLLATE "C" WHERE deliveries.org = %s::VARCHAR COLLATE "C" AND deliveries.id = %s::VARCHAR COLLATE "C" AND deliveries.open = 1 AND deliveries.due = %s::BIGINT',
    ("to_due", "to_worker", "org", "named", "seen"),
)
DUE = Statement(
    "SELECT deliveries.org, deliveries.open, deliveries.status, deliveries.due, deliveries.body \nFROM deliveries \nWHERE deliveries.open = 1 AND deliveries.due <= ? ORDER BY deliveries.due\n LIMIT ? OFFSET 0",
    "SELECT deliveries.org, deliveries.open, deliveries.status, deliveries.due, deliveries.body \nFROM deliveries \nWHERE deliveries.open = 1 AND deliveries.due <= %s::BIGINT ORDER BY deliveries.due \n LIMIT %s OFFSET 0",
    ("now", "limit"),
)
FIND = Statement(
    "SELECT webhooks.body, webhooks.sealed \nFROM webhooks \nWHERE webhooks.org = ? AND webhooks.id = ?",
    'SELECT webhooks.body, webhooks.sealed \nFROM webhooks \nWHERE webhooks.org = %s::VARCHAR COLLATE "C" AND webhooks.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
FIND_DELIVERY = Statement(
    "SELECT deliveries.org, deliveries.open, deliveries.status, deliveries.due, deliveries.body \nFROM deliveries \nWHERE deliveries.org = ? AND deliveries.id = ?",
    'SELECT deliveries.org, deliveries.open, deliveries.status, deliveries.due, deliveries.body \nFROM deliveries \nWHERE deliveries.org = %s::VARCHAR COLLATE "C" AND deliveries.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
FORGET = Statement(
    "DELETE FROM deliveries WHERE deliveries.org = ? AND deliveries.webhook = ?",
    'DELETE FROM deliveries WHERE deliveries.org = %s::VARCHAR COLLATE "C" AND deliveries.webhook = %s::VARCHAR COLLATE "C"',
    ("org", "of"),
)
FORGET_OLD = Statement(
    "DELETE FROM deliveries WHERE deliveries.created < ? AND deliveries.open = 0",
    "DELETE FROM deliveries WHERE deliveries.created < %s::BIGINT AND deliveries.open = 0",
    ("before",),
)
GIVE_UP = Statement(
    "UPDATE deliveries SET open=?, status=? WHERE deliveries.org = ? AND deliveries.webhook = ? AND deliveries.open = 1",
    'UPDATE deliveries SET open=%s::INTEGER, status=%s::VARCHAR COLLATE "C" WHERE deliveries.org = %s::VARCHAR COLLATE "C" AND deliveries.webhook = %s::VARCHAR COLLATE "C" AND deliveries.open = 1',
    ("to_open", "to_status", "org", "of"),
)
KEEP = Statement(
    "UPDATE deliveries SET open=?, status=?, due=?, worker=?, body=? WHERE deliveries.org = ? AND deliveries.id = ?",
    'UPDATE deliveries SET open=%s::INTEGER, status=%s::VARCHAR COLLATE "C", due=%s::BIGINT, worker=%s::VARCHAR COLLATE "C", body=%s::VARCHAR WHERE deliveries.org = %s::VARCHAR COLLATE "C" AND deliveries.id = %s::VARCHAR COLLATE "C"',
    ("to_open", "to_status", "to_due", "to_worker", "to_body", "org", "named"),
)
MESSAGE = Statement(
    "SELECT deliveries.message \nFROM deliveries \nWHERE deliveries.org = ? AND deliveries.id = ?",
    'SELECT deliveries.message \nFROM deliveries \nWHERE deliveries.org = %s::VARCHAR COLLATE "C" AND deliveries.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
PAGE = Statement(
    "SELECT deliveries.org, deliveries.open, deliveries.status, deliveries.due, deliveries.body \nFROM deliveries \nWHERE deliveries.org = ? AND deliveries.webhook = ? AND deliveries.id < ? ORDER BY deliveries.id DESC\n LIMIT ? OFFSET 0",
    'SELECT deliveries.org, deliveries.open, deliveries.status, deliveries.due, deliveries.body \nFROM deliveries \nWHERE deliveries.org = %s::VARCHAR COLLATE "C" AND deliveries.webhook = %s::VARCHAR COLLATE "C" AND deliveries.id < %s::VARCHAR COLLATE "C" ORDER BY deliveries.id DESC \n LIMIT %s OFFSET 0',
    ("org", "of", "before", "limit"),
)
RELEASE = Statement(
    "UPDATE deliveries SET due=?, worker=? WHERE deliveries.open = 1 AND deliveries.worker IS NOT NULL AND deliveries.worker != ?",
    'UPDATE deliveries SET due=%s::BIGINT, worker=%s::VARCHAR COLLATE "C" WHERE deliveries.open = 1 AND deliveries.worker IS NOT NULL AND deliveries.worker != %s::VARCHAR COLLATE "C"',
    ("now", "to_worker", "but"),
)
REMOVE = Statement(
    "DELETE FROM webhooks WHERE webhooks.org = ? AND webhooks.id = ?",
    'DELETE FROM webhooks WHERE webhooks.org = %s::VARCHAR COLLATE "C" AND webhooks.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
REPLACE = Statement(
    "UPDATE webhooks SET body=? WHERE webhooks.org = ? AND webhooks.id = ?",
    'UPDATE webhooks SET body=%s::VARCHAR WHERE webhooks.org = %s::VARCHAR COLLATE "C" AND webhooks.id = %s::VARCHAR COLLATE "C"',
    ("to_body", "org", "named"),
)
RESEAL = Statement(
    "UPDATE webhooks SET sealed=? WHERE webhooks.org = ? AND webhooks.id = ?",
    'UPDATE webhooks SET sealed=%s WHERE webhooks.org = %s::VARCHAR COLLATE "C" AND webhooks.id = %s::VARCHAR COLLATE "C"',
    ("to_sealed", "org", "named"),
)
