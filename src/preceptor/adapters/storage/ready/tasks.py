"""Written by `make statements` from `sql/tasks.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO tasks (org, id, kind, user, open, status, worker, lease, cancel, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO tasks (org, id, kind, "user", open, status, worker, lease, cancel, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::VARCHAR COLLATE "C", %s::VARCHAR)',
    ("org", "id", "kind", "user", "open", "status", "worker", "lease", "cancel", "body"),
)
CANCEL = Statement(
    "UPDATE tasks SET cancel=? WHERE tasks.org = ? AND tasks.id = ? AND tasks.open = 1",
    'UPDATE tasks SET cancel=%s::VARCHAR COLLATE "C" WHERE tasks.org = %s::VARCHAR COLLATE "C" AND tasks.id = %s::VARCHAR COLLATE "C" AND tasks.open = 1',
    ("by", "org", "named"),
)
EXPIRED = Statement(
    "SELECT tasks.org, tasks.id, tasks.kind, tasks.user, tasks.open, tasks.status, tasks.worker, tasks.lease, tasks.cancel, tasks.body \nFROM tasks \nWHERE tasks.open = 1 AND tasks.lease < ? AND tasks.worker != ? ORDER BY tasks.lease\n LIMIT ? OFFSET 0",
    'SELECT tasks.org, tasks.id, tasks.kind, tasks."user", tasks.open, tasks.status, tasks.worker, tasks.lease, tasks.cancel, tasks.body \nFROM tasks \nWHERE tasks.open = 1 AND tasks.lease < %s::BIGINT AND tasks.worker != %s::VARCHAR COLLATE "C" ORDER BY tasks.lease \n LIMIT %s OFFSET 0',
    ("before", "but", "limit"),
)
EXTEND = Statement(
    "UPDATE tasks SET lease=? WHERE tasks.worker = ? AND tasks.open = 1",
    'UPDATE tasks SET lease=%s::BIGINT WHERE tasks.worker = %s::VARCHAR COLLATE "C" AND tasks.open = 1',
    ("until", "by"),
)
FIND = Statement(
    "SELECT tasks.org, tasks.id, tasks.kind, tasks.user, tasks.open, tasks.status, tasks.worker, tasks.lease, tasks.cancel, tasks.body \nFROM tasks \nWHERE tasks.org = ? AND tasks.id = ?",
    'SELECT tasks.org, tasks.id, tasks.kind, tasks."user", tasks.open, tasks.status, tasks.worker, tasks.lease, tasks.cancel, tasks.body \nFROM tasks \nWHERE tasks.org = %s::VARCHAR COLLATE "C" AND tasks.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
KEEP = Statement(
    "UPDATE tasks SET open=?, status=?, cancel=?, body=? WHERE tasks.org = ? AND tasks.id = ?",
    'UPDATE tasks SET open=%s::INTEGER, status=%s::VARCHAR COLLATE "C", cancel=%s::VARCHAR COLLATE "C", body=%s::VARCHAR WHERE tasks.org = %s::VARCHAR COLLATE "C" AND tasks.id = %s::VARCHAR COLLATE "C"',
    ("to_open", "to_status", "to_cancel", "to_body", "org", "named"),
)
PAGE = Statement(
    "SELECT tasks.org, tasks.id, tasks.kind, tasks.user, tasks.open, tasks.status, tasks.worker, tasks.lease, tasks.cancel, tasks.body \nFROM tasks \nWHERE tasks.org = ? AND tasks.kind = ? AND tasks.id < ? AND (CAST(? AS INTEGER) = 1 OR tasks.status = ?) AND (CAST(? AS INTEGER) = 1 OR tasks.user = ?) ORDER BY tasks.id DESC\n LIMIT ? OFFSET 0",
    'SELECT tasks.org, tasks.id, tasks.kind, tasks."user", tasks.open, tasks.status, tasks.worker, tasks.lease, tasks.cancel, tasks.body \nFROM tasks \nWHERE tasks.org = %s::VARCHAR COLLATE "C" AND tasks.kind = %s::VARCHAR COLLATE "C" AND tasks.id < %s::VARCHAR COLLATE "C" AND (CAST(%s AS INTEGER) = 1 OR tasks.status = %s::VARCHAR COLLATE "C") AND (CAST(%s AS INTEGER) = 1 OR tasks."user" = %s::VARCHAR COLLATE "C") ORDER BY tasks.id DESC \n LIMIT %s OFFSET 0',
    ("org", "of_kind", "before", "any_status", "with_status", "any_user", "of_user", "limit"),
)
RELEASE = Statement(
    "UPDATE tasks SET worker='', lease=0 WHERE tasks.worker = ? AND tasks.open = 1",
    "UPDATE tasks SET worker='', lease=0 WHERE tasks.worker = %s::VARCHAR COLLATE \"C\" AND tasks.open = 1",
    ("by",),
)
TAKE = Statement(
    "UPDATE tasks SET worker=?, lease=? WHERE tasks.org = ? AND tasks.id = ? AND tasks.open = 1",
    'UPDATE tasks SET worker=%s::VARCHAR COLLATE "C", lease=%s::BIGINT WHERE tasks.org = %s::VARCHAR COLLATE "C" AND tasks.id = %s::VARCHAR COLLATE "C" AND tasks.open = 1',
    ("to_worker", "to_lease", "org", "named"),
)
TO_CANCEL = Statement(
    "SELECT tasks.org, tasks.id \nFROM tasks \nWHERE tasks.worker = ? AND tasks.open = 1 AND tasks.cancel IS NOT NULL",
    'SELECT tasks.org, tasks.id \nFROM tasks \nWHERE tasks.worker = %s::VARCHAR COLLATE "C" AND tasks.open = 1 AND tasks.cancel IS NOT NULL',
    ("by",),
)
USE = Statement(
    "INSERT INTO task_conversations (org, conversation, task) SELECT CAST(? AS TEXT) AS anon_1, CAST(? AS TEXT) AS anon_2, CAST(? AS TEXT) AS anon_3 \nWHERE NOT (EXISTS (SELECT * \nFROM task_conversations \nWHERE task_conversations.org = ? AND task_conversations.conversation = ? AND task_conversations.task = ?))",
    'INSERT INTO task_conversations (org, conversation, task) SELECT CAST(%s AS TEXT) AS anon_1, CAST(%s AS TEXT) AS anon_2, CAST(%s AS TEXT) AS anon_3 \nWHERE NOT (EXISTS (SELECT * \nFROM task_conversations \nWHERE task_conversations.org = %s::VARCHAR COLLATE "C" AND task_conversations.conversation = %s::VARCHAR COLLATE "C" AND task_conversations.task = %s::VARCHAR COLLATE "C"))',
    ("org", "conversation", "task", "org", "conversation", "task"),
)
USING = Statement(
    "SELECT task_conversations.task \nFROM task_conversations \nWHERE task_conversations.org = ? AND task_conversations.conversation = ?",
    'SELECT task_conversations.task \nFROM task_conversations \nWHERE task_conversations.org = %s::VARCHAR COLLATE "C" AND task_conversations.conversation = %s::VARCHAR COLLATE "C"',
    ("org", "of"),
)
WAIT = Statement(
    "UPDATE tasks SET worker='', lease=? WHERE tasks.org = ? AND tasks.id = ? AND tasks.open = 1 AND tasks.worker = ? AND tasks.lease = ?",
    'UPDATE tasks SET worker=\'\', lease=%s::BIGINT WHERE tasks.org = %s::VARCHAR COLLATE "C" AND tasks.id = %s::VARCHAR COLLATE "C" AND tasks.open = 1 AND tasks.worker = %s::VARCHAR COLLATE "C" AND tasks.lease = %s::BIGINT',
    ("until", "org", "named", "of_worker", "of_lease"),
)
