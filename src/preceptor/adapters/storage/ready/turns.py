"""Written by `make statements` from `sql/turns.py`."""

from preceptor.adapters.storage.statements import Statement

ACCEPTED = Statement(
    "SELECT turns.id, events.payload \nFROM turns JOIN messages ON messages.org = turns.org AND messages.turn = turns.id JOIN events ON events.org = turns.org AND events.stream = turns.conversation AND events.seq = turns.first + 1 \nWHERE turns.org = ? AND messages.conversation = ? AND messages.place >= ? AND messages.seq = turns.first + 2",
    'SELECT turns.id, events.payload \nFROM turns JOIN messages ON messages.org = turns.org AND messages.turn = turns.id JOIN events ON events.org = turns.org AND events.stream = turns.conversation AND events.seq = turns.first + 1 \nWHERE turns.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" AND messages.place >= %s::BIGINT AND messages.seq = turns.first + 2',
    ("org", "of", "since"),
)
ADD = Statement(
    "INSERT INTO turns (org, id, conversation, agent, user, status, worker, epoch, first, last, lease, takeovers, cancel) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO turns (org, id, conversation, agent, "user", status, worker, epoch, first, last, lease, takeovers, cancel) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::INTEGER, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::INTEGER, %s::VARCHAR COLLATE "C")',
    (
        "org",
        "id",
        "conversation",
        "agent",
        "user",
        "status",
        "worker",
        "epoch",
        "first",
        "last",
        "lease",
        "takeovers",
        "cancel",
    ),
)
CANCEL = Statement(
    "UPDATE turns SET cancel=? WHERE turns.org = ? AND turns.id = ? AND turns.status = 'running'",
    'UPDATE turns SET cancel=%s::VARCHAR COLLATE "C" WHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.id = %s::VARCHAR COLLATE "C" AND turns.status = \'running\'',
    ("by", "org", "named"),
)
ENDED = Statement(
    "SELECT turns.org, turns.id, turns.conversation, turns.agent, turns.user, turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.org = ? AND turns.status != 'running' AND turns.id < ? ORDER BY turns.id DESC\n LIMIT ? OFFSET 0",
    'SELECT turns.org, turns.id, turns.conversation, turns.agent, turns."user", turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.status != \'running\' AND turns.id < %s::VARCHAR COLLATE "C" ORDER BY turns.id DESC \n LIMIT %s OFFSET 0',
    ("org", "before", "limit"),
)
ENDED_OF = Statement(
    "SELECT turns.org, turns.id, turns.conversation, turns.agent, turns.user, turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.org = ? AND turns.status != 'running' AND turns.id < ? AND turns.agent = ? ORDER BY turns.id DESC\n LIMIT ? OFFSET 0",
    'SELECT turns.org, turns.id, turns.conversation, turns.agent, turns."user", turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.status != \'running\' AND turns.id < %s::VARCHAR COLLATE "C" AND turns.agent = %s::VARCHAR COLLATE "C" ORDER BY turns.id DESC \n LIMIT %s OFFSET 0',
    ("org", "before", "of", "limit"),
)
EXPIRED = Statement(
    "SELECT turns.org, turns.id, turns.conversation, turns.agent, turns.user, turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.status = 'running' AND turns.lease < ? AND turns.worker != ? ORDER BY turns.lease\n LIMIT ? OFFSET 0",
    'SELECT turns.org, turns.id, turns.conversation, turns.agent, turns."user", turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.status = \'running\' AND turns.lease < %s::BIGINT AND turns.worker != %s::VARCHAR COLLATE "C" ORDER BY turns.lease \n LIMIT %s OFFSET 0',
    ("before", "but", "limit"),
)
EXTEND = Statement(
    "UPDATE turns SET lease=? WHERE turns.worker = ? AND turns.status = 'running'",
    "UPDATE turns SET lease=%s::BIGINT WHERE turns.worker = %s::VARCHAR COLLATE \"C\" AND turns.status = 'running'",
    ("until", "by"),
)
FIND = Statement(
    "SELECT turns.org, turns.id, turns.conversation, turns.agent, turns.user, turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.org = ? AND turns.id = ?",
    'SELECT turns.org, turns.id, turns.conversation, turns.agent, turns."user", turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.id = %s::VARCHAR COLLATE "C"',
    ("org", "named"),
)
NEWEST = Statement(
    "SELECT turns.org, turns.id, turns.conversation, turns.agent, turns.user, turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns JOIN messages ON messages.org = turns.org AND messages.turn = turns.id \nWHERE turns.org = ? AND messages.conversation = ? AND (messages.kind NOT IN ('compaction', 'summary')) ORDER BY messages.place DESC\n LIMIT ? OFFSET 0",
    'SELECT turns.org, turns.id, turns.conversation, turns.agent, turns."user", turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns JOIN messages ON messages.org = turns.org AND messages.turn = turns.id \nWHERE turns.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" AND (messages.kind NOT IN (\'compaction\', \'summary\')) ORDER BY messages.place DESC \n LIMIT %s OFFSET 0',
    ("org", "of", "limit"),
)
OPEN = Statement(
    "SELECT turns.org, turns.id, turns.conversation, turns.agent, turns.user, turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.org = ? AND turns.conversation = ? AND turns.status = 'running'",
    'SELECT turns.org, turns.id, turns.conversation, turns.agent, turns."user", turns.status, turns.worker, turns.epoch, turns.first, turns.last, turns.lease, turns.takeovers, turns.cancel \nFROM turns \nWHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.conversation = %s::VARCHAR COLLATE "C" AND turns.status = \'running\'',
    ("org", "of"),
)
RELEASE = Statement(
    "UPDATE turns SET worker='', lease=0 WHERE turns.worker = ? AND turns.status = 'running'",
    "UPDATE turns SET worker='', lease=0 WHERE turns.worker = %s::VARCHAR COLLATE \"C\" AND turns.status = 'running'",
    ("by",),
)
SETTLE = Statement(
    "UPDATE turns SET status=?, last=? WHERE turns.org = ? AND turns.id = ? AND turns.status = 'running'",
    'UPDATE turns SET status=%s::VARCHAR COLLATE "C", last=%s::BIGINT WHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.id = %s::VARCHAR COLLATE "C" AND turns.status = \'running\'',
    ("to_status", "to_last", "org", "named"),
)
TAKE = Statement(
    "UPDATE turns SET worker=?, epoch=?, lease=?, takeovers=(turns.takeovers + 1) WHERE turns.org = ? AND turns.id = ? AND turns.status = 'running'",
    'UPDATE turns SET worker=%s::VARCHAR COLLATE "C", epoch=%s::INTEGER, lease=%s::BIGINT, takeovers=(turns.takeovers + 1) WHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.id = %s::VARCHAR COLLATE "C" AND turns.status = \'running\'',
    ("to_worker", "to_epoch", "to_lease", "org", "named"),
)
TO_CANCEL = Statement(
    "SELECT turns.org, turns.id \nFROM turns \nWHERE turns.worker = ? AND turns.status = 'running' AND turns.cancel IS NOT NULL",
    "SELECT turns.org, turns.id \nFROM turns \nWHERE turns.worker = %s::VARCHAR COLLATE \"C\" AND turns.status = 'running' AND turns.cancel IS NOT NULL",
    ("by",),
)
WAIT = Statement(
    "UPDATE turns SET worker='', lease=? WHERE turns.org = ? AND turns.id = ? AND turns.status = 'running' AND turns.worker = ? AND turns.lease = ?",
    'UPDATE turns SET worker=\'\', lease=%s::BIGINT WHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.id = %s::VARCHAR COLLATE "C" AND turns.status = \'running\' AND turns.worker = %s::VARCHAR COLLATE "C" AND turns.lease = %s::BIGINT',
    ("until", "org", "named", "of_worker", "of_lease"),
)
