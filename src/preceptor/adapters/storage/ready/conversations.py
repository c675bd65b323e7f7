"""Written by `make statements` from `sql/conversations.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO conversations (org, id, agent, user, status, title, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO conversations (org, id, agent, "user", status, title, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR, %s::VARCHAR)',
    ("org", "id", "agent", "user", "status", "title", "body"),
)
FIND = Statement(
    "SELECT conversations.body \nFROM conversations \nWHERE conversations.org = ? AND conversations.id = ?",
    'SELECT conversations.body \nFROM conversations \nWHERE conversations.org = %s::VARCHAR COLLATE "C" AND conversations.id = %s::VARCHAR COLLATE "C"',
    ("org", "id"),
)
OPEN_WITH = Statement(
    "SELECT count(*) AS count_1 \nFROM conversations \nWHERE conversations.org = ? AND conversations.agent = ? AND conversations.status = ?",
    'SELECT count(*) AS count_1 \nFROM conversations \nWHERE conversations.org = %s::VARCHAR COLLATE "C" AND conversations.agent = %s::VARCHAR COLLATE "C" AND conversations.status = %s::VARCHAR COLLATE "C"',
    ("org", "agent", "status"),
)
PAGE = Statement(
    "SELECT conversations.body \nFROM conversations \nWHERE conversations.org = ? AND (CAST(? AS TEXT) IS NULL OR conversations.id < ?) AND (CAST(? AS TEXT) IS NULL OR conversations.agent = ?) AND (CAST(? AS TEXT) IS NULL OR conversations.user = ?) AND (CAST(? AS TEXT) IS NULL OR conversations.status = ?) AND (CAST(? AS TEXT) IS NULL OR conversations.title LIKE ? ESCAPE '\\') ORDER BY conversations.id DESC\n LIMIT ? OFFSET 0",
    'SELECT conversations.body \nFROM conversations \nWHERE conversations.org = %s::VARCHAR COLLATE "C" AND (CAST(%s AS TEXT) IS NULL OR conversations.id < %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR conversations.agent = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR conversations."user" = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR conversations.status = %s::VARCHAR COLLATE "C") AND (CAST(%s AS TEXT) IS NULL OR conversations.title LIKE %s::VARCHAR ESCAPE \'\\\') ORDER BY conversations.id DESC \n LIMIT %s OFFSET 0',
    ("org", "after", "after", "agent", "agent", "user", "user", "status", "status", "words", "words", "limit"),
)
QUIET = Statement(
    "SELECT conversations.org, conversations.id \nFROM conversations JOIN streams ON streams.org = conversations.org AND streams.id = conversations.id JOIN events ON events.org = streams.org AND events.stream = streams.id AND events.seq = streams.seq \nWHERE conversations.status != ? AND events.at < ? ORDER BY events.at\n LIMIT ? OFFSET 0",
    'SELECT conversations.org, conversations.id \nFROM conversations JOIN streams ON streams.org = conversations.org AND streams.id = conversations.id JOIN events ON events.org = streams.org AND events.stream = streams.id AND events.seq = streams.seq \nWHERE conversations.status != %s::VARCHAR COLLATE "C" AND events.at < %s::BIGINT ORDER BY events.at \n LIMIT %s OFFSET 0',
    ("but", "before", "limit"),
)
REPLACE = Statement(
    "UPDATE conversations SET agent=?, user=?, status=?, title=?, body=? WHERE conversations.org = ? AND conversations.id = ?",
    'UPDATE conversations SET agent=%s::VARCHAR COLLATE "C", "user"=%s::VARCHAR COLLATE "C", status=%s::VARCHAR COLLATE "C", title=%s::VARCHAR, body=%s::VARCHAR WHERE conversations.org = %s::VARCHAR COLLATE "C" AND conversations.id = %s::VARCHAR COLLATE "C"',
    ("agent", "user", "status", "title", "body", "org", "id"),
)
STANDING = Statement(
    "SELECT (SELECT turns.id \nFROM turns \nWHERE turns.org = ? AND turns.conversation = ? AND turns.status = 'running'\n LIMIT 1 OFFSET 0) AS anon_1, (SELECT messages.place \nFROM messages \nWHERE messages.org = ? AND messages.conversation = ? ORDER BY messages.place DESC\n LIMIT 1 OFFSET 0) AS anon_2, (SELECT messages.cum \nFROM messages \nWHERE messages.org = ? AND messages.conversation = ? ORDER BY messages.place DESC\n LIMIT 1 OFFSET 0) AS anon_3, (SELECT turns.status \nFROM turns \nWHERE turns.org = ? AND turns.id = (SELECT messages.turn \nFROM messages \nWHERE messages.org = ? AND messages.conversation = ? AND (messages.kind NOT IN ('compaction', 'summary')) ORDER BY messages.place DESC\n LIMIT 1 OFFSET 0)) AS anon_4, (SELECT views.body \nFROM views \nWHERE views.org = ? AND views.conversation = ? ORDER BY views.step DESC\n LIMIT 1 OFFSET 0) AS anon_5",
    'SELECT (SELECT turns.id \nFROM turns \nWHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.conversation = %s::VARCHAR COLLATE "C" AND turns.status = \'running\' \n LIMIT 1 OFFSET 0) AS anon_1, (SELECT messages.place \nFROM messages \nWHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" ORDER BY messages.place DESC \n LIMIT 1 OFFSET 0) AS anon_2, (SELECT messages.cum \nFROM messages \nWHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" ORDER BY messages.place DESC \n LIMIT 1 OFFSET 0) AS anon_3, (SELECT turns.status \nFROM turns \nWHERE turns.org = %s::VARCHAR COLLATE "C" AND turns.id = (SELECT messages.turn \nFROM messages \nWHERE messages.org = %s::VARCHAR COLLATE "C" AND messages.conversation = %s::VARCHAR COLLATE "C" AND (messages.kind NOT IN (\'compaction\', \'summary\')) ORDER BY messages.place DESC \n LIMIT 1 OFFSET 0)) AS anon_4, (SELECT views.body \nFROM views \nWHERE views.org = %s::VARCHAR COLLATE "C" AND views.conversation = %s::VARCHAR COLLATE "C" ORDER BY views.step DESC \n LIMIT 1 OFFSET 0) AS anon_5',
    ("org", "of", "org", "of", "org", "of", "org", "org", "of", "org", "of"),
)
